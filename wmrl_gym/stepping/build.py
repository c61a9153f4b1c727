"""From the arguments of a reward wrapper to its engine, checked where the user can act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.stepping.gate import ValidityGate
from wmrl_gym.stepping.lanes import Lanes
from wmrl_gym.stepping.models import make_stepping_model
from wmrl_gym.stepping.scoring import ScoreFunction, make_score_rule
from wmrl_gym.stepping.spaces import FlatActions, FlatObservations
from wmrl_gym.stepping.stepper import AnchoredStepper

MAX_PAIRS = 200
"""Pairs that the map is fitted to unless told otherwise, the latest: a model that learns while
it is used soon predicts otherwise than when it gave the older ones."""
_LIMITS = ("_max_episode_steps", "horizon", "max_path_length")
"""Where environments keep the number of steps after which they truncate or refuse to go on:
gymnasium's `TimeLimit`, our own, Meta-World. A `horizon` of `None` says that it depends on the
task, and that `info["horizon"]` of each reset tells it."""


@dataclass(frozen=True, kw_only=True)
class SteppingOptions:
    """What the wrappers need to know of an environment that only has `step`."""

    score: str | ScoreFunction = "success"
    """What an episode is worth; see `make_score_rule`."""
    score_bounds: Sequence[float] | None = None
    """Lowest and highest score; `None` for [0, 1]."""
    horizon: int | None = None
    """Steps after which an episode is truncated; `None` for the environment's own limit."""
    terminate_on_success: bool = True
    """Whether success ends an episode, where the score is success."""
    gate_threshold: float = 0.7
    """See `ValidityGate`."""
    device: str = "cpu"
    """Where `"dynamics"` and saved ensembles run."""

    def require_defaults(self) -> None:
        """Refuse options that an environment with an executor has no use for.

        Raises:
            ValueError: If one is not at its default.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                raise ValueError(
                    f"{field.name}={value!r} is for environments that only have `step`; this one "
                    "has an executor, which says itself what an episode is worth"
                )


def make_stepper(
    lanes: Lanes,
    stepping: SteppingOptions,
    *,
    world_model: Any,
    anchor_fraction: float,
    seed: int,
    options: Mapping[str, Any] | None,
    first_group: int = 0,
    group_stride: int = 1,
) -> AnchoredStepper:
    """Put a model and a correction between an agent and the steps of an environment.

    Args:
        lanes: The sub-environments.
        stepping: What they are worth and when they end.
        world_model: See `make_stepping_model`.
        anchor_fraction: Share of groups that are anchors, in [0, 1].
        seed: Seed of the anchor draw, and of a model made here.
        options: Further arguments of `RewardCorrection`.
        first_group: First group id that is given out.
        group_stride: Distance between such ids.

    Raises:
        UnsupportedEnvironmentError: If the environment is wrapped so already, or its spaces do
            not suit the model.
        ValueError: If an argument is out of its range.
    """
    if first_group < 0 or group_stride < 1:
        raise ValueError(
            f"first_group={first_group} must be at least 0 and "
            f"group_stride={group_stride} at least 1"
        )
    if lanes.has("anchored"):
        raise UnsupportedEnvironmentError(
            "the environment has a WorldModelReward wrapper already; one is all that it can have"
        )
    observations = FlatObservations(lanes.spaces.observation)
    actions = FlatActions(lanes.spaces.action)
    model = make_stepping_model(
        world_model,
        observations,
        actions,
        tasks=_task_names(lanes),
        device=stepping.device,
        seed=seed,
    )
    rule = make_score_rule(stepping.score, stepping.score_bounds)
    correction = RewardCorrection(
        anchor_fraction=anchor_fraction,
        seed=seed,
        bounds=rule.bounds,
        **{"max_pairs": MAX_PAIRS, **(options or {})},
    )
    return AnchoredStepper(
        lanes,
        model,
        correction,
        rule,
        ValidityGate(stepping.gate_threshold),
        horizon=find_horizon(lanes, stepping.horizon),
        terminate_on_success=stepping.terminate_on_success,
        first_group=first_group,
        group_stride=group_stride,
    )


def find_horizon(lanes: Lanes, horizon: int | None) -> int | None:
    """Steps after which an episode is truncated; `None` if each reset tells its own in `info`.

    Raises:
        ValueError: If neither argument nor environment tells, or the environment's own limit
            is lower than the one asked for.
    """
    limits = {name: lanes.get(name) for name in _LIMITS if lanes.has(name)}
    own = min((limit for limit in limits.values() if isinstance(limit, int)), default=None)
    if horizon is None and own is None and "horizon" not in limits:
        raise ValueError(
            "horizon=None, and the environment has no limit of its own (TimeLimit): say after how "
            "many steps an episode ends, horizon=200 for instance"
        )
    if horizon is not None and (horizon < 1 or (own is not None and horizon > own)):
        raise ValueError(
            f"horizon={horizon} must be at least 1 and at most {own}, the environment's own limit: "
            "imagined episodes would outlast the real ones"
        )
    return own if horizon is None else horizon


def _task_names(lanes: Lanes) -> tuple[str, ...]:
    """Names of the environment's tasks where it has an attribute `tasks` of texts."""
    tasks = lanes.get("tasks") if lanes.has("tasks") else ()
    texts = isinstance(tasks, list | tuple) and all(isinstance(task, str) for task in tasks)
    return tuple(tasks) if texts else ()
