from __future__ import annotations

import subprocess
import sys

import pytest

import wmrl_gym.agents


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("missing", ["stable_baselines3", "torch"])
@pytest.mark.parametrize("name", ["GRPO", "VectorEnvBridge", "WeightedPPO"])
def test_a_missing_package_is_named_with_its_extra(name: str, missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
from wmrl_gym.errors import MissingDependencyError
try:
    from wmrl_gym.agents import {name}
except MissingDependencyError as error:
    print(error)
"""
    message = run(code)
    assert message.startswith(f"{name} needs ")
    assert message.endswith('pip install "wmrl-gym[sb3]"')


def test_the_package_imports_nothing_heavy() -> None:
    code = "import sys, wmrl_gym.agents; print('torch' in sys.modules)"
    assert run(code) == "False"


def test_names() -> None:
    assert dir(wmrl_gym.agents) == ["GRPO", "VectorEnvBridge", "WeightedPPO"]
    for name in wmrl_gym.agents.__all__:
        assert getattr(wmrl_gym.agents, name).__name__ == name
    with pytest.raises(AttributeError, match="nothing"):
        wmrl_gym.agents.nothing  # noqa: B018  # the access is what is tested
