"""`wmrl-gym fit`: fit a world model to what was recorded, with some tasks held out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from wmrl_gym.cli.fit_language import LanguageFit, fit_language_model
from wmrl_gym.cli.splits import SplitSettings
from wmrl_gym.errors import RunError
from wmrl_gym.world_models.language.lora import LoraSettings

_OUTCOMES = "outcomes"
_KINDS = {"outcome": _OUTCOMES, "outcomes": _OUTCOMES}
"""What a source holds, by the middle of the schema that its first line names."""


@dataclass(frozen=True)
class Fit:
    """Fit a language world model to real outcomes (needs the extra llm).

    The result is a directory: `--world-model transformers:DIR` trains against it, and asks it in
    the way that was fitted. Tasks and groups that are held out tell how good it is.

    With `--kind dynamics` or `--kind progress` it is a model of recorded episodes that is fitted
    (`wmrl-gym fit --kind dynamics --help` says with which options).
    """

    out: Path
    """New directory of the fitted model."""
    source: Annotated[Path | None, tyro.conf.Positional] = None
    """File of `wmrl-gym collect`, directory of a run, or store of real outcomes; the outcomes that
    come with the package if not given."""
    model: str = "smollm2"
    """Directory or hub name of the language model; "smollm2" for the bundled one."""
    method: Literal["head", "lora"] = "head"
    """"head" fits regressions on the model's hidden states, in minutes; "lora" trains an adapter
    so that the model itself gives the right symbol."""
    measured_groups: int = 12
    """Most groups of each part that are measured; predictions take time."""
    device: str = "auto"
    """Device of the model: "cpu", or "auto" for a GPU if there is one."""
    split: Annotated[SplitSettings, tyro.conf.OmitArgPrefixes] = field(
        default_factory=SplitSettings
    )
    lora: Annotated[LoraSettings, tyro.conf.OmitArgPrefixes] = field(default_factory=LoraSettings)

    def __call__(self) -> None:
        """Fit, measure, print the table and write the directory."""
        if self.out.exists():
            raise RunError(f"out={self.out} exists: choose another name")
        if self.measured_groups < 1:
            raise ValueError(f"measured_groups={self.measured_groups} must be at least 1")
        kind = _OUTCOMES if self.source is None else kind_of(self.source)
        if kind not in _FITS:
            raise ValueError(f"source={self.source} holds {kind}: {', '.join(_FITS)} can be fitted")
        _FITS[kind](self)


def kind_of(source: Path) -> str:
    """What a source holds: `outcomes`, or what the first line of a JSON Lines file says.

    Raises:
        ValueError: If there is no such file.
    """
    if source.is_dir():
        return _OUTCOMES
    if not source.is_file():
        raise ValueError(f"source={source} is no file: nothing can be read from it")
    with source.open("rb") as raw:
        start = raw.read(16)
    if start.startswith(b"SQLite format 3"):
        return _OUTCOMES
    compressed = start.startswith(b"\x1f\x8b")
    with gzip.open(source, "rb") if compressed else source.open("rb") as lines:
        first = lines.readline()
    try:
        schema = str(json.loads(first)["schema"])
    except (ValueError, KeyError, TypeError):
        return _OUTCOMES  # whose reader says what is wrong with the file
    named = schema.split("/")[1] if schema.count("/") == 2 else schema
    return _KINDS.get(named, named)


def _fit_language(command: Fit) -> None:
    fit_language_model(
        LanguageFit(
            out=command.out,
            source=command.source,
            model=command.model,
            method=command.method,
            measured_groups=command.measured_groups,
            device=command.device,
            split=command.split,
            lora=command.lora,
        )
    )


_FITS: Mapping[str, Callable[[Fit], None]] = {_OUTCOMES: _fit_language}
"""What fits a world model to each kind of source."""
