"""The reward wrapper for a single environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.executors import AnchoredExecutor
from wmrl_gym.outcomes import WorldModel
from wmrl_gym.stepping import (
    AnchoredStepper,
    LocalLanes,
    ScoreFunction,
    SteppingOptions,
    make_stepper,
)
from wmrl_gym.world_models.dynamics import DynamicsModel
from wmrl_gym.world_models.progress import RewardModel
from wmrl_gym.wrappers.anchoring import make_anchored_executor
from wmrl_gym.wrappers.seams import ExecutionSeam, Seam, SteppingSeam


class WorldModelRewardWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Replaces most real executions of an environment by a world model's prediction.

    One group of episodes in ten, say, is an anchor: executed for real and predicted. The
    others are only predicted. `update()`, called between batches, fits the map that recasts
    predictions and the weight that anchors deserve; `info["wmrl/weight"]` is for the
    trainer's loss, never for the reward. The agents of `wmrl_gym.agents` do both.

    The group of an episode comes from `reset(options={"group": g})`; without it, each
    episode is a group of its own. All members of a group must start from the same state: give
    them the same seed, or whatever else the environment takes. The dynamics of the environment
    are left alone.

    What is replaced depends on the environment:

    - One with an executor (`ExecutionEnv`): its executions, by a `WorldModel`'s predictions.
    - Any other, by a model of its dynamics (`"dynamics"`, or a `DynamicsModel`): whole
      episodes. Each starts from a real reset; an anchor is then stepped for real and its
      actions are replayed through the model, the others are advanced by the model alone. Until
      anchors show that the model's scores are worth something, all runs for real
      (`gate_threshold`).
    - Any other, by a `RewardModel`: only the score. Every episode is stepped for real; where its
      group is no anchor, the score is predicted. That pays where the score is dear, a person's
      or a large model's judgement (`score="package.module:function"`).

    On the latter two, the score of an episode arrives with its last step, so that the return is
    the score; other steps give 0, or, with `score="return"` and a model of the dynamics, their
    real or predicted reward. Imagined steps carry the `wmrl/` keys in `info` and, of the
    environment's own, `task`, `instruction` and `init_state_id` only. Rendering shows the last
    real state.

    Args:
        env: An environment, wrapped or not.
        world_model: Name of a world model, `"package.module:factory"`, or an object. With an
            executor, a `WorldModel`. Without, `"dynamics"` for an ensemble that learns from the
            real episodes of this run, the path of a saved ensemble, a `DynamicsModel` or a
            `RewardModel`. An object does not survive the environment's specification.
        anchor_fraction: Share of groups that are anchors, in `[0, 1]`.
        seed: Decides which groups are anchors, with nothing else but the group's id.
        correction_options: Further arguments of `RewardCorrection`.
        first_group: Id of the first episode without an explicit group.
        group_stride: Distance between such ids. Worker `i` of `n` takes `first_group=i,
            group_stride=n`, so that no two workers give out the same id.
        score: What an episode is worth, without an executor: `"success"` (1 if `info` told of
            success after any step, never inferred from `terminated`), `"return"` (the sum of the
            rewards, clipped to `score_bounds`), or a function of the `EpisodeRecord`, best by
            `"package.module:function"`.
        score_bounds: Lowest and highest score; needed for `"return"`, else [0, 1].
        horizon: Steps after which an episode is truncated, real or imagined; `None` for the
            environment's own limit, which it cannot exceed.
        terminate_on_success: Whether success ends an episode, with `score="success"`.
        gate_threshold: A task is imagined only where its anchors show that predictions rank
            episodes rightly in this share of the cases, at the lower end of a 95 % interval.
            With 0 there is no gate.
        device: Where `"dynamics"` and saved ensembles run, for instance `"cuda"`.

    Raises:
        UnsupportedEnvironmentError: If `env` is wrapped so already, or is nothing that the world
            model could serve.
        ValueError: If an argument is out of its range, or is for another kind of environment.

    Examples:
        >>> import gymnasium as gym
        >>> import wmrl_gym
        >>> env = gym.make("WMRL-MLE-Pipeline-v0", tasks=["wine-cultivar"])
        >>> env = wmrl_gym.WorldModelRewardWrapper(env, anchor_fraction=0.1)
        >>> observation, info = env.reset(seed=1, options={"group": 7})
        >>> info["wmrl/group"], info["wmrl/source"]
        (7, 0)
        >>> env.close()
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        world_model: str | WorldModel | DynamicsModel | RewardModel = "surrogate",
        anchor_fraction: float = 0.1,
        seed: int = 0,
        correction_options: Mapping[str, Any] | None = None,
        first_group: int = 0,
        group_stride: int = 1,
        score: str | ScoreFunction = "success",
        score_bounds: Sequence[float] | None = None,
        horizon: int | None = None,
        terminate_on_success: bool = True,
        gate_threshold: float = 0.7,
        device: str = "cpu",
    ) -> None:
        stepping = SteppingOptions(
            score=score,
            score_bounds=score_bounds,
            horizon=horizon,
            terminate_on_success=terminate_on_success,
            gate_threshold=gate_threshold,
            device=device,
        )
        # Before anything is changed, so that a wrong argument leaves `env` as it was.
        anchored = _anchored(
            env,
            stepping,
            world_model=world_model,
            anchor_fraction=anchor_fraction,
            seed=seed,
            options=correction_options,
            first_group=first_group,
            group_stride=group_stride,
        )
        RecordConstructorArgs.__init__(
            self,
            # A world model object may hold a process or a GPU: never copy it for a spec.
            _disable_deepcopy=True,
            world_model=world_model,
            anchor_fraction=anchor_fraction,
            seed=seed,
            correction_options=correction_options,
            first_group=first_group,
            group_stride=group_stride,
            score=score,
            score_bounds=score_bounds,
            horizon=horizon,
            terminate_on_success=terminate_on_success,
            gate_threshold=gate_threshold,
            device=device,
        )
        gym.Wrapper.__init__(self, env)
        self.anchored = anchored
        self._seam: Seam
        if isinstance(anchored, AnchoredExecutor):
            base: Any = env.unwrapped
            base.executor = anchored
            self._seam = ExecutionSeam(env, anchored)
        else:
            self._seam = SteppingSeam(anchored)

    @property
    def correction(self) -> RewardCorrection:
        """The anchors, the map and the weight in use."""
        return self.anchored.correction

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and open an episode.

        Args:
            seed: Passed on.
            options: Passed on; `options["group"]` is the group of the episode.
        """
        return self._seam.reset(seed, options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take one step; what is real and what is not depends on the group."""
        return self._seam.step(action)

    def update(self) -> dict[str, float]:
        """Feed the anchors back; call it between batches. See `anchored.update`."""
        return self.anchored.update()

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs: pairs, map, weight, world model, counters."""
        return self.anchored.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.anchored.load_state_dict(state)


def _anchored(
    env: gym.Env[Any, Any], stepping: SteppingOptions, **arguments: Any
) -> AnchoredExecutor | AnchoredStepper:
    base = env.unwrapped
    if not isinstance(base, ExecutionEnv):
        return make_stepper(LocalLanes.of(env), stepping, **arguments)
    stepping.require_defaults()
    return make_anchored_executor(base.executor, bounds=base.score_bounds, **arguments)
