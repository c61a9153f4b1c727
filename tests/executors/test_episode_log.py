from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from wmrl_gym.executors.episode_log import EpisodeRow, append_rows, read_rows

ANCHOR = EpisodeRow(
    group=3,
    task="tin",
    anchor=True,
    real=True,
    predicted=0.7,
    calibrated=0.6,
    true=0.5,
    weight=2.0,
    version=4,
    seconds=1.5,
    valid=True,
    status=6,
    artifact="print('ü')\n",
    feedback="fine",
)
PREDICTED = replace(ANCHOR, group=4, anchor=False, real=False, true=math.nan, weight=1.0)


def test_rows_come_back(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    append_rows(file, [ANCHOR])
    append_rows(file, [PREDICTED])
    first, second = read_rows(file)
    assert first == ANCHOR
    assert math.isnan(second.true)
    assert replace(second, true=0.0) == replace(PREDICTED, true=0.0)


def test_score_is_the_one_trained_on() -> None:
    assert (ANCHOR.score, PREDICTED.score) == (0.5, 0.6)


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    append_rows(file, [ANCHOR])
    with file.open("a") as stream:
        stream.write('{"group": 9, "ta')
    assert list(read_rows(file)) == [ANCHOR]


def test_a_foreign_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    append_rows(file, [ANCHOR])
    with file.open("a") as stream:
        stream.write("[1, 2]\n")
    with pytest.raises(ValueError, match=r"episodes\.jsonl:2 is no episode"):
        list(read_rows(file))
