"""`WMRL-MLE-v0` with real scripts in a real sandbox."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import wmrl_gym
from wmrl_gym import Execution, Outcome, Source, Status, WorldModel, WorldModelRewardWrapper
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.env import NO_EXECUTION, MLEEnv

COPY_SAMPLE = """execute_code
```python
import shutil
shutil.copy("../input/sample_submission.csv", "submission.csv")
print("copied \\u2713")
```"""
LOGISTIC = """```python
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train, test = (pd.read_csv(f"../input/{name}.csv") for name in ("train", "test"))
target = pd.read_csv("../input/sample_submission.csv").columns[1:]
label = [c for c in train.columns if c not in test.columns][0]
features = [c for c in test.columns if c != "id"]
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
model.fit(train[features], train[label])
submission = pd.DataFrame(model.predict_proba(test[features]), columns=target)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
```"""
CRASH = "```python\nprint('before')\nraise KeyError('no such column')\n```"


@pytest.fixture
def env() -> Any:
    env = MLEEnv(tasks=["wine-cultivar", "diabetes"], max_turns=6, timeout_s=30)
    env.reset(seed=0, options={"task": "wine-cultivar"})
    yield env
    env.close()


def test_the_briefing_says_all_that_is_needed(env: MLEEnv) -> None:
    text, info = env.reset(options={"task": "wine-cultivar"})
    for part in (
        load_task("wine-cultivar").title,
        "../input/train.csv",
        "submission.csv",
        "6 of 6 turns",
        "600 of 600 s",
        "at most 30 s each",
        "execute_code",
        "missing",
    ):
        assert part in text
    assert env.observation_space.contains(text)
    nothing_yet = {"task_index": 0, "turn": 0, "score": 0.0, "submissions": 0, "handed_in": 0}
    assert info == nothing_yet | {"status": NO_EXECUTION}


def test_the_score_is_the_maximum_and_rewards_are_its_increments(env: MLEEnv) -> None:
    rewards, infos, texts = [], [], []
    for action in (CRASH, COPY_SAMPLE, CRASH, LOGISTIC):
        text, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(text)
        assert (terminated, truncated) == (False, False)
        texts.append(text)
        rewards.append(reward)
        infos.append(info)
    assert [info["status"] for info in infos] == [
        Status.CRASHED,
        Status.COMPLETED,
        Status.CRASHED,
        Status.COMPLETED,
    ]
    assert infos[0]["score"] == rewards[0] == 0.1
    assert rewards[2] == 0.0
    assert infos[-1]["score"] == pytest.approx(sum(rewards))
    assert 0.5 <= infos[1]["score"] < infos[3]["score"] <= 1.0
    assert "KeyError: 'no such column'" in texts[0]
    assert "before" in texts[0]
    assert "log_loss" in texts[3]
    assert "4 of 6 turns" in texts[1]
    # What is outside of the charset is escaped, not lost and not an error.
    assert "copied \\u2713" in texts[1]


def test_actions_that_execute_nothing(env: MLEEnv) -> None:
    executed = env.executor.counts.executed
    for action, expected in (
        ("request_info data", "train.csv: "),
        ("request_info sample_submission", "id,"),
        ("request_info budget", "turns"),
        ("validate_code\n```python\nimport torch\n```", "torch cannot be imported"),
        ("validate_code\n```python\nprint(\n```", "does not compile"),
    ):
        text, reward, _, _, info = env.step(action)
        assert expected in text
        assert (reward, info["status"]) == (0.0, NO_EXECUTION)
    assert env.executor.counts.executed == executed


def test_the_agent_sees_the_public_metric_and_is_paid_by_the_private_one(env: MLEEnv) -> None:
    text, reward, _, _, info = env.step(LOGISTIC)
    task = load_task("wine-cultivar")
    (outcome,) = env.executor.execute([env.propose(LOGISTIC)])
    assert reward == info["score"] == outcome.score
    assert f"Public {task.metric}: {outcome.details['metric_public']:.6g}" in text
    assert f"{outcome.details['metric']:.5g}" not in text
    assert f"public score {outcome.details['score_public']:.3f}" in text


def test_submissions_are_capped() -> None:
    env = MLEEnv(tasks=["wine-cultivar"], max_turns=6, max_submissions=2, timeout_s=30)
    env.reset()
    for action in (COPY_SAMPLE, CRASH, LOGISTIC):  # a crash grades nothing
        env.step(action)
    executed = env.executor.counts.executed + env.executor.counts.replayed
    text, reward, terminated, _, info = env.step(LOGISTIC)
    assert (reward, terminated, info["status"], info["submissions"]) == (0, False, NO_EXECUTION, 2)
    assert "All 2 submissions are used" in text
    assert env.executor.counts.executed + env.executor.counts.replayed == executed
    text, reward, terminated, _, info = env.step("submit 1")
    assert terminated
    assert "submission 1" in text
    assert (info["score"], reward < 0) == (pytest.approx(0.5, abs=0.01), True)
    assert info["handed_in"] == 1
    env.close()


def test_submit_without_a_choice_hands_in_the_best_in_public(env: MLEEnv) -> None:
    env.step(LOGISTIC)
    _, _, _, _, info = env.step(COPY_SAMPLE)
    best = info["score"]
    _, reward, terminated, _, info = env.step("submit")
    assert (reward, terminated, info["score"]) == (0.0, True, best)


@pytest.mark.parametrize("action", ["hello", "```python\nprint(\n```", "{", "", "日本"])
def test_malformed_actions_score_0_and_cost_a_turn(env: MLEEnv, action: str) -> None:
    _, reward, terminated, _, info = env.step(action)
    assert (reward, info["status"], info["score"]) == (0.0, Status.MALFORMED, 0.0)
    assert (info["turn"], terminated) == (1, False)


def test_the_episode_ends_at_submit_and_after_the_last_turn(env: MLEEnv) -> None:
    _, _, terminated, truncated, info = env.step("submit")
    assert (terminated, truncated, info["score"]) == (True, False, 0.0)
    env.reset()
    ends = [env.step("request_info")[2:4] for _ in range(6)]
    assert ends == [(False, False)] * 5 + [(True, False)]
    env.reset(options={"task": "wine-cultivar"})
    _, reward, terminated, _, _ = env.step("submit\n" + LOGISTIC)
    assert terminated
    assert reward > 0.5


def test_a_slow_script_times_out_and_the_total_budget_truncates() -> None:
    env = MLEEnv(tasks=["wine-cultivar"], timeout_s=1.0, total_s=1.5)
    env.reset()
    sleep = "```python\nimport time\ntime.sleep(60)\n```"
    text, reward, terminated, truncated, info = env.step(sleep)
    assert (info["status"], reward) == (Status.TIMED_OUT, 0.1)
    assert "limit of 1 s" in text
    assert (terminated, truncated) == (False, False)
    assert env.step(sleep)[2:4] == (False, True)
    env.close()


@pytest.mark.parametrize(
    ("script", "status", "score", "says"),
    [
        ("x = 1", Status.NO_RESULT, 0.2, "left no submission.csv"),
        ("open('submission.csv','w').write('id\\n1\\n')", Status.INVALID_RESULT, 0.2, "columns"),
        ("import os; os.symlink('/etc/passwd', 'submission.csv')", Status.INVALID_RESULT, 0.2, ""),
        ("x = bytearray(3 * 2**30)", Status.OUT_OF_MEMORY, 0.1, "MiB"),
    ],
)
def test_the_ladder(env: MLEEnv, script: str, status: Status, score: float, says: str) -> None:
    text, reward, _, _, info = env.step(f"```python\n{script}\n```")
    assert (info["status"], reward) == (status, score)
    assert says in text


def test_the_hidden_answers_are_out_of_reach(env: MLEEnv) -> None:
    private = load_task("wine-cultivar").private
    spy = f"""
