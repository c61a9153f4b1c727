"""`gymnasium.make(task=PATH)`: an agent's episode on a task of every layout."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import wmrl_gym
from tests.envs.mle.importers import trees
from tests.sandboxes.backends import BACKENDS
from wmrl_gym import Outcome, Status
from wmrl_gym.envs.mle.env import MLEEnv
from wmrl_gym.envs.mle.importers import ImportOptions, register

assert wmrl_gym  # registers the ids

LINEAR = """execute_code
```python
import glob, os
import pandas as pd
from sklearn.linear_model import Ridge

where = "../input/data" if os.path.isdir("../input/data") else "../input"
train, test = (pd.read_csv(f"{where}/{name}.csv") for name in ("train", "test"))
[target] = [c for c in train.columns if c not in test.columns]
features = [c for c in test.columns if c != "id"]
model = Ridge(alpha=0.01).fit(train[features], train[target])
values = model.predict(test[features]).clip(train[target].min(), train[target].max())
predicted = pd.DataFrame({"id": test["id"], target: values})
predicted.sample(frac=1, random_state=0).to_csv("submission.csv", index=False)
seen = [p for p in glob.glob("../**/*", recursive=True)
        if "answer" in p or p.endswith(("evaluator.py", "evaluate.py", "_eval.py", "metric.py"))]
print("answers or graders:", seen)
```"""

JSON_LINES = """\
    import pandas as pd

    def grade(submission: pd.DataFrame, answers: list) -> float:
        both = pd.DataFrame(answers).merge(submission, on="id", suffixes=("", "_predicted"))
        return abs(both["progression"] - both["progression_predicted"]).mean()
    """
ALL_ROWS = trees.SANDMLE_EVALUATOR.replace("score =", "assert len(both) == 48\n    score =")


def json_lines(root: Path) -> Path:
    """A competition whose answers are no table, so that none of them are public."""
    bench = trees.MLEBench(root)
    data = bench.add(grade=JSON_LINES, answers="private/test.jsonl", metric="mae")
    lines = trees.regression().answers.to_json(orient="records", lines=True)
    (data / "prepared" / "private" / "test.jsonl").write_text(lines)
    return data


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "mle-bench": lambda root: trees.MLEBench(root).add(board=trees.RMSE_BOARD),
    "mle-bench without a leaderboard": lambda root: trees.MLEBench(root).add(),
    "mle-bench with answers in JSON Lines": json_lines,
    "mle-dojo": trees.mle_dojo,
    "dsbench": trees.dsbench,
    "sandmle": trees.sandmle,
    "sandmle with an evaluator of all rows": lambda root: trees.sandmle(root, evaluator=ALL_ROWS),
    "mlgym": lambda root: Path(f"{trees.mlgym(root)}::diabetesProgression"),
}


def outcome_of(env: gym.Env[str, str], action: str) -> Outcome:
    """What executing the action gives: what the environment's store will replay."""
    inner = env.unwrapped
    assert isinstance(inner, MLEEnv)
    execution = inner.propose(action)
    assert execution is not None
    [outcome] = inner.executor.execute([execution])
    return outcome


def assert_hidden(outcome: Outcome, text: str) -> None:
    """Neither the metric on the private rows nor the score that it gives is in the text."""
    assert outcome.score is not None
    for private in (f"{outcome.details['metric']:.4g}", f"{outcome.score:.3f}"):
        assert private not in text, text


@pytest.mark.parametrize(("layout", "backend"), list(zip(LAYOUTS, cycle(BACKENDS), strict=False)))
def test_a_real_script_beats_the_sample(layout: str, backend: str, tmp_path: Path) -> None:
    """Layouts go round the back ends: how files are laid out does not depend on who hides them."""
    path = LAYOUTS[layout](tmp_path)
    store = str(tmp_path / "store")
    env = gym.make("WMRL-MLE-v0", task=str(path), max_turns=2, store=store, sandbox=backend)
    text, _ = env.reset(seed=0)
    assert "../input" in text
    outcome = outcome_of(env, LINEAR)
    text, reward, terminated, truncated, info = env.step(LINEAR)
    assert "answers or graders: []" in text
    assert info["status"] == Status.COMPLETED, text
    assert 0.6 < info["score"] <= 1.0
    assert reward == pytest.approx(info["score"])
    assert (terminated, truncated) == (False, False)
    last, _, terminated, _, info = env.step("submit")
    assert terminated
    assert_hidden(outcome, text + last)
    assert ("public score" in text) == ("metric_public" in outcome.details)
    env.close()


@pytest.mark.slow
def test_a_script_as_a_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / "cache"))
    root = trees.mlgym(tmp_path / "gym")
    register(
        f"{root}::guessing", options=ImportOptions(higher_is_better=True), name="guess-the-number"
    )
    env = gym.make("WMRL-MLE-v0", task="guess-the-number", max_turns=1, store=str(tmp_path / "s"))
    env.reset(seed=0)
    action = """```python
open("strategy.py", "w").write("def guess(history):\\n    return min(len(history), 28) % 3\\n")
```"""
    outcome = outcome_of(env, action)
    text, _, _, _, info = env.step(action)
    assert (info["status"], info["score"]) == (Status.COMPLETED, outcome.score)
    assert outcome.details["metric"] == pytest.approx(29 / 30)
    assert_hidden(outcome, text)
    env.close()


@pytest.mark.slow
def test_a_root_of_several_and_the_checker(tmp_path: Path) -> None:
    for name in ("sand-a", "sand-b"):
        trees.sandmle(tmp_path, name)
    env = gym.make("WMRL-MLE-v0", task=str(tmp_path), timeout_s=30)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    drawn = {again.reset(seed=seed)[1]["task_index"] for seed in range(8)}
    assert drawn == {0, 1}
    env.reset(options={"task": f"{tmp_path}::sand-b"})
    env.close()
    again.close()
