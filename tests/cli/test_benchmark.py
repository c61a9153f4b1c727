from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmark.arm_results import make_result
from wmrl_gym.benchmark.arms import changes
from wmrl_gym.benchmark.scenarios import SCENARIOS, find_scenario
from wmrl_gym.benchmark.study import finished, plan
from wmrl_gym.cli import main
from wmrl_gym.errors import WMRLError

TINY = ["--seeds", "0", "1", "--arms", "real", "both"]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario `lenient`, in a few seconds."""
    monkeypatch.setitem(
        SCENARIOS["lenient"].small,  # type: ignore[arg-type]  # a dict
        "groups",
        16,
    )
    monkeypatch.setitem(
        SCENARIOS["lenient"].small,  # type: ignore[arg-type]  # a dict
        "evaluation_episodes",
        4,
    )


@pytest.mark.slow
def test_a_study_runs_goes_on_and_reports(
    tiny: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "study"
    main(["benchmark", "--out", str(out), *TINY])
    printed = capsys.readouterr().out
    assert "0 of 4 runs are finished" in printed
    assert "both, seed 1: true score" in printed
    for name in ("table.md", "scores.png", "profiles.png", "curve-executions.png"):
        assert (out / name).stat().st_size > 100
    rows = json.loads((out / "tables" / "table.json").read_text())
    real, both = rows
    assert (real["arm"], both["arm"]) == ("real", "both")
    assert both["executions"][0] < 0.3 * real["executions"][0]
    (out / "both-1.json").write_text("{")  # torn: it is made again
    main(["benchmark", "--out", str(out), *TINY])
    assert "3 of 4 runs are finished" in capsys.readouterr().out


@pytest.mark.slow
def test_a_dial_is_turned(tiny: None, tmp_path: Path) -> None:
    arguments = ["benchmark", "--out", str(tmp_path), "--seeds", "0", "--arms", "both"]
    main([*arguments, "--scenario", "quality", "--sweep", "noise"])
    rows = json.loads((tmp_path / "tables" / "table.json").read_text())
    assert {"real", "both@noise=0", "both@noise=1.6"} <= {row["arm"] for row in rows}
    assert (tmp_path / "sweep-noise.png").stat().st_size > 100


def test_names_of_dials_are_checked() -> None:
    assert changes("model@anchors=0.2") == {**changes("model"), "anchor_fraction": 0.2}
    assert changes("both@noise=0.4")["world_model"].endswith("noise=0.4")
    for name in ("both@colour=1", "both@noise=much", "neither@noise=1"):
        with pytest.raises(WMRLError):
            changes(name)


def test_results_of_another_setting_are_not_mixed_in(tmp_path: Path) -> None:
    make_result("both", 0).write(tmp_path)
    with pytest.raises(SystemExit, match="from scenario 'toy'"):
        main(["benchmark", "--out", str(tmp_path), *TINY])


def test_nothing_to_report_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no result"):
        main(["benchmark", "--out", str(tmp_path), "--report-only"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scenario", "easy"], "scenario='easy'"),
        (["--arms", "best"], "arm='best'"),
        (["--at-once", "0"], "at_once=0"),
    ],
)
def test_bad_arguments_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=message):
        main(["benchmark", "--out", str(tmp_path), *arguments])


def test_scenarios_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["benchmark", "--out", str(tmp_path), "--scenarios"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_arm_of_every_scenario_has_a_configuration(scenario: str, tmp_path: Path) -> None:
    from wmrl_gym.benchmark.arms import ARMS

    jobs = plan(find_scenario(scenario), arms=list(ARMS), seeds=[0, 1], directory=tmp_path)
    assert len(jobs) == 2 * len(ARMS)
    assert len({job.file for job in jobs}) == len(jobs)
    assert all(finished(job) is None for job in jobs)
    by_arm = {job.arm: job.config for job in jobs}
    assert by_arm["real"].world_model == "none"
    assert by_arm["features"].world_model.startswith("residual:")
    assert by_arm["powered"].normalize == "center"
