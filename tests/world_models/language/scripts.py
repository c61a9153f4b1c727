"""Scripts for the smallest built-in task, and executions of them."""

from __future__ import annotations

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.outcomes import Execution

TASK = "wine-cultivar-micro"
GOOD = """\
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

train = pd.read_csv("../input/train.csv")
test = pd.read_csv("../input/test.csv")
columns = ["alcohol", "hue"]
model = RandomForestClassifier(n_estimators={trees}).fit(train[columns], train["cultivar"])
made = pd.DataFrame({{"id": test["id"], "cultivar": model.predict(test[columns])}})
made.to_csv("submission.csv", index=False)
"""


def good(trees: int = 10) -> str:
    return GOOD.format(trees=trees)


def execution(script: str, *, context: str = "Predict the cultivar of wines.") -> Execution:
    return Execution(
        TASK, script, task_version=load_task(TASK).version, timeout_s=60.0, context=context
    )


def bare(script: str, *, task: str = "an unknown task", context: str = "") -> Execution:
    """An execution of a task that the library knows nothing of: a short prompt."""
    return Execution(task, script, context=context)
