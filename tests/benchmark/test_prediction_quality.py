"""All figures of predictions, on a set that is small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.benchmark.prediction_quality import Predictions, measure


def hand_made() -> Predictions:
    """Task a: a group in the right order and one without spread; task b: one in the wrong order,
    one of a single member, and a prediction that failed."""
    nan = np.nan
    return Predictions(
        tasks=["a", "a", "a", "a", "b", "b", "b", "b"],
        groups=np.array([0, 0, 1, 1, 2, 2, 3, 2]),
        predicted=np.array([0.2, 0.8, 0.4, 0.6, 0.9, 0.5, 0.5, nan]),
        p_completed=np.array([0.1, 0.9, 0.5, 0.5, 0.9, 0.3, 0.2, nan]),
        true=np.array([0.1, 0.9, 0.5, 0.5, 0.1, 0.7, 0.5, 0.5]),
        completed=np.array([False, True, True, True, False, True, True, True]),
    )


def test_figures_by_hand() -> None:
    quality = measure(hand_made(), debias_across="groups", bins=2)
    value = {name: figure.estimate for name, figure in quality.figures.items()}
    assert value["rank_correlation"] == pytest.approx((1.0 - 1.0) / 2)
    assert value["pair_accuracy"] == pytest.approx(0.5)
    # Completed: 0.9 0.5 0.5 0.3 0.2 over 0.1 and 0.9. Five wins over 0.1, one tie with 0.9.
    assert value["completion_auc"] == pytest.approx(5.5 / 10)
    errors = np.array([0.1, -0.1, -0.1, 0.1, 0.8, -0.2, 0.0])
    assert value["bias"] == pytest.approx(errors.mean())
    assert value["squared_error"] == pytest.approx((errors**2).mean())
    # Below 1/2: 0.2 0.4, truth 0.1 0.5. From 1/2 on: 0.8 0.6 0.9 0.5 0.5, truth .9 .5 .1 .7 .5.
    assert value["calibration_error"] == pytest.approx((2 * 0.0 + 5 * abs(0.66 - 0.54)) / 7)
    # Too few pairs for a map.
    assert np.isnan(value["squared_error_debiased"])
    assert quality.counts == {
        "asked": 8,
        "unscored": 1,
        "debiased": 0,
        "groups": 4,
        "groups_of_one": 1,
        "groups_without_spread": 1,
        "groups_predicted_equal": 0,
    }
    assert quality.unscored_share == 1 / 8
    assert [part.count for part in quality.diagrams["score"]] == [2, 5]


def test_figures_of_each_task() -> None:
    tasks = measure(hand_made(), debias_across="groups").tasks
    assert tasks["a"]["pairs"] == 4
    assert tasks["a"]["rank_correlation"] == pytest.approx(1.0)
    assert tasks["b"]["rank_correlation"] == pytest.approx(-1.0)
    assert tasks["b"]["squared_error"] == pytest.approx((0.64 + 0.04 + 0.0) / 3)


def test_no_prediction_at_all_is_no_figure() -> None:
    given = hand_made()
    nothing = np.full(8, np.nan)
    quality = measure(
        Predictions(given.tasks, given.groups, nothing, nothing, given.true, given.completed),
        debias_across="tasks",
    )
    assert quality.unscored_share == 1.0
    assert all(np.isnan(figure.estimate) for figure in quality.figures.values())
    assert quality.tasks == {}


@pytest.mark.parametrize("across", ["groups", "tasks"])
def test_debiasing_is_measured_across(across: str) -> None:
    # One map would do for both tasks, but each task shows only its half of it.
    task = np.repeat(np.arange(2), 320)
    true = 0.5 * task + 0.5 * np.random.default_rng(0).random(640)
    predicted = 0.5 * true + 0.25 * task
    quality = measure(
        Predictions(
            tasks=[f"task-{number}" for number in task],
            groups=np.repeat(np.arange(80), 8),
            predicted=predicted,
            p_completed=np.ones(640),
            true=true,
            completed=np.ones(640, dtype=np.bool_),
        ),
        debias_across=across,
        resamples=20,
    )
    before = quality.figures["squared_error"].estimate
    after = quality.figures["squared_error_debiased"].estimate
    # Half of the true score in one task, half of its distance from 1/2 in the other.
    assert before == pytest.approx(0.25 / 12, rel=0.1)
    assert after < 0.01 * before if across == "groups" else after > before
    low, high = quality.figures["rank_correlation"][1:]
    assert low == pytest.approx(1.0)
    assert high == pytest.approx(1.0)
