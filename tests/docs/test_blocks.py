"""Every Python block runs, and every command of every shell block does.

The blocks of a page run one after the other in one process and one empty directory, as a reader
would paste them. `pip install` lines are checked against the extras that exist instead.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, Block, blocks

LANGUAGES = {"python", "bash", "text", "toml", "json", "html"}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def script(page: Path) -> str:
    """All that a page tells its reader to do, as one program."""
    parts = ["import shlex, subprocess, sys, warnings"]
    for block in blocks(page):
        if block.language == "python":
            # The line numbers of an error are those of the page.
            parts.append(f"exec(compile({padded(block)!r}, {str(page)!r}, 'exec'))")
        if block.language == "bash":
            parts.extend(f"subprocess.run({command!r}, check=True)" for command in commands(block))
    return "\n".join(parts)


def padded(block: Block) -> str:
    return "\n" * (block.line - 1) + block.code


def commands(block: Block) -> list[list[str]]:
    """Its commands, but for `pip install`; the installed script is that of this interpreter."""
    found = []
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] != "pip":
            assert words[0] == "wmrl-gym", f"{line!r}: what is it?"
            found.append([str(Path(sys.executable).with_name("wmrl-gym")), *words[1:]])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if "exec(" in script(p) or "run(" in script(p)], ids=name
)
def test_page_runs(page: Path, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(script(page))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_say_what_they_are(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert {block.language for block in blocks(page)} <= LANGUAGES
    assert text.count("\n```") % 2 == 0


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=name)
def test_extras_exist(page: Path) -> None:
    declared = set(distribution("wmrl-gym").metadata.get_all("Provides-Extra") or [])
    for named in re.findall(r"wmrl-gym\[([\w,]+)\]", page.read_text(encoding="utf-8")):
        assert set(named.split(",")) <= declared