from pathlib import Path
from sklearn.datasets import load_wine
for look in (
    lambda: list(Path({str(private)!r}).iterdir()),
    lambda: Path({str(private / "test.csv")!r}).read_text(),
    lambda: load_wine().target,
):
    try:
        print("FOUND", look())
    except OSError as error:
        print("nothing:", type(error).__name__)
"""
    text, *_ = env.step(f"```python\n{spy}\n```")
    assert "FOUND" not in text
    assert text.count("nothing:") == 3


class Failing:
    """An executor whose machine is broken."""

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        return [Outcome.unscored("the disk is full") for _ in executions]

    def close(self) -> None:
        pass


def test_our_failure_changes_no_score(env: MLEEnv) -> None:
    env.step(CRASH)
    env.executor = Failing()  # type: ignore[assignment]  # any executor will do
    text, reward, terminated, truncated, info = env.step(LOGISTIC)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["status"], info["score"]) == (Status.UNSCORED, 0.1)
    assert "the disk is full" in text


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="no-such-task"):
        MLEEnv(tasks=["no-such-task"])
    with pytest.raises(ValueError, match="tasks"):
        MLEEnv(tasks=[])
    with pytest.raises(ValueError, match="max_submissions=0"):
        MLEEnv(max_submissions=0)
    with pytest.raises(ValueError, match="either task='digits' or tasks="):
        MLEEnv(task="digits", tasks=["diabetes"])
    with pytest.raises(ValueError, match="executor='slurm'"):
        MLEEnv(executor="slurm")
    with pytest.raises(ValueError, match="max_turns=0"):
        MLEEnv(max_turns=0)
    with pytest.raises(ValueError, match="timeout_s=-1"):
        MLEEnv(timeout_s=-1)
    env = MLEEnv(tasks=["wine-cultivar"])
    with pytest.raises(ValueError, match="options\\['task'\\]='digits'"):
        env.reset(options={"task": "digits"})


@pytest.mark.parametrize("env_id", ["WMRL-MLE-v0", "WMRL-MLE-Pipeline-v0"])
def test_check_env_passes_without_a_warning(env_id: str) -> None:
    env = gym.make(f"wmrl_gym:{env_id}", tasks=["wine-cultivar"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("env_id", ["WMRL-MLE-v0", "WMRL-MLE-Pipeline-v0"])
def test_spec_round_trip(env_id: str) -> None:
    env = WorldModelRewardWrapper(gym.make(env_id, tasks=["wine-cultivar"]), anchor_fraction=0.2)
    assert env.spec is not None
    twin = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert twin.unwrapped._choice.names == ("wine-cultivar",)  # type: ignore[attr-defined]
    assert twin.correction.sampler.fraction == 0.2  # type: ignore[attr-defined]
    env.close()
    twin.close()


def test_equal_seeds_draw_equal_tasks() -> None:
    env = MLEEnv(tasks=["wine-cultivar", "diabetes", "breast-cancer"])
    drawn = [env.reset(seed=seed)[1]["task_index"] for seed in range(20)]
    assert drawn == [env.reset(seed=seed)[1]["task_index"] for seed in range(20)]
    assert set(drawn) == {0, 1, 2}


class Oracle(WorldModel):
    """Says what a practitioner would see, and counts its calls."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        self.batches.append(len(executions))
        return [
            Outcome(Status.COMPLETED, 0.8, f"predicted for {len(e.context)}", 2.0, Source.PREDICTED)
            for e in executions
        ]


