"""Runs the arms of a study side by side, and goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from wmrl_gym.benchmark.arm_run import ArmJob, run_arm
from wmrl_gym.benchmark.results import ArmResult, StudyError, read_result
from wmrl_gym.benchmark.scenarios import Scenario
from wmrl_gym.errors import MissingDependencyError


def plan(
    scenario: Scenario,
    *,
    arms: Sequence[str],
    seeds: Sequence[int],
    directory: Path,
    small: bool = False,
    workers: int | None = None,
) -> list[ArmJob]:
    """List the jobs of a study, seed by seed, so that a study cut short has whole seeds.

    Args:
        scenario: What it is made on.
        arms: Names of `ARMS`.
        seeds: Seeds; arms are compared by seed.
        directory: Where results go.
        small: Whether in small size.
        workers: Real executions at once in each job; `None` for one per core.

    Raises:
        WMRLError: If an arm is unknown.
    """
    return [
        ArmJob(
            scenario=scenario.name,
            arm=arm,
            config=scenario.arm(arm, seed=seed, small=small, workers=workers),
            directory=str(directory),
        )
        for seed in seeds
        for arm in arms
    ]


def finished(job: ArmJob) -> ArmResult | None:
    """The result of a job that was done before; `None` if there is none that can be read.

    Raises:
        StudyError: If the file holds the result of another setting: it would be compared with
            what it cannot be compared with.
    """
    if not job.file.exists():
        return None
    try:
        result = read_result(job.file)
    except StudyError:
        return None  # torn: it is made again
    if (result.scenario, result.groups) != (job.scenario, job.config.groups):
        raise StudyError(
            f"{job.file} is from scenario {result.scenario!r} with {result.groups} groups, not "
            f"{job.scenario!r} with {job.config.groups}: choose another directory"
        )
    return result


def run_jobs(
    jobs: Iterable[ArmJob], *, at_once: int = 1, address: str | None = None
) -> Iterator[tuple[ArmJob, ArmResult | BaseException]]:
    """Run jobs and give each with its result, or with what it failed by, as they end.

    Args:
        jobs: What to run; results are written to their files.
        at_once: Jobs at once on this machine. Wall-clock times are comparable only if it is the
            same for all arms.
        address: Address of a Ray cluster to run them on instead, or "auto".
    """
    if address is not None:
        yield from _on_ray(list(jobs), address)
        return
    # Spawned: torch and the fork servers of sandboxes do not survive a fork.
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
        yield from _as_they_end({pool.submit(run_and_write, job): job for job in jobs})


def run_and_write(job: ArmJob) -> ArmResult:
    """Run one job and write its result."""
    result = run_arm(job)
    result.write(Path(job.directory))
    return result


def _as_they_end(
    running: dict[Future[ArmResult], ArmJob],
) -> Iterator[tuple[ArmJob, ArmResult | BaseException]]:
    try:
        while running:
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield running.pop(future), future.exception() or future.result()
    finally:
        for future in running:
            future.cancel()


def _on_ray(
    jobs: Sequence[ArmJob], address: str
) -> Iterator[tuple[ArmJob, ArmResult | BaseException]]:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingDependencyError('address needs ray: pip install "wmrl-gym[ray]"') from error
    ray.init(address=address, ignore_reinit_error=True)
    remote: Callable[[ArmJob], object] = ray.remote(num_cpus=1)(run_arm).remote
    running = {remote(job): job for job in jobs}
    while running:
        (ended,), _ = ray.wait(list(running), num_returns=1)
        job = running.pop(ended)
        try:
            result: ArmResult = ray.get(ended)
        except ray.exceptions.RayError as error:
            yield job, error
            continue
        result.write(Path(job.directory))
        yield job, result
