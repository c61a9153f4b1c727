"""The package as a whole: what importing it costs, and what the documentation shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import wmrl_gym

ROOT = Path(__file__).parent.parent


def run(*arguments: str, cwd: Path | None = None) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_is_light_and_registers_the_ids() -> None:
    said = run(
        "-c",
        "import sys, wmrl_gym, gymnasium\n"
        "heavy = ('torch', 'sklearn', 'pandas', 'scipy', 'mujoco')\n"
        "print([m for m in heavy if m in sys.modules])\n"
        "print([i for i in gymnasium.registry if i.startswith('WMRL')])",
    )
    heavy, ids = said.splitlines()
    assert heavy == "[]"
    for name in ("MLE", "MLE-Pipeline", "VLA", "VLA-State", "Synthetic"):
        assert f"'WMRL-{name}-v0'" in ids


def test_every_public_name_is_there() -> None:
    for name in wmrl_gym.__all__:
        assert getattr(wmrl_gym, name) is not None
    assert set(wmrl_gym.__all__) <= set(dir(wmrl_gym))
    with pytest.raises(AttributeError, match="no_such_name"):
        wmrl_gym.no_such_name  # noqa: B018  # asking is what is tested


@pytest.mark.slow
def test_the_example_of_the_readme(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    (tmp_path / "example.py").write_text("\n".join(blocks))
    assert "executions_avoided=" in run("example.py", cwd=tmp_path)
    assert (tmp_path / "policy.zip").exists()


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples(example: Path, tmp_path: Path) -> None:
    printed = run(str(example), cwd=tmp_path)
    assert printed.strip()
    if example.name == "train_vla_policy.py":
        # The policy really does what it is told; 60 % were measured, of 40 episodes.
        found = re.search(r"cloned policy succeeds in +(\d+)%", printed)
        assert found is not None
        assert int(found[1]) >= 25
