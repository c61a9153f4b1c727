"""What the fields of a plain folder are where its description does not say.

- `id_column`: `id` if `test.csv` and `answers.csv` have it, else the one column that they share.
- `kind`: the one that the metric fits; of metrics that fit both, `binary` for two classes and
  `multiclass` for more.
- `classes`, for a classification: the labels in `train.csv` and `answers.csv`, as numbers if
  all are whole, else in the order of the alphabet; so the positive class of `0` and `1` is `1`.
  The quadratic weighted kappa needs ranks: for labels that are no numbers they have to be given.
- `title`: the name of the folder. `about`: the content of `description.md`, if there is one.
- `licence` and `origin`: `not stated`. `tags`: `tabular`. `timeout_s`: 60.
- `references`: the sample submission (see `wmrl_gym.envs.mle.sample_reference`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wmrl_gym.envs.mle.grading.guest.table import USAGE
from wmrl_gym.envs.mle.importers.folder_source import ANSWERS, TEST, TRAIN, header, labels
from wmrl_gym.envs.mle.table import Kind, kinds_of
from wmrl_gym.errors import TaskError

UNSTATED = "not stated"


def complete(fields: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """The fields of a `Table`, with what the description does not say.

    Args:
        fields: What `read_file` gave.
        directory: The folder.

    Raises:
        TaskError: If a field does not go with the files or with another field.
    """
    headers = {name: header(directory / name) for name in (TRAIN, TEST, ANSWERS)}
    targets = tuple(fields["targets"])
    _check_targets(targets, headers)
    id_column = fields.get("id_column") or _id_column(targets, headers)
    features = _features(targets, id_column, headers)
    kind, classes = _kind(fields, directory)
    defaults = {
        "title": directory.name.replace("-", " ").replace("_", " ").capitalize(),
        "about": _about(directory),
        "target_about": "what to predict",
        "licence": UNSTATED,
        "origin": "Origin not stated",
        "tags": ["tabular"],
    }
    found = {**defaults, **fields, "id_column": id_column, "kind": kind, "classes": classes}
    if "columns" in fields:
        _check_names("columns", fields["columns"], features)
        found["columns"] = {name: fields["columns"].get(name, "") for name in features}
    if "time_column" in fields:
        _check_names("time_column", [fields["time_column"]], features)
    return {**found, "targets": targets, "tags": tuple(found["tags"])}


def in_order(found: Sequence[str], metric: str) -> tuple[str, ...]:
    """Labels as classes: whole numbers by size, else by the alphabet.

    Raises:
        TaskError: If the metric needs ranks and the labels are no numbers.
    """
    if all(re.fullmatch(r"-?[0-9]+", label) for label in found):
        return tuple(sorted(found, key=int))
    if metric == "qwk":
        raise TaskError(
            f"metric='qwk' needs classes in their order; give classes=[...] with the labels "
            f"{sorted(found)} from the lowest to the highest"
        )
    return tuple(sorted(found))


def _about(directory: Path) -> str:
    path = directory / "description.md"
    return path.read_text(encoding="utf-8") if path.is_file() else "The data are not described."


def _check_targets(targets: Sequence[str], headers: Mapping[str, list[str]]) -> None:
    for name in (TRAIN, ANSWERS):
        if lacking := [target for target in targets if target not in headers[name]]:
            raise TaskError(f"target={lacking} is no column of {name}, which has {headers[name]}")
    if shown := [target for target in targets if target in headers[TEST]]:
        raise TaskError(f"{TEST} has the target columns {shown}; remove them: solutions read it")


def _id_column(targets: Sequence[str], headers: Mapping[str, list[str]]) -> str:
    answers = [c for c in headers[ANSWERS] if c not in {*targets, USAGE}]
    shared = [column for column in answers if column in headers[TEST]]
    if "id" in shared:
        return "id"
    if len(shared) == 1:
        return shared[0]
    raise TaskError(
        f"{TEST} and {ANSWERS} share the columns {shared}, not one; set id_column to the column "
        "that says which answer belongs to which row"
    )


def _features(
    targets: Sequence[str], id_column: str, headers: Mapping[str, list[str]]
) -> list[str]:
    for name in (TEST, ANSWERS):
        if id_column not in headers[name]:
            raise TaskError(f"id_column={id_column!r} is no column of {name}: {headers[name]}")
    features = [column for column in headers[TEST] if column != id_column]
    trained = [c for c in headers[TRAIN] if c not in {id_column, *targets}]
    if only := sorted(set(trained) ^ set(features)):
        raise TaskError(f"the columns {only} are in only one of {TRAIN} and {TEST}; remove them")
    if USAGE in features:
        raise TaskError(f"column {USAGE!r} of {TEST} needs another name: the answers use this one")
    if not features:
        raise TaskError(f"{TEST} has no columns beside {id_column!r}")
    return features


def _kind(fields: Mapping[str, Any], directory: Path) -> tuple[Kind, tuple[str, ...]]:
    """Kind and classes."""
    metric, targets = fields["metric"], fields["targets"]
    allowed = kinds_of(metric)
    kind = fields.get("kind", allowed[0])
    if kind not in allowed:
        raise TaskError(f"kind={kind!r} has to be one of {list(allowed)} for metric={metric!r}")
    if kind not in ("binary", "multiclass"):
        if "classes" in fields:
            raise TaskError(f"classes={fields['classes']} have no meaning for kind={kind!r}")
        return kind, ()
    if len(targets) != 1:
        raise TaskError(f"metric={metric!r} takes one target, not targets={targets}")
    given = [str(label) for label in fields.get("classes", ())]
    classes = tuple(given) or in_order(labels(directory, targets[0]), metric)
    if "kind" in fields or len(allowed) == 1:
        return kind, classes
    return ("binary" if len(classes) == 2 else "multiclass"), classes


def _check_names(field: str, names: Mapping[str, str] | Sequence[str], known: list[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise TaskError(f"{field}={unknown} are no feature columns; there are {known}")
