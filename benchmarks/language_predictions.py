"""Predictions of a batch in one call, its shared part worked through once, against one by one.

python benchmarks/language_predictions.py [--batch 64] [--alone 8]

One by one is measured on a few and scaled up, since it takes minutes on a CPU. Processor
seconds tell the work on a machine that does other things besides.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from wmrl_gym.envs.mle import briefing
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.outcomes import Execution
from wmrl_gym.world_models.language.model import LanguageWorldModel
from wmrl_gym.world_models.language.names import language_world_model

TASK = "wine-cultivar-micro"
SCRIPT = """\
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score

train = pd.read_csv("../input/train.csv")
test = pd.read_csv("../input/test.csv")
columns = [name for name in test.columns if name != "id"]
model = RandomForestClassifier(n_estimators={trees}, max_depth={depth}, random_state=0)
scores = cross_val_score(model, train[columns], train["cultivar"], cv=5)
print(scores.mean())
model.fit(train[columns], train["cultivar"])
predicted = pd.DataFrame({{"id": test["id"], "cultivar": model.predict(test[columns])}})
predicted.to_csv("submission.csv", index=False)
"""


def batch_of(count: int) -> list[Execution]:
    task = load_task(TASK)
    context = f"{briefing.overview(task)}\n\n{briefing.ACTIONS}"
    return [
        Execution(
            TASK,
            SCRIPT.format(trees=10 + index, depth=2 + index % 8),
            task_version=task.version,
            context=context,
        )
        for index in range(count)
    ]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def one_by_one(model: LanguageWorldModel, batch: list[Execution]) -> None:
    for execution in batch:
        model.execute([execution])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--alone", type=int, default=8)
    parser.add_argument("--model", default="smollm2+expected")
    arguments = parser.parse_args()
    model = language_world_model(arguments.model)
    batch = batch_of(arguments.batch)
    model.execute(batch[:1])  # the first call is slower
    together = timed(lambda: model.execute(batch))
    alone = timed(lambda: one_by_one(model, batch[: arguments.alone]))
    scale = arguments.batch / arguments.alone
    print(f"{arguments.batch} predictions on {model.backend.name}")
    print(f"{'':24}{'wall s':>10}{'processor s':>14}")
    print(f"{'in one call':24}{together[0]:10.1f}{together[1]:14.1f}")
    print(f"{'one by one (scaled up)':24}{alone[0] * scale:10.1f}{alone[1] * scale:14.1f}")
    ratios = [one * scale / all_ for one, all_ in zip(alone, together, strict=True)]
    print(f"{'times faster':24}{ratios[0]:10.1f}{ratios[1]:14.1f}")
    model.close()


if __name__ == "__main__":
    main()
