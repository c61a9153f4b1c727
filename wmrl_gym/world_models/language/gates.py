"""What is certain about a script without running it and without any model."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from wmrl_gym.outcomes import Status
from wmrl_gym.world_models.features import parse
from wmrl_gym.world_models.language.tasks import TaskFacts, importable_packages


@dataclass(frozen=True)
class Verdict:
    """What needs no prediction."""

    status: Status | None
    """How the script ends; `None` if only that it leaves no valid result is certain."""
    said: str = ""
    """What the agent would be shown besides the ending."""


def gate(script: str, facts: TaskFacts) -> Verdict | None:
    """What reading `script` is enough to know; `None` if all of it has to be judged.

    Args:
        script: What the agent wrote.
        facts: The task; if it is not `known`, only what does not compile is certain.
    """
    tree = parse(script)
    if tree is None:
        return Verdict(Status.MALFORMED, _syntax_error(script))
    if not facts.known:
        return None
    missing = next(_missing_imports(tree), None)
    if missing is not None:
        return Verdict(Status.CRASHED, _import_error(*missing))
    texts = _texts(tree)
    writes = any(facts.submission.partition(".")[0] in text for text in texts)
    # Whoever climbs out of the working directory, by whatever name, may find the data.
    reads = any("input" in text or text.startswith(("..", "/")) for text in texts)
    # A script that does not do both may still crash before it gets to the end.
    return None if writes and reads else Verdict(None)


def _missing_imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Modules whose import fails for certain, with their lines: nothing guards these imports."""
    packages = importable_packages()
    if packages is None:
        return
    known = sys.stdlib_module_names | packages | {"__future__"}
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module]
        packages_named = [name.partition(".")[0] for name in names]
        yield from ((name, node.lineno) for name in packages_named if name not in known)


def _texts(tree: ast.Module) -> list[str]:
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def _syntax_error(script: str) -> str:
    from wmrl_gym.envs.mle.script_check import syntax_error

    return syntax_error(script) or "There is no code to run."


def _import_error(module: str, line: int) -> str:
    return (
        "--- stderr ---\nTraceback (most recent call last):\n"
        f'  File "main.py", line {line}, in <module>\n'
        f"ModuleNotFoundError: No module named '{module}'"
    )
