"""What the correction costs per batch. Run: `python benchmarks/correction_cost.py`.

Prints the median time of a refit at 5,000 pairs (target: below 5 ms), of recasting and
weighing a batch of 64, and of closing a batch with one anchor group of 8.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable

import numpy as np

from wmrl_gym.correction import IsotonicDebiaser, RewardCorrection

PAIRS = 5000
REPEATS = 100


def median_ms(call: Callable[[], object]) -> float:
    """Return the median wall-clock time of `call`, in milliseconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def draw_pairs(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    true = rng.uniform(size=PAIRS)
    if kind == "exact":
        return np.sqrt(true), true
    predicted = np.clip(np.sqrt(true) + rng.normal(0.0, 0.1, PAIRS), 0.0, 1.0)
    return (np.round(predicted * 6) / 6 if kind == "ladder" else predicted), true


def main() -> None:
    rng = np.random.default_rng(0)
    for kind in ("noisy", "ladder", "exact"):
        debiaser = IsotonicDebiaser(max_pairs=PAIRS).partial_fit(*draw_pairs(kind, rng))
        cost = median_ms(lambda d=debiaser: d.partial_fit([0.5], [0.25]))
        print(f"refit at {PAIRS} pairs, {kind:<6} {cost:8.3f} ms")

    correction = RewardCorrection(anchor_fraction=0.125, max_pairs=PAIRS)
    predicted, true = draw_pairs("noisy", rng)
    correction.update(predicted=predicted, true=true, groups=np.arange(PAIRS) // 8)
    batch = iter(np.arange(64).reshape(1, 64) // 8 + 8 * np.arange(10_000).reshape(-1, 1))
    scores = rng.uniform(size=64)
    cost = median_ms(lambda: (correction.transform(scores), correction.weights(next(batch))))
    print(f"transform and weights, batch of 64 {cost:8.3f} ms")

    group = itertools.count(PAIRS)
    cost = median_ms(
        lambda: correction.update(
            predicted=predicted[:8], true=true[:8], groups=np.full(8, next(group))
        )
    )
    print(f"update with one anchor group of 8  {cost:8.3f} ms")
    print(f"diagnostics                        {median_ms(correction.diagnostics):8.3f} ms")


if __name__ == "__main__":
    main()
