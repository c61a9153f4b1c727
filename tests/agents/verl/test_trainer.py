"""A step of verl's trainer but for the GPU workers: dispatch, episodes, advantages, checkpoint."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
import torch
import transfer_queue as tq
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.v1 import AgentLoopManagerTQ, get_trainer_cls, trainer_base
from verl.utils import tensordict_utils as tu

from tests.agents.verl.configuration import SIZE, configuration
from tests.agents.verl.digits import ScriptedServer
from wmrl_gym.agents.verl.trainer import STATE_FILE, load_state
from wmrl_gym.correction import AnchorSampler
from wmrl_gym.errors import RunError

pytestmark = pytest.mark.verl

PROMPTS = 4
LINES = ("I say 9", "no number", "I say 3 6", "1 2 3", "broken 5", "I say 7")
ANCHORS = AnchorSampler(fraction=0.5, seed=0).select(range(3 * PROMPTS)).tolist()


@pytest.fixture(scope="module")
def manager(transfer_queue: None, tokenizer: Any) -> Iterator[Any]:
    """Two processes that play episodes."""
    server = ScriptedServer(tokenizer, LINES)
    manager = AgentLoopManagerTQ.create(config=configuration(), llm_client=server)
    yield manager
    for worker in manager.agent_loop_workers:
        ray.kill(worker)


@pytest.fixture
def make_trainer(manager: Any, tmp_path: Path) -> Iterator[Any]:
    """Makes a trainer of verl that has no GPU workers; its directory is its own."""
    made = []

    def make() -> Any:
        config = configuration(f"trainer.default_local_dir={tmp_path}")
        trainer = get_trainer_cls("sync")(config=config)
        made.append(trainer)
        trainer.global_steps = 1
        trainer.agent_loop_manager = manager
        return trainer

    yield make
    for trainer in made:
        stop(trainer)


def stop(trainer: Any) -> None:
    if trainer.wmrl_scorer is not None:
        ray.kill(trainer.wmrl_scorer)
        trainer.wmrl_scorer = None


def prompts(first: int, name: str = "u") -> Any:
    """What the data loader of the trainer gives."""
    rows = {
        "raw_prompt": [[{"role": "user", "content": "Task a: say digits."}]] * PROMPTS,
        "extra_info": [{"index": first + i, "task": "a"} for i in range(PROMPTS)],
        "index": [first + i for i in range(PROMPTS)],
        "uid": [f"{name}{first + i}" for i in range(PROMPTS)],
    }
    batch = tu.get_tensordict(rows)
    tu.assign_non_tensor_data(batch, "global_steps", 1)
    return batch


def collect(trainer: Any, count: int) -> Any:
    """What came back of so many prompts."""
    found, _ = trainer.replay_buffer.sample(
        global_steps=trainer.global_steps, partition_id="train", batch_size=count
    )
    return found


def roll_out(trainer: Any, first: int = 0) -> Any:
    """Sends prompts out and collects what came back, as a step of the trainer does."""
    assert trainer._submit_batch_to_rollout(prompts(first)) == PROMPTS
    return collect(trainer, PROMPTS)


def column(batch: Any, name: str) -> list[Any]:
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=[name])[
        name
    ]
    return list(data.unbind()) if isinstance(data, torch.Tensor) else list(data)


def give_log_probabilities(batch: Any) -> None:
    """What the GPU workers would have computed."""
    data = tq.kv_batch_get(
        keys=batch.keys, partition_id=batch.partition_id, select_fields=["rollout_log_probs"]
    )
    fields = tu.get_tensordict({"old_log_probs": data["rollout_log_probs"]})
    tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)


def clear(batch: Any) -> None:
    tq.kv_clear(keys=batch.keys, partition_id=batch.partition_id)


def advantage(rewards: list[float], reward: float) -> float:
    if len(rewards) == 1:
        return reward
    deviation = float(np.std(rewards, ddof=1))
    return (reward - float(np.mean(rewards))) / (deviation + 1e-6)


def test_two_steps(make_trainer: Any) -> None:
    trainer = make_trainer()
    weights_seen = []
    for step in range(2):
        trainer.global_steps = step + 1
        batch = roll_out(trainer, first=step * PROMPTS)
        told = column(batch, "extra_fields")
        groups = [t["wmrl_group"] for t in told]
        # Ids count up over the training, in the order in which the prompts went out.
        uids = column(batch, "uid")
        assert [f"u{group}" for group in groups] == uids
        # Played in two processes, and all know the same anchors.
        anchors = [bool(t["reward_extra_info"]["wmrl_anchor"]) for t in told]
        assert anchors == [ANCHORS[group] for group in groups]
        # What has no score is not there; it is no 0.
        assert PROMPTS <= len(batch) <= PROMPTS * SIZE
        give_log_probabilities(batch)
        metrics: dict[str, Any] = {}
        batch = trainer._compute_advantage(batch, metrics)

        rewards = [float(r.sum()) for r in column(batch, "rm_scores")]
        of_group = {g: [r for r, h in zip(rewards, groups, strict=True) if h == g] for g in groups}
        weight = {g: max(t["wmrl_weight"] for t in told if t["wmrl_group"] == g) for g in groups}
        mean = np.mean([weight[g] for g in groups])
        masks = column(batch, "response_mask")
        rows = zip(column(batch, "advantages"), masks, groups, rewards, strict=True)
        for found, mask, group, reward in rows:
            expected = advantage(of_group[group], reward) * weight[group] / mean
            own = found[mask == 1].tolist()
            assert own == pytest.approx([expected] * len(own), abs=1e-4)
            assert (found[mask == 0] == 0).all()
        weights_seen.append(max(weight.values()))
        assert metrics["wmrl/samples"] == len(batch)
        assert metrics["wmrl/weight_max"] == pytest.approx(max(weight.values()) / mean)
        assert metrics["wmrl/executions_real"] > 0
        clear(batch)
    assert metrics["wmrl/pairs"] > 4
    assert weights_seen[0] == 1.0


def test_two_processes_agree_on_anchors_and_weights(make_trainer: Any, manager: Any) -> None:
    trainer = make_trainer()
    # One group is played in both processes, as if it lay on two ranks.
    for worker, name in zip(manager.agent_loop_workers, ("a", "b"), strict=True):
        batch = prompts(0, name)
        tu.assign_non_tensor_stack(batch, "wmrl_group", list(range(PROMPTS)))
        tags = [{"is_prompt": True, "status": "pending", "global_steps": 1}] * PROMPTS
        tq.kv_batch_put(keys=list(batch["uid"]), partition_id="train", tags=tags)
        ray.get(worker.generate_sequences.remote(batch))
    found = collect(trainer, 2 * PROMPTS)
    known: dict[str, dict[int, set[Any]]] = {"a": {}, "b": {}}
    for uid, told in zip(column(found, "uid"), column(found, "extra_fields"), strict=True):
        facts = (bool(told["reward_extra_info"]["wmrl_anchor"]), told["wmrl_weight"])
        known[uid[0]].setdefault(told["wmrl_group"], set()).add(facts)
    shared = known["a"].keys() & known["b"].keys()
    assert len(shared) >= 2
    for group in shared:
        assert known["a"][group] == known["b"][group] == {(ANCHORS[group], 1.0)}
    clear(found)


def test_padding_has_no_weight(make_trainer: Any, tokenizer: Any) -> None:
    trainer = make_trainer()
    batch = roll_out(trainer)
    count = len(batch)
    padded = upsample_batch_to_divisible_size(batch, count + 3, tokenizer.eos_token_id)
    if len(padded) == count:  # not a multiple by chance
        padded = upsample_batch_to_divisible_size(batch, count + 1, tokenizer.eos_token_id)
    give_log_probabilities(padded)
    metrics: dict[str, Any] = {}
    trainer._compute_advantage(padded, metrics)
    assert metrics["wmrl/samples"] == count
    assert all((row == 0).all() for row in column(padded, "advantages")[count:])
    assert all(math.isfinite(float(row.sum())) for row in column(padded, "advantages"))
    clear(padded)


class WithoutWorkers:
    """The checkpoints of the trainer save the state of GPU workers that are not there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.saved: list[bool] = []

        def save(trainer: Any) -> None:
            folder = Path(trainer.config.trainer.default_local_dir)
            folder /= f"global_step_{trainer.global_steps}"
            self.saved.append((folder / STATE_FILE).is_file())

        def load(trainer: Any) -> None:
            trainer.global_steps = 1

        monkeypatch.setattr(trainer_base.PPOTrainer, "_save_checkpoint", save)
        monkeypatch.setattr(trainer_base.PPOTrainer, "_load_checkpoint", load)


