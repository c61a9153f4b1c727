"""What goes wrong in scripts that agents write: one edit for each way to fail.

A fault takes a script that works and breaks it at a place that every script of
`plain_script` and of the pipelines has. What comes of it is left to the execution: a column
that is misspelt crashes, a script that was cut off may not even compile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from wmrl_gym.envs.mle.table_task import TableTask

Edit = Callable[[str, TableTask, np.random.Generator], str]
"""Takes a working script, its task and a source of chance; gives the faulty script."""

_READ = 'test = pd.read_csv("../input/test.csv")\n'
_FIT = "model.fit(X, y)\n"
_SAVE = "submission.to_csv("
_SAVED = f'{_SAVE}"submission.csv", index=False)'


@dataclass(frozen=True)
class Fault:
    """A way to fail."""

    name: str
    weight: float
    """How often it is drawn, relative to the others."""
    edit: Edit


def _after(script: str, line: str, inserted: str) -> str:
    """`script` with lines put in after the first `line`."""
    return script.replace(line, f"{line}{inserted}\n", 1)


def _before_saving(script: str, inserted: str) -> str:
    head, _, tail = script.rpartition(_SAVE)
    return f"{head}{inserted}\n{_SAVE}{tail}"


def _replacing(old: str, *new: str) -> Edit:
    """Put one of `new` in the place of the last `old`."""

    def edit(script: str, task: TableTask, rng: np.random.Generator) -> str:
        head, _, tail = script.rpartition(old)
        return f"{head}{rng.choice(new)}{tail}"

    return edit


def _inserting(line: str, *new: str) -> Edit:
    def edit(script: str, task: TableTask, rng: np.random.Generator) -> str:
        return _after(script, line, str(rng.choice(new)))

    return edit


def _spoiling(*new: str) -> Edit:
    """Do something to the submission right before it is saved."""

    def edit(script: str, task: TableTask, rng: np.random.Generator) -> str:
        return _before_saving(script, str(rng.choice(new)).replace("ID", task.id_column))

    return edit


def _cut_off(script: str, task: TableTask, rng: np.random.Generator) -> str:
    return script[: int(len(script) * rng.uniform(0.4, 0.95))]


def _with_prose(script: str, task: TableTask, rng: np.random.Generator) -> str:
    return f"Here is a script for {task.title}:\n\n{script}"


def _with_fence(script: str, task: TableTask, rng: np.random.Generator) -> str:
    return f"```python\n{script}```\n"


def _badly_indented(script: str, task: TableTask, rng: np.random.Generator) -> str:
    return script.replace(_FIT, f"  {_FIT}", 1)


def _misspelt_target(script: str, task: TableTask, rng: np.random.Generator) -> str:
    wrong = ("target", "label", f"{task.targets[0]} ", task.targets[0].swapcase())
    return re.sub(r"^y = train\[.*\]$", f'y = train["{rng.choice(wrong)}"]', script, flags=re.M)


def _missing_import(script: str, task: TableTask, rng: np.random.Generator) -> str:
    imports = [line for line in script.splitlines() if line.startswith("from ")]
    return script.replace(f"{rng.choice(imports)}\n", "", 1)


def _never_called(script: str, task: TableTask, rng: np.random.Generator) -> str:
    body = "".join(f"    {line}\n" if line else "\n" for line in script.splitlines())
    return f"def main():\n{body}"


def _few_columns(script: str, task: TableTask, rng: np.random.Generator) -> str:
    if "X_test = test[X.columns]" not in script:
        return _few_rows(script, task, rng)
    kept = f"X = X.iloc[:, :{rng.integers(1, 3)}]\n"
    return script.replace("X_test = test[X.columns]", f"{kept}X_test = test[X.columns]", 1)


def _few_rows(script: str, task: TableTask, rng: np.random.Generator) -> str:
    return _after(script, _READ, f"train = train.head({rng.choice((15, 30, 60))})")


_PATHS = ("train.csv", "../input/training.csv", "../data/train.csv", "input/train.csv")
_PACKAGES = ("lightgbm as lgb", "xgboost as xgb", "catboost", "torch", "tensorflow as tf")

FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("malformed/cut_off", 1.5, _cut_off),
        Fault("malformed/unclosed", 1.0, _replacing(_FIT, "model.fit(X, y\n")),
        Fault("malformed/indent", 0.5, _badly_indented),
        Fault("malformed/prose", 1.0, _with_prose),
        Fault("malformed/fence", 0.5, _with_fence),
        Fault("crash/column", 2.0, _misspelt_target),
        Fault("crash/path", 1.5, _replacing("../input/train.csv", *_PATHS)),
        Fault("crash/package", 1.5, lambda script, task, rng: _package(script, rng)),
        Fault("crash/import", 2.0, _missing_import),
        Fault("crash/argument", 1.5, _replacing(_FIT, "model.fit(X, y, epochs=10)\n")),
        Fault("crash/method", 1.0, _replacing("predict", "predict_classes", "transform")),
        Fault("no_result/name", 1.5, _replacing("submission.csv", "predictions.csv", "output.csv")),
        Fault("no_result/print", 1.0, _replacing(_SAVED, "print(submission.head())")),
        Fault("no_result/never_called", 1.0, _never_called),
        Fault("invalid/index", 1.0, _replacing("index=False", "index=True")),
        Fault("invalid/rows", 1.0, _spoiling("submission = submission.head(10)")),
        Fault(
            "invalid/column", 1.0, _spoiling("submission = submission.rename(columns=str.upper)")
        ),
        Fault("invalid/missing", 1.0, _spoiling("submission.iloc[:5, 1:] = float('nan')")),
        Fault("invalid/ids", 1.0, _spoiling('submission["ID"] = range(len(submission))')),
        Fault("timeout/sleep", 0.7, _inserting(_READ, "import time\ntime.sleep(3600)")),
        Fault("timeout/loop", 0.7, _replacing(_FIT, "while True:\n    model.fit(X, y)\n")),
        Fault(
            "memory/array", 0.5, _inserting(_READ, "import numpy as np\nnp.ones((60000, 60000))")
        ),
        Fault(
            "memory/copies",
            0.7,
            _inserting(_READ, "copies = [bytearray(10**7) for _ in range(10**5)]"),
        ),
        Fault("weak/few_rows", 2.0, _few_rows),
        Fault("weak/few_columns", 2.0, _few_columns),
        Fault(
            "weak/shuffled",
            1.5,
            _replacing(
                _FIT, "y = y.sample(frac=1.0, random_state=0).to_numpy()\nmodel.fit(X, y)\n"
            ),
        ),
    )
}
"""By name; the part before the slash says what it usually comes to."""


def _package(script: str, rng: np.random.Generator) -> str:
    return f"import {rng.choice(_PACKAGES)}\n{script}"
