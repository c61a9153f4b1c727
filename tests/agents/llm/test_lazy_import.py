from __future__ import annotations

import subprocess
import sys

import pytest

import wmrl_gym.agents.llm as llm


def test_the_scorer_needs_no_deep_learning() -> None:
    code = (
        "import sys; from wmrl_gym.agents.llm import GroupScorer, Score;"
        "print(sorted({'torch', 'trl', 'transformers', 'stable_baselines3'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"


def test_names() -> None:
    assert dir(llm) == [
        "FinishedRollouts",
        "GroupRubric",
        "GroupScorer",
        "Score",
        "TinkerGroups",
        "WMRLSpec",
        "WMRLTrainer",
    ]
    with pytest.raises(AttributeError, match="has no attribute 'PPO'"):
        llm.PPO  # noqa: B018  # the access is what is tested
