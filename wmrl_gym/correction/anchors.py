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

from wmrl_gym.correction.checks import BoolArray, as_groups

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


def _exact_share(fraction: float) -> Fraction:
    if not 0.0 <= fraction <= 1.0:  # also catches NaN
        raise ValueError(f"fraction must lie in [0, 1], got {fraction!r}")
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
