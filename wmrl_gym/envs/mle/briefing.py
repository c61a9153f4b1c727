"""The texts that an agent reads: the task, its data, the budget, what it can do."""

from __future__ import annotations

import string
from pathlib import Path

import pandas as pd

from wmrl_gym.envs.mle.script_check import AVAILABLE_PACKAGES
from wmrl_gym.envs.mle.task import Task

CHARSET = frozenset(string.printable)
"""Characters of observations: printable ASCII, line breaks among them."""

_MOST_FILES, _MOST_COLUMNS, _MOST_ROWS, _MOST_BYTES = 40, 100, 10_000, 2**28
"""What an inventory shows of data of any size."""

ACTIONS = """\
Answer with one action.
- execute_code, then a Python script in a fenced block: runs it and grades its submission.csv.
- validate_code, then a script in a fenced block: checks it without running it.
- submit: ends the episode with the graded submission whose public metric is best, or the latest
  one where the task shows no metric; submit 2 ends it with the second one; submit, then a script
  in a fenced block, runs and grades that first.
- request_info overview|data|sample_submission|budget: shows it again.
Example:
execute_code
```python
import pandas as pd
train = pd.read_csv("../input/train.csv")
...
predictions.to_csv("submission.csv", index=False)
```
The same as JSON: {"action": "execute_code", "code": "..."}"""


def overview(task: Task) -> str:
    """What the task is, where its data are, and what a script may use."""
    return (
        f"{task.description.strip()}\n\n"
        "Scripts run in an empty directory without network. They read the data from ../input and "
        f"write {task.submission} into the directory that they run in.\n"
        f"Python packages: {', '.join(AVAILABLE_PACKAGES)}."
    )


def data_inventory(task: Task) -> str:
    """The public files, and the columns of the training data."""
    files = [path for path in sorted(task.public.rglob("*")) if path.is_file()]
    lines = [_file_line(path, task.public) for path in files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        lines.append(f"and {len(files) - _MOST_FILES} more files")
    train = task.public / "train.csv"
    return "\n".join(lines + (_column_lines(train) if train.is_file() else []))


def _file_line(path: Path, directory: Path) -> str:
    size = path.stat().st_size
    name = f"../input/{path.relative_to(directory)}"
    if path.suffix != ".csv" or size > _MOST_BYTES:
        return f"{name}: {size} bytes"
    with path.open("rb") as file:
        return f"{name}: {sum(1 for _ in file) - 1} rows"


def _column_lines(path: Path) -> list[str]:
    table = pd.read_csv(path, nrows=_MOST_ROWS)
    lines = [
        f"- {name}: {table[name].dtype}, {table[name].nunique()} values, "
        f"{table[name].isna().sum()} missing, for instance {str(table[name].iloc[0])[:80]}"
        for name in table.columns[:_MOST_COLUMNS]
    ]
    further = len(table.columns) - _MOST_COLUMNS
    return lines if further <= 0 else [*lines, f"- and {further} more columns"]


def sample_submission(task: Task) -> str:
    """The first lines of the sample submission."""
    names = [path for path in sorted(task.public.iterdir()) if "sample" in path.name.lower()]
    if not names or not names[0].is_file():
        return "This task has no sample submission."
    with names[0].open(encoding="utf-8", errors="replace") as file:
        return "".join(line[:400] for _, line in zip(range(5), file, strict=False)).rstrip()


def to_charset(text: str, limit: int) -> str:
    """`text` in the characters and the length that the observation space allows.

    Other characters are written as escapes. What is too long loses its middle: the
    beginning says what it is, and tracebacks end with what went wrong.
    """
    ascii_text = text.encode("ascii", "backslashreplace").decode("ascii")
    clean = "".join(c if c in CHARSET else f"\\x{ord(c):02x}" for c in ascii_text)
    if len(clean) <= limit:
        return clean
    mark = "\n[...]\n"
    half = (limit - len(mark)) // 2
    return clean[:half] + mark + clean[len(clean) - half :]
