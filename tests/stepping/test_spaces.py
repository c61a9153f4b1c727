"""Observations and actions as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from wmrl_gym.stepping.spaces import FlatActions, FlatObservations


def boxes(*names: str) -> spaces.Dict:
    sizes = {"a": (2,), "b": (1, 3), "c": ()}
    return spaces.Dict([(name, spaces.Box(-9, 9, sizes[name], np.float64)) for name in names])


def test_keys_are_in_alphabetical_order_whatever_order_they_were_declared_in() -> None:
    value = {"a": np.array([1.0, 2.0]), "b": np.array([[3.0, 4.0, 5.0]]), "c": np.array(6.0)}
    for space in (boxes("a", "b", "c"), boxes("c", "b", "a")):
        flat = FlatObservations(space)
        vector = flat.flatten(value)
        assert vector.dtype == np.float32
        assert vector.tolist() == [1, 2, 3, 4, 5, 6]
        again = flat.unflatten(vector)
        assert list(again) == list(space)
        for key in value:
            np.testing.assert_array_equal(again[key], value[key])
            assert (again[key].dtype, again[key].shape) == (np.float64, value[key].shape)


def test_nested_dicts() -> None:
    space = spaces.Dict({"z": boxes("b", "a"), "y": spaces.Box(0, 1, (1,), np.float32)})
    flat = FlatObservations(space)
    value = {"z": {"a": np.ones(2), "b": np.full((1, 3), 2.0)}, "y": np.zeros(1, np.float32)}
    assert flat.flatten(value).tolist() == [0, 1, 1, 2, 2, 2]
    assert space.contains(flat.unflatten(flat.flatten(value)))


def test_images_and_texts_are_left_out_of_the_vector() -> None:
    image = spaces.Box(0, 255, (4, 5, 3), np.uint8)
    space = spaces.Dict({"wrist": image, "state": boxes("a")["a"], "text": spaces.Text(5)})
    flat = FlatObservations(space)
    picture = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    value = {"wrist": picture, "state": np.array([1.0, 2.0]), "text": "go"}
    assert flat.flatten(value).tolist() == [1, 2]
    np.testing.assert_array_equal(flat.frame(value), picture)
    assert FlatObservations(image).flatten(picture).shape == (0,)


def test_flattening_copies() -> None:
    flat = FlatObservations(spaces.Box(-9, 9, (2,), np.float32))
    value = np.zeros(2, np.float32)
    flat.flatten(value)[0] = 5.0
    assert value[0] == 0.0


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ([0.5, -3.0], [0.5, -1.0]),
        ([np.nan, 0.25], [0.0, 0.25]),
        ([np.inf, -np.inf], [1.0, -1.0]),
        # Of another size: no motion.
        ([0.5, 0.5, 0.5], [0.0, 0.0]),
    ],
)
def test_actions_are_clipped_and_bad_ones_are_no_motion(action: Any, expected: Any) -> None:
    actions = FlatActions(spaces.Box(-1, 1, (2,), np.float32))
    assert actions.size == 2
    assert actions.flatten(np.array(action)).tolist() == expected


def test_choices_are_numbers_in_a_record() -> None:
    assert FlatActions(spaces.Discrete(5)).flatten(np.int64(3)).tolist() == [3.0]
    assert FlatActions(spaces.MultiDiscrete([4, 4])).flatten(np.array([1, 2])).tolist() == [1, 2]


def test_pictures_whose_channels_come_first_are_turned() -> None:
    space = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (3, 4, 5), np.uint8),
            "state": spaces.Box(-1.0, 1.0, (2,), np.float32),
        }
    )
    value = space.sample()
    turned = FlatObservations(space).frame(value)
    assert turned is not None
    assert turned.shape == (4, 5, 3)
    np.testing.assert_array_equal(turned[:, :, 1], value["image"][1])
