"""The trainers of verl, with groups that weigh.

The weights multiply the advantages that verl has computed, normalised and all; returns, which
a critic learns from, stay as they are. The policy gradient is then the weighted sum of the
groups' gradients, see `options.LOSS_MODES`. KL terms and entropy bonuses are not weighted.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import ray
import torch
import transfer_queue as tq
from verl.trainer.ppo.v1 import trainer_base
from verl.utils import tensordict_utils as tu

from wmrl_gym.agents.verl.actor import start_scorer
from wmrl_gym.agents.verl.loop import GROUP, WEIGHT
from wmrl_gym.agents.verl.options import read_options, require_weights_count
from wmrl_gym.agents.verl.weights import batch_weights
from wmrl_gym.errors import RunError

STATE_FILE = "wmrl_state.pkl"
"""In the directory of a checkpoint."""


class Corrected(trainer_base.PPOTrainer):  # type: ignore[misc]  # verl has no types
    """Goes before a trainer of verl among the bases of a class.

    Without a section `wmrl` in the configuration it changes nothing.

    Raises:
        ValueError: If a setting would make the weights do nothing.
    """

    def __init__(self, config: Any) -> None:
        options = read_options(config)
        self.wmrl_scorer: Any = None
        if options is not None:
            require_weights_count(config)
            self.wmrl_scorer = start_scorer(options)
        super().__init__(config)

    def _submit_batch_to_rollout(self, batch: Any) -> int:
        if self.wmrl_scorer is not None:
            groups = ray.get(self.wmrl_scorer.next_groups.remote(len(batch)))
            tu.assign_non_tensor_stack(batch, GROUP, groups)
        return int(super()._submit_batch_to_rollout(batch))

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._compute_advantage(batch, metrics)
        if self.wmrl_scorer is not None:
            metrics.update(weigh_advantages(batch))
            figures = ray.get(self.wmrl_scorer.update.remote())
            metrics.update({f"wmrl/{name}": value for name, value in figures.items()})
        return batch

    def _save_checkpoint(self) -> None:
        if self.wmrl_scorer is not None:
            # First, so that a checkpoint that verl calls the latest has it.
            directory = Path(self.config.trainer.default_local_dir)
            save_state(directory / f"global_step_{self.global_steps}", self.wmrl_scorer)
        super()._save_checkpoint()

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if self.wmrl_scorer is not None and self.global_steps > 0:
            load_state(_resumed_directory(self.config, self.global_steps), self.wmrl_scorer)


def register_corrected_trainers() -> None:
    """Put a corrected one in the place of each trainer of verl."""
    registry = trainer_base.TRAINER_REGISTRY
    for name, trainer in registry.items():
        if not issubclass(trainer, Corrected):
            registry[name] = type(f"Corrected{trainer.__name__}", (Corrected, trainer), {})


def weigh_advantages(batch: Any) -> dict[str, float]:
    """Multiply the advantages in TransferQueue by the weights of their groups.

    Args:
        batch: `KVBatchMeta` of `[B]` samples whose advantages are there.

    Returns:
        Figures for the log.
    """
    where = {"keys": batch.keys, "partition_id": batch.partition_id}
    data = tq.kv_batch_get(**where, select_fields=["advantages", "extra_fields"])
    told = list(data["extra_fields"])
    valid = [not tag.get("is_padding", False) for tag in batch.tags]
    weights = batch_weights([t[GROUP] for t in told], [t[WEIGHT] for t in told], valid)
    rows = zip(data["advantages"].unbind(), weights, strict=True)
    weighted = torch.nested.as_nested_tensor([a * w for a, w in rows], layout=torch.jagged)
    tq.kv_batch_put(**where, fields=tu.get_tensordict({"advantages": weighted}))
    return {"wmrl/weight_max": float(weights.max()), "wmrl/samples": float(sum(valid))}


def save_state(directory: Path, scorer: Any) -> None:
    """Write the state of the correction to the directory of a checkpoint, whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    draft = directory / f"{STATE_FILE}.new"
    draft.write_bytes(pickle.dumps(ray.get(scorer.state_dict.remote())))
    os.replace(draft, directory / STATE_FILE)


def load_state(directory: Path, scorer: Any) -> None:
    """Continue from the state of the correction in the directory of a checkpoint.

    Raises:
        RunError: If there is none.
    """
    file = directory / STATE_FILE
    if not file.is_file():
        raise RunError(
            f"checkpoint={directory} has no {STATE_FILE}: it was not written by a training with a "
            "section wmrl; set trainer.resume_mode=disable to start anew"
        )
    ray.get(scorer.load_state_dict.remote(pickle.loads(file.read_bytes())))


def _resumed_directory(config: Any, step: int) -> Path:
    if config.trainer.resume_mode == "resume_path":
        return Path(config.trainer.resume_from_path)
    return Path(config.trainer.default_local_dir) / f"global_step_{step}"
