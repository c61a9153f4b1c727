from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_gym.correction import AnchorSampler

FRACTIONS = [(0.1, 10, 1), (0.25, 4, 1), (0.3, 10, 3), (1 / 3, 3, 1), (0.123, 1000, 123)]


@pytest.mark.parametrize(("fraction", "size", "anchors"), FRACTIONS)
def test_each_block_of_groups_holds_exactly_its_share(fraction, size, anchors):
    chosen = AnchorSampler(fraction=fraction, seed=3).select(np.arange(20 * size))
    assert (chosen.reshape(20, size).sum(axis=1) == anchors).all()


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 2**64),
    fraction=st.fractions(0, 1, max_denominator=50),
    blocks=st.lists(st.integers(0, 10**12), min_size=1, max_size=5),
    data=st.data(),
)
def test_the_choice_depends_on_nothing_but_seed_and_id(seed, fraction, blocks, data):
    size = fraction.denominator
    groups = np.concatenate([np.arange(b * size, (b + 1) * size) for b in blocks])
    sampler = AnchorSampler(fraction=float(fraction), seed=seed)
    together = sampler.select(groups)
    assert together.sum() == len(blocks) * fraction.numerator
    order = np.array(data.draw(st.permutations(range(len(groups)))))
    another_worker = pickle.loads(pickle.dumps(sampler))
    np.testing.assert_array_equal(another_worker.select(groups[order]), together[order])
    one = data.draw(st.sampled_from(range(len(groups))))
    assert AnchorSampler(fraction=float(fraction), seed=seed).select(groups[[one]]) == together[one]
    assert sampler.chooses(int(groups[one])) == together[one]


def test_known_draw():
    # Pinned: a run resumed with another version of numpy must meet the same anchors.
    chosen = AnchorSampler(fraction=0.1, seed=0).select(np.arange(60))
    assert np.flatnonzero(chosen).tolist() == [0, 10, 28, 31, 49, 58]


def test_members_of_a_group_share_its_fate():
    groups = np.repeat(np.arange(30), 8)
    chosen = AnchorSampler(fraction=0.2, seed=1).select(groups).reshape(30, 8)
    assert (chosen.all(axis=1) | ~chosen.any(axis=1)).all()


def test_groups_that_cycle_through_ten_tasks_give_each_its_share():
    chosen = AnchorSampler(fraction=0.1, seed=0).select(np.arange(10_000)).reshape(1000, 10)
    share = chosen.sum(axis=0) / 1000
    assert np.abs(share - 0.1).max() < 4 * np.sqrt(0.1 * 0.9 / 1000)


def test_seeds_differ():
    groups = np.arange(1000)
    first, second = (AnchorSampler(fraction=0.5, seed=s).select(groups) for s in (0, 1))
    assert 400 < (first != second).sum() < 600


def test_none_and_all():
    groups = np.arange(100)
    assert not AnchorSampler(fraction=0.0).select(groups).any()
    assert AnchorSampler(fraction=1.0).select(groups).all()


def test_no_groups():
    assert AnchorSampler(fraction=0.1).select([]).shape == (0,)


def test_more_groups_than_the_cache_holds():
    groups = np.arange(100_000)
    sampler = AnchorSampler(fraction=0.1, seed=0)
    assert sampler.select(groups).sum() == 10_000
    np.testing.assert_array_equal(sampler.select(groups[:50]), sampler.select(groups)[:50])


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), float("inf")])
def test_fraction_outside_the_unit_interval(fraction):
    with pytest.raises(ValueError, match=r"fraction must lie in \[0, 1\], got"):
        AnchorSampler(fraction=fraction)


@pytest.mark.parametrize("fraction", [1e-4, 0.9999])
def test_a_fraction_is_never_rounded_to_none_or_all(fraction):
    with pytest.raises(ValueError, match=f"fraction={fraction} is too near"):
        AnchorSampler(fraction=fraction)


def test_bad_ids_and_seed():
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        AnchorSampler().select([0, -1])
    with pytest.raises(ValueError, match="must be integers, got the dtype float64"):
        AnchorSampler().select([0.0, 1.0])
    with pytest.raises(ValueError, match="one axis"):
        AnchorSampler().select([[0, 1]])
    with pytest.raises(ValueError, match="seed must not be negative, got -3"):
        AnchorSampler(seed=-3)
