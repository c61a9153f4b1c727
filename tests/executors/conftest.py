from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _ray_of_our_own() -> Iterator[None]:
    """Find no cluster of the user's, and leave nothing in the user's directories."""
    with (
        # Not under pytest's directory: the paths of sockets must be short.
        tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("RAY_TMPDIR", directory)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield
