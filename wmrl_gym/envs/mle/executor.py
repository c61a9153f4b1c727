"""Real execution of machine-learning scripts: a sandbox runs them, the grader scores them."""

from __future__ import annotations

from pathlib import Path

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.grading import Grade, grade, ladder
from wmrl_gym.envs.mle.script_check import syntax_error
from wmrl_gym.errors import SandboxUnavailableError, TaskError
from wmrl_gym.executors.pool import PooledExecutor
from wmrl_gym.executors.store import OutcomeStore
from wmrl_gym.outcomes import Execution, Outcome, Status
from wmrl_gym.sandboxes import (
    BACKEND_NAMES,
    Job,
    JobResult,
    JobStatus,
    Limits,
    Sandbox,
    select_sandbox,
)

SUBMISSION = "submission.csv"
_SHOWN_CHARACTERS = 2000
_STATUS_OF_JOB = {
    JobStatus.ERROR: Status.CRASHED,
    JobStatus.TIMEOUT: Status.TIMED_OUT,
    JobStatus.OUT_OF_MEMORY: Status.OUT_OF_MEMORY,
}


class MLEExecutor(PooledExecutor):
    """Runs scripts in sandboxes and grades what they write.

    A script runs in an empty working directory, finds the public part of its task at
    `../input` and leaves `submission.csv`. The hidden answers never enter the sandbox:
    grading happens here, after it has gone.

    Args:
        sandbox: Name of a sandbox back end, or `"auto"` for the best one that works here.
            No process is started before the first execution.
        workers: How many scripts run at once; `None` for one per usable core.
        store: Store of real outcomes, or a path to one.
        memory_mb: Memory limit of a script, in MiB.

    Raises:
        ValueError: If there is no such back end, or `workers` is below 1.
    """

    def __init__(
        self,
        *,
        sandbox: str = "auto",
        workers: int | None = None,
        store: OutcomeStore | str | Path | None = None,
        memory_mb: int = 2048,
    ) -> None:
        super().__init__(
            self._run_script,
            workers=workers,
            store=store,
            fatal=(SandboxUnavailableError, TaskError),
        )
        if sandbox not in ("auto", *BACKEND_NAMES):
            raise ValueError(f"sandbox={sandbox!r} must be 'auto' or one of {BACKEND_NAMES}")
        self._sandbox_name = sandbox
        self._memory_mb = memory_mb

    @property
    def sandbox(self) -> Sandbox:
        """The back end in use, which all executors of this process share."""
        return select_sandbox(self._sandbox_name)

    def _run_script(self, execution: Execution) -> Outcome:
        malformed = syntax_error(execution.artifact)
        if malformed:
            return Outcome(Status.MALFORMED, ladder(Status.MALFORMED), malformed)
        task = load_task(execution.task)
        job = Job(
            files={"main.py": execution.artifact.encode()},
            data={"input": task.public},
            outputs=[SUBMISSION],
            limits=Limits(wall_s=execution.timeout_s, memory_mb=self._memory_mb),
        )
        result = self.sandbox.run(job)
        if result.status is JobStatus.SANDBOX_ERROR:
            return Outcome.unscored(f"the sandbox failed: {result.error}")
        if result.status is not JobStatus.OK:
            graded = Grade(status=_STATUS_OF_JOB[result.status])
        elif SUBMISSION in result.skipped:
            graded = Grade(status=Status.INVALID_RESULT, reason=result.skipped[SUBMISSION])
        else:
            graded = grade(task, result.outputs.get(SUBMISSION))
        return _outcome(graded, result, metric=task.metric, limits=job.limits)


def _outcome(graded: Grade, result: JobResult, *, metric: str, limits: Limits) -> Outcome:
    return Outcome(
        status=graded.status,
        score=graded.score,
        feedback=_feedback(graded, result, metric=metric, limits=limits),
        seconds=result.wall_s,
        details={} if graded.metric is None else {"metric": graded.metric},
    )


def _feedback(graded: Grade, result: JobResult, *, metric: str, limits: Limits) -> str:
    """What a practitioner would see: how it ended, the score, the tail of both streams."""
    verdict = {
        Status.CRASHED: f"The script failed with exit code {result.exit_code}.",
        Status.TIMED_OUT: f"The script was stopped at its limit of {limits.wall_s:g} s.",
        Status.OUT_OF_MEMORY: f"The script was stopped at its limit of {limits.memory_mb} MiB.",
        Status.NO_RESULT: f"The script ended well but left no {SUBMISSION}.",
        Status.INVALID_RESULT: f"{SUBMISSION} is not valid: {graded.reason}",
        Status.COMPLETED: f"{SUBMISSION} is valid. {metric}: {graded.metric}",
    }[graded.status]
    parts = [f"{verdict} (ran {result.wall_s:.1f} s)"]
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text.strip():
            parts.append(f"--- {name} ---\n{_tail(text)}")
    return "\n".join(parts)


def _tail(text: str) -> str:
    """The end of a stream, where tracebacks and final scores stand."""
    text = text.rstrip()
    return text if len(text) <= _SHOWN_CHARACTERS else "[...]" + text[-_SHOWN_CHARACTERS:]
