"""Directories in the layouts of the benchmarks, with real data, as a user has them on disk."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes

POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 12345\n"
)
"""What a clone without Git LFS has in the place of a large file."""


@dataclass(frozen=True)
class Parts:
    """A data set, split; `test` has no target, `answers` ids and target."""

    train: pd.DataFrame
    test: pd.DataFrame
    answers: pd.DataFrame
    sample: pd.DataFrame


def regression(prefix: str = "row-", rows: int = 200) -> Parts:
    """Diabetes progression; ids with hyphens, in no order."""
    frame = load_diabetes(as_frame=True).frame.head(rows)
    return _split(frame.rename(columns={"target": "progression"}), "progression", 150.0, prefix)


def classification(prefix: str = "row-", rows: int = 300) -> Parts:
    """Breast cancer, as the probability of class 1."""
    frame = load_breast_cancer(as_frame=True).frame.head(rows)
    return _split(frame.rename(columns={"target": "benign"}), "benign", 0.5, prefix)


def _split(frame: pd.DataFrame, target: str, constant: float, prefix: str) -> Parts:
    frame = frame.sample(frac=1, random_state=0).reset_index(drop=True)
    frame.insert(0, "id", [f"{prefix}{(7 * n) % len(frame)}" for n in range(len(frame))])
    cut = len(frame) * 3 // 5
    train, hidden = frame[:cut], frame[cut:].reset_index(drop=True)
    return Parts(
        train=train,
        test=hidden.drop(columns=target),
        answers=hidden[["id", target]],
        sample=hidden[["id"]].assign(**{target: constant}),
    )


def write(path: Path, content: pd.DataFrame | str | dict[str, Any]) -> Path:
    """Write a table, a text (dedented) or JSON, and the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pd.DataFrame):
        content.to_csv(path, index=False)
    elif isinstance(content, dict):
        path.write_text(json.dumps(content))
    else:
        path.write_text(textwrap.dedent(content))
    return path


GRADE_RMSE = """\
    import numpy as np
    import pandas as pd
    from mlebench.grade_helpers import InvalidSubmissionError

    def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        if len(submission) != len(answers):
            raise InvalidSubmissionError("the lengths differ")
        both = answers.merge(submission, on="id", suffixes=("", "_predicted"))
        error = both["progression"] - both["progression_predicted"]
        return np.float32(np.sqrt((error**2).mean()))
    """
RMSE_BOARD = [40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 80.0, 90.0, 100.0]


@dataclass(frozen=True)
class MLEBench:
    """A tree of MLE-bench: a clone's competitions and a data directory."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def definitions(self) -> Path:
        return self.root / "mlebench" / "competitions"

    def add(
        self,
        identifier: str = "diabetes-progression",
        *,
        parts: Parts | None = None,
        grade: str = GRADE_RMSE,
        answers: str = "private/test.csv",
        sample: str = "public/sample_submission.csv",
        metric: str = "rmse",
        board: list[float] | str | None = None,
        gold: str | None = None,
    ) -> Path:
        """Add a competition; the directory of its data."""
        parts = parts or regression()
        prepared = self.data / identifier / "prepared"
        write(prepared / "public" / "train.csv", parts.train)
        write(prepared / "public" / "test.csv", parts.test)
        write(prepared / "public" / "description.md", f"# {identifier}\n\nPredict.\n")
        write(prepared / sample, parts.sample)
        if answers.endswith(".csv"):
            write(prepared / answers, parts.answers)
        (prepared / "private").mkdir(exist_ok=True)
        self.define(identifier, grade, answers, sample, metric, board, gold)
        return self.data / identifier

    def define(
        self,
        identifier: str,
        grade: str,
        answers: str,
        sample: str,
        metric: str,
        board: list[float] | str | None,
        gold: str | None,
    ) -> None:
        definition = self.definitions / identifier
        config = f"""\
            id: {identifier}
            name: The Task of {identifier}
            competition_type: simple
            awards_medals: false
            prizes: null
            description: mlebench/competitions/{identifier}/description.md

            dataset:
              answers: {identifier}/prepared/{answers}
              sample_submission: {identifier}/prepared/{sample}
            """
        if gold:
            config += f"  gold_submission: {identifier}/prepared/{gold}\n            "
        config = textwrap.dedent(config) + textwrap.dedent(f"""
            grader:
              name: {metric}
              grade_fn: mlebench.competitions.{identifier}.grade:grade

            preparer: mlebench.competitions.{identifier}.prepare:prepare
            """)
        write(definition / "config.yaml", config)
        write(definition / "description.md", f"# {identifier}\n\nWhat to do.\n")
        write(definition / "grade.py", grade)
        write(definition / "prepare.py", "import tensorflow, kaggle\n")
        if isinstance(board, str):
            write(definition / "leaderboard.csv", board)
        elif board is not None:
            write(definition / "leaderboard.csv", leaderboard(board))


def leaderboard(scores: list[float]) -> pd.DataFrame:
    """A leaderboard file, best first as given."""
    return pd.DataFrame({"teamName": [f"t{n}" for n in range(len(scores))], "score": scores})


def mle_dojo(
    root: Path,
    name: str = "cancer-cells",
    *,
    metric: str | None = None,
    boards: tuple[list[float], list[float]] | None = ([0.99, 0.9, 0.5], [0.98, 0.7, 0.6, 0.5]),
) -> Path:
    """A tree of MLE-Dojo; the directory of the competition's prepared data."""
    parts = classification()
    data = root / "prepared" / name / "data"
    write(data / "public" / "train.csv", parts.train)
    write(data / "public" / "test.csv", parts.test)
    write(data / "public" / "sample_submission.csv", parts.sample)
    write(data / "public" / "description.txt", "Tell benign cells from others.\n")
    write(data / "private" / "test_answer.csv", parts.answers)
    if boards is not None:
        for side, scores in zip(("private", "public"), boards, strict=True):
            board = pd.DataFrame({"rank": range(1, len(scores) + 1), "score": scores})
            write(data / "private" / f"{side}_leaderboard.csv", board)
    write(root / "mledojo" / "competitions" / name / "utils" / "metric.py", metric or DOJO_METRIC)
    return data.parent


