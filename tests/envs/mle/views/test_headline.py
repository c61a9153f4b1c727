"""The headline against numbers worked out by hand."""

from __future__ import annotations

import pytest

from tests.envs.mle.views.test_mle_bench import report
from wmrl_gym.envs.mle.views import AggregateReport, SubmissionProblem, headline


def seed(**medals: bool | None) -> AggregateReport:
    """One run of each competition: with a medal, without, or impossible to grade (`None`)."""
    graded = [(name, medal) for name, medal in medals.items() if medal is not None]
    return AggregateReport(
        tuple(report(name, 0.9 if medal else 0.0) for name, medal in graded),
        tuple(SubmissionProblem(name, "x.csv", "?") for name in medals if medals[name] is None),
    )


def test_headline() -> None:
    # 50 %, 100 % and 0 %: mean 50, sample deviation 50, standard error 50 / sqrt(3).
    found = headline([seed(a=True, b=False), seed(b=True, a=True), seed(a=False, b=False)])
    assert found.mean == 50.0
    assert found.standard_error == pytest.approx(28.8675, abs=1e-4)
    assert found.seeds == 3


def test_one_seed_has_no_standard_error() -> None:
    found = headline([seed(a=True, b=False, c=False, d=False)])
    assert (found.mean, found.standard_error, found.seeds) == (25.0, None, 1)


def test_named_competitions_that_were_not_run_count_as_none() -> None:
    seeds = [seed(a=True), seed(a=True, b=True, other=False)]
    found = headline(seeds, competitions=["a", "b"])
    assert found.mean == 75.0
    with pytest.raises(ValueError, match="different competitions"):
        headline(seeds)


def test_what_could_not_be_graded_is_left_out_not_counted_as_none() -> None:
    seeds = [seed(a=True, b=None), seed(a=True, b=False)]
    assert headline(seeds).mean == 75.0
    assert headline(seeds, competitions=["a", "b"]).mean == 75.0
    with pytest.raises(ValueError, match="no graded competition"):
        headline([seed(a=None)])


def test_a_headline_needs_one_run_of_each_competition() -> None:
    with pytest.raises(ValueError, match="at least one report"):
        headline([])
    twice = AggregateReport((report("a"), report("a", 0.0)))
    with pytest.raises(ValueError, match="several runs of a"):
        headline([twice])
    again = AggregateReport((report("a"),), (SubmissionProblem("a", "x.csv", "?"),))
    with pytest.raises(ValueError, match="several runs of a"):
        headline([again])


def test_a_task_without_a_leaderboard_is_not_a_failure_of_the_agent() -> None:
    seeds = [AggregateReport((report("a"), report("b", leaderboard=[])))]
    with pytest.raises(ValueError, match="'b' has no leaderboard"):
        headline(seeds)
    assert headline(seeds, competitions=["a"]).mean == 100.0
