"""A task from a data frame: what is written, that it can be played, and what is refused."""

from __future__ import annotations

import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import wmrl_gym  # noqa: F401  # registers the environments
from wmrl_gym.envs.mle.authoring import LeakWarning, author_task
from wmrl_gym.envs.mle.baselines import BASELINES, solve
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.grading import grade
from wmrl_gym.envs.mle.lint import lint
from wmrl_gym.envs.mle.scoring import position
from wmrl_gym.errors import TaskError
from wmrl_gym.outcomes import Status


def wine() -> pd.DataFrame:
    """178 wines of three cultivars, in the order of the cultivars."""
    features, target = load_wine(return_X_y=True, as_frame=True)
    return features.assign(cultivar=target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"}))


def diabetes() -> pd.DataFrame:
    features, target = load_diabetes(return_X_y=True, as_frame=True)
    return features.assign(progression=target)


def tables(directory: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    names = ("train", "test", "answers")
    train, test, answers = (pd.read_csv(directory / f"{name}.csv") for name in names)
    return train, test, answers


# --- what is written ---


def test_no_row_is_lost_and_nothing_tells_where_it_was(tmp_path: Path) -> None:
    frame = wine()
    author_task(frame, tmp_path / "t", target="cultivar", metric="accuracy", measure=False)
    train, test, answers = tables(tmp_path / "t")
    assert list(test["id"]) == list(answers["id"])
    hidden = test.assign(cultivar=answers["cultivar"])
    everything = pd.concat([train, hidden])
    assert sorted(everything["id"]) == list(range(1, len(frame) + 1))
    columns = list(frame.columns)
    pd.testing.assert_frame_equal(
        everything[columns].sort_values(columns, ignore_index=True),
        frame.sort_values(columns, ignore_index=True),
    )
    assert list(train["id"]) != sorted(train["id"])
    assert 0.38 < len(test) / len(frame) < 0.42
    assert answers["Usage"].value_counts().to_dict() == {"Private": 53, "Public": 18}


def test_each_part_has_the_classes_in_equal_shares(tmp_path: Path) -> None:
    author_task(wine(), tmp_path / "t", target="cultivar", metric="accuracy", measure=False)
    train, _, answers = tables(tmp_path / "t")
    shares = [part["cultivar"].value_counts(normalize=True) for part in (train, answers)]
    assert (shares[0] - shares[1]).abs().max() < 0.02


def test_a_split_by_time_hides_the_latest_rows(tmp_path: Path) -> None:
    frame = diabetes().assign(day=pd.date_range("2020-01-01", periods=442))
    shuffled = frame.sample(frac=1, random_state=0)
    author_task(
        shuffled,
        tmp_path / "t",
        target="progression",
        metric="mae",
        time_column="day",
        hidden_share=0.2,
        measure=False,
    )
    train, test, answers = tables(tmp_path / "t")
    assert train["day"].max() < test["day"].min()
    assert len(test) == 88
    public = test["day"][answers["Usage"] == "Public"]
    assert len(public) == 22
    assert public.max() < test["day"][answers["Usage"] == "Private"].min()


def test_equal_rows_stay_on_one_side(tmp_path: Path) -> None:
    doubled = pd.concat([wine(), wine()])
    author_task(doubled, tmp_path / "t", target="cultivar", metric="accuracy", measure=False)
    train, test, _ = tables(tmp_path / "t")
    assert len(train) + len(test) == 2 * 178
    features = [column for column in test.columns if column != "id"]
    assert len(train.merge(test, on=features)) == 0


def test_a_seed_draws_another_split(tmp_path: Path) -> None:
    ids = []
    for name, seed in (("a/t", 0), ("b/t", 0), ("c/t", 1)):
        (tmp_path / name).parent.mkdir()
        author_task(
            diabetes(),
            tmp_path / name,
            target="progression",
            metric="rmse",
            seed=seed,
            measure=False,
        )
        ids.append((tmp_path / name / "test.csv").read_bytes())
    assert ids[0] == ids[1] != ids[2]


def test_answers_are_for_the_owner_alone(tmp_path: Path) -> None:
    author_task(wine(), tmp_path / "t", target="cultivar", metric="accuracy", measure=False)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "t").iterdir()}
    assert modes == {
        "train.csv": 0o644,
        "test.csv": 0o644,
        "answers.csv": 0o600,
        "task.toml": 0o644,
    }
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o755