DOJO_METRIC = """\
    from typing import Any
    import pandas as pd
    from mledojo.metrics.base import CompetitionMetrics, InvalidSubmissionError
    from sklearn.metrics import roc_auc_score

    class CancerCellsMetrics(CompetitionMetrics):
        def __init__(self, value: str = "benign", higher_is_better: bool = True):
            super().__init__(higher_is_better)
            self.value = value

        def evaluate(self, y_true: pd.DataFrame, y_pred: pd.DataFrame) -> float:
            y_true = y_true.sort_values(by=y_true.columns[0])
            y_pred = y_pred.sort_values(by=y_pred.columns[0])
            return roc_auc_score(y_true[self.value], y_pred[self.value])

        def validate_submission(self, submission: Any, ground_truth: Any) -> str:
            if (submission[self.value] < 0).any():
                raise InvalidSubmissionError("probabilities are not negative")
            return "Submission is valid."
    """


def dsbench(root: Path, name: str = "diabetes-years", *, evaluator: str | None = None) -> Path:
    """A tree of DSBench's data-modelling tasks; the directory `data_modeling`."""
    parts = regression(prefix="")
    modelling = root / "data_modeling"
    public = modelling / "data" / "data_resplit" / name
    write(public / "train.csv", parts.train)
    write(public / "test.csv", parts.test)
    write(public / "sample_solution.csv", parts.sample)
    write(modelling / "data" / "answers" / name / "test_answer.csv", parts.answers)
    write(modelling / "data" / "task" / f"{name}.txt", "Predict the progression.\n")
    write(modelling / "evaluation" / f"{name}_eval.py", evaluator or DSBENCH_EVALUATOR)
    line = f"{{'name': '{name}', 'url': 'https://example.org/{name}', 'size': '9 kB'}}\n"
    write(modelling / "data.json", "not a literal\n" + line)
    return modelling


DSBENCH_EVALUATOR = """\
    import os.path
    import argparse
    import numpy as np
    import pandas as pd

    parser = argparse.ArgumentParser()
    parser.add_argument('--path', type=str, required=True)
    parser.add_argument('--name', type=str, required=True)
    parser.add_argument('--answer_file', type=str, required=True)
    parser.add_argument('--predict_file', type=str, required=True)
    parser.add_argument('--value', type=str, default="progression")
    args = parser.parse_args()

    actual = pd.read_csv(os.path.join(args.path, args.name, args.answer_file))
    submission = pd.read_csv(os.path.join(args.path, args.name, args.predict_file))
    # As in the benchmark: nothing is aligned, since the result of the sort is not kept.
    submission.sort_values(by=["id"])
    performance = np.sqrt(np.mean((actual[args.value] - submission[args.value]) ** 2))
    with open(os.path.join(args.path, args.name, "result.txt"), "w") as f:
        f.write(str(performance))
    """


def sandmle(root: Path, name: str = "sand-0001", *, evaluator: str | None = None) -> Path:
    """A tree of SandMLE; the directory of the task."""
    parts = classification(rows=120)
    public = root / name / "prepared" / "public"
    write(public / "train.csv", parts.train)
    write(public / "test.csv", parts.test)
    write(public / "sample_submission.csv", parts.sample)
    write(public / "answer.csv", parts.answers)
    write(public / "description.md", "# Sand\n\nTell benign cells.\n")
    write(public / "images" / "readme.txt", "no images\n")
    write(public / "evaluator.py", evaluator or SANDMLE_EVALUATOR)
    return root / name


