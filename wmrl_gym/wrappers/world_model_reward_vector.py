"""The reward wrapper for a vector environment: one batched prediction per step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv, VectorWrapper

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.executors import AnchoredExecutor
from wmrl_gym.outcomes import WorldModel
from wmrl_gym.stepping import (
    AnchoredStepper,
    ScoreFunction,
    SteppingOptions,
    VectorStepping,
    make_stepper,
)
from wmrl_gym.world_models.dynamics import DynamicsModel
from wmrl_gym.world_models.progress import RewardModel
from wmrl_gym.wrappers.anchoring import make_anchored_executor
from wmrl_gym.wrappers.batched_execution import BatchedExecution
from wmrl_gym.wrappers.vector_seams import (
    ExecutionVectorSeam,
    SteppingVectorSeam,
    VectorSeam,
    batched_execution,
    has_executor,
    lanes_of,
    reachable,
)


class WorldModelRewardVectorWrapper(VectorWrapper[Any, Any, Any, Any, Any]):
    """The vector twin of `WorldModelRewardWrapper`, equal to it step by step.

    All sub-environments share one world model and one correction. Each step is one batched
    prediction and one batch of real executions. The environment may run in any autoreset
    mode, and in other processes. Where the sub-environments only have `step`, only those whose
    episode is real are stepped; other vector wrappers then belong around this one.

    `reset(options={"group": g})` takes one group for all sub-environments that it resets, or
    a sequence of `num_envs` groups. An episode without a group of its own (after an
    autoreset, say) is a group of one; sub-environment `i` gives its `k`-th such episode the
    id `i + k * num_envs`.

    Args:
        env: A vector environment, in which the sub-environments are all of one kind: an
            executor, or only `step`; the latter need a `SyncVectorEnv` or `AsyncVectorEnv`. A
            vector wrapper never appears in a specification: make it again after
            `gymnasium.make_vec`.
        world_model: As in `WorldModelRewardWrapper`.
        anchor_fraction: Share of groups that are anchors, in `[0, 1]`.
        seed: Decides which groups are anchors, with nothing else but the group's id.
        correction_options: Further arguments of `RewardCorrection`.
        score: As all below, as in `WorldModelRewardWrapper`.
        score_bounds: Lowest and highest score.
        horizon: Steps after which an episode is truncated.
        terminate_on_success: Whether success ends an episode.
        gate_threshold: From where on a task may be imagined.
        device: Where `"dynamics"` and saved ensembles run.

    Raises:
        UnsupportedEnvironmentError: If `env` is wrapped so already, or is nothing that the world
            model could serve.
        ValueError: If an argument is out of its range, or is for another kind of environment.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        *,
        world_model: str | WorldModel | DynamicsModel | RewardModel = "surrogate",
        anchor_fraction: float = 0.1,
        seed: int = 0,
        correction_options: Mapping[str, Any] | None = None,
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
        arguments: dict[str, Any] = {
            "world_model": world_model,
            "anchor_fraction": anchor_fraction,
            "seed": seed,
            "options": correction_options,
        }
        self.anchored: AnchoredExecutor | AnchoredStepper
        self._seam: VectorSeam
        self._access: BatchedExecution | SyncVectorEnv | AsyncVectorEnv
        batched = batched_execution(env)
        if batched is None and not has_executor(env):
            self._access = base = reachable(env)
            self.anchored = make_stepper(lanes_of(base), stepping, **arguments)
            self._seam = SteppingVectorSeam(base, VectorStepping(base, self.anchored))
        else:
            stepping.require_defaults()
            if batched is None:
                env = batched = BatchedExecution(env)
            bounds = batched.get_attr("score_bounds")[0]
            self.anchored = batched.executor = make_anchored_executor(
                batched.executor, bounds=bounds, slots=env.num_envs, **arguments
            )
            self._access = batched
            self._seam = ExecutionVectorSeam(env, self.anchored)
        super().__init__(env)

    @property
    def correction(self) -> RewardCorrection:
        """The anchors, the map and the weight in use, for all sub-environments."""
        return self.anchored.correction

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of `options["reset_mask"]`, and open episodes."""
        return self._seam.reset(seed, options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all sub-environments; `info` is laid out as their own is in each mode."""
        return self._seam.step(actions)

    def update(self) -> dict[str, float]:
        """Feed the anchors back; call it between batches. See `anchored.update`."""
        return self.anchored.update()

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs: pairs, map, weight, world model, counters."""
        return self.anchored.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.anchored.load_state_dict(state)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every sub-environment."""
        return self._access.call(name, *args, **kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Get an attribute of every sub-environment."""
        return self._access.get_attr(name)

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Set an attribute of every sub-environment."""
        self._access.set_attr(name, values)