def test_dropped_columns_are_nowhere(tmp_path: Path) -> None:
    frame = wine().assign(id=range(178), secret=wine()["cultivar"])
    task = author_task(
        frame,
        tmp_path / "t",
        target="cultivar",
        metric="accuracy",
        drop=["id", "secret"],
        measure=False,
    )
    assert "secret" not in (task.public / "train.csv").read_text()


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([True, False], ("False", "True")),
        ([1.0, 0.0], ("0", "1")),
        (["yes", " no "], ("no", "yes")),
    ],
)
def test_labels_of_every_type(values: list[Any], classes: tuple[str, str], tmp_path: Path) -> None:
    features, target = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = features.iloc[:, :3].assign(benign=[values[1 - t] for t in target])
    task = author_task(frame, tmp_path / "t", target="benign", metric="roc_auc", measure=False)
    assert task.classes == classes
    assert grade(task, solve(task, "linear")).metric > 0.9


def test_the_description_says_what_was_said(tmp_path: Path) -> None:
    task = author_task(
        diabetes(),
        tmp_path / "t",
        target="progression",
        metric="rmse",
        title="Diabetes after a year",
        about="Patients of a hospital.",
        target_about="progression of the disease",
        columns={"bmi": "body mass index"},
        licence="BSD-3-Clause",
        origin="Efron et al., 2004",
        measure=False,
    )
    for text in (
        "# Diabetes after a year",
        "Patients of a hospital.",
        "`progression`: progression of the disease",
        "| `bmi` | body mass index |",
        "Efron et al., 2004. Licence of the data: BSD-3-Clause.",
    ):
        assert text in task.description


# --- references ---


@pytest.mark.slow
def test_baselines_are_measured_on_the_private_answers(tmp_path: Path) -> None:
    task = author_task(wine(), tmp_path / "t", target="cultivar", metric="accuracy")
    train, _, answers = tables(tmp_path / "t")
    private = answers[answers["Usage"] == "Private"]["cultivar"]
    most_frequent = train["cultivar"].mode()[0]
    assert list(task.references) == list(BASELINES) == ["dummy", "linear", "boosted"]
    assert task.references["dummy"] == round((private == most_frequent).mean(), 5)
    assert task.references["linear"] > 0.9
    assert position(task, task.references["dummy"]) == 0
    assert grade(task, solve(task, "linear")).metric == pytest.approx(
        task.references["linear"], abs=1e-5
    )


def test_without_baselines_the_sample_is_the_reference(tmp_path: Path) -> None:
    task = author_task(
        diabetes(), tmp_path / "t", target="progression", metric="rmse", measure=False
    )
    assert list(task.references) == ["sample_submission"]
    assert 60 < task.references["sample_submission"] < 90


