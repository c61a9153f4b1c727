"""verl finds the plugin by itself."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

pytestmark = pytest.mark.verl

PROGRAM = """
import verl, sys
assert "wmrl_gym.agents.verl.plugin" in sys.modules
from verl.experimental.agent_loop.agent_loop import _agent_loop_registry as loops
from verl.trainer.ppo.v1 import get_trainer_cls
print(loops["wmrl"]["_target_"])
print(*(get_trainer_cls(n).__name__ for n in ("sync", "colocate_async", "separate_async")))
"""


def test_the_entry_point_is_there() -> None:
    (found,) = (e for e in entry_points(group="verl.plugins") if e.name == "wmrl_gym")
    assert found.value == "wmrl_gym.agents.verl.plugin"


def test_importing_verl_registers_the_loop_and_the_trainers() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loop, trainers = run.stdout.strip().splitlines()[-2:]
    assert loop == "wmrl_gym.agents.verl.loop.WMRLAgentLoop"
    assert trainers.split() == [
        "CorrectedPPOTrainerSync",
        "CorrectedPPOTrainerColocateAsync",
        "CorrectedPPOTrainerSeparateAsync",
    ]


def test_registering_twice_changes_nothing() -> None:
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY

    from wmrl_gym.agents.verl.trainer import register_corrected_trainers

    before = dict(TRAINER_REGISTRY)
    register_corrected_trainers()
    assert before == TRAINER_REGISTRY
