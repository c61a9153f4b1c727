"""The evaluation script of a task of MLGym: what it reads and imports, told without running it."""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wmrl_gym.errors import TaskError

_ANSWER_NAME = re.compile(
    r"answer|ground[-_ ]?truth|solution|secret|hidden|labels?[-_]test|test[-_]labels?", re.I
)
_SHOWN_NAME = re.compile(r"train|valid|dev|sample|submission|baseline", re.I)
_LIBRARIES = frozenset({"numpy", "pandas", "scipy", "sklearn", "torch", "tqdm", "yaml"})


@dataclass(frozen=True)
class Evaluation:
    """What a script needs."""

    path: Path
    """Where the script is."""
    program: str
    """Its path in the workspace."""
    texts: frozenset[str]
    """Names of files that occur in it."""
    script: str
    """The Python file that it imports and agents write; empty if there is none."""

    def secrets(
        self,
        starter: Sequence[Path],
        datasets: Sequence[Path],
        sample: Path | None,
        named: Sequence[str],
    ) -> frozenset[Path]:
        """The files that no agent may see: the script, what is named secret, and answers.

        Answers are told by their names, and by the script: a table that it reads and that has
        the columns of a submission.

        Args:
            starter: Files and directories of starter code.
            datasets: Directories of data.
            sample: The sample submission, which is shown.
            named: Names of files that the task declares secret.
        """
        columns = set(_header(sample)) if sample is not None else set()
        found = {self.path}
        for path in (p for root in [*starter, *datasets] for p in _files(root)):
            if path == sample:
                continue
            is_named = any(path.match(name) or path.name == Path(name).name for name in named)
            if is_named or _ANSWER_NAME.search(path.name) or self._holds_answers(path, columns):
                found.add(path)
        return frozenset(found)

    def answers(self, secrets: frozenset[Path]) -> Path | None:
        """The one table among the secrets that the script reads, if there is one."""
        tables = [p for p in secrets if p.suffix == ".csv" and p.name in self.texts]
        return tables[0] if len(tables) == 1 else None

    def submitted_script(self, path: Path) -> str:
        """The Python file that agents write.

        Raises:
            TaskError: If the script does not tell which it is.
        """
        if not self.script:
            raise TaskError(
                f"{path}: its evaluation {self.program} imports no module, or several, that could "
                "be what agents submit"
            )
        return self.script

    def _holds_answers(self, path: Path, columns: set[str]) -> bool:
        if path.suffix != ".csv" or path.name not in self.texts or _SHOWN_NAME.search(path.name):
            return False
        return not columns or columns <= set(_header(path))


def inspect_evaluation(
    content: Mapping[str, Any], task: Path, starter: Sequence[Path]
) -> Evaluation:
    """Find the evaluation script of a task, and what it reads and imports.

    Args:
        content: The task's YAML.
        task: Its path.
        starter: Starter files, among which the script is.

    Raises:
        TaskError: If there is no script, or it is not Python.
    """
    named = content.get("evaluation_paths") or ()
    if not named:
        raise TaskError(f"{task} has no evaluation_paths")
    program = str(named[0])
    path = _find(program, starter)
    if path is None:
        raise TaskError(f"evaluation_paths={program!r} of {task} is not in its starter_code")
    try:
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError):  # found out again, and told, when it is run
        tree = ast.Module(body=[], type_ignores=[])
    secret = {Path(str(name)).stem for name in content.get("secret_files") or ()}
    secret |= {Path(str(name)).stem for name in content.get("baseline_paths") or ()}
    modules = sorted(set(_imports(tree)) - secret - _LIBRARIES - sys.stdlib_module_names)
    script = f"{modules[0]}.py" if len(modules) == 1 else ""
    return Evaluation(path, program, frozenset(_file_names(tree)), script)


def _find(program: str, starter: Sequence[Path]) -> Path | None:
    """The script among starter files, which lie side by side in the workspace."""
    for path in starter:
        if path.is_file() and path.name == program:
            return path
        inner = path.parent / program
        if path.is_dir() and Path(program).parts[0] == path.name and inner.is_file():
            return inner
    return None


def _file_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and len(node.value) < 1000
        ):
            yield Path(node.value).name


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    else:
        yield from sorted(path for path in root.rglob("*") if path.is_file())


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return next(csv.reader(file), [])