def two_targets(kind: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    noisy = x @ [[1.0, 0.0], [0.5, 1.0], [0.0, -1.0]] + rng.normal(size=(200, 2)) / 2
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    if kind == "multilabel":
        return frame.assign(u=noisy[:, 0] > 0, v=noisy[:, 1] > 0.5)
    if kind == "survival":
        return frame.assign(u=np.exp(noisy[:, 0]), v=(noisy[:, 1] > -1).astype(int))
    return frame.assign(u=noisy[:, 0], v=noisy[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "metric"),
    [("multilabel", "mean_roc_auc"), ("survival", "concordance"), ("regression", "rmse")],
)
def test_several_targets(kind: str, metric: str, tmp_path: Path) -> None:
    task = author_task(two_targets(kind), tmp_path / "t", target=["u", "v"], metric=metric)
    assert (task.kind, task.targets) == (kind, ("u", "v"))
    worst, linear = task.references["dummy"], task.references["linear"]
    assert linear > worst + 0.2 if task.higher_is_better else linear < worst - 0.2


# --- as a task ---


@pytest.mark.slow
def test_it_is_played_like_any_other(tmp_path: Path) -> None:
    directory = tmp_path / "wine"
    author_task(wine(), directory, target="cultivar", metric="accuracy")
    script = """
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

train = pd.read_csv("../input/train.csv").set_index("id")
test = pd.read_csv("../input/test.csv").set_index("id")
model = RandomForestClassifier(random_state=0).fit(train.drop(columns="cultivar"), train.cultivar)
test["cultivar"] = model.predict(test)
test[["cultivar"]].to_csv("submission.csv")
"""
    with gymnasium.make("WMRL-MLE-v0", task=str(directory)) as env:
        observation, _ = env.reset(seed=0)
        assert "Grignolino" in observation
        observation, reward, terminated, _, info = env.step(f"submit\n```python\n{script}```")
    assert "Public accuracy: " in observation
    assert terminated
    assert info["status"] == Status.COMPLETED
    assert reward > 0.5


@pytest.mark.slow
def test_the_pipeline_environment_takes_it(tmp_path: Path) -> None:
    author_task(wine(), tmp_path / "wine", target="cultivar", metric="accuracy")
    with gymnasium.make("WMRL-MLE-Pipeline-v0", tasks=[str(tmp_path / "wine")]) as env:
        env.reset(seed=0)
        info = env.step(np.zeros(env.action_space.shape, dtype=int))[4]
    assert info["status"] == Status.COMPLETED


def test_it_is_loaded_by_its_path(tmp_path: Path) -> None:
    task = author_task(wine(), tmp_path / "t", target="cultivar", metric="accuracy", measure=False)
    assert load_task(str(tmp_path / "t")) is task
    assert lint(task) == []


# --- leaks ---


def test_a_leak_is_refused_and_says_how_to_mend_it(tmp_path: Path) -> None:
    frame = wine().assign(code=load_wine(return_X_y=True)[1])
    with pytest.raises(TaskError) as caught:
        author_task(frame, tmp_path / "t", target="cultivar", metric="accuracy")
    assert "column 'code' has one value for each label of 'cultivar'" in str(caught.value)
    assert "drop=[...]" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_leak_can_be_kept(tmp_path: Path) -> None:
    frame = wine().assign(code=load_wine(return_X_y=True)[1])
    with pytest.warns(LeakWarning, match="column 'code'"):
        author_task(
            frame,
            tmp_path / "t",
            target="cultivar",
            metric="accuracy",
            allow_leaks=True,
            measure=False,
        )
    assert (tmp_path / "t" / "train.csv").is_file()


def test_a_suspicion_is_a_warning(tmp_path: Path) -> None:
    frame = diabetes()
    noise = np.random.default_rng(0).normal(size=len(frame))
    frame["near"] = frame["progression"] + 9 * noise
    with pytest.warns(LeakWarning, match="column 'near' alone takes away 95% or more"):
        author_task(frame, tmp_path / "t", target="progression", metric="rmse", measure=False)


# --- wrong arguments ---


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Path]:
    """A directory in which nothing may be left."""
    place = tmp_path / "place"
    place.mkdir()
    yield place
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "vintage"}, "target=['vintage'] is no column of frame, which has ['alcohol',"),
        ({"target": []}, "field targets=[] has to be a list of names of columns"),
        ({"metric": "acuracy"}, "field metric='acuracy' has to be one of accuracy, "),
        ({"metric": "rmse"}, "target 'cultivar' has to hold finite numbers for metric='rmse'"),
        ({"metric": "roc_auc"}, "metric='roc_auc' is for kind binary; target 'cultivar' has 3"),
        ({"metric": "qwk"}, "metric='qwk' needs classes in their order"),
        ({"classes": ["Barolo", "Barbera"]}, "labels ['Grignolino'] outside classes"),
        ({"time_column": "day"}, "time_column=['day'] is no column of frame"),
        ({"drop": ["ash", "dust"]}, "drop=['dust'] is no column of frame"),
        ({"drop": ["cultivar"]}, "target=['cultivar'] is no column of frame"),
        ({"columns": {"dust": "?"}}, "columns=['dust'] is no column of frame"),
        ({"licnece": "MIT"}, "field 'licnece' is unknown; did you mean 'licence'?"),
        ({"timeout_s": 0}, "field timeout_s=0 has to be a positive number of seconds"),
        ({"hidden_share": 0.0}, "hidden_share=0.0 has to be above 0 and at most 0.9"),
        ({"hidden_share": 0.95}, "hidden_share=0.95 has to be above 0 and at most 0.9"),
        ({"hidden_share": 0.001}, "no rows are left for ['Public', 'Private']"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str, empty: Path) -> None:
    usual: dict[str, Any] = {"target": "cultivar", "metric": "accuracy"}
    with pytest.raises(TaskError) as caught:
        author_task(wine(), empty / "t", **{**usual, **arguments})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.head(39), "frame has 39 rows; a task needs at least 40"),
        (
            lambda f: f.assign(cultivar=f["cultivar"].where(f.index > 2)),
            "column 'cultivar' has 3 missing values; leave these rows out",
        ),
        (
            lambda f: f.assign(cultivar=f["cultivar"].where(f.index != 5, "Dolcetto")),
            "classes of target 'cultivar' have too few rows, {'Dolcetto': 1}; each needs",
        ),
        (lambda f: f.assign(cultivar="Barolo"), "has 1 classes: ['Barolo']"),
        (lambda f: f[["cultivar"]], "frame has no columns beside the target"),
        (lambda f: f.assign(id=1), "a column 'id', a name that the files of a task need"),
        (lambda f: f.assign(Usage=1), "leave it out with drop=['Usage'], or rename it"),
        (lambda f: f.rename(columns={"ash": 3}), "columns have to be named by text, not [3]"),
        (lambda f: f.rename(columns={"ash": "hue"}), "frame has columns ['hue'] more than once"),
        (
            lambda f: f[["cultivar"]].assign(same=1),
            "no rows are left for",
        ),
    ],
)
def test_data_that_make_no_task(change: Any, message: str, empty: Path) -> None:
    with pytest.raises(TaskError) as caught:
        author_task(change(wine()), empty / "t", target="cultivar", metric="accuracy")
    assert message in str(caught.value)


