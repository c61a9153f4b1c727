"""What an execution of the synthetic task scores: a ladder, like that of AutoResearch.

An action is three numbers in [-1, 1]. `ambition` raises the quality of what runs, and the
probability of a crash. `skill` has to match the task. `gloss` is worth a little less than
nothing, but a world model that can be fooled likes it.

An execution is deterministic: whether it crashes follows from a hash of the action and of a
number that its environment drew, or a policy could learn by heart which actions do not crash.
"""

from __future__ import annotations

import hashlib
import json
import struct

import numpy as np
import numpy.typing as npt

from wmrl_gym.outcomes import Execution, Outcome, Status

NAMES = ("ambition", "skill", "gloss")
"""Names of the numbers in an action."""
TASKS = ("copper", "iron", "tin", "zinc")
"""Names of the tasks."""
TARGETS = (-0.6, -0.2, 0.3, 0.7)
"""The skill that each task needs."""
WIDTH = 0.6
"""How forgiving the skill is; see `quality`."""
CRASH_SCORE = 0.1
GLOSS_COST = 0.1


def crash_probability(ambition: float) -> float:
    """Return how probably an action crashes: 0 for the least ambition, 0.8 for the most."""
    return 0.8 * ((ambition + 1.0) / 2.0) ** 2


def quality(task: str, action: npt.NDArray[np.float64]) -> float:
    """Return the score of `[3]` an action that does not crash, in [0.35, 1]."""
    ambition, skill, gloss = action
    match = np.exp(-((skill - TARGETS[TASKS.index(task)]) ** 2) / WIDTH)
    value = 0.45 + 0.55 * match * (0.1 + 0.9 * (ambition + 1.0) / 2.0)
    return float(value - GLOSS_COST * max(0.0, gloss))


def expected_score(task: str, action: npt.ArrayLike) -> float:
    """Return the mean true score near `[3]` an action: what a policy should maximise."""
    action = np.asarray(action, dtype=np.float64)
    crash = crash_probability(float(action[0]))
    return crash * CRASH_SCORE + (1.0 - crash) * quality(task, action)


def best_score(task: str) -> float:
    """Return the largest expected score, found on a grid of 2001 ambitions."""
    target = TARGETS[TASKS.index(task)]
    return max(expected_score(task, [x, target, -1.0]) for x in np.linspace(-1.0, 1.0, 2001))


def execute(execution: Execution) -> Outcome:
    """Run an execution: the "expensive" one, though it takes microseconds here."""
    if uniform(execution, "crash") < crash_probability(float(_action(execution)[0])):
        return Outcome(Status.CRASHED, CRASH_SCORE, feedback="crashed")
    return aim(execution)


def aim(execution: Execution) -> Outcome:
    """Return what an execution gives if it does not crash."""
    score = quality(execution.task, _action(execution))
    return Outcome(Status.COMPLETED, score, feedback="completed")


def uniform(execution: Execution, purpose: str) -> float:
    """Return a number in [0, 1) that the execution and the purpose decide."""
    digest = hashlib.blake2b(f"{purpose}:{execution.key}".encode(), digest_size=8).digest()
    return float(struct.unpack("<Q", digest)[0] >> 11) * 2.0**-53


def _action(execution: Execution) -> npt.NDArray[np.float64]:
    return np.array(json.loads(execution.artifact)[: len(NAMES)], dtype=np.float64)
