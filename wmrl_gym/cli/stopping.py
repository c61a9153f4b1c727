"""Ctrl-C that lets what is going on come to an end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class StopRequest:
    """Whether the user has asked to stop."""

    wanted: bool = False


@contextmanager
def stop_request(what: str = "batch") -> Iterator[StopRequest]:
    """Make the first Ctrl-C a request, which lets a batch end; the second one interrupts.

    Args:
        what: What is going on, for the message.
    """
    request = StopRequest()

    def note(number: int, frame: FrameType | None) -> None:
        if request.wanted:
            raise KeyboardInterrupt
        request.wanted = True
        print(f"\nstopping after this {what}; press Ctrl-C again to stop at once", flush=True)

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, previous)
