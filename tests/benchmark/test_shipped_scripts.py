"""The shipped outcomes are of scripts that the command of their file still writes."""

from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.benchmark.collection import _group
from wmrl_gym.envs.mle.env import MLEEnv
from wmrl_gym.interchange.outcomes import shipped_outcomes


@pytest.mark.slow
def test_the_scripts_are_made_again_from_their_seed() -> None:
    shipped = shipped_outcomes()
    made_by = shipped.provenance
    tasks, size = made_by["tasks"], made_by["group_size"]
    env = MLEEnv(tasks=tasks, timeout_s=made_by["timeout_s"])
    rng = np.random.default_rng(made_by["seed"])
    # A group of every task: those that follow continue the same stream.
    for number in range(len(tasks)):
        kept = [record for record in shipped.records if record.group == number]
        drawn = _group(env, tasks, number, size, rng)
        assert [script.origin for _, script in drawn] == [record.origin for record in kept]
        # Task, version of its data, script and limit: all that decides an outcome.
        assert [run.key for run, _ in drawn] == [record.execution.key for record in kept]
    env.close()
