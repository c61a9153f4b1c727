"""What all tests rely on."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Take interrupts as at a terminal: a run in the background inherits that they are ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
