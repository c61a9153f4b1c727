"""Real execution of machine-learning scripts: a sandbox runs them, the grader scores them."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.grading import Grade, grade
from wmrl_gym.envs.mle.ladder import ladder
from wmrl_gym.envs.mle.script_check import syntax_error
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import MissingDependencyError, SandboxUnavailableError, TaskError
from wmrl_gym.executors.pool import PooledExecutor, usable_cores
from wmrl_gym.executors.store import OutcomeStore
from wmrl_gym.executors.storing import StoringExecutor
from wmrl_gym.outcomes import Execution, Outcome, Status
from wmrl_gym.sandboxes import (
    BACKEND_NAMES,
    GPU_BACKENDS,
    Job,
    JobResult,
    JobStatus,
    Limits,
    Sandbox,
    select_sandbox,
)

_log = logging.getLogger(__name__)

_SHOWN_CHARACTERS = 2000
_STATUS_OF_JOB = {
    JobStatus.ERROR: Status.CRASHED,
    JobStatus.TIMEOUT: Status.TIMED_OUT,
    JobStatus.OUT_OF_MEMORY: Status.OUT_OF_MEMORY,
}


class MLEExecutor(PooledExecutor):
    """Runs scripts in sandboxes and grades what they write.

    A script runs in an empty working directory, finds the public part of its task at
    `../input` and leaves `submission.csv`. The hidden answers never enter that sandbox:
    grading happens after it has gone, in another one.

    Args:
        sandbox: Name of a sandbox back end, or `"auto"` for the best one that works here.
            No process is started before the first execution.
        workers: How many scripts run at once; `None` for as many as there are usable cores for.
        store: Store of real outcomes, or a path to one. It does not know under which limits an
            outcome came about: take another one when these change.
        cpus: Threads that a script is told to use.
        memory_mb: Memory limit of a script, in MiB.
        gpus: GPUs that a script is given for itself; they need the back end "docker".

    Raises:
        ValueError: If there is no such back end, or it has no GPUs to give, or a number is out
            of its range.
    """

    def __init__(
        self,
        *,
        sandbox: str = "auto",
        workers: int | None = None,
        store: OutcomeStore | str | Path | None = None,
        cpus: int = 1,
        memory_mb: int = 2048,
        gpus: int = 0,
    ) -> None:
        run = ScriptRun(sandbox=sandbox, cpus=cpus, memory_mb=memory_mb, gpus=gpus)
        super().__init__(
            run,
            workers=max(1, usable_cores() // cpus) if workers is None else workers,
            store=store,
            fatal=FATAL,
        )


FATAL = (SandboxUnavailableError, TaskError, MissingDependencyError)
"""Exceptions of `ScriptRun` that only a user can mend."""


class ScriptRun:
    """Carries out one execution: runs the script, grades what it left.

    Args:
        sandbox: Name of a sandbox back end, or `"auto"`.
        cpus: Threads that a script is told to use.
        memory_mb: Memory limit of a script, in MiB.
        gpus: GPUs that a script is given.

    Raises:
        ValueError: If there is no such back end, or it has no GPUs to give, or a number is out
            of its range.
    """

    def __init__(
        self, *, sandbox: str = "auto", cpus: int = 1, memory_mb: int = 2048, gpus: int = 0
    ) -> None:
        if sandbox not in ("auto", *BACKEND_NAMES):
            raise ValueError(f"sandbox={sandbox!r} must be 'auto' or one of {BACKEND_NAMES}")
        for name, value, least in (
            ("cpus", cpus, 1),
            ("memory_mb", memory_mb, 1),
            ("gpus", gpus, 0),
        ):
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number of at least {least}")
        if gpus and sandbox not in ("auto", *GPU_BACKENDS):
            raise ValueError(
                f"gpus={gpus}: sandbox={sandbox!r} cannot pass GPUs through; "
                f"use {' or '.join(map(repr, GPU_BACKENDS))}"
            )
        self._sandbox_name = GPU_BACKENDS[0] if gpus else sandbox
        self._limits = Limits(threads=cpus, memory_mb=memory_mb, gpus=gpus)

    @property
    def sandbox(self) -> Sandbox:
        """The back end in use, which all of this process share."""
        return select_sandbox(self._sandbox_name)

    def __call__(self, execution: Execution) -> Outcome:
        """Run the script of `execution` on its task."""
        malformed = syntax_error(execution.artifact)
        if malformed:
            return Outcome(Status.MALFORMED, ladder(Status.MALFORMED), malformed)
        task, job = load_task(execution.task), self.job(execution)
        result = self.sandbox.run(job)
        if result.status is JobStatus.SANDBOX_ERROR:
            return Outcome.unscored(f"the sandbox failed: {result.error}")
        graded = self._grade(task, result)
        if graded.fault:  # the agent does not see the reason, which may quote the answers
            _log.warning("task %s could not be graded: %s", task.name, graded.reason)
        return Outcome(
            status=graded.status,
            score=graded.score,
            feedback=_feedback(task, graded, result, job.limits),
            seconds=result.wall_s,
            details=_details(graded),
        )

    def job(self, execution: Execution) -> Job:
        """What is run for `execution`, which names a task that there is."""
        task = load_task(execution.task)
        return Job(
            files={"main.py": execution.artifact.encode()},
            data={"input": task.public},
            outputs=[task.submission],
            limits=replace(self._limits, wall_s=execution.timeout_s),
        )

    def _grade(self, task: Task, result: JobResult) -> Grade:
        if result.status is not JobStatus.OK:
            return Grade(_STATUS_OF_JOB[result.status])
        if task.submission in result.skipped:
            return Grade(Status.INVALID_RESULT, reason=result.skipped[task.submission])
        return grade(task, result.outputs.get(task.submission), self._grading_sandbox())

    def _grading_sandbox(self) -> Sandbox:
        """The fastest one: how the script was run says nothing about how to grade it."""
        try:
            return select_sandbox()
        except SandboxUnavailableError:
            return self.sandbox


def _details(graded: Grade) -> dict[str, float]:
    numbers = {
        "metric": graded.metric,
        "metric_public": graded.public_metric,
        "score_public": graded.public_score,
    }
    return {name: number for name, number in numbers.items() if number is not None}


def _feedback(task: Task, graded: Grade, result: JobResult, limits: Limits) -> str:
    """What a practitioner would see: how it ended, the public metric, the tail of both streams."""
    parts = [f"{_verdict(task, graded, result, limits)} (ran {result.wall_s:.1f} s)"]
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text.strip():
            parts.append(f"--- {name} ---\n{_tail(text)}")
    return "\n".join(parts)


def _verdict(task: Task, graded: Grade, result: JobResult, limits: Limits) -> str:
    match graded.status:
        case Status.CRASHED:
            return f"The script failed with exit code {result.exit_code}."
        case Status.TIMED_OUT:
            return f"The script was stopped at its limit of {limits.wall_s:g} s."
        case Status.OUT_OF_MEMORY:
            return f"The script was stopped at its limit of {limits.memory_mb} MiB."
        case Status.NO_RESULT:
            return f"The script ended well but left no {task.submission}."
        case Status.INVALID_RESULT:
            return f"{task.submission} is not valid: {graded.reason}"
        case Status.COMPLETED if graded.public_metric is None:
            return f"{task.submission} is valid."
        case Status.COMPLETED:
            return f"{task.submission} is valid. Public {task.metric}: {graded.public_metric:.6g}"
    return f"{task.submission} could not be graded, through no fault of the script."


def _tail(text: str) -> str:
    """The end of a stream, where tracebacks and final scores stand."""
    text = text.rstrip()
    return text if len(text) <= _SHOWN_CHARACTERS else "[...]" + text[-_SHOWN_CHARACTERS:]


def make_executor(
    kind: str,
    *,
    address: str | None,
    sandbox: str,
    workers: int | None,
    store: str | None,
    cpus: int = 1,
    memory_mb: int = 2048,
    gpus: int = 0,
) -> StoringExecutor:
    """The executor of an environment.

    Args:
        kind: `"pool"` for this machine, `"ray"` for a Ray cluster.
        address: Address of that cluster; see `wmrl_gym.executors.RayExecutor`.
        sandbox: Name of a sandbox back end, or `"auto"`.
        workers: Scripts at once on this machine.
        store: Path of a store of real outcomes.
        cpus: CPUs of one script; what a cluster reserves, too.
        memory_mb: Its memory, in MiB.
        gpus: GPUs that it is given.

    Raises:
        ValueError: If there is no such kind, an argument belongs to the other one, or is out of
            its range.
        MissingDependencyError: If Ray is asked for and not installed.
    """
    resources = {"cpus": cpus, "memory_mb": memory_mb, "gpus": gpus}
    if kind == "pool":
        if address is not None:
            raise ValueError(f"address={address!r} needs executor='ray'")
        return MLEExecutor(sandbox=sandbox, workers=workers, store=store, **resources)
    if kind != "ray":
        raise ValueError(f"executor={kind!r} must be 'pool' or 'ray'")
    if workers is not None:
        raise ValueError(f"workers={workers} is for executor='pool'; a cluster has its own CPUs")
    from wmrl_gym.executors import RayExecutor

    make_run = partial(ScriptRun, sandbox=sandbox, **resources)
    make_run()  # raises here, where the user named the sandbox
    return RayExecutor(make_run, address=address, store=store, fatal=FATAL, **resources)
