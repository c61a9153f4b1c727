"""Which back ends are under test: `WMRL_GYM_TEST_BACKENDS`, comma-separated, or all."""

from __future__ import annotations

import os

ALL = ("forkserver", "bubblewrap", "landlock", "docker")
BACKENDS = tuple(filter(None, os.environ.get("WMRL_GYM_TEST_BACKENDS", "").split(","))) or ALL
