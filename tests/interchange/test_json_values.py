"""JSON that strict parsers take, and arrays that come back as they were."""

from __future__ import annotations

import json
from enum import IntEnum
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest

from tests.interchange.episodes import refuse
from wmrl_gym.interchange.json_values import (
    from_json_value,
    json_line,
    plain_json_value,
    to_json_value,
)


def over_the_wire(value: Any) -> Any:
    return json.loads(json_line(to_json_value(value)), parse_constant=refuse)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, 2], [3, 4]], dtype=np.int64),
        np.array([0.1, -2.5], dtype=np.float32),
        np.array([True, False]),
        np.zeros((0, 3), dtype=np.uint8),
        np.array(7, dtype=np.int16),
        np.array(["ab", "c"]),
        np.random.default_rng(0).normal(size=(2, 3, 4)),
    ],
)
def test_arrays_come_back_as_they_were(array: np.ndarray) -> None:
    back = from_json_value(over_the_wire({"nested": [array]}))["nested"][0]
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)


def test_what_is_not_finite_is_null() -> None:
    wire = over_the_wire({"a": float("nan"), "b": np.float32("inf"), "c": np.array([1.0, np.nan])})
    assert wire["a"] is None
    assert wire["b"] is None
    assert wire["c"]["values"] == [1.0, None]
    np.testing.assert_array_equal(from_json_value(wire)["c"], [1.0, np.nan])


class Rung(IntEnum):
    FIRST = 1


def test_everything_else_becomes_something() -> None:
    given = {
        1: np.int64(3),
        "flag": np.bool_(True),
        "pair": (1, "x"),
        "rung": Rung.FIRST,
        "path": PurePosixPath("a/b"),
        "half": "\ud800 é \u2028",
        "nothing": None,
    }
    assert over_the_wire(given) == {
        "1": 3,
        "flag": True,
        "pair": [1, "x"],
        "rung": 1,
        "path": "a/b",
        "half": "? é \u2028",
        "nothing": None,
    }


def test_a_line_is_one_line_for_every_reader() -> None:
    line = json_line(to_json_value({"text": "a\nb\u2028c\x85d"}))
    assert len(line.decode().splitlines()) == 1


def test_plain_values_are_lists() -> None:
    value = {"image": np.zeros((1, 2)), "rows": [np.float32(1.5), (np.array([3]),)]}
    assert plain_json_value(value) == {"image": [[0.0, 0.0]], "rows": [1.5, [[3]]]}
