"""How long executions take, from the real ones seen."""

from __future__ import annotations

from wmrl_gym.outcomes import Execution, Outcome, Status
from wmrl_gym.world_models.language.durations import Durations


def run(task: str, timeout_s: float = 60.0) -> Execution:
    return Execution(task, "x = 1", timeout_s=timeout_s)


def taught() -> Durations:
    durations = Durations()
    seen = [("a", Status.COMPLETED, s) for s in (3.0, 9.0, 4.0)] + [("a", Status.CRASHED, 1.0)]
    durations.learn(
        [run(task) for task, _, _ in seen],
        [Outcome(status, 0.5, seconds=seconds) for _, status, seconds in seen],
    )
    return durations


def test_the_median_of_the_task_and_the_ending() -> None:
    assert taught().predict(run("a"), Status.COMPLETED) == 4.0
    assert taught().predict(run("a"), Status.CRASHED) == 1.0


def test_what_was_not_seen_is_taken_from_what_is_closest() -> None:
    assert taught().predict(run("a"), Status.NO_RESULT) == 3.5  # of 1, 3, 4, 9
    assert taught().predict(run("b"), Status.COMPLETED) == 4.0
    assert Durations().predict(run("b"), Status.COMPLETED) == 1.0


def test_limits_hold() -> None:
    assert taught().predict(run("a", 2.0), Status.COMPLETED) == 2.0
    assert taught().predict(run("a", 7.0), Status.TIMED_OUT) == 7.0
    assert taught().predict(run("a"), Status.MALFORMED) == 0.0


def test_our_own_failures_teach_nothing() -> None:
    durations = Durations()
    durations.learn([run("a")], [Outcome.unscored("the sandbox failed")])
    assert durations.predict(run("a"), Status.COMPLETED) == 1.0


def test_it_resumes() -> None:
    resumed = Durations()
    resumed.load_state_dict(taught().state_dict())
    assert resumed.state_dict() == taught().state_dict()
    assert resumed.predict(run("a"), Status.COMPLETED) == 4.0
