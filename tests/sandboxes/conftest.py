from __future__ import annotations

import pytest

from wmrl_gym.sandboxes import Sandbox, select_sandbox


@pytest.fixture(params=["forkserver", "bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end in turn; one that does not work here fails the test, which is the point."""
    return select_sandbox(request.param)
