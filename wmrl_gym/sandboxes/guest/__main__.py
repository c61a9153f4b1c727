"""Run one role of the guest by path: `python __main__.py <role> <arguments>`.

Loading the package by location keeps this directory off `sys.path`: its modules would be
importable from a job, and some bear common names.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys


def main() -> None:
    """Load this directory as the package `wmrl_guest` and hand over to the role."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    spec = importlib.util.spec_from_file_location(
        "wmrl_guest", os.path.join(here, "__init__.py"), submodule_search_locations=[here]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no Python package in {here}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["wmrl_guest"] = package
    spec.loader.exec_module(package)
    importlib.import_module(f"wmrl_guest.{sys.argv[1]}").main(sys.argv[2:])


main()
