"""What a vector environment of executing environments must not let pass silently."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium import error
from gymnasium.spaces import Dict, Text
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from tests.wrappers.toys import CountingEnv
from wmrl_gym import BatchedExecution
from wmrl_gym.errors import UnsupportedEnvironmentError


class TalkingEnv(CountingEnv):
    """Says the time instead of showing it."""

    def __init__(self) -> None:
        super().__init__(length=9)
        self.observation_space = Dict({"text": Text(12, charset="0123456789: ")})

    def _observation(self) -> Any:
        return {"text": f"{self._episode}:{self._time}"}


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_an_ended_environment_must_be_reset_before_it_is_stepped(kind: Any) -> None:
    factories = [partial(CountingEnv, length=n) for n in (1, 3)]
    env = BatchedExecution(kind(factories, autoreset_mode=AutoresetMode.DISABLED))
    env.reset(seed=0)
    env.step(np.array([1, 1]))
    with pytest.raises(error.ResetNeeded, match=r"\[0\] have ended"):
        env.step(np.array([1, 1]))
    env.reset(options={"reset_mask": np.array([True, False])})
    *_, infos = env.step(np.array([1, 1]))
    assert infos["time"].tolist() == [1, 2]
    env.close()


def test_text_in_shared_memory_is_refused() -> None:
    with pytest.raises(UnsupportedEnvironmentError, match="shared_memory=False"):
        BatchedExecution(AsyncVectorEnv([TalkingEnv]))
    env = BatchedExecution(AsyncVectorEnv([TalkingEnv] * 2, shared_memory=False))
    env.reset(seed=0)
    texts = env.step(np.array([1, 1]))[0]["text"]
    assert texts == ("0:1", "0:1")
    env.close()


def test_gymnasium_still_freezes_text_in_shared_memory() -> None:
    """When this fails, gymnasium has been mended and the refusal can go."""
    env = AsyncVectorEnv([TalkingEnv])
    first, _ = env.reset(seed=0)
    later = env.step(np.array([4]))[0]
    assert first["text"] == later["text"]
    env.close()
