"""Single sub-environments of an `AsyncVectorEnv`, which live in other processes.

Its own `step` sends an action to every worker. Here the same messages go to the workers of the
lanes that are needed only, by its pipes, and what depends on the autoreset mode is done with:
a worker resets by itself (`SAME_STEP`), or takes the first message after an end for a reset
(`NEXT_STEP`). Written against the workers of gymnasium 1.2 to 1.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.vector.utils import iterate

from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.stepping.lanes import LaneSpaces, Start, Transition


class AsyncLanes:
    """Sub-environments in worker processes.

    Args:
        env: The vector environment; nobody else may step or reset it from now on.

    Raises:
        UnsupportedEnvironmentError: If it has a worker of the user's own, which may understand
            other messages.
    """

    def __init__(self, env: AsyncVectorEnv) -> None:
        if env.worker is not None:
            raise UnsupportedEnvironmentError(
                f"{env} has worker={env.worker}: only gymnasium's own worker can be talked to"
            )
        self._env = env
        self.count = env.num_envs
        self.spaces = LaneSpaces(env.single_observation_space, env.single_action_space)
        self._sent: list[int] = []
        self._started: dict[int, tuple[Any, dict[str, Any]]] = {}
        """Under `SAME_STEP`, the episodes that workers have begun by themselves."""
        self._resets_next: set[int] = set()
        """Under `NEXT_STEP`, the lanes whose worker takes the next step for a reset."""

    def reset(self, starts: Mapping[int, Start]) -> dict[int, tuple[Any, dict[str, Any]]]:
        """Reset the sub-environments named."""
        # As an autoreset would: this is what workers do by themselves.
        plain = {i for i, start in starts.items() if start.seed is None and start.options is None}
        begun = {lane: self._started.pop(lane) for lane in plain if lane in self._started}
        by_step = self._resets_next & plain
        self._clear_stale((self._resets_next & starts.keys()) - plain)
        asked = [lane for lane in starts if lane not in begun]
        for lane in asked:
            arguments = {"seed": starts[lane].seed, "options": starts[lane].options}
            message = ("step", None) if lane in by_step else ("reset", arguments)
            self._env.parent_pipes[lane].send(message)
        replies = self._replies(asked)
        for lane in asked:
            self._started.pop(lane, None)
            self._resets_next.discard(lane)
            reply = replies[lane]
            begun[lane] = (self._observation(lane, reply[0]), reply[-1])
        return {lane: begun[lane] for lane in starts}

    def send(self, actions: Mapping[int, Any]) -> None:
        """Send the actions to the workers named."""
        for lane, action in actions.items():
            self._env.parent_pipes[lane].send(("step", action))
        self._sent = list(actions)

    def receive(self) -> dict[int, Transition]:
        """Wait for the steps sent."""
        sent, self._sent = self._sent, []
        return {lane: self._transition(lane, r) for lane, r in self._replies(sent).items()}

    def has(self, name: str) -> bool:
        """Whether the first sub-environment, or a wrapper of it, has an attribute `name`."""
        return bool(self._env.call("has_wrapper_attr", name)[0])

    def get(self, name: str) -> Any:
        """That attribute. Asking for one that is missing would end the workers."""
        return self._env.call(name)[0]

    def _transition(self, lane: int, reply: tuple[Any, ...]) -> Transition:
        observation, reward, terminated, truncated, info = reply
        observation = self._observation(lane, observation)
        if terminated or truncated:
            if self._env.autoreset_mode is AutoresetMode.NEXT_STEP:
                self._resets_next.add(lane)
            elif self._env.autoreset_mode is AutoresetMode.SAME_STEP:
                final_observation, final_info = info.pop("final_obs"), info.pop("final_info")
                self._started[lane] = (observation, info)
                observation, info = final_observation, final_info
        return Transition(observation, reward, terminated, truncated, info)

    def _clear_stale(self, lanes: Iterable[int]) -> None:
        """Make workers forget that they would reset at the next step.

        Without shared memory, the worker of gymnasium 1.4 forgets it in a step only, not in a
        reset, and would swallow the first action of the new episode.
        """
        lanes = [] if self._env.shared_memory else list(lanes)
        for lane in lanes:
            self._env.parent_pipes[lane].send(("step", None))
        self._replies(lanes)

    def _observation(self, lane: int, sent: Any) -> Any:
        if not self._env.shared_memory:
            return sent
        rows = iterate(self._env.observation_space, self._env.observations)
        return deepcopy(list(rows)[lane])

    def _replies(self, lanes: Iterable[int]) -> dict[int, Any]:
        replies: dict[int, Any] = {}
        successes = [True] * self.count
        for lane in lanes:
            replies[lane], successes[lane] = self._env.parent_pipes[lane].recv()
        # Raises what a worker raised, and closes its pipe.
        self._env._raise_if_errors(successes)
        return replies
