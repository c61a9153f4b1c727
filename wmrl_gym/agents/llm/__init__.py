"""Language-model agents that train against a corrected world model.

`GroupScorer` plays and scores groups of text episodes for any trainer: rewards, and the weight
of each group. `WMRLSpec` and `WMRLTrainer` bring it to TRL's `GRPOTrainer`, `TinkerGroups` to
trainers in the shape of Tinker's cookbook, `GroupRubric` to OpenEnv, `wmrl_gym.agents.verl` to
verl. The names are imported on first use: the scorer needs neither torch nor TRL, and TRL takes
long to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wmrl_gym.errors import MissingDependencyError

if TYPE_CHECKING:
    from wmrl_gym.agents.llm.finished import FinishedRollouts
    from wmrl_gym.agents.llm.openenv_rubric import GroupRubric
    from wmrl_gym.agents.llm.scorer import GroupScorer
    from wmrl_gym.agents.llm.scores import Score
    from wmrl_gym.agents.llm.spec import WMRLSpec
    from wmrl_gym.agents.llm.tinker import TinkerGroups
    from wmrl_gym.agents.llm.trl import WMRLTrainer

__all__ = [
    "FinishedRollouts",
    "GroupRubric",
    "GroupScorer",
    "Score",
    "TinkerGroups",
    "WMRLSpec",
    "WMRLTrainer",
]

_MODULES = {
    "FinishedRollouts": "wmrl_gym.agents.llm.finished",
    "GroupRubric": "wmrl_gym.agents.llm.openenv_rubric",
    "GroupScorer": "wmrl_gym.agents.llm.scorer",
    "Score": "wmrl_gym.agents.llm.scores",
    "TinkerGroups": "wmrl_gym.agents.llm.tinker",
    "WMRLSpec": "wmrl_gym.agents.llm.spec",
    "WMRLTrainer": "wmrl_gym.agents.llm.trl",
}
_TRL = ("accelerate", "datasets", "peft", "tokenizers", "torch", "transformers", "trl")
_EXTRAS = {**dict.fromkeys(_TRL, "trl"), "openenv": "serve"}
"""The extra that brings a package."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise MissingDependencyError(
            f'{name} needs {error.name}, which is not installed: pip install "wmrl-gym[{extra}]"'
        ) from error


def __dir__() -> list[str]:
    return sorted(__all__)
