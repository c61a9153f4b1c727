from __future__ import annotations

import threading

import pytest

from wmrl_gym.world_models.language.backends.deadline import within


def test_what_comes_in_time_comes() -> None:
    assert within(30, lambda: 7) == 7


def test_what_is_raised_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        within(30, lambda: 1 // 0)


def test_what_takes_too_long_is_given_up() -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError, match=r"no result within 0\.05 s"):
        within(0.05, lambda: never.wait(30))
    never.set()
