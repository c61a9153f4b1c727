from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.correction.allocation import AnchorAllocation


def test_shares_are_proportional_to_the_spread_by_hand() -> None:
    # 16 pairs each, pooled mean square (0.16 + 0.04) / 2 = 0.1; with 16 pairs of it added,
    # the spreads are sqrt(0.13) and sqrt(0.07).
    allocation = AnchorAllocation(fraction=0.2)
    allocation.update([0.4] * 16 + [0.2] * 16, ["hard"] * 16 + ["easy"] * 16)
    hard, easy = np.sqrt(0.13), np.sqrt(0.07)
    assert allocation.share("hard") == pytest.approx(0.4 * hard / (hard + easy))
    assert allocation.share("easy") == pytest.approx(0.4 * easy / (hard + easy))


def test_an_unknown_stratum_gets_the_plain_share() -> None:
    assert AnchorAllocation(fraction=0.3).share("new") == 0.3


def test_no_stratum_goes_without_anchors() -> None:
    allocation = AnchorAllocation(fraction=0.1, least=0.5)
    allocation.update([0.0] * 10_000 + [1.0] * 10_000, ["a"] * 10_000 + ["b"] * 10_000)
    assert allocation.share("a") == 0.05


def test_without_any_error_all_strata_are_alike() -> None:
    allocation = AnchorAllocation(fraction=0.1)
    allocation.update([0.0, 0.0], ["a", "b"])
    assert allocation.share("a") == allocation.share("b") == 0.1


def test_allocation_resumes() -> None:
    allocation = AnchorAllocation()
    allocation.update([0.5, 0.1], ["a", "b"])
    resumed = AnchorAllocation()
    resumed.load_state_dict(allocation.state_dict())
    assert resumed.share("a") == allocation.share("a") > 0.1


@pytest.mark.parametrize(
    ("arguments", "message"), [({"fraction": 0.0}, "fraction=0.0"), ({"least": 2.0}, "least=2.0")]
)
def test_bad_arguments_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AnchorAllocation(**arguments)


def test_correction_moves_anchors_to_the_task_that_is_predicted_badly() -> None:
    rng = np.random.default_rng(0)
    correction = RewardCorrection(
        anchor_fraction=0.2, fusion="prediction_powered", allocate=True, debias=False
    )
    groups = np.repeat(np.arange(100), 4)
    strata = ["easy" if group % 2 else "hard" for group in groups]
    true = rng.random(400)
    noise = np.where(np.array(strata) == "hard", 0.3, 0.03)
    correction.update(true + noise * rng.standard_normal(400), true, groups, strata)
    assert correction.share("hard") > 2.5 * correction.share("easy")
    drawn = [correction.is_anchor(group, "hard") for group in range(2000)]
    assert np.mean(drawn) == pytest.approx(correction.share("hard"), abs=0.02)
    own, prediction = correction.coefficients(anchor=True, share=correction.share("easy"))
    assert own == pytest.approx(1.0 / correction.share("easy"))
    assert prediction < 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allocate": True}, "prediction_powered"),
        ({"fusion": "mean"}, "fusion='mean'"),
        ({"fusion": "prediction_powered", "anchor_fraction": 0.0}, "needs anchors"),
        ({"max_anchor_fraction": 0.05}, "maximum=0.05"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RewardCorrection(**options)  # type: ignore[arg-type]  # bad on purpose
