"""The texts that an agent reads: the task, its data, the budget, what it can do."""

from __future__ import annotations

import string

import pandas as pd

from wmrl_gym.envs.mle.script_check import AVAILABLE_PACKAGES
from wmrl_gym.envs.mle.task import Task

CHARSET = frozenset(string.printable)
"""Characters of observations: printable ASCII, line breaks among them."""

ACTIONS = """\
Answer with one action.
- execute_code, then a Python script in a fenced block: runs it and grades its submission.csv.
- validate_code, then a script in a fenced block: checks it without running it.
- submit, with or without a script: ends the episode; the best score so far counts.
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
        "Scripts run in an empty directory without network. They read ../input/train.csv, "
        "../input/test.csv and ../input/sample_submission.csv, and write submission.csv.\n"
        f"Python packages: {', '.join(AVAILABLE_PACKAGES)}."
    )


def data_inventory(task: Task) -> str:
    """The public files and the columns of the training data."""
    train = pd.read_csv(task.public / "train.csv")
    lines = []
    for path in sorted(task.public.glob("*.csv")):
        with path.open() as file:
            lines.append(f"{path.name}: {sum(1 for _ in file) - 1} rows")
    for name in train.columns:
        column = train[name]
        lines.append(
            f"- {name}: {column.dtype}, {column.nunique()} values, {column.isna().sum()} missing, "
            f"for instance {column.iloc[0]}"
        )
    return "\n".join(lines)


def sample_submission(task: Task) -> str:
    """The first lines of the sample submission."""
    with (task.public / "sample_submission.csv").open() as file:
        return "".join(line for _, line in zip(range(5), file, strict=False)).rstrip()


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
