from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.envs.vla.action_maps import (
    ActionScale,
    ActionTokens,
    from_libero,
    from_openvla,
    from_unit_gripper,
)


def last(gripper: float) -> list[float]:
    return [0.1, -0.2, 0.3, 0.0, 0.0, 0.0, gripper]


def test_tokens_by_hand() -> None:
    # Five edges -1, -.5, 0, .5, 1: middles -.75, -.25, .25, .75 are tokens 99, 98, 97, 96.
    tokens = ActionTokens(bins=5, vocabulary_size=100)
    row = [99, 98, 97, 96, 95, 100, 0]
    decoded = tokens.decode([row], chunk=1)
    assert decoded.dtype == np.float32
    # The last bin of five has no middle of its own, and what is out of range is the nearest.
    assert decoded.tolist() == [[[-0.75, -0.25, 0.25, 0.75, 0.75, -0.75, 0.75]]]
    assert tokens.encode([[[-0.8, -0.2, 0.1, 0.6, -1.0, 3.0, -3.0]]]).tolist() == [
        [99, 98, 97, 96, 99, 95, 99]
    ]


def test_tokens_of_a_chunk_go_action_by_action() -> None:
    tokens = ActionTokens()
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (3, 8, 7)).astype(np.float32)
    ids = tokens.encode(actions)
    assert ids.shape == (3, 56)
    assert ids.min() >= 32_000 - 256
    assert ids.max() <= 31_999
    decoded = tokens.decode(ids, chunk=8)
    # Half a bin of 2 / 255.
    np.testing.assert_allclose(decoded, actions, atol=1 / 255 + 1e-6)
    np.testing.assert_array_equal(tokens.encode(decoded), ids)


def test_tokens_of_another_length_or_bins_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 8\), not \(B, 2 \* 7\)"):
        ActionTokens().decode(np.zeros((1, 8), int), chunk=2)
    with pytest.raises(ValueError, match=r"bins=1 must lie in \[2"):
        ActionTokens(bins=1)


def test_scale_by_hand() -> None:
    scale = ActionScale(low=(-2.0, 0.0, *[-1.0] * 5), high=(4.0, 1.0, *[1.0] * 5))
    # The first from [-1, 1] to [-2, 4], the second to [0, 1], the gripper as it is.
    scaled = scale.apply([[1.0, 0.0, -0.5, 0.0, 0.0, 0.0, 0.9]])
    np.testing.assert_allclose(scaled, [[4.0, 0.5, -0.5, 0.0, 0.0, 0.0, 0.9]], rtol=1e-6)
    with pytest.raises(ValueError, match=r"low=.* must have 7 entries"):
        ActionScale(low=(0.0,), high=(1.0,) * 7)
    with pytest.raises(ValueError, match="must nowhere exceed"):
        ActionScale(low=(2.0,) * 7, high=(1.0,) * 7)


@pytest.mark.parametrize(("gripper", "ours"), [(1.0, -1.0), (0.6, -1.0), (0.4, 1.0), (0.0, 1.0)])
def test_openvla_opens_at_one(gripper: float, ours: float) -> None:
    mapped = from_openvla([[last(gripper)]])
    assert mapped.shape == (1, 1, 7)
    assert mapped[0, 0, -1] == ours
    np.testing.assert_allclose(mapped[0, 0, :6], last(0)[:6], rtol=1e-6)


@pytest.mark.parametrize(("gripper", "ours"), [(1.0, 1.0), (0.6, 1.0), (0.5, -1.0), (0.0, -1.0)])
def test_a_unit_gripper_closes_at_one(gripper: float, ours: float) -> None:
    assert from_unit_gripper(last(gripper))[-1] == ours


def test_libero_is_ours_and_all_are_clipped() -> None:
    given = np.array([3.0, -3.0, 0.5, 0, 0, 0, -1], dtype=np.float32)
    assert from_libero(given).tolist() == [1.0, -1.0, 0.5, 0, 0, 0, -1]
    assert from_openvla(given)[:2].tolist() == [1.0, -1.0]
    assert given[0] == 3.0
    with pytest.raises(ValueError, match="the last axis must be 7 long"):
        from_openvla(np.zeros((2, 8)))
