"""Make a task of your own from a data frame, and let an agent work on it.

One call splits the rows, writes a folder that can be given to others, looks for leaks and
measures plain solutions. Here the frame has a column that gives the target away, as exports of
databases tend to have: the call refuses it, and says which.

    python examples/add_your_task.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import gymnasium as gym
import pandas as pd
from sklearn.datasets import load_breast_cancer

import wmrl_gym  # noqa: F401  # registers the environments
from wmrl_gym.envs.mle.authoring import author_task
from wmrl_gym.errors import TaskError

ACTION = """submit
```python
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

train = pd.read_csv("../input/train.csv", index_col="id")
test = pd.read_csv("../input/test.csv", index_col="id")
model = RandomForestClassifier(random_state=0)
model.fit(train.drop(columns="malignant"), train["malignant"])
test["malignant"] = model.predict_proba(test)[:, 1]
test[["malignant"]].to_csv("submission.csv")
```
"""


def tumours() -> pd.DataFrame:
    """What a laboratory might export: measures, the diagnosis, and what followed from it."""
    features, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = features.iloc[:, :10].assign(malignant=1 - benign)
    return frame.assign(ward=frame["malignant"].map({0: "none", 1: "oncology"}))


def main() -> None:
    """Make the task, then play one episode of it."""
    directory = Path(tempfile.mkdtemp()) / "tumours"
    try:
        author_task(tumours(), directory, target="malignant", metric="roc_auc")
    except TaskError as leak:
        print(f"{leak}\n")
    task = author_task(
        tumours(),
        directory,
        target="malignant",
        metric="roc_auc",
        drop=["ward"],
        title="Malignant tumours",
        about="Measures of cell nuclei, from images of fine-needle aspirates.",
        licence="CC BY 4.0",
        origin="Wolberg, Mangasarian, Street and Street, 1993",
    )
    print("files:", *sorted(path.name for path in directory.iterdir()))
    print("references:", dict(task.references))
    with gym.make("WMRL-MLE-v0", task=str(directory)) as env:
        env.reset(seed=0)
        observation, reward, *_ = env.step(ACTION)
    print(f"{observation.splitlines()[0]}\nreward: {reward:.3f}")


if __name__ == "__main__":
    main()
