"""What graders of MLE-bench import, against results worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from wmrl_gym.envs.mle.grading.guest.mle_bench_helpers import (
    ForeignInvalidSubmissionError,
    df_to_one_hot,
    is_one_hot_encoded,
    one_hot_dfs_to_log_loss_inputs,
    prepare_for_accuracy_metric,
    prepare_for_auroc_metric,
    rle_decode,
    rle_encode,
    rles_to_masks,
)


def test_run_lengths_go_down_the_columns_and_count_from_one() -> None:
    mask = np.array([[0, 0, 1], [1, 0, 1]])
    assert rle_encode(mask) == [2, 1, 5, 2]
    assert (rle_decode("2 1 5 2", height=2, width=3) == mask).all()
    assert rle_encode(np.zeros((2, 2))) == []
    assert not rle_decode(" ", height=2, width=2).any()
    assert rle_encode(1 - mask, fg_val=0) == [2, 1, 5, 2]
    masks = rles_to_masks(["1 1", "2 1"], [1, 2], [1, 1])
    assert [m.tolist() for m in masks] == [[[True]], [[False], [True]]]


@pytest.mark.parametrize("runs", ["0 1", "3 1 1 1", "1 2 2 1", "1 0", "1"])
def test_wrong_runs(runs: str) -> None:
    with pytest.raises(AssertionError):
        rle_decode(runs, height=2, width=2)


def test_one_hot() -> None:
    frame = pd.DataFrame({"id": [7, 8], "kind": ["b", "a"]}, index=[3, 4])
    one_hot = df_to_one_hot(frame, "id", "kind", ["a", "b"])
    assert one_hot.to_numpy().tolist() == [[7, 0, 1], [8, 1, 0]]
    assert is_one_hot_encoded(one_hot[["a", "b"]].to_numpy())
    assert not is_one_hot_encoded(np.array([[0.5, 0.5]]))
    assert not is_one_hot_encoded(np.array([[1, 1]]))


def test_inputs_of_a_log_loss() -> None:
    true = pd.DataFrame({"id": [1, 2], "a": [1, 0], "b": [0, 1]})
    said = pd.DataFrame({"b": [0.0, 2.0], "a": [0.0, 2.0], "id": [2, 1], "more": [0, 0]})
    plain = one_hot_dfs_to_log_loss_inputs(said, true, apply_softmax=False)
    assert plain["y_true"].tolist() == [[1, 0], [0, 1]]
    assert plain["y_pred"].tolist() == [[2.0, 2.0], [0.0, 0.0]]
    soft = one_hot_dfs_to_log_loss_inputs(said, true)
    assert soft["y_pred"] == pytest.approx(np.full((2, 2), 0.5))
    kept = one_hot_dfs_to_log_loss_inputs(true, true)
    assert kept["y_pred"].tolist() == [[1, 0], [0, 1]]
    for wrong in (said.drop(columns="a"), said.assign(id=[2, 3])):
        with pytest.raises(ForeignInvalidSubmissionError):
            one_hot_dfs_to_log_loss_inputs(wrong, true)


def test_inputs_of_an_accuracy_and_of_an_area() -> None:
    answers = pd.DataFrame({"id": ["x", "y"], "t": [0, 1]})
    said = pd.DataFrame({"id": ["y", "x"], "t": [0.9, 0.2]})
    inputs = prepare_for_accuracy_metric(said, answers, target_column="t", id_column="id")
    assert {name: v.tolist() for name, v in inputs.items()} == {
        "y_true": [0, 1],
        "y_pred": [0.2, 0.9],
    }
    inputs = prepare_for_auroc_metric(said, answers, id_col="id", target_col="t")
    assert inputs["y_score"].tolist() == [0.2, 0.9]
    for wrong in (
        said.head(1),
        said.drop(columns="t"),
        said.assign(id=["y", "z"]),
        said.assign(t=[1.1, 0]),
        said.assign(t=["high", "low"]),
    ):
        with pytest.raises(ForeignInvalidSubmissionError):
            prepare_for_auroc_metric(wrong, answers, id_col="id", target_col="t")