SANDMLE_EVALUATOR = """\
    import argparse
    import json
    from pathlib import Path

    import pandas as pd
    from sklearn.metrics import brier_score_loss

    parser = argparse.ArgumentParser()
    parser.add_argument("--submission_path", required=True)
    args = parser.parse_args()
    answers = pd.read_csv(Path(__file__).parent / "answer.csv")
    submission = pd.read_csv(args.submission_path)
    both = answers.merge(submission, on="id", suffixes=("_true", ""))
    score = brier_score_loss(both["benign_true"], both["benign"])
    print("evaluated", len(both), "rows")
    print(json.dumps({
        "score": float(score), "is_lower_better": True,
        "gold_threshold": 0.03, "silver_threshold": 0.05,
        "bronze_threshold": 0.08, "median_threshold": 0.1,
    }, indent=1))
    """


def mlgym(root: Path, *, evaluator: str | None = None) -> Path:
    """A tree of MLGym with a task that submits a table, one a script, and others."""
    parts = regression()
    data = root / "data" / "diabetesProgression"
    write(data / "data" / "train.csv", parts.train)
    write(data / "data" / "test.csv", parts.test)
    write(data / "data" / "answer.csv", parts.answers)
    write(data / "evaluate.py", evaluator or MLGYM_EVALUATOR)
    write(data / "baseline.py", "print('a baseline')\n")
    write(data / "sample_submission.csv", parts.sample.head(3))
    tasks = root / "configs" / "tasks"
    write(root / "configs" / "datasets" / "diabetes.yaml", MLGYM_DATASET)
    write(root / "configs" / "datasets" / "remote.yaml", MLGYM_DATASET.replace("true", "false"))
    write(tasks / "diabetesProgression.yaml", MLGYM_CSV_TASK)
    remote = MLGYM_CSV_TASK.replace("datasets/diabetes.yaml", "datasets/remote.yaml")
    write(tasks / "remote.yaml", remote)
    model = MLGYM_CSV_TASK.replace("CSVSubmissionTasks", "ModelSubmissionTasks")
    write(tasks / "model.yaml", model)
    game = root / "data" / "guessing"
    write(game / "evaluate.py", MLGYM_GAME)
    write(game / "strategy.py", "def guess(history):\n    return 0\n")
    write(game / "target.py", "def number(turn):\n    return turn % 3\n")
    write(tasks / "guessing.yaml", MLGYM_PYTHON_TASK)
    return root


MLGYM_DATASET = """\
    name: diabetes
    description: Ten measurements of each patient.
    data_path: data/diabetesProgression/data
    is_local: true
    """
MLGYM_CSV_TASK = """\
    id: diabetesProgression
    name: Diabetes Progression
    description: |-
      Predict the progression of diabetes.
      {dataset_docs}
      Write submission.csv with the columns id and progression.
    dataset_configs:
      - datasets/diabetes.yaml
    task_entrypoint: CSVSubmissionTasks
    training_timeout: 1800
    use_generic_conda: true
    starter_code:
      - data/diabetesProgression/baseline.py
      - data/diabetesProgression/evaluate.py
      - data/diabetesProgression/sample_submission.csv
    baseline_paths:
      - baseline.py
    baseline_scores:
      - rmse: 77.0
        r2: 0.0
    evaluation_paths:
      - evaluate.py
    evaluation_read_only: true
    sample_submission: data/diabetesProgression/sample_submission.csv
    """
MLGYM_EVALUATOR = """\
    import argparse
    import json

    import numpy as np
    import pandas as pd

    def evaluate(path):
        truth = pd.read_csv("/home/agent/workspace/data/answer.csv")
        predicted = pd.read_csv(path)
        error = truth["progression"].to_numpy() - predicted["progression"].to_numpy()
        spread = ((truth["progression"] - truth["progression"].mean()) ** 2).sum()
        rmse, r2 = np.sqrt((error**2).mean()), 1 - (error**2).sum() / spread
        return {"rmse": float(rmse), "r2": float(r2)}

    if __name__ == "__main__":
        parser = argparse.ArgumentParser()
        parser.add_argument("--submission_file", type=str, required=True)
        print(json.dumps(evaluate(parser.parse_args().submission_file)))
    """
MLGYM_PYTHON_TASK = """\
    id: guessing
    name: Guessing Game
    description: Write strategy.py with a function guess(history) that gives 0, 1 or 2.
    task_entrypoint: PythonSubmissionTasks
    starter_code:
      - data/guessing/evaluate.py
      - data/guessing/strategy.py
      - data/guessing/target.py
    baseline_scores:
      - Score: 0.3333
    evaluation_paths:
      - evaluate.py
    secret_files:
      - target.py
    """
MLGYM_GAME = """\
    import json

    from strategy import guess
    from target import number

    if __name__ == "__main__":
        history, right = [], 0
        for turn in range(30):
            right += guess(list(history)) == number(turn)
            history.append(number(turn))
        print(json.dumps({"Score": right / 30}))
    """
