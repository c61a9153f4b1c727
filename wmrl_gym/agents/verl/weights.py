"""From what samples know of their groups to the weights of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction import normalized_weights


def batch_weights(
    groups: Sequence[int], weights: Sequence[float], valid: Sequence[bool]
) -> npt.NDArray[np.float64]:
    """The weights that advantages are multiplied by.

    A sample that executed nothing does not know the weight of its group and says 1; the others
    of its group do, and no weight is below 1.

    Args:
        groups: `[B]` id of the group of each sample.
        weights: `[B]` weight of that group, as far as the sample knows it.
        valid: `[B]` which samples are real ones, and not there to fill up the batch.

    Returns:
        `[B]` float64 with mean 1 over the valid samples, and 0 elsewhere.
    """
    _, members = np.unique(np.asarray(groups, dtype=np.int64), return_inverse=True)
    of_group = np.ones(members.max(initial=-1) + 1)
    counted = np.asarray(valid, dtype=np.bool_)
    np.maximum.at(of_group, members[counted], np.asarray(weights, dtype=np.float64)[counted])
    return normalized_weights(of_group[members], valid=counted)
