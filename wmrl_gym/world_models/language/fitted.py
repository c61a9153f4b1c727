"""Directories that hold what `wmrl-gym fit` made of a language model.

The weights of the model itself are not in there, but its name; beside it the tokenizer, the
adapter if one was trained, what the mode learned, and where all of it comes from.

    wmrl_world_model.json   the model, the mode, and the provenance
    tokenizer.json ...      as transformers saves it
    adapter/                as peft saves it
    state.json.gz           `LanguageWorldModel.state_dict()`
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = "wmrl-gym/fitted-language-model/1"
_FILE = "wmrl_world_model.json"
_ADAPTER = "adapter"
_STATE = "state.json.gz"


@dataclass(frozen=True)
class FittedModel:
    """A language model and what was made of it."""

    place: Path
    """The directory."""
    model: str
    """The model that was fitted: `"smollm2"`, a directory or a hub name."""
    mode: str
    """How it is to be asked."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """What it was fitted on and how well it did, as JSON."""

    @classmethod
    def read(cls, place: str | Path) -> FittedModel | None:
        """What is in a directory; `None` if it is none that `write` made.

        Raises:
            ValueError: If it was made by another version, or its file is damaged.
        """
        file = Path(place) / _FILE
        if not file.is_file():
            return None
        try:
            fields = json.loads(file.read_text())
            if fields["schema"] != SCHEMA:
                raise ValueError(f"its schema is {fields['schema']!r}, not {SCHEMA!r}")
            return cls(Path(place), fields["model"], fields["mode"], fields["provenance"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file} cannot be read: {error}; fit the model again") from error

    @property
    def adapter(self) -> Path | None:
        """Directory of the adapter, if there is one."""
        directory = self.place / _ADAPTER
        return directory if directory.is_dir() else None

    def state(self) -> dict[str, Any]:
        """For `LanguageWorldModel.load_state_dict`."""
        state: dict[str, Any] = json.loads(gzip.decompress((self.place / _STATE).read_bytes()))
        return state

    def write(self, tokenizer: Any, adapted: Any, state: Mapping[str, Any]) -> None:
        """Write the directory; what says that it is whole comes last.

        Args:
            tokenizer: The tokenizer of the model.
            adapted: A `peft.PeftModel` whose adapter belongs to it, or `None`.
            state: Of the world model.
        """
        self.place.mkdir(parents=True, exist_ok=True)
        tokenizer.save_pretrained(self.place)
        if adapted is not None:
            adapted.save_pretrained(self.place / _ADAPTER)
        packed = gzip.compress(json.dumps(state).encode(), mtime=0)
        (self.place / _STATE).write_bytes(packed)
        fields = {
            "schema": SCHEMA,
            "model": self.model,
            "mode": self.mode,
            "provenance": dict(self.provenance),
        }
        (self.place / _FILE).write_text(json.dumps(fields, indent=2) + "\n")


def model_place(name: str) -> str:
    """Where transformers finds the model of that name: `smollm2` is converted when needed."""
    if name != "smollm2":
        return name
    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

    return str(smollm2_directory())
