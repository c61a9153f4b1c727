"""Recorded episodes as submissions: real episodes, run again and graded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import pytest

from wmrl_gym.envs.mle.env import MLEEnv
from wmrl_gym.interchange.handed_in import export_submissions, handed_in
from wmrl_gym.interchange.mle_bench import (
    Submission,
    grade_submissions,
    read_submissions,
    write_submissions,
)
from wmrl_gym.interchange.recording import RecordTrajectories
from wmrl_gym.interchange.trajectories import Trajectory, read_trajectories

TASK = "diabetes"


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WMRL_GYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def script(value: str, *, name: str = "execute_code", extra: str = "") -> str:
    """Predicts the progression as an expression of the test data `t`."""
    return (
        f"{name}\n```python\nimport pandas as pd\n"
        't = pd.read_csv("../input/test.csv")\n'
        f't["progression"] = {value}\n'
        f't[["id", "progression"]].to_csv("submission.csv", index=False)\n{extra}```'
    )


BAD, GOOD = "400.0", "150.0 + 15 * (t['bmi'] - t['bmi'].mean()) / t['bmi'].std()"


def code_of(action: str) -> str:
    return action.partition("python\n")[2].removesuffix("```")


def record(path: Path, *episodes: list[str]) -> list[Trajectory]:
    made = gym.make("WMRL-MLE-v0", tasks=["wine-cultivar", TASK], max_turns=3)
    env = RecordTrajectories(made, str(path))
    for actions in episodes:
        env.reset(seed=0, options={"task": TASK})
        for action in actions:
            env.step(action)
    env.close()
    return list(read_trajectories(path))


@pytest.mark.slow
def test_episodes_become_submissions_that_grade(tmp_path: Path) -> None:
    trajectories = record(
        tmp_path / "episodes.jsonl",
        [script(GOOD), script(BAD), "submit"],
        [script(GOOD), script(BAD), "submit 2"],
        [script(BAD), script(GOOD, extra="print('Best so far: submission 1, public')\n")],
        [script(BAD), "submit 7"],
        [script(BAD, name="submit")],
        [script("'text'"), script("no_such_name")],
        ["submit"],
    )
    found = [handed_in(trajectory) for trajectory in trajectories]
    good, bad = (
        script(value).partition("python\n")[2].removesuffix("```") for value in (GOOD, BAD)
    )
    assert found[:2] == [good, bad]
    assert found[2] is not None
    assert found[2].startswith(good)
    assert found[3:5] == [bad, bad]
    assert found[5] is not None
    assert "'text'" in found[5]
    assert found[6] is None
    submissions = export_submissions(trajectories, tmp_path / "exported")
    assert submissions[6] == Submission(TASK, None)
    listed = tmp_path / "submissions.jsonl"
    write_submissions(listed, submissions)
    report = grade_submissions(read_submissions(listed))
    scores = [one.score for one in report.competition_reports]
    assert scores[0] is not None
    assert scores[1] is not None
    assert scores[0] < 80 < 200 < scores[1]
    assert scores == [scores[0], scores[1], scores[0], scores[1], scores[1], None, None]
    exists = [one.submission_exists for one in report.competition_reports]
    assert exists == [True] * 6 + [False]
    assert "Best so far" in Path(submissions[2].logs_path or "").read_text()
    assert Path(submissions[0].code_path or "").read_text() == good
    with pytest.raises(FileExistsError):
        export_submissions(trajectories, tmp_path / "exported")


def test_a_task_that_was_drawn_is_found_by_its_index(tmp_path: Path) -> None:
    env = RecordTrajectories(
        gym.make("WMRL-MLE-v0", tasks=["wine-cultivar", TASK]), str(tmp_path / "e.jsonl")
    )
    for seed in range(6):
        env.reset(seed=seed)
    assert isinstance(env.unwrapped, MLEEnv)
    drawn = env.unwrapped.task.name
    env.close()
    trajectories = list(read_trajectories(tmp_path / "e.jsonl"))
    found = export_submissions(trajectories, tmp_path / "exported")
    assert found[-1] == Submission(drawn, None)
    assert {one.competition_id for one in found} == {"wine-cultivar", TASK}


def test_other_environments_hand_in_nothing(tmp_path: Path) -> None:
    env = RecordTrajectories(gym.make("CartPole-v1"), str(tmp_path / "e.jsonl"))
    env.reset(seed=0)
    env.close()
    with pytest.raises(ValueError, match="env_id='CartPole-v1'"):
        export_submissions(read_trajectories(tmp_path / "e.jsonl"), tmp_path)
