"""Strict grading: what became of a submission, decided in a sandbox of its own.

`grade` says how a submission fared; `evaluate` is the bare metric below it. The code that runs
beside the hidden answers is in `guest`.
"""

from wmrl_gym.envs.mle.grading.evaluation import GraderError, GraderFault, evaluate
from wmrl_gym.envs.mle.grading.grade import Grade, grade
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError, Values

__all__ = [
    "Grade",
    "GraderError",
    "GraderFault",
    "InvalidSubmissionError",
    "Values",
    "evaluate",
    "grade",
]
