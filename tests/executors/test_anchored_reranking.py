"""Groups that the world model compares side by side: who gets which calibrated score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.wrappers.toys import CountingExecutor, SquareWorldModel, true_score
from wmrl_gym.correction import RewardCorrection
from wmrl_gym.errors import WorldModelError
from wmrl_gym.executors import AnchoredExecutor
from wmrl_gym.outcomes import Execution, Outcome, Source, Status


class Comparing(SquareWorldModel):
    """Predicts squares, and prefers what scores least; `keep` are certain for it."""

    def __init__(self, keep: str = "", mute: str = "") -> None:
        super().__init__()
        self.keep, self.mute = keep, mute
        self.asked: list[list[str]] = []

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        return [
            Outcome.unscored("no answer", Source.PREDICTED) if e.artifact == self.mute else outcome
            for e, outcome in zip(executions, super().execute(executions), strict=True)
        ]

    def rerank(self, groups: Sequence[Sequence[Execution]]) -> list[Sequence[float] | None]:
        self.asked += [[e.artifact for e in group] for group in groups]
        return [
            [np.nan if e.artifact == self.keep else -true_score(e.artifact) for e in group]
            for group in groups
        ]


def anchored(model: SquareWorldModel, *, fraction: float) -> AnchoredExecutor:
    correction = RewardCorrection(anchor_fraction=fraction, seed=0)
    return AnchoredExecutor(CountingExecutor(), model, correction, slots=8)


def play(executor: AnchoredExecutor, groups: Sequence[int]) -> list[Outcome]:
    for slot, group in enumerate(groups):
        executor.begin(slot, group)
    batch = [Execution("count", f"x = {slot}", slot=slot) for slot in range(len(groups))]
    outcomes = executor.execute(batch)
    for slot in range(len(groups)):
        executor.finish(slot)
    return outcomes


def raw(slot: int) -> float:
    return true_score(f"x = {slot}") ** 2


def test_scores_of_each_group_are_given_out_in_the_order_preferred() -> None:
    model = Comparing()
    executor = anchored(model, fraction=0.0)
    outcomes = play(executor, [0, 0, 0, 1, 1, 2])
    assert model.asked == [["x = 0", "x = 1", "x = 2"], ["x = 3", "x = 4"]]  # one is no group
    for members in ([0, 1, 2], [3, 4], [5]):
        squares = sorted(raw(slot) for slot in members)
        worst_first = sorted(members, key=lambda slot: -raw(slot))
        got = [outcomes[slot].score for slot in worst_first]
        assert got == pytest.approx(squares)
        for slot in members:
            assert outcomes[slot].predicted == pytest.approx(raw(slot))
            info = executor.info(slot)
            assert info["wmrl/score_calibrated"] == pytest.approx(outcomes[slot].score)
            assert info["wmrl/score_predicted"] == pytest.approx(raw(slot))


def test_pairs_of_anchors_hold_their_own_raw_predictions() -> None:
    executor = anchored(Comparing(), fraction=1.0)
    outcomes = play(executor, [0, 0, 0])
    pairs = executor.state_dict()["pairs"]
    for slot, (outcome, pair) in enumerate(zip(outcomes, pairs, strict=True)):
        assert outcome.source is Source.REAL
        assert outcome.score == pair["true"] == pytest.approx(true_score(f"x = {slot}"))
        assert outcome.predicted == pair["predicted"] == pytest.approx(raw(slot))
    # `info` shows what they would have got: the same squares, from the last to the first.
    shown = [executor.info(slot)["wmrl/score_calibrated"] for slot in range(3)]
    assert sorted(shown) == pytest.approx(sorted(map(raw, range(3))))
    assert np.argsort(shown).tolist() == np.argsort([-raw(slot) for slot in range(3)]).tolist()


def test_what_is_certain_or_has_no_score_stays() -> None:
    model = Comparing(keep="x = 0", mute="x = 1")
    outcomes = play(anchored(model, fraction=0.0), [0, 0, 0, 0])
    assert model.asked == [["x = 0", "x = 2", "x = 3"]]
    assert outcomes[0].score == pytest.approx(raw(0))
    assert outcomes[1].status is Status.UNSCORED
    assert outcomes[1].score is None
    moved = [outcomes[2].score, outcomes[3].score]
    assert sorted(moved) == pytest.approx(sorted([raw(2), raw(3)]))
    assert np.argmax(moved) == np.argmin([raw(2), raw(3)])


def test_a_model_that_does_not_compare_changes_nothing() -> None:
    outcomes = play(anchored(SquareWorldModel(), fraction=0.0), [0, 0, 1, 1])
    assert [o.score for o in outcomes] == pytest.approx([raw(slot) for slot in range(4)])


def test_preferences_of_the_wrong_number_are_refused() -> None:
    class Broken(SquareWorldModel):
        def rerank(self, groups: Sequence[Sequence[Execution]]) -> list[Sequence[float] | None]:
            return [[1.0] for _ in groups]

    with pytest.raises(WorldModelError, match="1 preferences for a group of 2"):
        play(anchored(Broken(), fraction=0.0), [0, 0])
