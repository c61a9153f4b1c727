from __future__ import annotations

from pathlib import Path

import pytest

from wmrl_gym.sandboxes import layout
from wmrl_gym.sandboxes.runtime import Runtime, find_runtime


def _runtime(readable: list[Path], masked: list[Path]) -> Runtime:
    return Runtime(
        python=Path("/usr/bin/python3"),
        packages=(),
        readable=tuple(readable),
        masked=tuple(masked),
        preload=(),
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("lib/site/good", "lib/site/bad", "lib/good/data", "other"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_masks_cover_and_listed_packages_show_through(tree: Path) -> None:
    runtime = _runtime(
        [tree / "lib", tree / "lib/good", tree / "lib/site/good"],
        [tree / "lib/site", tree / "lib/good/data"],
    )
    steps = layout.operations(runtime, Path("/prefix"), {}, 1000)
    about = [step for step in steps if str(tree / "lib") in step[1]]
    assert about == [
        ("bind", f"{tree}/lib", f"{tree}/lib"),
        ("bind", f"{tree}/lib/good/data", "/prefix/empty"),
        ("tmpfs", f"{tree}/lib/site", 1 << 20, 0o755),
        ("bind", f"{tree}/lib/site/good", f"{tree}/lib/site/good"),
        ("read_only", f"{tree}/lib/site"),
    ]


def test_every_directory_is_made_once_and_before_its_use(tree: Path) -> None:
    runtime = _runtime([tree / "lib", tree / "other"], [tree / "lib/site"])
    steps = layout.operations(runtime, Path("/prefix"), {"input": tree}, 1000)
    made = [step[1] for step in steps if step[0] == "directory"]
    assert len(made) == len(set(made))
    assert str(tree) in made
    for position, step in enumerate(steps):
        above = {done[1] for done in steps[:position]}
        assert all(str(parent) in above for parent in Path(step[1]).parents[:-1][:1])


def test_tmp_is_a_link_unless_something_shown_is_below_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A checkout of this project may itself lie below /tmp.
    monkeypatch.setattr(layout, "GUEST", Path("/opt/guest"))
    link = ("symlink", "/tmp", layout.HOME)
    assert link in layout.operations(_runtime([], []), Path("/prefix"), {}, 1000)
    assert link not in layout.operations(_runtime([], []), Path("/tmp/prefix"), {}, 1000)


def test_split_lists_the_siblings_of_what_is_masked(tree: Path) -> None:
    trees, listings = layout.split(
        [tree / "lib", tree / "lib/site/good"], [tree / "lib/site", tree / "lib/good/data"]
    )
    assert set(trees) == {tree / "lib/site/good"}
    assert set(listings) == {tree / "lib", tree / "lib/good"}


def test_the_runtime_shows_the_listed_packages_only() -> None:
    names = {path.name for path in find_runtime().packages}
    assert {"numpy", "scipy", "sklearn", "pandas", "joblib", "threadpoolctl.py"} <= names
    assert not {"river", "statsmodels", "sklego", "vega_datasets", "torch", "wmrl_gym"} & names


def test_the_runtime_masks_data_that_answers_come_from() -> None:
    masked = {"/".join(path.parts[-3:]) for path in find_runtime().masked}
    assert {"sklearn/datasets/data", "sklearn/datasets/images", "sklearn/datasets/tests"} <= masked
    assert "arff/tests/data" in masked  # iris
