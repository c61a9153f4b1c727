"""One batched call of the executor for all sub-environments of a vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import error, spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.outcomes import Execution, Executor, Outcome


class BatchedExecution(VectorWrapper[Any, Any, Any, Any, Any]):
    """Collects what all sub-environments want executed and executes it as one batch.

    Real executions of the batch then run side by side, and predictions share one forward
    pass. It works in every autoreset mode; the dummy steps of `NEXT_STEP` execute nothing.
    Action wrappers belong outside: below a vector environment they are refused when they
    change an action.

    Args:
        env: A `SyncVectorEnv` or `AsyncVectorEnv` of `ExecutionEnv`s, wrapped or not.
        executor: Executes the batches; `None` for that of the first sub-environment.

    Raises:
        UnsupportedEnvironmentError: If the sub-environments have no executor, or their text
            would arrive frozen.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], *, executor: Executor | None = None) -> None:
        super().__init__(env)
        base = env.unwrapped
        if not isinstance(base, SyncVectorEnv | AsyncVectorEnv):
            raise UnsupportedEnvironmentError(
                f"env={env} is neither a SyncVectorEnv nor an AsyncVectorEnv"
            )
        require_fresh_text(base)
        self._base = base
        self._done = np.zeros(env.num_envs, dtype=np.bool_)
        self.executor = first_executor(base) if executor is None else executor

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of `options["reset_mask"]`."""
        self._done &= ~reset_mask(options, self.num_envs)
        # The inner environment pops the mask: the caller's dict must stay as it is.
        options = None if options is None else dict(options)
        return self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]  # a list is fine

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Execute what the actions ask for in one batch, then step the sub-environments.

        Raises:
            ResetNeeded: If a sub-environment has ended and nobody has reset it (`DISABLED`).
        """
        self._require_reset()
        executions = self._proposals(actions)
        outcomes = self.executor.execute(executions)
        self._hand_out(executions, outcomes)
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        self._done = np.logical_or(terminations, truncations)
        return observations, rewards, terminations, truncations, infos

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every sub-environment."""
        return self._base.call(name, *args, **kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Get an attribute of every sub-environment."""
        return self._base.get_attr(name)

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Set an attribute of every sub-environment."""
        self._base.set_attr(name, values)

    def close(self, **kwargs: Any) -> None:
        """Close the executor and the sub-environments; safe to call twice."""
        self.executor.close()
        self.env.close(**kwargs)

    def _require_reset(self) -> None:
        # AsyncVectorEnv would step on: it never looks, in this mode.
        if self.metadata["autoreset_mode"] is AutoresetMode.DISABLED and self._done.any():
            raise error.ResetNeeded(
                f"sub-environments {np.flatnonzero(self._done).tolist()} have ended: reset them "
                "by options={'reset_mask': ...} before the next step"
            )

    def _proposals(self, actions: Any) -> list[Execution]:
        next_step = self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
        dummy = self._done if next_step else np.zeros_like(self._done)
        pending = [
            None if skipped else action
            for action, skipped in zip(iterate(self.action_space, actions), dummy, strict=True)
        ]
        self._base.set_attr("pending_action", pending)
        return [
            replace(execution, slot=slot)
            for slot, execution in enumerate(self._base.call("proposal"))
            if execution is not None
        ]

    def _hand_out(self, executions: Sequence[Execution], outcomes: Sequence[Outcome]) -> None:
        handed: list[tuple[Execution, Outcome] | None] = [None] * self.num_envs
        for execution, outcome in zip(executions, outcomes, strict=True):
            handed[execution.slot] = (execution, outcome)
        self._base.set_attr("handed", handed)


def require_fresh_text(base: SyncVectorEnv | AsyncVectorEnv) -> None:
    """Refuse text in shared memory, which gymnasium 1.4 reads once and then never again.

    Raises:
        UnsupportedEnvironmentError: If there is any.
    """
    if (
        isinstance(base, AsyncVectorEnv)
        and base.shared_memory
        and _has_text(base.single_observation_space)
    ):
        raise UnsupportedEnvironmentError(
            f"{base} would show its first text for ever: pass shared_memory=False to AsyncVectorEnv"
        )


def _has_text(space: spaces.Space[Any]) -> bool:
    if isinstance(space, spaces.Dict):
        return any(_has_text(part) for part in space.values())
    if isinstance(space, spaces.Tuple):
        return any(_has_text(part) for part in space)
    return isinstance(space, spaces.Text)


def first_executor(base: SyncVectorEnv | AsyncVectorEnv) -> Executor:
    """The executor of the first sub-environment (a copy of it, from another process)."""
    if isinstance(base, SyncVectorEnv) and not isinstance(base.envs[0].unwrapped, ExecutionEnv):
        raise UnsupportedEnvironmentError(
            f"the sub-environments ({base.envs[0]}) have no executor: they are no ExecutionEnv"
        )
    executor: Executor = base.get_attr("executor")[0]
    return executor


def reset_mask(options: dict[str, Any] | None, num_envs: int) -> NDArray[np.bool_]:
    """`[num_envs]` which sub-environments a reset with these options is for; a fresh array."""
    if options is None or "reset_mask" not in options:
        return np.ones(num_envs, dtype=np.bool_)
    return np.array(options["reset_mask"], dtype=np.bool_)