def test_a_vector_step_is_one_batch_and_predictions_give_the_feedback() -> None:
    model = Oracle()
    vector = gym.make_vec(
        "WMRL-MLE-v0", num_envs=3, tasks=["wine-cultivar"], autoreset_mode="Disabled", max_turns=2
    )
    assert vector.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    env = wmrl_gym.WorldModelRewardVectorWrapper(vector, world_model=model, anchor_fraction=0.0)
    env.reset(seed=[1, 1, 1], options={"group": 5})
    texts, rewards, _, _, infos = env.step((LOGISTIC, CRASH, "request_info data"))
    assert model.batches == [2]
    assert rewards.tolist() == [0.8, 0.8, 0.0]
    assert "predicted for" in texts[0]
    assert infos["wmrl/source"].tolist() == [Source.PREDICTED, Source.PREDICTED, Source.NONE]
    _, rewards, terminated, _, _ = env.step(("submit", "submit", LOGISTIC))
    assert terminated.all()
    assert rewards.tolist() == [0.0, 0.0, 0.8]
    np.testing.assert_array_equal(infos["wmrl/group"], [5, 5, 5])
    env.close()


def test_an_invalid_escape_is_no_syntax_error(env: MLEEnv) -> None:
    *_, info = env.step("```python\nprint('\\d')\n```")
    assert info["status"] == Status.NO_RESULT
