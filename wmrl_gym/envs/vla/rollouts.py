"""Playing episodes of the manipulation environments with a policy, and counting successes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from wmrl_gym.envs.vla.base_env import VLABaseEnv
from wmrl_gym.envs.vla.observation_maps import batched
from wmrl_gym.envs.vla.pixel_env import VLAEnv
from wmrl_gym.envs.vla.policies import VLAPolicy
from wmrl_gym.episodes import EpisodeBuilder, EpisodeRecord

MakePolicy = Callable[[Sequence[VLABaseEnv[Any]]], VLAPolicy]
"""Makes the policy of a batch of environments that were just reset."""


@dataclass(frozen=True)
class Start:
    """Where an episode starts."""

    task: str
    init_state_id: int


@dataclass(frozen=True)
class SuccessRate:
    """How a policy does on one task, or on several."""

    label: str
    episodes: int
    success_once: float
    """Share of episodes in which the task was achieved at any step."""
    low: float
    high: float
    """Wilson's 95 % interval of `success_once`."""
    success_at_end: float
    """Share of episodes that ended with the task achieved."""
    steps: float
    """Mean number of steps until the first success; NaN without any."""


def play(
    envs: Sequence[VLABaseEnv[Any]],
    make_policy: MakePolicy,
    starts: Sequence[Start],
    *,
    filmed: Callable[[Start], bool] = lambda start: False,
    label: str = "",
) -> Iterator[EpisodeRecord]:
    """Play an episode from each start, as many side by side as there are environments.

    Args:
        envs: Bare environments (`env.unwrapped`), all alike.
        make_policy: Makes the policy of each batch.
        starts: The starts; the episodes come in this order.
        filmed: Whether to keep the agent's view of each step of an episode as its frames.
        label: Name of the policy, for the records.

    Yields:
        The episodes. Observations are those of the state-based twin, or the `state` of
        `WMRL-VLA-v0`; `seed` is the number of the initial state.
    """
    for first in range(0, len(starts), len(envs)):
        batch = starts[first : first + len(envs)]
        running = [
            _Episode(env, start, filmed=filmed(start), policy=label)
            for env, start in zip(envs, batch, strict=False)
        ]
        policy = make_policy([episode.env for episode in running])
        while not all(episode.done for episode in running):
            chunks = policy.act(_stacked([episode.observation for episode in running]))
            for episode, chunk in zip(running, chunks, strict=True):
                episode.execute(chunk)
        yield from (episode.builder.build() for episode in running)


def success_rate(label: str, episodes: Sequence[EpisodeRecord]) -> SuccessRate:
    """Count the successes of at least one episode."""
    successes = [episode.success_once for episode in episodes]
    interval = binomtest(sum(successes), len(successes)).proportion_ci(method="wilson")
    firsts = [int(e.successes.argmax()) + 1 for e in episodes if e.success_once]
    return SuccessRate(
        label,
        len(episodes),
        float(np.mean(successes)),
        float(interval.low),
        float(interval.high),
        float(np.mean([episode.success_at_end for episode in episodes])),
        float(np.mean(firsts)) if firsts else float("nan"),
    )


class _Episode:
    """One running episode."""

    def __init__(self, env: VLABaseEnv[Any], start: Start, *, filmed: bool, policy: str) -> None:
        options = {"task": start.task, "init_state_id": start.init_state_id}
        self.env = env
        self.observation, info = env.reset(options=options)
        self.done = False
        self.builder = EpisodeBuilder(
            _flat(self.observation),
            task=start.task,
            instruction=info["instruction"],
            seed=start.init_state_id,
            policy=policy,
        )
        self._filmed = filmed
        self._film()

    def execute(self, chunk: NDArray[np.float32]) -> None:
        """Execute a chunk `[size, 7]`, up to the end of the episode; nothing if that was before.

        A frame is drawn for the last action only, unless the episode is filmed.
        """
        if self.done:
            return
        painter = self.env if isinstance(self.env, VLAEnv) and not self._filmed else None
        if painter is not None:
            painter.frames_due = False
        for action in chunk:
            if self._step(action):
                break
        if painter is not None:
            painter.frames_due = True
            self.observation = painter.current_observation()

    def _step(self, action: NDArray[np.float32]) -> bool:
        self.observation, reward, terminated, truncated, info = self.env.step(action)
        self.builder.add(
            action,
            _flat(self.observation),
            reward,
            terminated=terminated,
            truncated=truncated,
            success=info["is_success"],
        )
        self.done = terminated or truncated
        self._film()
        return self.done

    def _film(self) -> None:
        if self._filmed:
            pixels = isinstance(self.observation, dict)
            self.builder.add_frame(self.observation["image"] if pixels else self.env.picture())


def _stacked(observations: Sequence[Any]) -> Any:
    return batched(observations) if isinstance(observations[0], dict) else np.stack(observations)


def _flat(observation: Any) -> NDArray[np.float32]:
    flat: NDArray[np.float32] = (
        observation["state"] if isinstance(observation, dict) else observation
    )
    return flat
