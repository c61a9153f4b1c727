"""Language-model agents that train against a corrected world model.

`GroupScorer` plays and scores groups of text episodes for any trainer: rewards, and the weight
of each group. `WMRLSpec` and `WMRLTrainer` bring it to TRL's `GRPOTrainer`. The names are
imported on first use: the scorer needs neither torch nor TRL, and TRL takes long to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wmrl_gym.errors import MissingDependencyError

if TYPE_CHECKING:
    from wmrl_gym.agents.llm.scorer import GroupScorer
    from wmrl_gym.agents.llm.scores import Score
    from wmrl_gym.agents.llm.spec import WMRLSpec
    from wmrl_gym.agents.llm.trl import WMRLTrainer

__all__ = ["GroupScorer", "Score", "WMRLSpec", "WMRLTrainer"]

_MODULES = {
    "GroupScorer": "wmrl_gym.agents.llm.scorer",
    "Score": "wmrl_gym.agents.llm.scores",
    "WMRLSpec": "wmrl_gym.agents.llm.spec",
    "WMRLTrainer": "wmrl_gym.agents.llm.trl",
}
_OPTIONAL = ("accelerate", "datasets", "peft", "tokenizers", "torch", "transformers", "trl")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _OPTIONAL:
            raise
        raise MissingDependencyError(
            f'{name} needs {error.name}, which is not installed: pip install "wmrl-gym[trl]"'
        ) from error


def __dir__() -> list[str]:
    return sorted(__all__)