def test_targets_that_no_metric_takes(empty: Path) -> None:
    frame = diabetes()
    for change, metric, message in (
        (frame["progression"] - 100, "rmsle", "has negative values, which metric='rmsle'"),
        (frame["progression"].where(frame.index > 0, np.inf), "mae", "has to hold finite numbers"),
    ):
        with pytest.raises(TaskError, match=message):
            author_task(
                frame.assign(progression=change),
                empty / "t",
                target="progression",
                metric=metric,
            )


@pytest.mark.parametrize("measure", [True, False])
def test_a_metric_that_the_hidden_rows_do_not_allow(measure: bool, empty: Path) -> None:
    """All rows after the split in time have one label: there is no curve to measure."""
    features, target = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = features.iloc[:, :3].assign(late=target)
    ordered = frame.sort_values("late", kind="stable").assign(day=range(len(frame)))
    with pytest.raises(TaskError, match="grader_error"):
        author_task(
            ordered,
            empty / "t",
            target="late",
            metric="roc_auc",
            time_column="day",
            measure=measure,
            allow_leaks=True,
        )


def test_an_existing_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine").touch()
    with pytest.raises(TaskError, match=r"t' exists; name one that does not"):
        author_task(wine(), tmp_path / "t", target="cultivar", metric="accuracy")
    assert [path.name for path in tmp_path.rglob("*")] == ["t", "mine"]
    with pytest.raises(TaskError, match=r"none' is not a directory"):
        author_task(wine(), tmp_path / "none" / "t", target="cultivar", metric="accuracy")


def test_a_frame_is_not_changed(tmp_path: Path) -> None:
    frame = two_targets("multilabel")
    before = frame.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        author_task(frame, tmp_path / "t", target=["u", "v"], metric="mean_roc_auc", measure=False)
    pd.testing.assert_frame_equal(frame, before)
