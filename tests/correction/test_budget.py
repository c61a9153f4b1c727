from __future__ import annotations

import math

import pytest

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.correction.budget import AnchorBudget


def test_share_by_hand() -> None:
    budget = AnchorBudget(fraction=0.1, maximum=0.5, trusted=0.5)
    assert [budget.at(r) for r in (1.0, 0.5, 0.25, 0.0, -1.0)] == [0.1, 0.1, 0.3, 0.5, 0.5]


def test_share_keeps_to_the_grid_and_within_its_ends() -> None:
    budget = AnchorBudget(fraction=0.12, maximum=0.33)
    shares = [budget.at(r / 50) for r in range(-50, 51)]
    assert shares == sorted(shares, reverse=True)
    inner = [share for share in shares if share not in (0.12, 0.33)]
    assert all(share * 20 == pytest.approx(round(share * 20)) for share in inner)


def test_no_audit_yet_means_the_plain_fraction() -> None:
    assert AnchorBudget(fraction=0.1, maximum=0.5).at(math.nan) == 0.1


def test_a_fixed_budget_never_moves() -> None:
    assert AnchorBudget(fraction=0.0, maximum=0.0).at(-1.0) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fraction": 0.5, "maximum": 0.1}, "fraction=0.5"),
        ({"fraction": 0.0, "maximum": 0.1}, "fraction=0.0"),
        ({"fraction": 0.1, "maximum": 0.2, "trusted": 0.0}, "trusted=0.0"),
    ],
)
def test_bad_budgets_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AnchorBudget(**arguments)


def test_correction_buys_more_anchors_when_the_ranking_is_wrong() -> None:
    correction = RewardCorrection(anchor_fraction=0.1, max_anchor_fraction=0.5, seed=0)
    assert correction.select(range(400)).mean() == pytest.approx(0.1)
    correction.update(predicted=[0.9, 0.5, 0.1], true=[0.1, 0.5, 0.9], groups=[0, 0, 0])
    assert correction.diagnostics()["anchor_share"] == 0.5
    assert correction.select(range(400)).mean() == 0.5
    assert correction.is_anchor(3) == correction.select([3])[0]


def test_budget_resumes() -> None:
    correction = RewardCorrection(anchor_fraction=0.1, max_anchor_fraction=0.5)
    correction.update(predicted=[0.9, 0.1], true=[0.1, 0.9], groups=[0, 0])
    resumed = RewardCorrection(anchor_fraction=0.1, max_anchor_fraction=0.5)
    resumed.load_state_dict(correction.state_dict())
    assert resumed.share() == correction.share() == 0.5


def test_more_anchors_include_the_fewer() -> None:
    sampler = RewardCorrection(seed=3).sampler
    positions = sampler.positions(range(200))
    few, many = positions < 0.15, positions < 0.4
    assert (many | ~few).all()
    assert few.sum() == 30
    assert many.sum() == 80
