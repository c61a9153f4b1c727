"""From the infos of a vector environment to one dict for each sub-environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def unbatch_infos(infos: Mapping[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Split a dict of arrays with masks into a list of dicts.

    A key `k` comes with a mask `_k` that says which sub-environments gave it. A key without
    a mask was given by all. Numpy scalars become plain Python values.

    Args:
        infos: What `VectorEnv.reset` or `VectorEnv.step` gave; nested dicts are split too.
        num_envs: Number of sub-environments.

    Returns:
        `[num_envs]` fresh dicts.
    """
    separate: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for key, values in infos.items():
        if _is_mask(key, infos):
            continue
        present = infos.get(f"_{key}", np.ones(num_envs, dtype=np.bool_))
        split = _split(values, num_envs)
        for i in np.flatnonzero(present):
            separate[i][key] = split[i]
    return separate


def _is_mask(key: str, infos: Mapping[str, Any]) -> bool:
    return key.startswith("_") and key[1:] in infos


def _split(values: Any, num_envs: int) -> list[Any]:
    if isinstance(values, Mapping):
        return list(unbatch_infos(values, num_envs))
    if isinstance(values, np.ndarray | list | tuple) and len(values) == num_envs:
        return [_plain(value) for value in values]
    # Some vector environments report one value for all of them, without an array.
    return [values] * num_envs


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.copy()
    return value
