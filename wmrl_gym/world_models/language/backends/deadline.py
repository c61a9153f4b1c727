"""A call that ends, whatever it does."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, act: Callable[[], T]) -> T:
    """What `act` returns, or raises, if it does so in time.

    It runs in a thread of its own, which is left behind if it takes longer: do not call what it
    was using again.

    Raises:
        TimeoutError: If it takes longer.
    """
    box: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue()

    def run() -> None:
        try:
            box.put((act(), None))
        except BaseException as error:
            box.put((None, error))

    threading.Thread(target=run, daemon=True, name="within").start()
    try:
        value, error = box.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no result within {seconds:g} s") from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # there is one where there is no error
