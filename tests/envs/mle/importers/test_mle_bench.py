"""MLE-bench directories of every shape that its competitions have."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import graded, load, shown
from wmrl_gym import Status
from wmrl_gym.envs.mle.catalog import load_tasks
from wmrl_gym.envs.mle.importers import foreign
from wmrl_gym.errors import TaskError


@pytest.fixture
def bench(tmp_path: Path) -> trees.MLEBench:
    return trees.MLEBench(tmp_path / "mle-bench")


def rmse(answers: pd.DataFrame, submission: pd.DataFrame) -> float:
    both = answers.merge(submission, on="id")
    return float(np.sqrt(((both.iloc[:, 1] - both.iloc[:, 2]) ** 2).mean()))


def test_all_that_a_task_says(bench: trees.MLEBench) -> None:
    task = load(bench.add(board=trees.RMSE_BOARD))
    assert (task.title, task.metric) == ("The Task of diabetes-progression", "rmse")
    assert task.description.startswith("# diabetes-progression")
    assert task.higher_is_better is False
    assert task.leaderboard == tuple(trees.RMSE_BOARD)
    assert task.tags == ("simple",)
    assert task.notes == ()
    assert shown(task) == {"train.csv", "test.csv", "sample_submission.csv", "description.md"}


def test_a_plain_public_directory_is_shown_where_it_is(bench: trees.MLEBench) -> None:
    data = bench.add()
    assert load(data).public == data / "prepared" / "public"


def test_the_metric_is_the_one_of_its_own_function(bench: trees.MLEBench) -> None:
    parts = trees.regression()
    task = load(bench.add(board=trees.RMSE_BOARD))
    done = graded(task, parts.sample)
    assert done.status is Status.COMPLETED
    assert done.metric_all == pytest.approx(rmse(parts.answers, parts.sample), rel=1e-6)
    assert {type(value) for value in (done.metric, done.public_metric, done.metric_all)} == {float}
    # 77.8 is behind 7 of the 10 teams.
    assert done.position == pytest.approx(0.3)


def test_public_and_private_rows_make_up_all_rows(bench: trees.MLEBench) -> None:
    parts = trees.regression()
    done = graded(load(bench.add()), parts.sample)
    assert done.metric is not None
    assert done.public_metric is not None
    assert done.metric_all is not None
    squares = np.array([done.metric, done.public_metric, done.metric_all]) ** 2
    share = (squares[2] - squares[0]) / (squares[1] - squares[0])  # public share of the rows
    assert share == pytest.approx(round(share * len(parts.answers)) / len(parts.answers), abs=1e-3)
    assert 0.1 < share < 0.4


def test_order_of_rows_and_columns_is_free(bench: trees.MLEBench) -> None:
    # This function compares row by row, as careless ones do.
    careless = trees.GRADE_RMSE.replace(
        'answers.merge(submission, on="id", suffixes=("", "_predicted"))',
        'answers.assign(progression_predicted=submission["progression"].to_numpy())',
    )
    task = load(bench.add(grade=careless))
    parts = trees.regression()
    guess = parts.answers.assign(progression=parts.answers["progression"] + np.arange(80))
    shuffled = guess.sample(frac=1, random_state=1).iloc[:, ::-1]
    assert graded(task, shuffled) == graded(task, guess)
    assert graded(task, parts.answers).metric_all == 0.0


@pytest.mark.parametrize(
    "sample",
    [
        "public/sampleSubmission.csv",
        "public/sample_submission_null.csv",
        "public/randomPredictions.csv",
        "private/sample_submission.csv",
    ],
)
def test_the_sample_submission_has_any_name_and_place(bench: trees.MLEBench, sample: str) -> None:
    task = load(bench.add(sample=sample, answers="private/answers.csv"))
    assert graded(task, trees.regression().sample).status is Status.COMPLETED
    assert (Path(sample).name in shown(task)) == sample.startswith("public")
    assert set(task.references) == {"sample submission"}


def test_answers_in_the_public_part_are_not_shown(bench: trees.MLEBench) -> None:
    data = bench.add(answers="public/solution.csv")
    shutil.copy(
        data / "prepared" / "public" / "solution.csv", data / "prepared" / "public" / "x.csv"
    )
    task = load(data)
    assert shown(task) == {"train.csv", "test.csv", "sample_submission.csv", "description.md"}
    assert graded(task, trees.regression().sample).status is Status.COMPLETED
    # A copy that costs no space, and nothing that could lead out of it.
    copied = task.public / "train.csv"
    assert copied.stat().st_ino == (data / "prepared" / "public" / "train.csv").stat().st_ino
    assert not any(path.is_symlink() for path in task.public.rglob("*"))


JSON_LINES = """\
    from sklearn.metrics import f1_score
    from mlebench.grade_helpers import InvalidSubmissionError
    from mlebench.utils import get_logger, read_jsonl

    logger = get_logger(__name__)

    def grade(submission, answers: dict) -> float:
        submission.fillna("", inplace=True)
        if len(submission) != 2 * len(answers):
            raise InvalidSubmissionError(f"{len(submission)} is not twice {len(answers)}")
        true = {a["example_id"]: a["label"] for a in answers}
        said = submission["PredictionString"].astype(str) != ""
        return f1_score([true[i.split("_")[0]] for i in submission["example_id"]], said)
    """


def test_answers_in_json_lines(bench: trees.MLEBench) -> None:
    examples = [{"example_id": f"e{n}", "label": n % 2} for n in range(20)]
    ids = [f"{e['example_id']}_{kind}" for e in examples for kind in ("long", "short")]
    sample = pd.DataFrame({"example_id": ids, "PredictionString": None})
    parts = trees.Parts(sample, sample, sample, sample)
    data = bench.add(parts=parts, grade=JSON_LINES, answers="private/test.jsonl", metric="f1")
    lines = "\n".join(json.dumps(example) for example in examples)
    (data / "prepared" / "private" / "test.jsonl").write_text(lines + "\n")
    task = load(data)
    perfect = sample.assign(
        PredictionString=["YES" if int(i[1:].split("_")[0]) % 2 else "" for i in ids]
    )
    done = graded(task, perfect)
    assert (done.metric, done.public_metric, done.metric_all) == (1.0, None, 1.0)
    short = graded(task, perfect.head(39))
    assert (short.status, short.reason) == (Status.INVALID_RESULT, "39 is not twice 20")
    # The sample is empty, hence worth nothing, and an F1 score is known to be better if higher.
    assert task.higher_is_better is True
    assert dict(task.references) == {"sample submission": 0.0}
    assert task.optimum == 1.0


def test_modules_beside_the_function_and_the_benchmarks_helpers(bench: trees.MLEBench) -> None:
    grade = """\
        import pandas as pd
        from mlebench.competitions.utils import prepare_for_auroc_metric
        from mlebench.grade_helpers import InvalidSubmissionError
        from sklearn.metrics import roc_auc_score

        from . import constants
        from .deeper.names import TARGET

        def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
            return roc_auc_score(
                **prepare_for_auroc_metric(submission, answers, constants.ID, TARGET)
            )
        """
    parts = trees.classification()
    data = bench.add("cancer-2.0-cells", parts=parts, grade=grade, metric="AUC-ROC")
    definition = bench.definitions / "cancer-2.0-cells"
    trees.write(definition / "constants.py", "ID = 'id'\n")
    trees.write(definition / "deeper" / "__init__.py", "")
    trees.write(definition / "deeper" / "names.py", "TARGET = 'benign'\n")
    task = load(data)
    assert graded(task, parts.answers).metric_all == 1.0
    outside = parts.sample.assign(benign=1.5)
    done = graded(task, outside)
    assert (done.status, done.reason) == (
        Status.INVALID_RESULT,
        "'benign' has to lie between 0 and 1",
    )


def test_a_gold_submission_is_the_optimum_where_answers_are_no_submission(
    bench: trees.MLEBench,
) -> None:
    parts = trees.classification()
    one_hot = parts.answers.assign(no=1 - parts.answers["benign"]).rename(columns={"benign": "yes"})
    labels = parts.answers.assign(label=parts.answers["benign"].map({0: "no", 1: "yes"}))
    grade = """\
        from sklearn.metrics import log_loss
        from mlebench.competitions.utils import df_to_one_hot, one_hot_dfs_to_log_loss_inputs

        def grade(submission, answers):
            true = df_to_one_hot(answers, "id", "label", ["yes", "no"])
            return log_loss(**one_hot_dfs_to_log_loss_inputs(submission, true, apply_softmax=False))
        """
    parts = trees.Parts(
        parts.train, parts.test, labels[["id", "label"]], one_hot.assign(yes=0.5, no=0.5)
    )
    data = bench.add(parts=parts, grade=grade, metric="custom", gold="private/gold.csv")
    trees.write(data / "prepared" / "private" / "gold.csv", one_hot)
    task = load(data)
    assert task.higher_is_better is False
    assert task.optimum == pytest.approx(0, abs=1e-6)
    assert task.references["sample submission"] == pytest.approx(np.log(2))


# --- where things lie ---


def test_each_of_the_two_trees_finds_the_other(
    bench: trees.MLEBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bench.add()
    bench.define(
        "not-prepared", trees.GRADE_RMSE, "private/a.csv", "public/s.csv", "rmse", None, None
    )
    places = [data, data / "prepared", bench.data, bench.definitions, bench.root]
    places.append(bench.definitions / data.name)
    for place in places:
        names = [task.name for task in load_tasks(str(place))]
        assert names == [str(place)], place
    elsewhere = Path(shutil.move(bench.data, tmp_path / "elsewhere"))
    with pytest.raises(TaskError, match=r"2 definitions, but no data for them \(looked"):
        load(bench.root)
    assert load(bench.root, data=elsewhere).title == "The Task of diabetes-progression"
    with pytest.raises(TaskError, match=r"has no definition .*--definitions"):
        load(elsewhere)
    for named in (bench.root, bench.definitions, bench.definitions / data.name):
        assert load(elsewhere, definitions=named).title == "The Task of diabetes-progression"
    monkeypatch.setenv("WMRL_GYM_MLE_BENCH_DEFINITIONS", str(bench.definitions))
    assert load(elsewhere).metric == "rmse"


def test_a_clone_and_the_default_cache(
    bench: trees.MLEBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.add()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache" / "mle-bench").mkdir(parents=True)
    shutil.move(bench.data, tmp_path / "cache" / "mle-bench" / "data")
    assert load(bench.root).title == "The Task of diabetes-progression"


def test_a_definition_beside_its_data(bench: trees.MLEBench) -> None:
    data = bench.add()
    for path in (bench.definitions / data.name).iterdir():
        path.rename(data / path.name)
    (data / f"{data.name}.zip").write_bytes(b"much")
    task = load(data)
    names = {path.name for path in task.definitions}
    assert names == {"config.yaml", "description.md", "grade.py", "prepare.py"}
    assert graded(task, trees.regression().answers).metric_all == 0.0


def test_large_answers_are_read_where_they_are(
    bench: trees.MLEBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "_SENT_BYTES", 100)
    task = load(bench.add())
    grader = task.grader
    assert set(grader.files) == set()
    assert set(grader.data) == {"definition", "of-answers", "of-sample"}
    assert graded(task, trees.regression().answers).metric_all == 0.0


def test_data_alone_need_a_metric(bench: trees.MLEBench) -> None:
    data = bench.add()
    shutil.rmtree(bench.root / "mlebench")
    with pytest.raises(TaskError, match="metric=None is none of those"):
        load(data)
    task = load(data, metric="RMSE")
    assert task.higher_is_better is False
    parts = trees.regression()
    done = graded(task, parts.sample)
    assert done.metric_all == pytest.approx(rmse(parts.answers, parts.sample))
    assert task.notes == ("no definition, hence no leaderboard and no medals",)


@pytest.mark.parametrize(
    ("metric", "prediction", "expected"),
    [("auc", 0.5, 0.5), ("accuracy", 1, None), ("logloss", 0.5, "error")],
)
def test_metrics_of_ours(
    bench: trees.MLEBench, metric: str, prediction: float, expected: float | str | None
) -> None:
    parts = trees.classification()
    data = bench.add(parts=parts)
    shutil.rmtree(bench.root / "mlebench")
    done = graded(load(data, metric=metric), parts.sample.assign(benign=prediction))
    if expected == "error":  # a log loss needs a column for each class
        assert done.status in (Status.UNSCORED, Status.INVALID_RESULT)
    else:
        mean = float(parts.answers["benign"].mean())
        assert done.metric_all == pytest.approx(mean if expected is None else expected)


# --- broken in some way ---


def test_pointers_of_git_lfs(bench: trees.MLEBench) -> None:
    data = bench.add(board=trees.POINTER)
    task = load(data)
    assert len(task.notes) == 1
    assert "pointer of Git LFS" in task.notes[0]
    assert 'lfs pull --include "leaderboard.csv"' in task.notes[0]
    assert (task.leaderboard, task.higher_is_better) == ((), False)
    private = data / "prepared" / "private" / "test.csv"
    private.write_text(trees.POINTER)
    with pytest.raises(TaskError, match=r"test\.csv is a pointer.* git -C .*private lfs pull"):
        load(data)


def test_a_pointer_among_the_public_files(bench: trees.MLEBench) -> None:
    data = bench.add()
    (data / "prepared" / "public" / "train.csv").write_text(trees.POINTER)
    task = load(data)
    with pytest.raises(TaskError, match=r"train\.csv is a pointer"):
        _ = task.public


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("prepared/private/test.csv", "prepared/private/../../../x.csv", "leads out of"),
        ("answers: diabetes-progression/", "answers: /etc/", "has to begin with"),
        ("answers: diabetes-progression/", "answers: ../", "has to begin with"),
        ("private/test.csv", "private/none.csv", "there is no file"),
        ("  answers:", "  replies:", r"no text at dataset\.answers"),
        (".grade:grade", ".grade", "is not module:function"),
        (".grade:grade", ".score:grade", r"no file .*score\.py"),
        ("id: diabetes-progression", "[", "cannot be read"),
        ("grader:", "marker:", r"no text at grader\."),
    ],
)
def test_a_broken_configuration_names_the_fault(
    bench: trees.MLEBench, old: str, new: str, message: str
) -> None:
    data = bench.add()
    config = bench.definitions / data.name / "config.yaml"
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))
    with pytest.raises(TaskError, match=message):
        load(data)


def test_answers_that_are_a_link_to_elsewhere(bench: trees.MLEBench, tmp_path: Path) -> None:
    data = bench.add()
    answers = data / "prepared" / "private" / "test.csv"
    answers.unlink()
    answers.symlink_to(trees.write(tmp_path / "secret.csv", "id,progression\n"))
    with pytest.raises(TaskError, match="leads out of"):
        load(data)


def test_public_links_to_elsewhere_are_not_shown(bench: trees.MLEBench, tmp_path: Path) -> None:
    data = bench.add()
    secret = trees.write(tmp_path / "secret.txt", "of the host\n")
    (data / "prepared" / "public" / "leak.txt").symlink_to(secret)
    (data / "prepared" / "public" / "again.csv").symlink_to("train.csv")
    assert shown(load(data)) == {
        "again.csv",
        "train.csv",
        "test.csv",
        "sample_submission.csv",
        "description.md",
    }


@pytest.mark.parametrize("board", ["rank,points\n1,2\n", "score\nmuch\n", "score\n"])
def test_an_unreadable_leaderboard_makes_a_task_without_medals(
    bench: trees.MLEBench, board: str
) -> None:
    task = load(bench.add(board=board))
    assert task.leaderboard == ()
    assert task.notes[0].startswith("no medals")


def test_one_broken_competition_does_not_hide_the_others(bench: trees.MLEBench) -> None:
    bench.add("good-one")
    bench.add("bad-one")
    (bench.definitions / "bad-one" / "config.yaml").write_text(": : :")
    assert load(bench.data, "good-one").title == "The Task of good-one"
    with pytest.raises(TaskError, match="bad-one"):
        load(bench.data, "bad-one")


def test_a_version_changes_with_whatever_changes_scores(bench: trees.MLEBench) -> None:
    data = bench.add()
    versions = [load(data).version, load(data).version, load(data, higher_is_better=True).version]
    grade = bench.definitions / data.name / "grade.py"
    grade.write_text(grade.read_text() + "\n# changed\n")
    versions.append(load(data).version)
    answers = data / "prepared" / "private" / "test.csv"
    answers.write_text(textwrap.dedent(answers.read_text()) + "row-999,1\n")
    versions.append(load(data).version)
    assert versions[0] == versions[1]
    assert len(set(versions)) == 4
