"""`gymnasium.make(task=PATH)`: an agent's episode on a task of every layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import wmrl_gym
from tests.envs.mle.importers import trees
from wmrl_gym import Status
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

LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "mle-bench": lambda root: trees.MLEBench(root).add(board=trees.RMSE_BOARD),
    "mle-bench without a leaderboard": lambda root: trees.MLEBench(root).add(),
    "mle-dojo": trees.mle_dojo,
    "dsbench": trees.dsbench,
    "sandmle": trees.sandmle,
    "mlgym": lambda root: Path(f"{trees.mlgym(root)}::diabetesProgression"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_real_script_beats_the_sample(layout: str, tmp_path: Path) -> None:
    path = LAYOUTS[layout](tmp_path)
    env = gym.make("WMRL-MLE-v0", task=str(path), max_turns=2)
    text, _ = env.reset(seed=0)
    assert "../input" in text
    text, reward, terminated, truncated, info = env.step(LINEAR)
    assert "answers or graders: []" in text
    assert info["status"] == Status.COMPLETED, text
    assert 0.6 < info["score"] <= 1.0
    assert reward == pytest.approx(info["score"])
    assert (terminated, truncated) == (False, False)
    _, _, terminated, _, info = env.step("submit")
    assert terminated
    env.close()


@pytest.mark.slow
def test_a_script_as_a_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / "cache"))
    root = trees.mlgym(tmp_path / "gym")
    register(
        f"{root}::guessing", options=ImportOptions(higher_is_better=True), name="guess-the-number"
    )
    env = gym.make("WMRL-MLE-v0", task="guess-the-number", max_turns=1)
    env.reset(seed=0)
    action = """```python
open("strategy.py", "w").write("def guess(history):\\n    return len(history) % 3\\n")
```"""
    _, _, _, _, info = env.step(action)
    assert (info["status"], info["score"]) == (Status.COMPLETED, 1.0)
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
