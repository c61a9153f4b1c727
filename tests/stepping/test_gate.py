"""The gate opens and closes by the pairs, and says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wmrl_gym.stepping.gate import MIN_PAIRS, WINDOW, ValidityGate
from wmrl_gym.world_models.dynamics import success_auc


def feed(gate: ValidityGate, pairs: Any, task: str = "reach") -> None:
    for predicted, true in pairs:
        gate.record(task, predicted, true)
    gate.decide(calibrated=True)


def good(count: int, successes: int) -> list[tuple[float, float]]:
    return [(0.8, 1.0)] * successes + [(0.2, 0.0)] * (count - successes)


@pytest.mark.parametrize(
    ("pairs", "is_open"),
    [
        (good(MIN_PAIRS, 10), True),
        (good(MIN_PAIRS - 1, 9), False),
        (good(100, 0), False),
        (good(100, 1), False),
        (good(100, 100), False),
        # The wrong way round, and no better than chance.
        ([(1.0 - p, t) for p, t in good(100, 50)], False),
        ([(0.5, t) for _, t in good(100, 50)], False),
    ],
)
def test_when_it_opens(pairs: Any, is_open: bool) -> None:
    gate = ValidityGate(0.7)
    assert not gate.is_open("reach")
    feed(gate, pairs)
    assert gate.is_open("reach") is is_open
    assert not gate.is_open("push")


def test_the_lower_end_decides_and_is_reported() -> None:
    rng = np.random.default_rng(0)
    true = np.arange(60) % 2
    predicted = true + rng.normal(size=60)
    interval = success_auc(predicted, true)
    assert interval.lower < interval.value - 0.05
    for threshold, is_open in ((interval.lower - 0.01, True), (interval.lower + 0.01, False)):
        gate = ValidityGate(threshold)
        feed(gate, zip(predicted, true.astype(float), strict=True))
        assert gate.is_open("reach") is is_open
        figures = gate.diagnostics()
        assert figures["gate/reach/lower"] == interval.lower
        assert figures["gate/reach/concordance"] == interval.value
        assert figures["gate/open"] == float(is_open)


def test_returns_are_judged_by_their_order() -> None:
    gate = ValidityGate(0.7)
    feed(gate, [(x**3, 2.0 * x) for x in np.linspace(-1.0, 1.0, 40)])
    assert gate.is_open("reach")
    feed(gate, [(-x, x) for x in np.linspace(-0.9, 0.9, WINDOW)])
    assert not gate.is_open("reach")


def test_it_closes_again_and_says_each_change_once(caplog: Any) -> None:
    gate = ValidityGate(0.7)
    with caplog.at_level("INFO", logger="wmrl_gym"):
        for _ in range(3):
            feed(gate, good(20, 10))
        for _ in range(3):
            feed(gate, [(1.0 - p, t) for p, t in good(2 * WINDOW, WINDOW)])
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert "'reach' may be imagined" in caplog.records[0].getMessage()
    assert "'reach' runs for real again" in caplog.records[1].getMessage()


def test_success_upon_success_does_not_shut_it() -> None:
    gate = ValidityGate(0.7)
    feed(gate, good(40, 20))
    feed(gate, good(1000, 1000))
    assert gate.is_open("reach")
    assert gate.diagnostics()["gate/reach/pairs"] == 20 + WINDOW


def test_scores_that_are_nearly_the_best_need_no_order() -> None:
    gate = ValidityGate(0.7)
    rng = np.random.default_rng(0)
    feed(gate, [(x + 0.1 * rng.normal(), x) for x in rng.uniform(0.0, 1.0, 60)])
    assert gate.is_open("reach")
    before = gate.diagnostics()["gate/reach/pairs"]
    # A trained policy: all that is left is noise, of scores and of predictions.
    feed(gate, [(rng.uniform(0.9, 1.0), rng.uniform(0.96, 1.0)) for _ in range(1000)])
    assert gate.is_open("reach")
    assert before < gate.diagnostics()["gate/reach/pairs"] < before + WINDOW


def test_kinds_follow_the_range_of_scores() -> None:
    gate = ValidityGate(0.7)
    feed(gate, [(p, 1000.0 * t) for p, t in good(40, 20)])
    assert gate.is_open("reach")
    # Ten times better than ever: the best so far are now among the bad ones.
    feed(gate, [(1.0 - p, 1e4 * t) for p, t in good(4 * WINDOW, 2 * WINDOW)])
    assert gate.diagnostics()["gate/reach/pairs"] == 2 * WINDOW + 20
    assert not gate.is_open("reach")


def test_nothing_opens_before_the_map_stands_on_pairs() -> None:
    gate = ValidityGate(0.7)
    for predicted, true in good(50, 25):
        gate.record("reach", predicted, true)
    gate.decide(calibrated=False)
    assert not gate.is_open("reach")
    gate.decide(calibrated=True)
    assert gate.is_open("reach")


def test_without_a_threshold_there_is_no_gate() -> None:
    gate = ValidityGate(0.0)
    assert gate.is_open("anything")
    feed(gate, [(0.0, 1.0)] * 30)
    assert gate.is_open("reach")


def test_state_continues() -> None:
    gate, again = ValidityGate(0.7), ValidityGate(0.7)
    feed(gate, good(30, 15))
    again.load_state_dict(gate.state_dict())
    assert again.is_open("reach")
    assert again.diagnostics() == gate.diagnostics()
