"""The text that tells a solver what a task is about."""

from __future__ import annotations

from collections.abc import Sequence

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.table import Table


def describe(task: Table) -> str:
    """Write the description of `task` in Markdown.

    Args:
        task: The task; its data are not read.

    Returns:
        Title, data, columns, target, metric, submission format, licence and origin.
    """
    parts = [
        f"# {task.title}",
        task.about.strip(),
        "## Files\n\n"
        f"- `train.csv`: `{task.id_column}`, the features and the {_targets(task)}\n"
        f"- `test.csv`: `{task.id_column}` and the features of the rows to predict\n"
        "- `sample_submission.csv`: a valid submission",
        *_columns(task),
        f"## Target\n\n{_names(task.targets)}: {task.target_about}.{_classes(task)}",
        f"## Metric\n\n{_metric(task)}",
        f"## Submission\n\n{_submission(task)}",
        f"## Licence and origin\n\n{task.origin}. Licence of the data: {task.licence}.",
    ]
    return "\n\n".join(parts) + "\n"


def _targets(task: Table) -> str:
    return f"target{'s' if len(task.targets) > 1 else ''} {_names(task.targets)}"


def _names(columns: Sequence[str]) -> str:
    shown = [f"`{column}`" for column in columns]
    return ", ".join(shown if len(shown) <= 16 else [*shown[:2], "...", shown[-1]])


def _columns(task: Table) -> list[str]:
    if not task.columns:
        return []
    lines = [f"| `{name}` | {about} |" for name, about in task.columns.items()]
    return ["\n".join(["## Columns\n", "| column | meaning |", "|---|---|", *lines])]


def _classes(task: Table) -> str:
    if not task.classes:
        return ""
    return f" The classes are {', '.join(f'`{label}`' for label in task.classes)}."


def _metric(task: Table) -> str:
    metric = METRICS[task.metric]
    better = "higher" if metric.higher_is_better else "lower"
    return (
        f"{metric.title[0].upper()}{metric.title[1:]} on the hidden answers: {better} is better, "
        f"{metric.optimum:g} is perfect. A submission is told its value on a public part of them; "
        "the private part decides the score."
    )


def _submission(task: Table) -> str:
    header = ",".join(f"{column}" for column in task.submission_columns)
    return (
        "Write `submission.csv`, one line for each row of `test.csv`, in any order, below the "
        f"header\n\n```\n{header}\n```\n\n{_content(task)}"
    )


def _content(task: Table) -> str:
    match METRICS[task.metric].prediction:
        case "probabilities":
            return (
                "Each class column holds the probability of that class, from 0 to 1. The "
                "probabilities of a row are divided by their sum."
            )
        case "score" if task.kind == "survival":
            return "`risk` holds any number that is larger the earlier the event is expected."
        case "score" if task.kind == "multilabel":
            return "Each column holds the probability, or any other score, of that label."
        case "score":
            return (
                f"`{task.target}` holds the probability, or any other score that ranks the rows, "
                f"of the class `{task.classes[-1]}`."
            )
        case "labels":
            return f"`{task.target}` holds the predicted class."
        case "values":
            allowed = METRICS[task.metric].negative_allowed
            limit = "" if allowed else " and must not be negative"
            each = f"`{task.target}`" if len(task.targets) == 1 else "Each target column"
            return f"{each} holds the predicted number{limit}."
