"""Which groups are executed for real.

The choice is a pure function of (seed, group id): every worker and every rank agrees
without talking, no call order matters, and there is no state to save (D17, D22).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.checks import BoolArray, FloatArray, as_groups

POSITIONS = 20
"""Groups in a block of `AnchorSampler.positions`."""
MAX_BLOCK = 1000
"""Most groups in a block, and so the resolution of the fraction."""


@dataclass(frozen=True, kw_only=True)
class AnchorSampler:
    """A stratified random draw of anchor groups (D18).

    The group ids are cut into blocks of n consecutive ids, where n is the denominator of
    `fraction` (10 for 0.1). Each block holds exactly `n * fraction` anchors, at random
    places: the realised fraction is exact, not a coin toss, and groups that cycle through
    a list of tasks do not always meet the anchor with the same task. The choice looks at
    nothing but the id, so neither a full sandbox nor a slow task shifts it.

    Raises:
        ValueError: If `fraction` is not in `[0, 1]` or nearer than 1/1000 to 0 or 1
            without being it, or `seed` is negative.

    Examples:
        >>> int(AnchorSampler(fraction=0.25, seed=0).select([0, 1, 2, 3]).sum())
        1
    """

    fraction: float = 0.1
    """Share of the groups that are anchors, in `[0, 1]`; the paper uses about a tenth."""
    seed: int = 0
    """Seed of the draw; it belongs to the sampler alone."""
    _share: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_share", _exact_share(self.fraction))
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed!r}")

    def select(self, groups: npt.ArrayLike) -> BoolArray:
        """Say which groups are anchors.

        Args:
            groups: `[B]` int, group ids >= 0, in any order, repeated or not.

        Returns:
            `[B]` bool, True for members of anchor groups.

        Raises:
            ValueError: If an id is negative or not an integer.
        """
        ids = as_groups("groups", groups)
        size, anchors = self._share.denominator, self._share.numerator
        blocks, row = np.unique(ids // size, return_inverse=True)
        drawn = [_draw_block(self.seed, int(block), size, anchors) for block in blocks]
        table = np.array(drawn, dtype=np.bool_).reshape(-1, size)
        chosen: BoolArray = table[row, ids % size]
        return chosen

    def chooses(self, group: int) -> bool:
        """Say whether one group is an anchor: `select` for one, at a hundredth of its time.

        Raises:
            ValueError: If `group` is negative.
        """
        if group < 0:
            raise ValueError(f"group={group} must not be negative")
        block, place = divmod(group, self._share.denominator)
        drawn = _draw_block(self.seed, block, self._share.denominator, self._share.numerator)
        return bool(drawn[place])

    def positions(self, groups: npt.ArrayLike) -> FloatArray:
        """Place each group on [0, 1), evenly within every block of `POSITIONS` groups.

        A group with the probability p of being an anchor is one if its position is below p. For
        a p that moves, or differs between strata: the realised share stays within one group per
        block of what it should be, and a smaller p selects a subset.

        Args:
            groups: `[B]` int, group ids >= 0.

        Returns:
            `[B]` float64, uniform on [0, 1) over seeds.

        Raises:
            ValueError: If an id is negative or not an integer.
        """
        ids = as_groups("groups", groups)
        return np.array([_position(self.seed, int(group)) for group in ids], dtype=np.float64)


def _position(seed: int, group: int) -> float:
    block, place = divmod(group, POSITIONS)
    return float(_position_block(seed, block)[place])


@lru_cache(maxsize=4096)
def _position_block(seed: int, block: int) -> FloatArray:
    # The second word of the counter keeps these bits apart from those of `_draw_block`.
    bits = np.random.Philox(key=seed, counter=[0, block, 1, 0]).random_raw(2 * POSITIONS)
    rank = np.argsort(np.argsort(bits[:POSITIONS], kind="stable"), kind="stable")
    within = (bits[POSITIONS:] >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (rank + within) / POSITIONS


def _exact_share(fraction: float) -> Fraction:
    if not 0.0 <= fraction <= 1.0:  # also catches NaN
        raise ValueError(f"anchor_fraction must lie in [0, 1], got {fraction!r}")
    share = Fraction(fraction).limit_denominator(MAX_BLOCK)
    if share in (0, 1) and share != fraction:
        raise ValueError(
            f"fraction={fraction!r} is too near to {share}: use {share}, or stay at least "
            f"1/{MAX_BLOCK} away from it"
        )
    return share


@lru_cache(maxsize=4096)
def _draw_block(seed: int, block: int, size: int, anchors: int) -> BoolArray:
    # Raw bits of a counter-based generator: unlike the methods of a `Generator`, they are
    # promised to be the same in every version of numpy, so that ranks and resumed runs agree.
    bits = np.random.Philox(key=seed, counter=[0, block, 0, 0]).random_raw(size)
    drawn = np.zeros(size, dtype=np.bool_)
    drawn[np.argsort(bits, kind="stable")[:anchors]] = True
    drawn.setflags(write=False)
    return drawn
