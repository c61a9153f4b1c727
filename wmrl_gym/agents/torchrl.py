"""What torchrl's GRPO needs to train under our reward wrapper: its groups and its weights.

`torchrl.envs.GymEnv` makes our ids as they are; it calls `state` of `WMRL-VLA-v0` `observation`
and keeps the instruction as a `NonTensor`. `torchrl.objectives.llm.MCAdvantage` compares the
episodes of a group, `torchrl.objectives.ClipPPOLoss` clips. What is left is here: `info` is read
into the tensordict, groups with an invalid episode are left out, and weights multiply the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wmrl_gym.correction import normalized_weights
from wmrl_gym.errors import MissingDependencyError

try:
    import torch
    from tensordict import TensorDictBase
    from torchrl.data import Composite, Unbounded
    from torchrl.envs.gym_like import BaseInfoDictReader
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        f'this needs {error.name}, which is not installed: pip install "wmrl-gym[torchrl]"'
    ) from error

GROUP, WEIGHT, VALID = "group", "weight", "valid"
"""Keys of an entry each: int64, float32 and bool, `[..., 1]`."""

_DEFAULTS: dict[str, tuple[str, torch.dtype, Any]] = {
    GROUP: ("wmrl/group", torch.int64, 0),
    WEIGHT: ("wmrl/weight", torch.float32, 1.0),
    VALID: ("wmrl/valid", torch.bool, True),
}


class WorldModelInfo(BaseInfoDictReader):  # type: ignore[misc]  # torchrl is not annotated
    """Puts group, weight and validity of `info` into the tensordict; 0, 1 and True without.

    Examples:
        >>> from torchrl.envs import GymEnv
        >>> env = GymEnv("wmrl_gym:WMRL-Synthetic-v0")
        >>> env = env.set_info_dict_reader(WorldModelInfo())
        >>> bool(env.rollout(1)["next", "valid"].all())
        True
    """

    @property
    def info_spec(self) -> Any:
        """Shapes and types of what is read."""
        return Composite(
            {key: Unbounded((1,), dtype=dtype) for key, (_, dtype, _) in _DEFAULTS.items()}
        )

    def __call__(self, info_dict: dict[str, Any], tensordict: TensorDictBase) -> TensorDictBase:
        """Add the entries for one reset or step."""
        for key, (name, dtype, default) in _DEFAULTS.items():
            tensordict.set(key, torch.tensor([info_dict.get(name, default)], dtype=dtype))
        return tensordict


def whole_groups(episodes: Sequence[TensorDictBase]) -> TensorDictBase | None:
    """One batch of transitions for `MCAdvantage(..., prompt_key="group")`.

    A group with an invalid episode is left out, since `MCAdvantage` would wait for its last
    member for ever. The weight of an episode is that of its last step, over the mean weight of
    the batch's episodes; each step gets it.

    Args:
        episodes: Rollouts `[T]` of environments that read `WorldModelInfo`, each complete.

    Returns:
        `[N]` the steps of all episodes that are left, with `group` and `weight`; `None`
        without any.
    """
    lasts = [episode["next"][-1] for episode in episodes]
    groups = [int(last[GROUP]) for last in lasts]
    broken = {group for group, last in zip(groups, lasts, strict=True) if not last[VALID]}
    kept = [i for i, group in enumerate(groups) if group not in broken]
    if not kept:
        return None
    weights = normalized_weights([float(lasts[i][WEIGHT]) for i in kept])
    parts = []
    for i, weight in zip(kept, weights, strict=True):
        part = episodes[i].copy()
        part[GROUP] = torch.full((len(part), 1), groups[i])
        part[WEIGHT] = torch.full((len(part), 1), float(weight))
        parts.append(part)
    return torch.cat(parts)


def weighted_loss(losses: TensorDictBase, weight: torch.Tensor) -> torch.Tensor:
    """The scalar to minimise: only the objective is weighted, entropy bonus and value loss not.

    Args:
        losses: What a loss module of torchrl gave with `reduction="none"`.
        weight: `[N, 1]` the weights of the same steps, from `whole_groups`.
    """
    # A copy of the objective under another shape would be broadcast to [N, N] in silence.
    objective = losses["loss_objective"].reshape(-1)
    total: torch.Tensor = (weight.reshape(objective.shape) * objective).mean()
    for name, loss in losses.items():
        if name.startswith("loss_") and name != "loss_objective":
            total = total + loss.mean()
    return total
