"""The file config.yaml of a competition of MLE-bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.importers.lfs import refuse_pointer
from wmrl_gym.envs.mle.importers.reading import existing, read_yaml, required, within
from wmrl_gym.errors import TaskError


@dataclass(frozen=True)
class Config:
    """What a competition's configuration says, with the paths found."""

    identifier: str
    title: str
    kind: str
    """`simple` or `code`; empty if it is not said."""
    metric: str
    module: str
    """Module of the grade function within the definition, dotted."""
    function: str
    description: Path
    answers: Path
    sample: Path | None
    """The sample submission, which may lie among the private files; `None` if it is missing."""
    gold: Path | None
    """A perfect submission, if one is named."""


def read_config(definition: Path, data: Path) -> Config:
    """Read the configuration of a competition.

    Args:
        definition: Directory with its config.yaml.
        data: Directory with its `prepared`.

    Raises:
        TaskError: If it lacks something, names files outside of `data`, or names pointers.
    """
    path = definition / "config.yaml"
    content = read_yaml(path)
    identifier = required(content, "id", path)
    module, function = _function(required(content, "grader.grade_fn", path), identifier, path)
    existing(definition.joinpath(*module.split(".")).with_suffix(".py"), f"grade_fn of {path}")
    answers = existing(_data_file(content, "answers", identifier, data, path), "answers")
    sample, gold = (
        _data_file(content, key, identifier, data, path) if content["dataset"].get(key) else None
        for key in ("sample_submission", "gold_submission")
    )
    for file in (answers, sample, gold):
        if file is not None:
            refuse_pointer(file)
    return Config(
        identifier=identifier,
        title=str(content.get("name") or identifier),
        kind=str(content.get("competition_type") or ""),
        metric=required(content, "grader.name", path),
        module=module,
        function=function,
        description=definition / Path(str(content.get("description") or "description.md")).name,
        answers=answers,
        sample=sample if sample is not None and sample.is_file() else None,
        gold=gold if gold is not None and gold.is_file() else None,
    )


def _data_file(
    content: Mapping[str, Any], key: str, identifier: str, data: Path, path: Path
) -> Path:
    """A file below the directory of the data, which the configuration names from above it."""
    named = required(content, f"dataset.{key}", path)
    inside = named.removeprefix(f"{identifier}/")
    if inside == named:
        raise TaskError(f"dataset.{key}={named!r} of {path} has to begin with {identifier}/")
    return within(data, inside, f"dataset.{key}")


def _function(reference: str, identifier: str, path: Path) -> tuple[str, str]:
    """Module, from the definition on, and function of `package.<id>.module:function`."""
    dotted, colon, function = reference.partition(":")
    _, inside, module = dotted.partition(f".{identifier}.")
    if not inside:
        module = dotted.rpartition(".")[2]
    if not (colon and function.isidentifier() and all(p.isidentifier() for p in module.split("."))):
        raise TaskError(f"grader.grade_fn={reference!r} of {path} is not module:function")
    return module, function
