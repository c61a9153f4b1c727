"""No script in any sandbox can read what answers come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.envs.mle.toy_task import table_task
from tests.sandboxes.backends import BACKENDS
from wmrl_gym.envs.mle.catalog import task_names
from wmrl_gym.envs.mle.sources.characters import HIDDEN_PACKAGES
from wmrl_gym.sandboxes import Job, JobStatus, Limits, Sandbox, select_sandbox

MASKED = (*HIDDEN_PACKAGES, "pydoc_data")

TRY_ALL = """
for path in {paths!r}:
    try:
        open(path, 'rb').read(1)
        print('readable:', path)
    except OSError:
        print('hidden')
"""
SEARCH = """
import glob, importlib, os, sys

libraries = ('/usr/lib', '/lib', '/usr/local/lib', sys.base_prefix + '/lib*')
places = [library + '/python*' for library in libraries]
for name in {names!r}:
    try:
        importlib.import_module(name + '.' + {modules!r}[name])
        print('importable:', name)
    except (ImportError, OSError):
        print('hidden')
    for place in places:
        for path in glob.glob(os.path.join(place, name, '**'), recursive=True):
            if os.path.isfile(path):
                try:
                    print('readable:', path, len(open(path, 'rb').read()))
                except OSError:
                    pass
"""


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return select_sandbox(request.param)


def hidden_files(name: str) -> list[str]:
    """Files that hold hidden answers of a task, and what is compiled from them."""
    paths = table_task(name).source.paths
    if name == "python-source":
        paths = tuple(path for path in paths if path.parent.name in HIDDEN_PACKAGES)
    compiled = [p for path in paths for p in path.parent.glob(f"__pycache__/{path.stem}.*.pyc")]
    return [str(path) for path in (*paths, *compiled)]


def test_no_file_that_answers_come_from_is_readable(sandbox: Sandbox) -> None:
    paths = [path for name in task_names() for path in hidden_files(name)]
    assert all(Path(path).is_file() for path in paths)
    result = sandbox.run(Job(files={"main.py": TRY_ALL.format(paths=paths).encode()}))
    assert result.status is JobStatus.OK, result
    assert result.stdout.split("\n")[:-1] == ["hidden"] * len(paths)


def test_hidden_texts_are_in_no_standard_library(sandbox: Sandbox) -> None:
    modules = {"wsgiref": "util", "xmlrpc": "client", "pydoc_data": "topics"}
    script = SEARCH.format(names=MASKED, modules=modules)
    result = sandbox.run(Job(files={"main.py": script.encode()}, limits=Limits(wall_s=60.0)))
    assert result.status is JobStatus.OK, result
    assert result.stdout.split() == ["hidden"] * len(MASKED)


def test_what_is_to_be_used_works_without_the_hidden_packages(sandbox: Sandbox) -> None:
    script = (
        "import asyncio, email, http.client, json, logging, pydoc, sqlite3, unittest, xml.etree\n"
        "import numpy, pandas, scipy.stats, sklearn.ensemble, sklearn.datasets\n"
    )
    result = sandbox.run(Job(files={"main.py": script.encode()}, limits=Limits(wall_s=60.0)))
    assert result.status is JobStatus.OK, result.stderr
