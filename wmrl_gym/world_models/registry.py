"""World models by name, so that a wrapper's specification holds a string, not an object."""

from __future__ import annotations

import importlib
import re
from typing import cast

from wmrl_gym.outcomes import WorldModel

_ENTRY_POINTS = {"surrogate": "wmrl_gym.world_models.surrogate:SurrogateWorldModel"}
_LANGUAGE = ("smollm2", "transformers", "vllm", "openai")
"""What the names of language models begin with; see `wmrl_gym.world_models.language.names`."""


def register_world_model(name: str, entry_point: str) -> None:
    """Give a world model a name that `WorldModelRewardWrapper(world_model=name)` understands.

    Args:
        name: The name.
        entry_point: `"package.module:factory"`; called without arguments for each wrapper.
            In a process that has not called this function (a spawned worker, say) the entry
            point itself serves as the name.

    Raises:
        ValueError: If `entry_point` has no colon, or `name` stands for something else already.
    """
    if ":" not in entry_point:
        raise ValueError(f"entry_point={entry_point!r} must look like 'package.module:factory'")
    if name in _LANGUAGE:
        raise ValueError(f"name={name!r} is taken by a language model")
    if _ENTRY_POINTS.get(name, entry_point) != entry_point:
        raise ValueError(f"name={name!r} is taken by {_ENTRY_POINTS[name]!r}")
    _ENTRY_POINTS[name] = entry_point


def make_world_model(world_model: str | WorldModel) -> WorldModel:
    """The world model of that name; an object is returned as it is.

    Args:
        world_model: A registered name, `"package.module:factory"`, a language model
            (`"smollm2"`, `"transformers:MODEL"`, `"vllm:MODEL"`, `"openai:URL#MODEL"`), or an
            object.

    Raises:
        ValueError: If the name is unknown.
    """
    if not isinstance(world_model, str):
        return world_model
    if re.split(r"[+:]", world_model, maxsplit=1)[0] in _LANGUAGE:
        from wmrl_gym.world_models.language.names import language_world_model

        return language_world_model(world_model)
    entry_point = _ENTRY_POINTS.get(world_model, world_model)
    if ":" not in entry_point:
        raise ValueError(
            f"world_model={world_model!r} is unknown: use one of {sorted(_ENTRY_POINTS)}, a "
            f"language model ({', '.join(_LANGUAGE)}), 'package.module:factory', or a WorldModel "
            "object"
        )
    module, _, factory = entry_point.partition(":")
    return cast(WorldModel, getattr(importlib.import_module(module), factory)())
