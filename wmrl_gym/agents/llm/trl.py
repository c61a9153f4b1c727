"""GRPO with TRL: the trainer that weighs groups, what it refuses, and its checkpoints.

The weight of a group multiplies the advantages of its samples after they are normalised. All
losses of TRL are a function of the probability ratio times the advantage, whose branches look
at the sign of the advantage only, so the gradient is the weighted sum of the groups' gradients,
with clipping or without. A KL term and an entropy bonus are not weighted.
"""

from __future__ import annotations

import inspect
import os
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from wmrl_gym.agents.llm.spec import REWARD, WEIGHT, WMRLSpec
from wmrl_gym.agents.llm.trl_checkpoint import CorrectionCheckpoint
from wmrl_gym.correction import normalized_weights
from wmrl_gym.errors import MissingDependencyError

LOSS_TYPES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "luspo", "sapo", "vespo")
"""Losses in which weights on advantages have been shown to be exact."""
_SIGNATURES = {
    "_generate_and_score_completions": ("self", "inputs"),
    "_generate_single_turn": (
        "self",
        "prompt_ids",
        "images",
        "multimodal_fields",
        "num_generations",
    ),
}


class WMRLTrainer(GRPOTrainer):
    """`GRPOTrainer` whose groups weigh what the correction says.

    Data set, rollouts and rewards come from `spec`; everything else is TRL's. Weights are
    divided by their mean over the generation batch, so that the step size stays. The state of
    the correction and the world model is saved with every checkpoint and restored with it.

    Args:
        model: As in `GRPOTrainer`.
        spec: The tasks, the world model and the anchors.
        args: A `GRPOConfig` that gives at least two groups to a generation batch.
        reward_funcs: Further reward functions, `None` for none. In a group that was predicted
            they are as exact as ever, and are weighed all the same.
        callbacks: Further callbacks.
        options: Further arguments of `GRPOTrainer`: `processing_class`, `peft_config`...

    Raises:
        MissingDependencyError: If this TRL is not one that the trainer was written for.
        ValueError: If a setting would make the weights do nothing.
    """

    def __init__(
        self,
        model: Any,
        spec: WMRLSpec,
        *,
        args: GRPOConfig,
        reward_funcs: list[Any] | None = None,
        callbacks: list[TrainerCallback] | None = None,
        **options: Any,
    ) -> None:
        require_known_trl()
        funcs = [*spec.reward_funcs, *(reward_funcs or [])]
        require_weights_count(args, spec, options)
        self.spec = spec
        self._checkpoint = CorrectionCheckpoint(spec)
        # What this trainer uses of TRL is checked above; the warning would say no more.
        os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
        super().__init__(
            model=model,
            reward_funcs=funcs,
            args=args,
            train_dataset=spec.train_dataset,
            rollout_func=spec.rollout_func,
            callbacks=[*(callbacks or []), self._checkpoint],
            **options,
        )

    def train(
        self, resume_from_checkpoint: str | bool | None = None, *args: Any, **options: Any
    ) -> Any:
        """Train; see `transformers.Trainer.train`. Restores the correction too."""
        given = isinstance(resume_from_checkpoint, str | os.PathLike)
        self._checkpoint.source = str(resume_from_checkpoint) if given else None
        return super().train(resume_from_checkpoint, *args, **options)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        # Here, and not in the loss: TRL shuffles the samples right after.
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        weights = self._normalized_weights(inputs)
        output["advantages"] = output["advantages"] * weights.to(output["advantages"])
        return output

    def _normalized_weights(self, inputs: list[dict[str, Any]]) -> torch.Tensor:
        """`[B]` weights of this rank's samples, with mean 1 over the scored ones of all ranks."""
        rows = torch.tensor(
            [[row[WEIGHT], row[REWARD] is not None] for row in inputs],
            dtype=torch.float64,
            device="cpu" if self.accelerator.device.type == "cpu" else self.accelerator.device,
        )
        every = self.accelerator.gather(rows).cpu().numpy()
        weights = normalized_weights(every[:, 0], valid=every[:, 1].astype(np.bool_))
        first = self.accelerator.process_index * len(inputs)
        return torch.from_numpy(weights[first : first + len(inputs)])


def require_known_trl() -> None:
    """Refuse a TRL whose inner methods are not those that the trainer overrides and calls.

    Raises:
        MissingDependencyError: If it is another one.
    """
    for name, expected in _SIGNATURES.items():
        method = getattr(GRPOTrainer, name, None)
        found = () if method is None else tuple(inspect.signature(method).parameters)
        if found[: len(expected)] != expected:
            raise MissingDependencyError(
                f"trl {version('trl')} has {name}{found}, not {name}{expected}: "
                "pip install 'wmrl-gym[trl]', which asks for trl>=1.16,<2"
            )


def require_weights_count(args: GRPOConfig, spec: WMRLSpec, options: dict[str, Any]) -> None:
    """Refuse settings in which weights would do nothing, or not what they should.

    Raises:
        ValueError: If there is such a setting; the message names it.
    """
    if args.loss_type not in LOSS_TYPES:
        raise ValueError(
            f"loss_type={args.loss_type!r} is not one in which weights are exact: {LOSS_TYPES}"
        )
    size, group = args.generation_batch_size, args.num_generations
    assert size is not None  # GRPOConfig fills it in
    assert group is not None
    if size < 2 * group:
        raise ValueError(
            f"generation_batch_size={size} holds one group of num_generations={group}: its "
            "weight, divided by the mean, is always 1. Raise gradient_accumulation_steps or "
            "per_device_train_batch_size"
        )
    if size > spec.scorer.episodes:
        raise ValueError(
            f"generation_batch_size={size} is more than episodes={spec.scorer.episodes} of the spec"
        )
    if args.reward_weights is not None and not args.reward_weights[0] > 0:
        raise ValueError(f"reward_weights={args.reward_weights} must give wmrl_score more than 0")
    if args.eval_strategy != "no" or options.get("eval_dataset") is not None:
        raise ValueError(
            f"eval_strategy={args.eval_strategy!r}: this trainer does not evaluate; use "
            "`wmrl-gym evaluate`, which executes everything"
        )
    # TRL passes over the mask of a rollout function when there are tools.
    for name in ("tools", "environment_factory", "rollout_func", "train_dataset"):
        if options.get(name) is not None:
            raise ValueError(f"{name}: the spec brings the rollouts; leave this out")
