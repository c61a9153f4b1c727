"""The references of the catalogue are what plain solutions reach, measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reference_scores import REFERENCES, measure, write
from wmrl_gym.envs.mle import catalog
from wmrl_gym.envs.mle.catalog import load_task, task_names


@pytest.mark.slow
@pytest.mark.parametrize("name", ["diabetes", "penguin-sex", "wine-cultivar"])
def test_the_references_can_be_measured_again(name: str) -> None:
    # Other versions of scikit-learn and other processors grow slightly different trees.
    assert measure(load_task(name)) == pytest.approx(dict(load_task(name).references), rel=0.05)


@pytest.mark.parametrize("name", task_names())
def test_every_task_has_every_reference(name: str) -> None:
    assert set(load_task(name).references) == set(REFERENCES)


def test_writing_replaces_the_references_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "__file__", str(tmp_path / "catalog.py"))
    described = 'title = "t"\n\n[columns]\na = "b"\n'
    path = tmp_path / "tasks" / "toy.toml"
    path.parent.mkdir()
    path.write_text(described + "\n[references]\ndummy = 3.0\n")
    write("toy", {"dummy": 2.0, "linear": 1.0})
    assert path.read_text() == described + "\n[references]\ndummy = 2.0\nlinear = 1.0\n"
