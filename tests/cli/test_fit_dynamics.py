"""`wmrl-gym fit --kind dynamics|progress`, run as a user runs it."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path

import pytest

from tests.world_models.dynamics.double_integrator import record
from wmrl_gym.cli import main
from wmrl_gym.cli.fit_dynamics import asks_for_episodes, split
from wmrl_gym.episodes import save_episodes
from wmrl_gym.interchange.minari import write_minari
from wmrl_gym.world_models.dynamics import EnsembleDynamics
from wmrl_gym.world_models.progress import ProgressModel

SMALL = ["--hidden", "16", "--updates", "20"]


@pytest.fixture
def episodes(tmp_path: Path) -> Path:
    (tmp_path / "episodes").mkdir()
    save_episodes(tmp_path / "episodes" / "near.npz", record(30, seed=0, task="near"))
    save_episodes(tmp_path / "episodes" / "far.npz", record(20, seed=1, task="far"))
    return tmp_path / "episodes"


def refused(*arguments: str) -> str:
    shown = io.StringIO()
    with pytest.raises(SystemExit) as stopped, redirect_stderr(shown):
        main(["fit", *arguments])
    return " ".join(f"{stopped.value} {shown.getvalue()}".replace("│", " ").split())


def test_fit_dynamics(episodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "model"
    main(["fit", str(episodes), "--kind", "dynamics", "--out", str(out), "--members", "2", *SMALL])
    assert "On held-out episodes" in capsys.readouterr().out
    model = EnsembleDynamics.load(out / "model.pt")
    assert model.tasks == ("far", "near")
    told = json.loads((out / "validity.json").read_text())["tasks"]
    # A quarter of the 4 episodes of each policy on "far", of the 6 (rounded to 2) on "near".
    assert {task["task"]: task["validity"]["pairs"] for task in told} == {"far": 5, "near": 10}
    assert (out / "calibration.png").read_bytes().startswith(b"\x89PNG")
    settings = json.loads((out / "settings.json").read_text())
    assert (settings["training_episodes"], settings["held_out_episodes"]) == (35, 15)


def test_fit_progress_from_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "store"))
    write_minari(record(40, seed=0), "point/mixed-v0")
    out = tmp_path / "model"
    main(["fit", "point/mixed-v0", "--kind", "progress", "--out", str(out), *SMALL])
    scores = ProgressModel.load(out / "model.pt").score(record(3, seed=2))
    assert scores.shape == (3,)


def test_what_cannot_be_fitted_is_refused(episodes: Path, tmp_path: Path) -> None:
    def asked(source: Path, out: str, *options: str) -> str:
        return refused(str(source), "--out", str(tmp_path / out), "--kind", *options)

    assert "exists: choose another name" in asked(episodes, "episodes", "dynamics")
    assert "held_out=1.0 must lie between" in asked(episodes, "a", "dynamics", "--held-out", "1.0")
    assert "has no frames" in asked(episodes, "b", "progress", "--source", "frames")
    assert "cannot be read" in asked(tmp_path / "nothing", "c", "dynamics")
    (tmp_path / "empty").mkdir()
    assert "holds no episodes" in asked(tmp_path / "empty", "d", "dynamics")
    assert not (tmp_path / "b").exists()


def test_only_these_kinds_are_asked_for() -> None:
    assert asks_for_episodes(["x", "--kind", "dynamics", "--out", "y"])
    assert asks_for_episodes(["--kind=progress"])
    assert not asks_for_episodes(["x", "--out", "y"])
    assert not asks_for_episodes(["--kind", "other"])


def test_the_split_is_even_over_tasks_and_policies() -> None:
    episodes = record(40, seed=0, task="a") + record(20, seed=1, task="b")
    training, held = split(episodes, 0.25, seed=0)
    assert len(training) + len(held) == 60
    counts = Counter((e.task, e.policy) for e in held)
    assert set(counts.values()) == {2, 1}
    assert len(counts) == 10
    again = split(episodes, 0.25, seed=0)[1]
    assert all(one is other for one, other in zip(held, again, strict=True))


def test_a_policy_with_one_episode_is_trained_on() -> None:
    episodes = [replace(e, policy=f"p{i}") for i, e in enumerate(record(4, seed=0))]
    with pytest.raises(ValueError, match="leaves none to measure on"):
        split(episodes, 0.5, seed=0)
