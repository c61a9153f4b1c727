"""The section of a configuration, in plain values: needs nothing of verl."""

from __future__ import annotations

from typing import Any

import pytest

from wmrl_gym.agents.verl.options import Options, read_options

ENV = "WMRLTest/Digits-v0"


def test_real_tasks_are_executed_on_the_cluster() -> None:
    assert Options(env_options={"max_turns": 2}).make_options == {"executor": "ray", "max_turns": 2}
    assert Options(env_options={"executor": "pool"}).make_options == {"executor": "pool"}
    assert Options(env=ENV).make_options == {}


def test_a_section_is_read() -> None:
    section = {"env": ENV, "anchor_fraction": 0.5, "correction_options": {"min_pairs": 4}}
    options = read_options({"wmrl": section})
    assert options == Options(env=ENV, anchor_fraction=0.5, correction_options={"min_pairs": 4})
    assert read_options({"trainer": {}}) is None


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"anchors": 0.1}, r"wmrl has no \['anchors'\]: choose among"),
        ({"episodes": 0}, "wmrl.episodes=0 must be at least 1"),
        ({"turn_tokens": 0}, "wmrl.turn_tokens=0 must be at least 1"),
    ],
)
def test_bad_sections(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_options({"wmrl": section})
