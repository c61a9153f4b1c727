"""What the tests of both wrappers share: toys, a fixed run, a comparison."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from tests.wrappers.toys import CountingEnv, SquareWorldModel
from wmrl_gym import (
    WorldModelRewardWrapper,
)

MODES = list(AutoresetMode)
LENGTHS = (2, 3, 5)
ENDS = ("terminate", "truncate", "both")
KEYS = {
    "wmrl/group": int,
    "wmrl/anchor": bool,
    "wmrl/score_predicted": float,
    "wmrl/score_calibrated": float,
    "wmrl/score_true": float,
    "wmrl/weight": float,
    "wmrl/control": float,
    "wmrl/valid": bool,
    "wmrl/source": int,
    "wmrl/version": int,
    "wmrl/seconds": float,
}
OPTIONS: dict[str, Any] = {"anchor_fraction": 0.5, "seed": 3}


def toy(i: int) -> CountingEnv:
    return CountingEnv(length=LENGTHS[i], end=ENDS[i])


def wrapped_toy(i: int) -> gym.Env[Any, Any]:
    model = SquareWorldModel()
    return WorldModelRewardWrapper(
        toy(i), world_model=model, first_group=i, group_stride=len(LENGTHS), **OPTIONS
    )


def make(kind: str, factory: Any, mode: AutoresetMode) -> VectorEnv[Any, Any, Any]:
    factories = [partial(factory, i) for i in range(len(LENGTHS))]
    if kind == "sync":
        return SyncVectorEnv(factories, autoreset_mode=mode)
    return AsyncVectorEnv(factories, autoreset_mode=mode)


def assert_same(a: Any, b: Any, where: str) -> None:
    """Equal in structure, type and value, where NaN equals NaN."""
    assert type(a) is type(b), where
    if isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}/{key}")
    elif isinstance(a, np.ndarray) and a.dtype == object:
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y, where)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        np.testing.assert_array_equal(a, b, err_msg=where)
    else:
        assert a == b or (a != a and b != b), where


def play(env: VectorEnv[Any, Any, Any], steps: int = 25) -> list[Any]:
    """A fixed run; under DISABLED, ended environments are reset by mask."""
    rng = np.random.default_rng(0)
    log = [env.reset(seed=11)]
    for _ in range(steps):
        result = env.step(rng.integers(5, size=env.num_envs))
        log.append(copy.deepcopy(result))
        done = np.logical_or(result[2], result[3])
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and done.any():
            log.append(env.reset(options={"reset_mask": done}))
    env.close()
    return log
