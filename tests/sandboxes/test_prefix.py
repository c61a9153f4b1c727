from __future__ import annotations

import os
from pathlib import Path

from wmrl_gym.sandboxes.prefix import Prefix
from wmrl_gym.sandboxes.runtime import find_runtime


def test_site_packages_holds_links_to_the_listed_packages() -> None:
    prefix = Prefix(find_runtime())
    (site,) = prefix.path.glob("lib/python3*/site-packages")
    assert {path.name for path in site.iterdir()} == {p.name for p in find_runtime().packages}
    assert (site / "numpy").resolve() in find_runtime().packages
    prefix.remove()
    assert not prefix.path.exists()


def test_an_abandoned_prefix_is_swept_and_one_in_use_is_not() -> None:
    mine = Prefix(find_runtime())
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, str(Prefix(find_runtime()).path).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    abandoned = Path(os.read(reading, 4096).decode())
    os.close(reading)
    os.close(writing)
    assert abandoned.exists()
    second = Prefix(find_runtime())
    assert not abandoned.exists()
    assert mine.path.exists()
    for prefix in (mine, second):
        prefix.remove()
