"""The scorer of a training: one Ray actor that all of its processes find by name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import ray

from wmrl_gym.agents.llm.scorer import GroupScorer, Turn
from wmrl_gym.agents.llm.scores import Score
from wmrl_gym.agents.verl.options import SECTION, Options
from wmrl_gym.agents.verl.service import EpisodeService
from wmrl_gym.errors import RunError

_NAME = "wmrl-scorer"


class ScorerActor:
    """`EpisodeService` for other processes."""

    def __init__(self, options: Options) -> None:
        make = partial(gym.make, options.env, disable_env_checker=True, **options.make_options)
        scorer = GroupScorer(
            make,
            episodes=options.episodes,
            world_model=options.world_model,
            anchor_fraction=options.anchor_fraction,
            seed=options.seed,
            correction_options=options.correction_options,
        )
        self._service = EpisodeService(scorer)

    async def open(self, task: str, group: int) -> int:
        """See `EpisodeService.open`."""
        return await asyncio.wrap_future(self._service.open(task, group))

    async def act(self, slot: int, text: str) -> Turn:
        """See `EpisodeService.act`."""
        return await asyncio.wrap_future(self._service.act(slot, text))

    async def close_episode(self, slot: int) -> Score:
        """See `EpisodeService.close_episode`."""
        return await asyncio.wrap_future(self._service.close_episode(slot))

    async def next_groups(self, count: int) -> list[int]:
        """See `EpisodeService.next_groups`."""
        groups = await asyncio.wrap_future(self._service.next_groups(count))
        return list(groups)

    async def update(self) -> dict[str, float]:
        """See `EpisodeService.update`."""
        return await asyncio.wrap_future(self._service.update())

    async def state_dict(self) -> dict[str, Any]:
        """See `EpisodeService.state_dict`."""
        return await asyncio.wrap_future(self._service.state_dict())

    async def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `EpisodeService.load_state_dict`."""
        await asyncio.wrap_future(self._service.load_state_dict(state))


def start_scorer(options: Options) -> Any:
    """Start the scorer of this training; it lives as long as the handle that is returned.

    It sees no GPU: a world model that needs one is a server.

    Raises:
        RunError: If it does not start; the message says what is wrong with the options.
    """
    remote: Any = ray.remote(num_cpus=1)(ScorerActor)
    # Each agent waits in a call of its own. GPUs are for the training: Ray would show them all.
    handle: Any = remote.options(
        name=_NAME,
        max_concurrency=options.episodes + 16,
        runtime_env={"env_vars": {"CUDA_VISIBLE_DEVICES": ""}},
    ).remote(options)
    try:
        ray.get(handle.next_groups.remote(0))
    except ray.exceptions.RayError as error:
        raise RunError(f"the scorer of this training does not start: {error}") from error
    return handle


def find_scorer() -> Any:
    """The scorer of this training.

    Raises:
        RuntimeError: If there is none.
    """
    try:
        return ray.get_actor(_NAME)
    except ValueError as error:
        raise RuntimeError(
            f"this training has no scorer: its configuration needs a section {SECTION!r} "
            f"(+{SECTION}.anchor_fraction=0.1, say) and trainer.use_v1=True"
        ) from error
