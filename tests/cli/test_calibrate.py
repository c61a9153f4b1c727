"""`wmrl-gym collect` and `wmrl-gym calibrate`, run as a user runs them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from wmrl_gym.cli import main
from wmrl_gym.interchange.outcomes import OutcomeWriter, read_outcomes, shipped_outcomes
from wmrl_gym.outcomes import Outcome

QUICK = ["--resamples", "20"]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a successful command prints."""
    main(list(arguments))
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says that cannot be carried out, without frames and line breaks."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    said = f"{stopped.value} {capsys.readouterr().err}"
    return " ".join(word for word in said.split() if word != "│")


@pytest.mark.slow
def test_collect_then_calibrate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = ["--tasks", "penguin-sex-micro", "wine-cultivar-micro"]
    sizes = ["--groups", "4", "--group-size", "4", "--timeout-s", "3", "--seed", "3"]
    # Where the directory of a run has its store.
    out, store = tmp_path / "made" / "o.jsonl.gz", str(tmp_path / "executions.sqlite")
    printed = said(capsys, "collect", "--out", str(out), "--store", store, *tasks, *sizes)
    assert "groups=4/4 wine-cultivar-micro" in printed
    assert "completed" in printed
    made = read_outcomes(out)
    assert len(made.records) == 16
    assert Counter(r.group for r in made.records) == {0: 4, 1: 4, 2: 4, 3: 4}
    assert [r.execution.task for r in made.records[::4]] == tasks[1:] * 2
    assert made.provenance["seed"] == 3
    assert "store" not in made.provenance
    assert "python" in made.provenance["versions"]
    # A second time nothing is executed, and the same file comes out.
    said(capsys, "collect", "--out", str(tmp_path / "2.gz"), "--store", store, *tasks, *sizes)
    assert out.read_bytes() == (tmp_path / "2.gz").read_bytes()
    assert "16 outcomes in 4 groups of 2 tasks" in said(capsys, "calibrate", str(out), *QUICK)
    # The store has no groups: all eight of a task started from the same state.
    printed = said(capsys, "calibrate", str(tmp_path), *QUICK)
    assert "16 outcomes in 2 groups of 2 tasks" in printed
    assert "Note: 2 of 2 tasks have one group" in printed


def test_all_numbers_of_the_shipped_outcomes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "calibration.json"
    chosen = ["--most-groups", "24", "--world-models", "constant", "surrogate"]
    printed = said(capsys, "calibrate", "--json", str(file), *chosen, *QUICK)
    assert "192 outcomes in 24 groups of 8 tasks" in printed
    numbers = json.loads(file.read_text())
    assert numbers["schema"] == "wmrl-gym/calibration/1"
    assert numbers["outcomes"]["pairs"] == 192
    assert numbers["settings"]["resamples"] == 20
    assert numbers["source"]["provenance"]["env"] == "WMRL-MLE-v0"
    for name in ("constant", "surrogate"):
        for regime in ("seen_tasks", "held_out_tasks"):
            quality = numbers["world_models"][name][regime]
            assert quality["counts"]["asked"] == 192
            assert quality["counts"]["unscored_share"] == 0.0
            assert len(quality["tasks"]) == 8
            assert sum(part["count"] for part in quality["diagrams"]["score"]) == 192
            figure = quality["figures"]["rank_correlation"]
            assert figure["low"] <= figure["estimate"] <= figure["high"]
    surrogate = numbers["world_models"]["surrogate"]["seen_tasks"]["figures"]
    constant = numbers["world_models"]["constant"]["seen_tasks"]["figures"]
    assert surrogate["rank_correlation"]["low"] > 0.0
    assert constant["rank_correlation"]["estimate"] == 0.0
    assert surrogate["squared_error"]["estimate"] < constant["squared_error"]["estimate"]


def test_what_was_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = [record for record in shipped_outcomes().records if record.group < 48]
    path = tmp_path / "o.jsonl"
    with OutcomeWriter(path, {}) as writer:
        writer.write([replace(first[0], outcome=Outcome.unscored("broke")), *first[1:]])
    path.write_bytes(path.read_bytes()[:-40])
    printed = said(capsys, "calibrate", str(path), "--world-models", "constant", *QUICK)
    assert f"Note: incomplete lines were left out: {len(first) + 1}." in printed.replace("\n", " ")
    assert "1 outcomes without a score were left out" in printed
    one = tmp_path / "one.jsonl"
    with OutcomeWriter(one, {}) as writer:
        writer.write([r for r in first if r.execution.task == "titanic-micro"])
    printed = said(capsys, "calibrate", str(one), "--world-models", "constant", *QUICK)
    assert "Note: there is one task only" in printed
    assert "Held-out tasks" not in printed


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["calibrate", "none.jsonl"], "path='none.jsonl' is no file"),
        (["calibrate", "--world-models", "surogate"], "world_model='surogate' is unknown"),
        (["calibrate", "--folds", "2"], "folds=2 must be at least 3"),
        (["calibrate", "--most-groups", "1"], "most_groups=1 is too few"),
        (["calibrate", "--json", "no/such/place.json"], "there is no directory no/such"),
        (["collect", "--out", "x.jsonl", "--env", "Other-v0"], "env='Other-v0' must be one of"),
        (["collect", "--out", "x.jsonl", "--tasks", "pinguins"], "task='pinguins' is no"),
        (["collect", "--out", "x.jsonl", "--groups", "0"], "groups=0 must be at least 1"),
        (["collect", "--out", "x.jsonl", "--timeout-s", "0"], "timeout_s=0.0 must be positive"),
        (["collect", "--out", "/proc/no/x.jsonl"], "cannot be made"),
    ],
)
def test_bad_arguments_are_named_and_leave_nothing(
    arguments: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert named in refused(capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text('{"schema": "wmrl-gym/trajectory/1"}\n')
    assert f"{path}:1: schema='wmrl-gym/trajectory/1'" in refused(capsys, "calibrate", str(path))
    path.write_text("")
    assert "holds no outcomes: it is empty" in refused(capsys, "calibrate", str(path))
