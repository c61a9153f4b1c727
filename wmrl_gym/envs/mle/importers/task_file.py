"""The file that describes a task in a plain folder: `task.toml`, `task.yaml` or `task.json`.

    title = "Species of penguins"
    about = "Penguins measured on three islands."
    metric = "accuracy"
    target = "species"

Only `metric` and `target` are required (`targets` for several). The fields are those of the
built-in tasks, and mean the same as in `wmrl_gym.envs.mle.table.Table`.
"""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.table import Kind
from wmrl_gym.errors import MissingDependencyError, TaskError

FILES = ("task.toml", "task.yaml", "task.yml", "task.json")
"""Names that the file may have."""
KINDS: tuple[str, ...] = get_args(Kind)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_label(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, int) and not isinstance(value, bool))


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(fits, value))


def _table_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, dict) and all(map(_is_name, value)) and all(map(fits, value.values()))
    )


_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "title": (_is_name, "text"),
    "about": (_is_text, "text"),
    "metric": (METRICS.__contains__, f"one of {', '.join(sorted(METRICS))}"),
    "target": (_is_name, "the name of a column"),
    "targets": (_list_of(_is_name), "a list of names of columns"),
    "target_about": (_is_name, "text"),
    "kind": (KINDS.__contains__, f"one of {', '.join(KINDS)}"),
    "classes": (
        _list_of(_is_label),
        "a list of labels, text or whole numbers; put words such as yes and true in quotes",
    ),
    "id_column": (_is_name, "the name of a column"),
    "time_column": (_is_name, "the name of a column"),
    "columns": (_table_of(_is_text), "a table from names of columns to what they mean"),
    "tags": (_list_of(_is_name), "a list of words"),
    "licence": (_is_name, "text"),
    "origin": (_is_name, "text"),
    "references": (_table_of(_is_number), "a table from names of solutions to metrics"),
    "seconds": (_table_of(_is_number), "a table from names of solutions to seconds"),
    "timeout_s": (lambda value: _is_number(value) and value > 0, "a positive number of seconds"),
}
"""What each field may hold, and in words."""


def find_file(directory: Path) -> Path | None:
    """The file that describes the task of `directory`, if there is one.

    Raises:
        TaskError: If there are several.
    """
    there = [directory / name for name in FILES if (directory / name).is_file()]
    if len(there) > 1:
        names = " and ".join(path.name for path in there)
        raise TaskError(f"{directory} has {names}; keep one of them")
    return there[0] if there else None


def read_file(path: Path) -> dict[str, Any]:
    """Read and check a description.

    Args:
        path: The file, named as one of `FILES`.

    Returns:
        The fields that it has, all of the right type; `target` has become `targets`.

    Raises:
        TaskError: If it cannot be read, a field is unknown or wrong, or a required one lacks.
        MissingDependencyError: If it is YAML and PyYAML is not installed.
    """
    fields = _parse(path)
    if not isinstance(fields, dict):
        raise TaskError(f"{path} holds no fields; it has to have at least metric and target")
    for name, value in fields.items():
        if problem := field_problem(name, value):
            raise TaskError(f"{path}: {problem}")
    if "metric" not in fields:
        raise TaskError(f"{path} has no field 'metric'; it has to be {_FIELDS['metric'][1]}")
    if ("target" in fields) == ("targets" in fields):
        raise TaskError(f"{path} has to have one of the fields 'target' and 'targets'")
    if "target" in fields:
        fields["targets"] = [fields.pop("target")]
    return fields


def field_problem(name: str, value: Any) -> str:
    """What is wrong with a field; empty if nothing is."""
    if name not in _FIELDS:
        close = difflib.get_close_matches(str(name), _FIELDS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(_FIELDS)}"
        return f"field {name!r} is unknown; {hint}"
    fits, words = _FIELDS[name]
    try:
        good = fits(value)
    except TypeError:  # a list is no key of a table
        good = False
    return "" if good else f"field {name}={value!r} has to be {words}"


def _parse(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            return tomllib.loads(text)
        return json.loads(text) if path.suffix == ".json" else _yaml(text)
    except ValueError as error:  # of both formats, and of bytes that are not UTF-8
        raise TaskError(f"{path} cannot be read: {error}") from error


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingDependencyError(
            'reading YAML needs PyYAML: pip install "wmrl-gym[importers]"; '
            "or write the description as task.toml"
        ) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def to_toml(fields: Mapping[str, Any]) -> str:
    """The text of a `task.toml`, in the order of this module.

    Args:
        fields: What `read_file` would give; sequences may be of any type.
    """
    if len(fields.get("targets", ())) == 1:
        fields = {**fields, "target": fields["targets"][0]}
        del fields["targets"]
    ordered = {name: fields[name] for name in _FIELDS if name in fields}
    tables = {name: value for name, value in ordered.items() if isinstance(value, Mapping)}
    lines = [f"{name} = {_toml(value)}" for name, value in ordered.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_toml(key)} = {_toml(v)}" for key, v in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, str):
        lines = [_escaped(line) for line in value.split("\n")]
        return f'"{lines[0]}"' if len(lines) == 1 else '"""\n' + "\n".join(lines) + '"""'
    if isinstance(value, int | float):
        return repr(value)
    return f"[{', '.join(map(_toml, value))}]"


def _escaped(line: str) -> str:
    """The line between quotes of TOML, which escapes as JSON does and also the one after `~`."""
    return json.dumps(line, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")
