"""One token: the mean over the probabilities of the symbols of a scale.

The scale holds both questions, whether the script leaves a valid submission and how good
that is, so that one reading gives P(completed) and E[score | completed]. The mean uses all
that the model says about its doubts; the likeliest symbol alone is a worse judge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.outcomes import Outcome, Status
from wmrl_gym.world_models.language.backend import LanguageBackend, Prompt, Reading
from wmrl_gym.world_models.language.prediction import (
    Ending,
    FixedMode,
    NoPrediction,
    Prediction,
    rung,
)
from wmrl_gym.world_models.language.prompts import Question

DIGITS = tuple("0123456789")
PREFILL = '{"score": '
CLOSING = "What will happen? Answer with one symbol."
_ENDINGS = (Status.CRASHED, Status.NO_RESULT)
"""What the first symbols of the scale stand for; the others are positions from 0 to 1."""
_LIKE = {Status.NO_RESULT: Status.NO_RESULT, Status.INVALID_RESULT: Status.NO_RESULT}
"""Endings that the second symbol stands for."""
_LEAST_SYMBOLS = 4


class Scale:
    """Reads scores off the probabilities of symbols.

    Args:
        backend: What is asked.
        symbols: Single tokens: one for a script that stops with an error, one for a script
            that leaves no valid submission, then positions from worst to best.
        min_mass: Least probability of all symbols together; with less, the model wants to say
            something else, and there is no prediction.

    Raises:
        ValueError: If the back end tells no probabilities, a symbol is no single token, or an
            argument is out of its range.
    """

    def __init__(self, backend: LanguageBackend, symbols: Sequence[str], min_mass: float) -> None:
        if len(set(symbols)) != len(symbols) or len(symbols) < _LEAST_SYMBOLS:
            raise ValueError(
                f"symbols={symbols!r} must be at least {_LEAST_SYMBOLS}, all different"
            )
        if not 0.0 <= min_mass <= 1.0:
            raise ValueError(f"min_mass={min_mass} must be in [0, 1]")
        if not backend.capabilities.probabilities:
            raise ValueError(
                f"{backend.name} tells no probabilities of tokens: use mode='structured'"
            )
        backend.check_symbols(symbols)
        self._backend = backend
        self._symbols = tuple(symbols)
        self._min_mass = min_mass
        positions = np.linspace(0.0, 1.0, len(symbols) - len(_ENDINGS))
        self._good = np.array([rung(Status.COMPLETED, float(place)) for place in positions])

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols, `K` of them."""
        return self._symbols

    def target(self, outcome: Outcome) -> NDArray[np.float64]:
        """`[K]` probabilities that a model should have given to be right about `outcome`.

        The score of a valid submission lies between two symbols; they share it so that the
        mean is the score.
        """
        target = np.zeros(len(self._symbols))
        if outcome.status is Status.COMPLETED and outcome.score is not None:
            place = np.interp(outcome.score, self._good, np.arange(len(self._good)))
            below = min(int(place), len(self._good) - 2) + len(_ENDINGS)
            target[below + 1] = place - (below - len(_ENDINGS))
            target[below] = 1.0 - target[below + 1]
        else:
            target[_ENDINGS.index(_LIKE.get(outcome.status, Status.CRASHED))] = 1.0
        return target

    @property
    def question(self) -> str:
        """What to ask."""
        crash, invalid, worst, *_, best = self._symbols
        return (
            f"What will happen to the script? {crash}: it stops with an error or at a limit. "
            f"{invalid}: it ends without a valid submission. {worst} to {best}: it leaves a valid "
            f"submission, from {worst}, no better than guessing, to {best}, as good as the best "
            "solutions known. "
            "Answer with that one symbol only."
        )

    @property
    def prefill(self) -> str:
        """How the answer begins, where it can be begun."""
        return PREFILL if self._backend.capabilities.prefill else ""

    def read(self, prompts: Sequence[Prompt]) -> list[Prediction | NoPrediction]:
        """`[B]` predictions from one token each."""
        readings = self._backend.next_token_probabilities(prompts, self._symbols)
        return [self._prediction(reading) for reading in readings]

    def _prediction(self, reading: Reading) -> Prediction | NoPrediction:
        p = reading.probabilities
        if p is None:
            return NoPrediction(reading.error)
        if reading.mass < self._min_mass:
            return NoPrediction(
                f"the symbols have a probability of {reading.mass:.3f} together, less than "
                f"min_mass={self._min_mass}"
            )
        positions = p[len(_ENDINGS) :]
        completed = float(positions.sum())
        # Where it cannot happen, any score will do.
        good = float(positions @ self._good) / completed if completed else float(self._good[0])
        failures = zip(_ENDINGS, p, strict=False)
        return Prediction(
            endings=(
                *(Ending(status, float(share), rung(status)) for status, share in failures),
                Ending(Status.COMPLETED, completed, good),
            ),
            details={"mass": reading.mass},
        )


class ExpectedMode(FixedMode):
    """Asks for one symbol of a scale and reads its distribution.

    Args:
        scale: The scale.
    """

    answer_tokens = 160

    def __init__(self, scale: Scale) -> None:
        self._scale = scale

    def predict(self, questions: Sequence[Question]) -> list[Prediction | NoPrediction]:
        """`[B]` predictions in one call."""
        return self._scale.read(symbol_prompts(self._scale, questions))


def symbol_prompts(scale: Scale, questions: Sequence[Question]) -> list[Prompt]:
    """`[B]` prompts that a symbol of `scale` answers."""
    return [
        question.asking(scale.question, CLOSING, prefill=scale.prefill) for question in questions
    ]
