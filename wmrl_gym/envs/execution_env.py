"""The base class of environments whose steps are scored by an execution."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, SupportsFloat, TypeVar

import gymnasium as gym

from wmrl_gym.outcomes import Execution, Executor, Outcome

ObsType = TypeVar("ObsType")
ActType = TypeVar("ActType")


class ExecutionEnv(gym.Env[ObsType, ActType]):
    """An environment that asks an executor instead of running anything itself.

    A subclass says what an action would execute (`propose`) and what the outcome means
    (`resolve`); `step` puts the executor between the two. Whoever replaces `executor`
    (`WorldModelRewardWrapper`, say) replaces real executions by predictions. A vector
    environment can also fetch the proposals of all its sub-environments, execute them as
    one batch and hand each its outcome: `proposal`, then `handed`, then `step`.
    """

    executor: Executor
    score_bounds: tuple[float, float] = (0.0, 1.0)
    """Lowest and highest score of an episode."""

    pending_action: ActType | None = None
    """Action that `proposal` describes; set by a vector environment only."""
    handed: tuple[Execution, Outcome] | None = None
    """Outcome that the next `step` uses instead of asking the executor."""

    @abstractmethod
    def propose(self, action: ActType) -> Execution | None:
        """Say what `action` would execute now; `None` if nothing. Changes no state.

        A bad action never raises: it is an execution whose outcome has a score, or none.
        """

    @abstractmethod
    def resolve(
        self, action: ActType, outcome: Outcome | None
    ) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Turn the outcome of `action` into observation, reward, terminated, truncated, info.

        Args:
            action: The action of this step.
            outcome: What became of `propose(action)`; `None` if that was `None`. An outcome
                without a score earns the reward 0 and is marked in `info` by its status.
        """

    def proposal(self) -> Execution | None:
        """What `pending_action` would execute; `propose` as a vector environment can call it."""
        if self.pending_action is None:
            return None
        return self.propose(self.pending_action)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Propose, execute, resolve."""
        execution = self.propose(action)
        return self.resolve(action, self._outcome_of(execution))

    def _outcome_of(self, execution: Execution | None) -> Outcome | None:
        handed, self.handed, self.pending_action = self.handed, None, None
        if execution is None:
            return None
        if handed is None:
            return self.executor.execute([execution])[0]
        proposed, outcome = handed
        if proposed.key != execution.key:
            raise RuntimeError(
                "the action that reached the environment is not the one that was executed for it: "
                "apply action wrappers to the vector environment, not to its sub-environments"
            )
        return outcome

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()
        super().close()
