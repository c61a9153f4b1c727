"""All rules, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wmrl_gym.envs.mle.lint.columns import is_noise, is_target
from wmrl_gym.envs.mle.lint.exposure import is_public, is_told
from wmrl_gym.envs.mle.lint.findings import Finding, Severity
from wmrl_gym.envs.mle.lint.order import follows_target
from wmrl_gym.envs.mle.lint.overlap import repeats_rows
from wmrl_gym.envs.mle.lint.parts import Parts, read_parts
from wmrl_gym.envs.mle.task import Task

_RULES: tuple[Callable[[Parts], Iterator[Finding]], ...] = (
    follows_target,
    repeats_rows,
    is_target,
    is_noise,
)


def lint(task: Task) -> list[Finding]:
    """Look for leaks of the answers of `task`.

    Args:
        task: Any task. All rules apply to those with `train.csv`, `test.csv` and answers in
            CSV; of the others only the files are compared, and a note says so.

    Returns:
        What was found, the worst first; empty if nothing was. Rules:

        - `public-answers`: a public file is a file of answers, or a public table tells them.
        - `target-in-test`: `test.csv` has a target.
        - `target-column`: a column is the target, or tells it without error.
        - `duplicate-rows`: test rows are training rows.
        - `id-order`: ids or the order of rows follow the target.
        - `constant-column`, `id-like-column`: columns that say nothing.
        - `not-read`: the tables of the task could not be read.

    Raises:
        TaskError: If the task cannot be prepared.
    """
    found = list(is_public(task))
    parts = read_parts(task)
    if parts is None:
        message = "no train.csv, test.csv and CSV answers that go together: only files compared"
        return [*found, Finding("not-read", Severity.NOTE, message)]
    found += is_told(task, parts)
    for rule in _RULES:
        found += rule(parts)
    return sorted(found, key=lambda finding: list(Severity).index(finding.severity))
