from __future__ import annotations

import numpy as np

from wmrl_gym.agents.infos import unbatch_infos


def test_masks_decide_who_has_a_key() -> None:
    infos = {
        "w": np.array([0.5, 0.0]),
        "_w": np.array([True, False]),
        "n": np.array([1, 2]),
        "_n": np.array([True, True]),
    }
    assert unbatch_infos(infos, 2) == [{"w": 0.5, "n": 1}, {"n": 2}]


def test_values_are_plain_python() -> None:
    infos = {"w": np.array([0.5]), "v": np.array([True]), "s": np.array(["a"], dtype=object)}
    (info,) = unbatch_infos(infos, 1)
    assert type(info["w"]) is float
    assert type(info["v"]) is bool
    assert info["s"] == "a"


def test_nested_dicts_have_their_own_masks() -> None:
    inner = {"x": np.array([1.0, 2.0]), "_x": np.array([False, True])}
    infos = {"inner": inner, "_inner": np.array([True, True])}
    assert unbatch_infos(infos, 2) == [{"inner": {}}, {"inner": {"x": 2.0}}]


def test_a_key_without_mask_belongs_to_all() -> None:
    infos = {"lives": np.array([3, 4]), "shared": "value"}
    expected = [{"lives": 3, "shared": "value"}, {"lives": 4, "shared": "value"}]
    assert unbatch_infos(infos, 2) == expected


def test_arrays_are_copies() -> None:
    batch = np.arange(4).reshape(2, 2)
    info = unbatch_infos({"a": batch}, 2)[1]
    batch[:] = 0
    assert info["a"].tolist() == [2, 3]


def test_a_key_with_underscore_that_masks_nothing_is_kept() -> None:
    assert unbatch_infos({"_seconds": np.array([1.5])}, 1) == [{"_seconds": 1.5}]
