"""Which of an episode's submissions counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from wmrl_gym.outcomes import Outcome, Source, Status


@dataclass(frozen=True, eq=False)
class _Attempt:
    public: float | None
    """Score by what the agent may know of; `None` if there are no public answers."""
    score: float
    """Score by the private answers."""
    graded: bool


@dataclass
class Submissions:
    """The executions of one episode, and the one that is handed in.

    Unless the agent chooses, that is the one that is best in public: to take the best in private
    would be to select on the hidden answers. Where nothing is public it is the last graded one.
    A predicted outcome, which saw no answers, has one score for both.
    """

    _attempts: list[_Attempt] = field(default_factory=list)
    _chosen: _Attempt | None = None

    def __len__(self) -> int:
        """Number of graded submissions."""
        return len(self._graded)

    @property
    def score(self) -> float:
        """Score of the submission that would be handed in now; 0 before there is any."""
        return 0.0 if self._current is None else self._current.score

    @property
    def number(self) -> int:
        """Number of that submission among the graded ones, from 1 on; 0 if none is graded."""
        graded = self._graded
        return graded.index(self._current) + 1 if self._current in graded else 0

    @property
    def standing(self) -> str:
        """What the agent is told about it: by the public answers only."""
        if self._current is None or not self._current.graded:
            return "Nothing valid is submitted yet."
        public = self._current.public
        if public is None:
            return f"Submission {self.number} stands; this task shows no scores."
        return f"Best so far: submission {self.number}, public score {public:.3f}."

    @property
    def _current(self) -> _Attempt | None:
        if self._chosen is not None:
            return self._chosen
        if self._blind:
            return self._graded[-1]
        return max(self._attempts, key=lambda attempt: attempt.public or 0.0, default=None)

    @property
    def _graded(self) -> list[_Attempt]:
        return [attempt for attempt in self._attempts if attempt.graded]

    @property
    def _blind(self) -> bool:
        """Whether a submission was graded of which nothing is public."""
        return any(attempt.public is None for attempt in self._graded)

    def add(self, outcome: Outcome) -> str:
        """Account for an execution, and say what became of it.

        An outcome without a score, which is our failure, changes nothing.
        """
        if outcome.score is None:
            return outcome.feedback
        graded = outcome.status is Status.COMPLETED
        # A rung below a valid submission tells nothing of the answers, nor does a prediction.
        told = not graded or outcome.source is Source.PREDICTED
        public = outcome.details.get("score_public", outcome.score if told else None)
        self._attempts.append(_Attempt(public, outcome.score, graded))
        return f"Submission {len(self)}. {outcome.feedback}" if graded else outcome.feedback

    def choose(self, number: int | None) -> str:
        """Hand in a graded submission by its number, from 1 on; `None` for the one that stands."""
        if number is not None and 1 <= number <= len(self._graded):
            self._chosen = self._graded[number - 1]
            return f"The episode has ended with submission {number}."
        known = f"There is no submission {number}. " if number is not None else ""
        which = "latest graded submission" if self._blind else "submission that is best in public"
        return f"{known}The episode has ended with the {which}."
