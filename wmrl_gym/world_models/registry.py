"""World models by name, so that a wrapper's specification holds a string, not an object."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any, cast

from wmrl_gym.outcomes import WorldModel

_ENTRY_POINTS = {
    "constant": "wmrl_gym.world_models.constant:ConstantWorldModel",
    "surrogate": "wmrl_gym.world_models.surrogate:SurrogateWorldModel",
}
_LANGUAGE = ("smollm2", "transformers", "vllm", "openai")
"""What the names of language models begin with; see `wmrl_gym.world_models.language.names`."""
_FAMILIES = {
    **dict.fromkeys(_LANGUAGE, "wmrl_gym.world_models.language.names:language_world_model"),
    "embedding": "wmrl_gym.world_models.embedding:embedding_world_model",
    "pretrained": "wmrl_gym.world_models.pretrained:pretrained_world_model",
    "residual": "wmrl_gym.world_models.residual:residual_world_model",
    "synthetic": "wmrl_gym.envs.synthetic.world_model:synthetic_world_model",
    "stacked": "wmrl_gym.world_models.stacked:stacked_world_model",
}
"""What makes a world model of a whole name, by what such names begin with."""


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
    if name in _FAMILIES:
        kind = "a language model" if name in _LANGUAGE else "a world model of this library"
        raise ValueError(f"name={name!r} is taken by {kind}")
    if _ENTRY_POINTS.get(name, entry_point) != entry_point:
        raise ValueError(f"name={name!r} is taken by {_ENTRY_POINTS[name]!r}")
    _ENTRY_POINTS[name] = entry_point


def make_world_model(world_model: str | WorldModel) -> WorldModel:
    """The world model of that name; an object is returned as it is.

    Args:
        world_model: A registered name, `"package.module:factory"`, a language model
            (`"smollm2"`, `"transformers:MODEL"`, `"vllm:MODEL"`, `"openai:URL#MODEL"`),
            `"embedding"` or `"embedding:MODEL"`, a stack of such names (`"stacked:TOP,MEMBER"`),
            one whose errors are learned (`"residual:BASE"`), one that learned from shipped
            outcomes (`"pretrained:BASE"`), the synthetic one (`"synthetic:bias=0.6"`), or an
            object.

    Raises:
        ValueError: If the name is unknown.
    """
    if not isinstance(world_model, str):
        return world_model
    family = re.split(r"[+:]", world_model, maxsplit=1)[0]
    if family in _FAMILIES:
        return cast(WorldModel, _load(_FAMILIES[family])(world_model))
    entry_point = _ENTRY_POINTS.get(world_model, world_model)
    if ":" not in entry_point:
        raise ValueError(
            f"world_model={world_model!r} is unknown: use one of {sorted(_ENTRY_POINTS)}, "
            f"'embedding', a language model ({', '.join(_LANGUAGE)}), 'stacked:TOP,MEMBER', "
            "'package.module:factory', or a WorldModel object"
        )
    return cast(WorldModel, _load(entry_point)())


def _load(entry_point: str) -> Callable[..., Any]:
    module, _, name = entry_point.partition(":")
    return cast(Callable[..., Any], getattr(importlib.import_module(module), name))
