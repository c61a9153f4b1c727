from __future__ import annotations

import os

import pytest

from tests.sandboxes.backends import BACKENDS
from wmrl_gym.sandboxes import Sandbox, select_sandbox

collect_ignore_glob = [] if "docker" in BACKENDS else ["test_docker*.py"]


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end in turn; one that does not work here fails the test, which is the point."""
    return select_sandbox(request.param)


@pytest.fixture(scope="session", autouse="docker" in BACKENDS)
def _nothing_is_left_on_the_engine() -> object:
    """After the suite there is no container of ours, nor one of a process that we killed."""
    yield
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        from tests.sandboxes.containers import ours_or_abandoned

        select_sandbox("docker").close()
        assert ours_or_abandoned() == []
