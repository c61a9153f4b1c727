"""What graders of MLE-bench import from `mlebench.competitions.utils`, written for this package.

Names, arguments and results are those that graders rely on; everything else is our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax


class ForeignInvalidSubmissionError(Exception):
    """What graders raise for an invalid submission; of no built-in kind, as in the benchmarks."""


def df_to_one_hot(
    df: pd.DataFrame, id_column: str, target_column: str, classes: list[str]
) -> pd.DataFrame:
    """`[N, 1 + K]` ids, and 1 in the column of the class of each row."""
    one_hot = {label: (df[target_column] == label).astype(int) for label in classes}
    return pd.DataFrame({id_column: df[id_column], **one_hot})


def is_one_hot_encoded(xs: NDArray[Any]) -> bool:
    """Whether each row of a matrix has one 1 and is 0 otherwise."""
    return bool(np.isin(xs, (0, 1)).all() and np.allclose(xs.sum(axis=-1), 1))


def one_hot_dfs_to_log_loss_inputs(
    submission_one_hot: pd.DataFrame,
    answers_one_hot: pd.DataFrame,
    id_column: str = "id",
    apply_softmax: bool = True,
) -> dict[str, NDArray[Any]]:
    """`y_true` and `y_pred` in the order of the ids, of tables with a column for each class.

    Predictions go through a softmax if that is asked for and they are not one-hot already.
    """
    lacking = set(answers_one_hot.columns) - set(submission_one_hot.columns)
    if lacking:
        raise ForeignInvalidSubmissionError(f"there is no column {', '.join(sorted(lacking))}")
    predicted = submission_one_hot[answers_one_hot.columns].sort_values(id_column)
    true = answers_one_hot.sort_values(id_column)
    if predicted[id_column].tolist() != true[id_column].tolist():
        raise ForeignInvalidSubmissionError(f"the values of {id_column!r} do not match")
    y_pred = predicted.drop(columns=id_column).to_numpy()
    if apply_softmax and not is_one_hot_encoded(y_pred):
        y_pred = softmax(y_pred, axis=-1)
    return {"y_true": true.drop(columns=id_column).to_numpy(), "y_pred": y_pred}


def prepare_for_accuracy_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, target_column: str, id_column: str
) -> dict[str, NDArray[Any]]:
    """`y_true` and `y_pred` in the order of the ids."""
    predicted, true = _matched(submission, answers, id_column, target_column)
    return {"y_true": true, "y_pred": predicted}


def prepare_for_auroc_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, id_col: str, target_col: str
) -> dict[str, NDArray[Any]]:
    """`y_true` and `y_score` in the order of the ids; scores are probabilities."""
    predicted, true = _matched(submission, answers, id_col, target_col)
    try:
        scores = pd.to_numeric(pd.Series(predicted)).to_numpy()
    except ValueError as error:
        raise ForeignInvalidSubmissionError(f"{target_col!r} has to hold numbers") from error
    if scores.min() < 0 or scores.max() > 1:
        raise ForeignInvalidSubmissionError(f"{target_col!r} has to lie between 0 and 1")
    return {"y_true": true, "y_score": scores}


def rle_decode(rle_string: str, height: int, width: int) -> NDArray[np.bool_]:
    """`[height, width]` mask of runs "start length start length ...", column by column from 1.

    Raises:
        AssertionError: If the runs are not positive, sorted and apart.
    """
    numbers = np.array(rle_string.split(), dtype=int)
    starts, lengths = numbers[0::2] - 1, numbers[1::2]
    mask = np.zeros(height * width, dtype=bool)
    assert len(starts) == len(lengths), "a run has no length"
    assert (starts >= 0).all(), "runs have to start at 1 or later"
    assert (lengths > 0).all(), "runs have to be positive"
    assert (starts[1:] >= (starts + lengths)[:-1]).all(), "runs have to be sorted and apart"
    for start, length in zip(starts, lengths, strict=True):
        mask[start : start + length] = True
    return mask.reshape(width, height).T


def rle_encode(x: NDArray[Any], fg_val: int = 1) -> list[int]:
    """Runs of `fg_val` in a mask, `[start, length, ...]`, column by column from 1."""
    flat = np.concatenate([[False], x.T.ravel() == fg_val, [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    return [int(n) for pair in zip(starts, ends - starts, strict=True) for n in pair]


def rles_to_masks(
    rl_encodings: list[str], image_heights: list[int], image_widths: list[int]
) -> list[NDArray[np.bool_]]:
    """The masks of several images."""
    sizes = zip(rl_encodings, image_heights, image_widths, strict=True)
    return [rle_decode(runs, height=height, width=width) for runs, height, width in sizes]


def _matched(
    submission: pd.DataFrame, answers: pd.DataFrame, id_column: str, target: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """`[N]` predictions and `[N]` answers in the order of the ids."""
    for column in (id_column, target):
        if column not in submission.columns:
            raise ForeignInvalidSubmissionError(f"there is no column {column!r}")
    if len(submission) != len(answers):
        raise ForeignInvalidSubmissionError(
            f"there are {len(submission)} rows where {len(answers)} are expected"
        )
    predicted, true = submission.sort_values(id_column), answers.sort_values(id_column)
    if predicted[id_column].tolist() != true[id_column].tolist():
        raise ForeignInvalidSubmissionError(f"the values of {id_column!r} do not match")
    return predicted[target].to_numpy(), true[target].to_numpy()
