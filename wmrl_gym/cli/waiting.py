"""Lines that name what is waited for, now and then, while it takes long."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from wmrl_gym.executors import StoringExecutor
from wmrl_gym.outcomes import Execution, Executor

_STRAGGLER_S = 30.0
"""A line names what is waited for this often."""
_MOST_NAMES = 8


@dataclass
class Wait:
    """What is waited for.

    Args:
        told: Gives what it is, in a word, and the names of all that is still missing.
    """

    told: Callable[[], tuple[str, Sequence[str]]]
    since: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        what, names = self.told()
        counts = Counter(names)
        shown = [name if n == 1 else f"{name} x{n}" for name, n in counts.items()]
        more = f", and {len(shown) - _MOST_NAMES} more" if len(shown) > _MOST_NAMES else ""
        return (
            f"waiting for {what} for {time.monotonic() - self.since:.0f} s: "
            f"{', '.join(shown[:_MOST_NAMES])}{more}"
        )


@contextmanager
def lines_while(wait: Wait) -> Iterator[None]:
    """Print `wait` every half minute."""
    over = threading.Event()
    threading.Thread(target=_tell, args=(wait, over), daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextmanager
def lines_while_scored(real: Executor, executions: Sequence[Execution]) -> Iterator[None]:
    """Name what a batch waits for: its predictions first, then what `real` carries out."""

    def told() -> tuple[str, Sequence[str]]:
        waiting = real.waiting if isinstance(real, StoringExecutor) else []
        what = "executions" if waiting else "predictions"
        return what, [execution.task for execution in waiting or executions]

    with lines_while(Wait(told)):
        yield


def _tell(wait: Wait, over: threading.Event) -> None:
    while not over.wait(_STRAGGLER_S):
        print(wait, flush=True)
