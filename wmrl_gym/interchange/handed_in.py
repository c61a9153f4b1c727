"""What recorded episodes of `WMRL-MLE-v0` handed in, as files for `mlebench grade`.

A trajectory holds scripts and no files: the script that the episode ended with is run again, in
a sandbox and on the public data. So the episodes of a world model are graded for real, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wmrl_gym.envs.mle.actions import parse_action
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.choice import TaskChoice, named_tasks
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import WMRLError
from wmrl_gym.interchange.mle_bench import Submission
from wmrl_gym.interchange.trajectories import Trajectory
from wmrl_gym.outcomes import Status
from wmrl_gym.sandboxes import Job, JobStatus, Limits, Sandbox, select_sandbox

ENVIRONMENT = "WMRL-MLE-v0"
_TIMEOUT_S = 60.0
"""Of an environment that was made without another one."""


def export_submissions(
    trajectories: Iterable[Trajectory], directory: Path, *, sandbox: Sandbox | None = None
) -> list[Submission]:
    """Run again what each episode handed in, and keep the files that it leaves.

    Each episode gets `<directory>/<run>-<episode>/` with `main.py`, `run.log` and, if the
    script leaves one, the submission. An episode hands in the graded submission that it chose,
    else the one that is best in public (the latest where nothing is public), else the last script
    whose submission was invalid.

    Args:
        trajectories: Episodes of `WMRL-MLE-v0`. One that was left in the middle hands in what
            it would have then.
        directory: Where the files go.
        sandbox: Where the scripts run; `None` for the best back end that works here.

    Returns:
        `[E]` one submission for each episode, without a path if there is none.

    Raises:
        ValueError: If an episode is one of another environment.
        FileExistsError: If an episode has been exported there before.
        TaskError: If there is no such task any more.
        WMRLError: If a sandbox fails.
    """
    runner = sandbox or select_sandbox()
    return [_export(trajectory, directory, runner) for trajectory in trajectories]


def handed_in(trajectory: Trajectory) -> str | None:
    """The script that an episode of `WMRL-MLE-v0` ended with; `None` if there is none."""
    graded: list[str] = []
    invalid = None
    for step in trajectory.steps:
        code = parse_action(step.action).code
        if step.info["submissions"] > len(graded):
            graded.append(code or "")
        elif step.info["status"] == Status.INVALID_RESULT:
            invalid = code
    number = trajectory.steps[-1].info["handed_in"] if trajectory.steps else 0
    return graded[number - 1] if number else invalid


def _export(trajectory: Trajectory, directory: Path, sandbox: Sandbox) -> Submission:
    if trajectory.env_id != ENVIRONMENT:
        raise ValueError(
            f"episode {trajectory.episode} of run {trajectory.run} is one of "
            f"env_id={trajectory.env_id!r}; only {ENVIRONMENT} hands in submissions"
        )
    task, script = _task(trajectory), handed_in(trajectory)
    if script is None:
        return Submission(task.name, None)
    place = directory / f"{trajectory.run}-{trajectory.episode}"
    place.mkdir(parents=True)
    (place / "main.py").write_text(script, encoding="utf-8")
    submitted = _run(task, script, trajectory, place / "run.log", sandbox)
    if submitted is not None:
        (place / task.submission).write_bytes(submitted)
    return Submission(
        competition_id=task.name,
        submission_path=None if submitted is None else str(place / task.submission),
        logs_path=str(place / "run.log"),
        code_path=str(place / "main.py"),
    )


def _task(trajectory: Trajectory) -> Task:
    if "task" in trajectory.options:
        return load_task(trajectory.options["task"])
    given = trajectory.env_kwargs
    choice = TaskChoice(named_tasks(given.get("tasks"), given.get("task")))
    return load_task(choice.names[trajectory.info["task_index"]])


def _run(
    task: Task, script: str, trajectory: Trajectory, log: Path, sandbox: Sandbox
) -> bytes | None:
    """The submission that a script leaves; `None` if it leaves none."""
    timeout_s = trajectory.env_kwargs.get("timeout_s", _TIMEOUT_S)
    job = Job(
        files={"main.py": script.encode()},
        data={"input": task.public},
        outputs=[task.submission],
        limits=Limits(wall_s=timeout_s),
    )
    result = sandbox.run(job)
    if result.status is JobStatus.SANDBOX_ERROR:
        raise WMRLError(
            f"episode {trajectory.episode} of run {trajectory.run}: "
            f"the sandbox failed: {result.error}"
        )
    log.write_text(f"{result.stdout}\n{result.stderr}", encoding="utf-8")
    return result.outputs.get(task.submission) if result.status is JobStatus.OK else None
