"""The model's part of a step: one forward pass for all lanes, and its answers checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.errors import WorldModelError
from wmrl_gym.stepping.episode import IMAGINED_SUCCESS, Dream
from wmrl_gym.world_models.dynamics import DynamicsModel, ImaginedStep
from wmrl_gym.world_models.dynamics.imagination import LIKELY_OVER
from wmrl_gym.world_models.progress import RewardModel


def imagine(
    model: DynamicsModel,
    dreams: Mapping[int, Dream],
    actions: Mapping[int, npt.NDArray[np.float32]],
    *,
    last: Collection[int],
    stops_at_success: bool,
) -> None:
    """Advance dreams by one step, all in one call of the model.

    Where the model gives what is no number, the dream is lost and stays where it is.

    Args:
        model: The model of the dynamics.
        dreams: Dreams by lane; none has ended.
        actions: `[A]` float32 action by lane, of those lanes at least.
        last: Lanes that the horizon truncates after this step.
        stops_at_success: Whether success terminates an episode.

    Raises:
        WorldModelError: If the model's answer does not have one row for each lane.
    """
    if not dreams:
        return
    lanes = list(dreams)
    step = model.step(
        np.stack([dreams[lane].observation for lane in lanes]),
        np.stack([actions[lane] for lane in lanes]),
    )
    _check(model, step, rows=len(lanes))
    numbers = _rows_of_numbers(step)
    for row, lane in enumerate(lanes):
        if numbers[row]:
            _advance(dreams[lane], step, row, actions[lane], lane in last, stops_at_success)
        else:
            dreams[lane].lost = True


def judge(model: RewardModel, episodes: Sequence[EpisodeRecord]) -> list[float]:
    """Score `[N]` real episodes in one call; NaN where the model could not tell.

    Raises:
        WorldModelError: If the scores are not `[N]`, or one is outside `[0, 1]`.
    """
    if not episodes:
        return []
    scores = np.asarray(model.score(episodes), dtype=np.float64)
    name = type(model).__name__
    if scores.shape != (len(episodes),):
        raise WorldModelError(
            f"world model {name} gave scores of shape {scores.shape} for {len(episodes)} episodes"
        )
    outside = scores[(scores < 0.0) | (scores > 1.0)]
    if outside.size:
        raise WorldModelError(f"world model {name} gave score={outside[0]}, outside [0, 1]")
    return [float(score) for score in scores]


def _advance(
    dream: Dream,
    step: ImaginedStep,
    row: int,
    action: npt.NDArray[np.float32],
    last: bool,
    stops_at_success: bool,
) -> None:
    success = float(step.success[row])
    achieved = stops_at_success and success >= IMAGINED_SUCCESS
    dream.observation = np.array(step.observations[row], dtype=np.float32)
    dream.reward = float(step.rewards[row])
    dream.surviving *= 1.0 - float(step.termination[row])
    dream.terminated = achieved or 1.0 - dream.surviving >= LIKELY_OVER
    dream.truncated = last and not dream.terminated
    dream.record(action, success)


def _rows_of_numbers(step: ImaginedStep) -> npt.NDArray[np.bool_]:
    """`[B]` whether all that the model says of a lane is a number."""
    judged = np.stack([step.rewards, step.success, step.termination])
    imagined = np.isfinite(step.observations).all(axis=1)
    return np.asarray(imagined & np.isfinite(judged).all(axis=0), dtype=np.bool_)


def _check(model: DynamicsModel, step: ImaginedStep, *, rows: int) -> None:
    shapes = {
        "observations": (step.observations.shape, (rows, model.observation_size)),
        "rewards": (step.rewards.shape, (rows,)),
        "success": (step.success.shape, (rows,)),
        "termination": (step.termination.shape, (rows,)),
    }
    for name, (given, wanted) in shapes.items():
        if given != wanted:
            raise WorldModelError(
                f"world model {type(model).__name__} gave {name} of shape {given}, not {wanted}"
            )
    # Written so that NaN, which is a lost dream and not a fault, passes.
    for name, values in {"success": step.success, "termination": step.termination}.items():
        if (values < 0.0).any() or (values > 1.0).any():
            raise WorldModelError(
                f"world model {type(model).__name__} gave a {name} outside [0, 1]: it is a "
                "probability"
            )
