"""What cannot work is refused at construction, and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from tests.stepping.toys import DistanceJudge, ExactDynamics, PointEnv, straight
from tests.wrappers.toys import CountingEnv, SquareWorldModel
from wmrl_gym import WorldModelRewardVectorWrapper, WorldModelRewardWrapper
from wmrl_gym.errors import UnsupportedEnvironmentError, WorldModelError
from wmrl_gym.world_models.dynamics import ImaginedStep


class Spaced(PointEnv):
    """The point with other spaces."""

    def __init__(self, observation: Any = None, action: Any = None) -> None:
        super().__init__()
        self.observation_space = observation or self.observation_space
        self.action_space = action or self.action_space


class Unlimited(PointEnv):
    """The point without a limit."""

    def __init__(self) -> None:
        super().__init__()
        del self.horizon


class Tasked(PointEnv):
    """The point with the name of its task."""

    tasks = ("point",)


class Experienced(ExactDynamics):
    """Knows another task."""

    tasks = ("push", "stack")


IMAGE = spaces.Box(0, 255, (64, 64, 3), np.uint8)
STATE = spaces.Box(-1.0, 1.0, (4,), np.float32)


@pytest.mark.parametrize(
    ("env", "arguments", "error", "message"),
    [
        (Spaced(IMAGE), {}, UnsupportedEnvironmentError, "is an image, which a model of states"),
        (
            Spaced(spaces.Dict({"agentview": IMAGE, "state": STATE})),
            {"world_model": "dynamics"},
            UnsupportedEnvironmentError,
            "agentview in observation_space",
        ),
        (
            Spaced(spaces.Dict({"text": spaces.Text(9), "state": STATE})),
            {},
            UnsupportedEnvironmentError,
            "holds texts",
        ),
        (
            Spaced(spaces.Discrete(4)),
            {},
            UnsupportedEnvironmentError,
            "the observation is Discrete",
        ),
        (
            Spaced(spaces.Box(-1.0, 1.0, (7,), np.float32)),
            {},
            ValueError,
            "made for observations of 4 and actions of 2 numbers, but .* has 7",
        ),
        (
            Spaced(action=spaces.Box(-1.0, 1.0, (3,), np.float32)),
            {},
            ValueError,
            "the action space 3: it is the model of another environment",
        ),
        (Spaced(action=spaces.Discrete(2)), {}, UnsupportedEnvironmentError, "is no Box"),
        (
            Spaced(action=spaces.Text(3)),
            {"world_model": DistanceJudge()},
            UnsupportedEnvironmentError,
            r"action_space=Text.* is none of \['Box'",
        ),
        (Tasked(), {"world_model": Experienced()}, ValueError, r"trained on \['push', 'stack'\]"),
        (Unlimited(), {}, ValueError, "horizon=None, and the environment has no limit"),
        (PointEnv(), {"horizon": 9}, ValueError, "horizon=9 must be at least 1 and at most 8"),
        (PointEnv(), {"horizon": 0}, ValueError, "horizon=0"),
        (PointEnv(), {"score": "return"}, ValueError, "score='return' needs score_bounds"),
        (
            PointEnv(),
            {"score": "return", "score_bounds": (1, 0)},
            ValueError,
            r"score_bounds=\(1, 0\)",
        ),
        (PointEnv(), {"score_bounds": (0, 2)}, ValueError, r"score_bounds=\(0, 2\) must be left"),
        (PointEnv(), {"score": "reward"}, ValueError, "score='reward' must be"),
        (PointEnv(), {"gate_threshold": 1.0}, ValueError, "gate_threshold=1.0"),
        (PointEnv(), {"gate_threshold": float("nan")}, ValueError, "gate_threshold=nan"),
        (PointEnv(), {"anchor_fraction": 1.5}, ValueError, r"anchor_fraction must lie in \[0, 1\]"),
        (PointEnv(), {"first_group": -1}, ValueError, "first_group=-1"),
        (PointEnv(), {"world_model": "no-such"}, ValueError, "world_model='no-such'"),
        (PointEnv(), {"world_model": "no/model.pt"}, ValueError, "model.pt' does not exist"),
        (
            PointEnv(),
            {"world_model": "dynamics", "device": "abacus"},
            ValueError,
            "device='abacus'",
        ),
        (PointEnv(), {"world_model": SquareWorldModel()}, UnsupportedEnvironmentError, "executor"),
        (
            RecordEpisodeStatistics(
                WorldModelRewardWrapper(PointEnv(), world_model=ExactDynamics())
            ),
            {},
            UnsupportedEnvironmentError,
            "already",
        ),
        (
            CountingEnv(),
            {"world_model": SquareWorldModel(), "horizon": 3},
            ValueError,
            "horizon=3 is for environments that only have `step`",
        ),
    ],
)
def test_bad_arguments(
    env: gym.Env[Any, Any], arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        WorldModelRewardWrapper(env, **{"world_model": ExactDynamics(), **arguments})


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_text("nothing")
    with pytest.raises(ValueError, match="is no saved EnsembleDynamics"):
        WorldModelRewardWrapper(PointEnv(), world_model=str(path))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RecordVectorStatistics(SyncVectorEnv([PointEnv])), "is wrapped"),
        (lambda: gym.make_vec("CartPole-v1", num_envs=2), "neither a SyncVectorEnv"),
        (lambda: SyncVectorEnv([Spaced]), None),
        (
            lambda: SyncVectorEnv(
                [lambda: WorldModelRewardWrapper(PointEnv(), world_model=ExactDynamics())]
            ),
            "already",
        ),
        (
            lambda: WorldModelRewardVectorWrapper(
                SyncVectorEnv([PointEnv]), world_model=ExactDynamics()
            ),
            "already",
        ),
    ],
)
def test_vector_environments(make: Any, message: str | None) -> None:
    if message is None:
        assert WorldModelRewardVectorWrapper(make(), world_model=ExactDynamics())
        return
    with pytest.raises(UnsupportedEnvironmentError, match=message):
        WorldModelRewardVectorWrapper(make(), world_model=ExactDynamics())


def test_a_worker_of_ones_own_and_frozen_text_are_refused() -> None:
    from gymnasium.vector.async_vector_env import _async_worker

    env = AsyncVectorEnv([PointEnv], worker=_async_worker)
    with pytest.raises(UnsupportedEnvironmentError, match="only gymnasium's own worker"):
        WorldModelRewardVectorWrapper(env, world_model=ExactDynamics())
    env.close()
    env = AsyncVectorEnv([lambda: Spaced(spaces.Dict({"text": spaces.Text(9), "state": STATE}))])
    with pytest.raises(UnsupportedEnvironmentError, match="shared_memory=False"):
        WorldModelRewardVectorWrapper(env, world_model=DistanceJudge())
    env.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"options": {"group": [1]}}, "has 1 entries for 2 environments"),
        ({"seed": [1]}, "seed has 1 entries for 2"),
        ({"options": {"reset_mask": np.zeros(2, dtype=bool)}}, "one at least True"),
    ],
)
def test_bad_resets(options: dict[str, Any], message: str) -> None:
    env = WorldModelRewardVectorWrapper(SyncVectorEnv([PointEnv] * 2), world_model=ExactDynamics())
    with pytest.raises(ValueError, match=message):
        env.reset(**options)


class Silent(PointEnv):
    """Does not tell of success."""

    def step(self, action: Any) -> Any:
        *step, _ = super().step(action)
        return (*step, {"score": 1})


def test_success_that_nobody_tells_is_no_failure() -> None:
    env = WorldModelRewardWrapper(Silent(), world_model=ExactDynamics(), anchor_fraction=1.0)
    env.reset()
    with pytest.raises(UnsupportedEnvironmentError, match=r"only \['score'\]: choose another"):
        env.step(np.zeros(2))


def test_a_step_without_a_reset() -> None:
    env = WorldModelRewardWrapper(PointEnv(), world_model=ExactDynamics())
    with pytest.raises(RuntimeError, match="reset the environment first"):
        env.step(np.zeros(2))


class Short(ExactDynamics):
    """Forgets a row, or takes a probability for a number without limits."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.changes = changes

    def step(self, observations: Any, actions: Any) -> ImaginedStep:
        step = super().step(observations, actions)
        values = {**vars(step), **self.changes}
        return ImaginedStep(**values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rewards": np.zeros(2)}, r"Short gave rewards of shape \(2,\), not \(1,\)"),
        ({"success": np.full(1, 1.5)}, "Short gave a success outside"),
        ({"termination": np.full(1, -0.1)}, "Short gave a termination outside"),
    ],
)
def test_models_that_break_their_contract(changes: dict[str, Any], message: str) -> None:
    env = WorldModelRewardWrapper(
        PointEnv(), world_model=Short(**changes), anchor_fraction=0.0, gate_threshold=0.0
    )
    observation, _ = env.reset(seed=0)
    with pytest.raises(WorldModelError, match=message):
        env.step(straight(observation))


@pytest.mark.parametrize(
    ("scores", "message"),
    [([0.1, 0.2], r"scores of shape \(2,\) for 1 episodes"), ([1.5], "score=1.5, outside")],
)
def test_judges_that_break_their_contract(scores: list[float], message: str) -> None:
    class Judge:
        def score(self, episodes: Any) -> Any:
            return np.array(scores)

    env = WorldModelRewardWrapper(PointEnv(), world_model=Judge(), horizon=1)
    env.reset(seed=0)
    with pytest.raises(WorldModelError, match=message):
        env.step(np.zeros(2))


def test_a_score_function_that_leaves_its_bounds() -> None:
    env = WorldModelRewardWrapper(
        PointEnv(), world_model=DistanceJudge(), score=lambda _: 3.0, anchor_fraction=1.0, horizon=1
    )
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"gave 3.0, outside score_bounds=\(0.0, 1.0\)"):
        env.step(np.zeros(2))
