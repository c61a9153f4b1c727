"""The tables that are shown are those of the results that are committed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from wmrl_gym.benchmark.arms import REFERENCE
from wmrl_gym.benchmark.results import read_results
from wmrl_gym.benchmark.tables import compare, markdown

ROOT = Path(__file__).parents[2]
STUDIES = sorted(path.parent for path in (ROOT / "docs" / "results").glob("*/scores.png"))


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.name)
def test_tables_follow_from_the_results(study: Path) -> None:
    results, notes = read_results(study)
    assert notes == []
    assert (study / "table.md").read_text() == markdown(
        compare(results, reference=REFERENCE)
    ) + "\n"


def test_the_table_of_the_readme_follows_from_the_results() -> None:
    assert _script("readme_table").table() in (ROOT / "README.md").read_text()


def test_the_table_of_control_follows_from_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # for its tasks, in a file beside it
    shown = (ROOT / "docs" / "results" / "control" / "table.md").read_text()
    assert _script("control_study").table(ROOT / "benchmarks/results/control-study") == shown


def _script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
