"""MLE-Dojo directories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import graded, load, shown
from wmrl_gym import Status
from wmrl_gym.envs.mle.views.position import position_score
from wmrl_gym.errors import TaskError

LOWER = trees.DOJO_METRIC.replace("higher_is_better: bool = True", "higher_is_better: bool = False")


def test_a_competition(tmp_path: Path) -> None:
    task = load(trees.mle_dojo(tmp_path))
    assert (task.title, task.higher_is_better) == ("cancer-cells", True)
    assert task.description == "Tell benign cells from others.\n"
    assert task.leaderboard == (0.99, 0.9, 0.5)
    assert task.public_leaderboard == (0.98, 0.7, 0.6, 0.5)
    assert shown(task) == {"train.csv", "test.csv", "sample_submission.csv", "description.txt"}
    parts = trees.classification()
    perfect = graded(task, parts.answers.sample(frac=1, random_state=0))
    assert (perfect.metric_all, perfect.position) == (1.0, 1.0)
    half = graded(task, parts.sample)
    assert half.metric_all == 0.5
    # Third of three and fourth of four places: a third and a quarter of the teams are not ahead.
    both = position_score(
        half.metric,
        private=task.leaderboard,
        public=task.public_leaderboard,
        higher_is_better=task.higher_is_better,
    )
    assert both == pytest.approx((1 / 3 + 1 / 4) / 2)


def test_its_own_check_of_a_submission(tmp_path: Path) -> None:
    done = graded(load(trees.mle_dojo(tmp_path)), trees.classification().sample.assign(benign=-1.0))
    assert (done.status, done.reason) == (
        Status.INVALID_RESULT,
        "probabilities are not negative",
    )


def test_direction_is_what_the_class_says_and_is_not_run_for(tmp_path: Path) -> None:
    task = load(trees.mle_dojo(tmp_path, metric=LOWER + "\n    raise SystemExit\n"))
    assert task.higher_is_better is False
    assert load(tmp_path / "prepared", higher_is_better=True).higher_is_better is True


def test_where_things_may_lie(tmp_path: Path) -> None:
    competition = trees.mle_dojo(tmp_path / "clone")
    for place in (competition, competition / "data", competition.parent, competition.parents[1]):
        assert load(place).title == "cancer-cells", place
    definitions = tmp_path / "elsewhere"
    shutil.move(tmp_path / "clone" / "mledojo" / "competitions", definitions)
    with pytest.raises(TaskError, match=r"no metric class.*utils/metric\.py.*--definitions"):
        load(competition)
    assert load(competition, definitions=definitions).title == "cancer-cells"
    shutil.copytree(definitions / "cancer-cells" / "utils", competition / "utils")
    assert load(competition).title == "cancer-cells"


def test_leaderboards_in_info_and_none_at_all(tmp_path: Path) -> None:
    competition = trees.mle_dojo(tmp_path, boards=None)
    task = load(competition)
    assert (task.leaderboard, task.public_leaderboard) == ((), ())
    assert task.notes == ("no leaderboard, hence no medals",)
    assert dict(task.references) == {"sample submission": 0.5}
    info = tmp_path / "mledojo" / "competitions" / "cancer-cells" / "info"
    trees.write(info / "private_leaderboard.csv", "rank,score\n1,0.9\n2,0.8\n")
    assert load(competition).leaderboard == (0.9, 0.8)


def test_a_file_without_a_class_is_an_error_of_the_grader(tmp_path: Path) -> None:
    done = graded(
        load(
            trees.mle_dojo(tmp_path, metric="from mledojo.metrics.base import CompetitionMetrics")
        ),
        trees.classification().sample,
    )
    assert done.status is Status.UNSCORED
    assert "no subclass of CompetitionMetrics" in done.reason


def test_pointers(tmp_path: Path) -> None:
    competition = trees.mle_dojo(tmp_path)
    (competition / "data" / "private" / "test_answer.csv").write_text(trees.POINTER)
    with pytest.raises(TaskError, match=r"test_answer\.csv is a pointer of Git LFS"):
        load(competition)