def test_a_resumed_training_goes_on_as_if_nothing_had_happened(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checkpoints = WithoutWorkers(monkeypatch)
    first = make_trainer()
    batch = roll_out(first)
    give_log_probabilities(batch)
    first._compute_advantage(batch, {})
    clear(batch)
    first._save_checkpoint()
    # It is there before verl calls the checkpoint the latest.
    assert checkpoints.saved == [True]
    before = ray.get(first.wmrl_scorer.state_dict.remote())
    assert before["groups_started"] == PROMPTS
    stop(first)

    second = make_trainer()
    second._load_checkpoint()
    after = ray.get(second.wmrl_scorer.state_dict.remote())
    assert str(after["anchored"]["correction"]) == str(before["anchored"]["correction"])
    batch = roll_out(second, first=PROMPTS)
    told = column(batch, "extra_fields")
    assert {t["wmrl_group"] for t in told} <= set(range(PROMPTS, 2 * PROMPTS))
    assert all(t["reward_extra_info"]["wmrl_anchor"] == ANCHORS[t["wmrl_group"]] for t in told)
    clear(batch)
    with pytest.raises(RunError, match=f"has no {STATE_FILE}.*resume_mode=disable"):
        load_state(tmp_path / "global_step_9", second.wmrl_scorer)


def test_without_the_section_the_trainer_is_as_ever(transfer_queue: None) -> None:
    from omegaconf import OmegaConf

    config = configuration()
    OmegaConf.set_struct(config, False)
    del config["wmrl"]
    trainer = get_trainer_cls("sync")(config=config)
    assert trainer.wmrl_scorer is None
