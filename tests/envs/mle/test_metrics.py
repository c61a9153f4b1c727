"""Metrics against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS

ABC = ("a", "b", "c")


def test_log_loss_of_two_rows() -> None:
    probabilities = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    loss = METRICS["log_loss"].compute(np.array(["a", "c"]), probabilities, ABC)
    assert loss == pytest.approx(-(math.log(0.5) + math.log(0.8)) / 2)


def test_log_loss_reads_columns_in_the_order_of_the_classes() -> None:
    probabilities = np.array([[0.7, 0.3]])
    loss = METRICS["log_loss"].compute(np.array(["z"]), probabilities, ("z", "a"))
    assert loss == pytest.approx(-math.log(0.7))


def test_accuracy_of_three_in_four() -> None:
    answers, predictions = np.array(list("aabc")), np.array(list("aabb"))
    assert METRICS["accuracy"].compute(answers, predictions, ABC) == 0.75


def test_roc_auc_counts_the_pairs_in_order() -> None:
    # Of the 2 x 2 pairs, (0.9, 0.1), (0.9, 0.4) and (0.3, 0.1) are in order; the last class counts.
    answers, scores = np.array(["no", "yes", "no", "yes"]), np.array([0.1, 0.9, 0.4, 0.3])
    assert METRICS["roc_auc"].compute(answers, scores, ("no", "yes")) == 0.75


def test_macro_f1_averages_over_the_classes_that_occur() -> None:
    # a: precision 2/3, recall 1 -> 0.8; b: never predicted -> 0; c does not occur.
    answers, predictions = np.array(list("aab")), np.array(list("aaa"))
    assert METRICS["macro_f1"].compute(answers, predictions, ABC) == pytest.approx(0.8 / 2)


def test_macro_f1_is_not_spared_by_a_class_that_does_not_occur() -> None:
    # a: precision 1, recall 1/2 -> 2/3; b: 1.
    answers, predictions = np.array(list("aab")), np.array(list("acb"))
    assert METRICS["macro_f1"].compute(answers, predictions, ABC) == pytest.approx(5 / 6)


def test_qwk_punishes_by_the_square_of_the_distance() -> None:
    # Observed disagreement 1 + 0 + 0 = 1 (one row is off by one); expected, from the margins
    # (1, 1, 1) and (0, 2, 1) over three rows: (2 * 1 + 1 * 4 + 1 * 1 + 2 * 1) / 3 = 3.
    answers, predictions = np.array(list("abc")), np.array(list("bbc"))
    assert METRICS["qwk"].compute(answers, predictions, ABC) == pytest.approx(1 - 1 / 3)


def test_qwk_where_everything_is_one_class() -> None:
    same = np.array(list("bb"))
    assert METRICS["qwk"].compute(same, same, ABC) == 1.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rmse", math.sqrt((1 + 9) / 2)),
        ("mae", 2.0),
        ("rmsle", math.sqrt((math.log(2) ** 2 + math.log(2) ** 2) / 2)),
    ],
)
def test_metrics_of_numbers(name: str, expected: float) -> None:
    answers, predictions = np.array([0.0, 5.0]), np.array([1.0, 2.0])
    assert METRICS[name].compute(answers, predictions) == pytest.approx(expected)


def test_average_precision_weighs_the_precision_at_each_hit() -> None:
    # By score: yes, no, yes, no. Precision 1 at recall 1/2, and 2/3 at recall 1.
    answers, scores = np.array(["yes", "no", "yes", "no"]), np.array([0.9, 0.8, 0.7, 0.1])
    value = METRICS["average_precision"].compute(answers, scores, ("no", "yes"))
    assert value == pytest.approx((1 + 2 / 3) / 2)


def test_bits_are_the_logarithm_to_base_two() -> None:
    probabilities = np.array([[0.5, 0.5, 0.0], [0.0, 0.75, 0.25]])
    assert METRICS["bits"].compute(np.array(["a", "c"]), probabilities, ABC) == pytest.approx(1.5)


def test_mean_roc_auc_leaves_out_labels_that_no_row_or_every_row_has() -> None:
    # First label: 3 of 4 pairs in order; second: all; the other two have no curve.
    answers = np.array([[0, 0, 0, 1], [1, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]], dtype=float)
    scores = np.array(
        [[0.1, 0.2, 0.5, 0.5], [0.9, 0.8, 0.1, 0.1], [0.4, 0.1, 0, 0], [0.3, 0, 1, 1]]
    )
    assert METRICS["mean_roc_auc"].compute(answers, scores) == pytest.approx((0.75 + 1) / 2)


def test_concordance_counts_the_pairs_whose_order_is_known() -> None:
    # Times 1, 2 (no event), 3, 4. Known pairs: 1 before 2, 3, 4 and 3 before 4.
    answers = np.array([[1, 1], [2, 0], [3, 1], [4, 0]], dtype=float)
    risks = np.array([0.9, 0.95, 0.5, 0.5])  # wrong, right, right, tied
    assert METRICS["concordance"].compute(answers, risks) == pytest.approx(2.5 / 4)


@pytest.mark.parametrize("name", ["rmse", "mae", "rmsle"])
def test_several_targets_count_as_one_long_column(name: str) -> None:
    answers, predictions = np.array([[0.0, 5.0], [2.0, 1.0]]), np.array([[1.0, 2.0], [2.0, 4.0]])
    value = METRICS[name].compute(answers, predictions)
    assert value == METRICS[name].compute(answers.ravel(), predictions.ravel())


PERFECT = {
    "labels": (np.array(list("abc")), np.array(list("abc")), ABC),
    "score": (np.array(list("aab")), np.array([0.0, 0.1, 0.9]), ("a", "b")),
    "probabilities": (np.array(list("abc")), np.eye(3), ABC),
    "values": (np.array([1.0, 2.0]), np.array([1.0, 2.0]), ()),
    "mean_roc_auc": (np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), ()),
    "concordance": (np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([0.9, 0.1]), ()),
}
"""Answers, perfect predictions and classes, by kind of prediction or name of the metric."""


@pytest.mark.parametrize("name", sorted(METRICS))
def test_the_optimum_is_what_a_perfect_submission_gets(name: str) -> None:
    metric = METRICS[name]
    value = metric.compute(*PERFECT.get(name, PERFECT[metric.prediction]))
    assert value == pytest.approx(metric.optimum, abs=1e-12)
    assert type(value) is float


def test_which_metrics_need_probabilities() -> None:
    needing = {name for name, metric in METRICS.items() if metric.needs_probabilities}
    classification = {"log_loss", "bits", "roc_auc", "average_precision", "mean_roc_auc"}
    assert needing == {*classification, "concordance"}


def test_direction_agrees_with_the_optimum() -> None:
    assert all(metric.higher_is_better == (metric.optimum == 1.0) for metric in METRICS.values())
