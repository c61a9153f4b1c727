"""Looks for ways to read the answers of a task off what is public.

    from wmrl_gym.envs.mle.lint import lint

    for finding in lint(load_task("wine-cultivar")):
        print(finding)

A task that leaks rewards the wrong thing: an agent that finds the leak stops learning anything
else. The rules look for what has gone wrong in published benchmarks: answers among the public
files, ids or row order that follow the target, test rows that are training rows, and columns
that are the target under another name. They know nothing of what a column means: a column that
is filled in after the fact, but is not perfect, is for the author of a task to see.
"""

from wmrl_gym.envs.mle.lint.findings import Finding, Severity
from wmrl_gym.envs.mle.lint.rules import lint

__all__ = ["Finding", "Severity", "lint"]
