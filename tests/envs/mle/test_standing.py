"""Which submission counts, by hand."""

from __future__ import annotations

from wmrl_gym import Outcome, Source, Status
from wmrl_gym.envs.mle.standing import Submissions


def graded(public: float, private: float) -> Outcome:
    return Outcome(Status.COMPLETED, private, "valid", details={"score_public": public})


def test_the_best_in_public_counts_not_the_best_in_private() -> None:
    submissions = Submissions()
    assert (submissions.score, len(submissions)) == (0.0, 0)
    scores = []
    for outcome in (graded(0.6, 0.9), graded(0.8, 0.7), graded(0.7, 1.0)):
        submissions.add(outcome)
        scores.append(submissions.score)
    assert scores == [0.9, 0.7, 0.7]
    assert submissions.standing == "Best so far: submission 2, public score 0.800."


def test_the_agent_may_choose() -> None:
    submissions = Submissions()
    submissions.add(Outcome(Status.CRASHED, 0.1, "crashed"))
    assert "Nothing valid" in submissions.standing
    assert submissions.add(graded(0.6, 0.9)) == "Submission 1. valid"
    submissions.add(graded(0.8, 0.7))
    assert "no submission 3" in submissions.choose(3)
    assert submissions.score == 0.7
    assert submissions.choose(1) == "The episode has ended with submission 1."
    assert submissions.score == 0.9


def test_failures_have_their_rung_until_something_is_valid() -> None:
    submissions = Submissions()
    submissions.add(Outcome(Status.CRASHED, 0.1))
    submissions.add(Outcome(Status.INVALID_RESULT, 0.2))
    assert (submissions.score, len(submissions)) == (0.2, 0)
    submissions.add(graded(0.5, 0.55))
    submissions.add(Outcome(Status.CRASHED, 0.1))
    assert (submissions.score, len(submissions)) == (0.55, 1)


def test_our_failure_changes_nothing() -> None:
    submissions = Submissions()
    submissions.add(graded(0.6, 0.9))
    assert submissions.add(Outcome.unscored("the disk is full")) == "the disk is full"
    assert (submissions.score, len(submissions)) == (0.9, 1)


def hidden(private: float) -> Outcome:
    """Graded on a task without public answers."""
    return Outcome(Status.COMPLETED, private, "valid", details={"metric": 12.5})


def test_without_public_answers_nothing_of_the_private_score_is_told_or_used() -> None:
    submissions = Submissions()
    submissions.add(Outcome(Status.CRASHED, 0.1, "crashed"))
    scores = []
    for private in (0.7, 0.9, 0.8):
        assert submissions.add(hidden(private)).endswith("valid")
        assert not set("789") & set(submissions.standing)
        scores.append(submissions.score)
    assert scores == [0.7, 0.9, 0.8]
    submissions.add(Outcome(Status.CRASHED, 0.1, "crashed"))
    assert submissions.standing == "Submission 3 stands; this task shows no scores."
    assert (submissions.score, submissions.number, len(submissions)) == (0.8, 3, 3)
    assert submissions.choose(None).endswith("ended with the latest graded submission.")
    assert (submissions.choose(2), submissions.score) == (
        "The episode has ended with submission 2.",
        0.9,
    )


def test_a_prediction_has_one_score_for_both() -> None:
    submissions = Submissions()
    submissions.add(Outcome(Status.COMPLETED, 0.8, source=Source.PREDICTED))
    submissions.add(Outcome(Status.COMPLETED, 0.6, source=Source.PREDICTED))
    assert submissions.score == 0.8
    assert submissions.standing == "Best so far: submission 1, public score 0.800."
