"""The sandbox back ends that tests run on."""

from __future__ import annotations

import os

BACKENDS = tuple(
    os.environ.get("WMRL_GYM_TEST_BACKENDS", "forkserver,bubblewrap,landlock,docker").split(",")
)
"""All of them, unless the variable says otherwise; one that does not work here fails its tests."""
