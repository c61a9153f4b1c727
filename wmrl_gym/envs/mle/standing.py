"""Which of an episode's submissions counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from wmrl_gym.outcomes import Outcome, Status


@dataclass(frozen=True, eq=False)
class _Attempt:
    public: float
    """Score by what the agent may know of."""
    score: float
    """Score by the private answers."""
    graded: bool


@dataclass
class Submissions:
    """The executions of one episode, and the one that is handed in.

    Unless the agent chooses, that is the one that is best in public: to take the best in private
    would be to select on the hidden answers. A predicted outcome has one score for both.
    """

    _attempts: list[_Attempt] = field(default_factory=list)
    _chosen: _Attempt | None = None

    def __len__(self) -> int:
        """Number of graded submissions."""
        return sum(attempt.graded for attempt in self._attempts)

    @property
    def score(self) -> float:
        """Score of the submission that would be handed in now; 0 before there is any."""
        return 0.0 if self._current is None else self._current.score

    @property
    def number(self) -> int:
        """Number of that submission among the graded ones, from 1 on; 0 if none is graded."""
        graded = [attempt for attempt in self._attempts if attempt.graded]
        return graded.index(self._current) + 1 if self._current in graded else 0

    @property
    def standing(self) -> str:
        """What the agent is told about it: by the public answers only."""
        if self._current is None or not self._current.graded:
            return "Nothing valid is submitted yet."
        public = self._current.public
        return f"Best so far: submission {self.number}, public score {public:.3f}."

    @property
    def _current(self) -> _Attempt | None:
        best = max(self._attempts, key=lambda attempt: attempt.public, default=None)
        return self._chosen or best

    def add(self, outcome: Outcome) -> str:
        """Account for an execution, and say what became of it.

        An outcome without a score, which is our failure, changes nothing.
        """
        if outcome.score is None:
            return outcome.feedback
        graded = outcome.status is Status.COMPLETED
        public = outcome.details.get("score_public", outcome.score)
        self._attempts.append(_Attempt(public, outcome.score, graded))
        return f"Submission {len(self)}. {outcome.feedback}" if graded else outcome.feedback

    def choose(self, number: int | None) -> str:
        """Hand in a graded submission by its number, from 1 on; `None` for the best in public."""
        graded = [attempt for attempt in self._attempts if attempt.graded]
        if number is not None and 1 <= number <= len(graded):
            self._chosen = graded[number - 1]
            return f"The episode has ended with submission {number}."
        known = f"There is no submission {number}. " if number is not None else ""
        return f"{known}The episode has ended with the submission that is best in public."
