"""A JSON object: status, how sure that is, quality, reason and what the agent would be shown.

The model states how sure it is, in tenths: that works with servers that tell no probabilities,
which is what this mode is for. It is asked in one call. An answer that does not follow the
form is asked for once more, with what was wrong with it; then there is no prediction. A broken
answer never becomes a low score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wmrl_gym.outcomes import Status
from wmrl_gym.world_models.language.backend import Completion, LanguageBackend, Prompt
from wmrl_gym.world_models.language.prediction import (
    Ending,
    FixedMode,
    NoPrediction,
    Prediction,
    rung,
)
from wmrl_gym.world_models.language.prompts import Question
from wmrl_gym.world_models.language.sanitise import plain_text

_BEST = 10
_EVEN, _CERTAIN = 5, 10
"""Least and most of `sure`; one who is less than even sure would name another status."""
_LONGEST = 1000
"""Characters of a text that are kept; servers that do not honour the schema write more."""
_STATUSES = {status.name.lower(): status for status in Status if status > Status.MALFORMED}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": list(_STATUSES)},
        "sure": {"type": "integer", "minimum": _EVEN, "maximum": _CERTAIN},
        "quality": {"type": "integer", "minimum": 0, "maximum": _BEST},
        "reason": {"type": "string", "maxLength": 160},
        "feedback": {"type": "string", "maxLength": 240},
    },
    "required": ["status", "sure", "quality", "reason", "feedback"],
    "additionalProperties": False,
}
_ASK = (
    "What will happen to the script? Answer with one JSON object: "
    f"status, one of {', '.join(_STATUSES)}; "
    f"sure, from {_EVEN} (even odds) to {_CERTAIN} (certain), how likely it is that the script "
    "completes, or fails, as status says; "
    f"quality, from 0 (no better than guessing) to {_BEST} (as good as the best solutions known), "
    "of its predictions if it completes; "
    "reason, in a few words; feedback, the lines of output or the error message that the "
    "script's author would see."
)

_CLOSING = "What will happen? Answer with the JSON object only."


class StructuredMode(FixedMode):
    """Asks for a JSON object and checks it.

    Args:
        backend: What is asked.
        max_tokens: Tokens of the answer.
    """

    def __init__(self, backend: LanguageBackend, max_tokens: int) -> None:
        self.answer_tokens = 2 * max_tokens + 240
        self._backend = backend
        self._max_tokens = max_tokens

    def predict(self, questions: Sequence[Question]) -> list[Prediction | NoPrediction]:
        """`[B]` predictions in one call, and one more for those that were malformed."""
        prompts = [question.asking(_ASK, _CLOSING) for question in questions]
        results = self._asked(prompts, seed=None)
        again = [index for index, result in enumerate(results) if isinstance(result, _Malformed)]
        retold = self._asked([_again(prompts[i], results[i]) for i in again], seed=1)
        for index, result in zip(again, retold, strict=True):
            results[index] = result
        return [
            NoPrediction(result.problem) if isinstance(result, _Malformed) else result
            for result in results
        ]

    def _asked(
        self, prompts: Sequence[Prompt], seed: int | None
    ) -> list[Prediction | NoPrediction | _Malformed]:
        if not prompts:
            return []
        completions = self._backend.generate(
            prompts, max_tokens=self._max_tokens, schema=SCHEMA, seed=seed
        )
        return [_read(completion) for completion in completions]


class _Malformed:
    """An answer that does not follow the form."""

    def __init__(self, text: str, problem: str) -> None:
        self.text = text
        self.problem = f"the answer does not follow the form: {problem}"


def _again(prompt: Prompt, malformed: Any) -> Prompt:
    said = plain_text(malformed.text)[:500] or "..."
    ask = f"{malformed.problem}. Answer with the JSON object only."
    return replace(prompt, turns=(("assistant", said), ("user", ask)))


def _read(completion: Completion) -> Prediction | NoPrediction | _Malformed:
    if completion.error:
        return NoPrediction(completion.error)
    text = completion.text
    start, end = text.find("{"), text.rfind("}")
    try:
        fields = json.loads(text[start : end + 1])
        return _checked(fields)
    except (ValueError, RecursionError) as error:
        return _Malformed(text, str(error))


def _checked(fields: Mapping[str, Any]) -> Prediction:
    """The prediction of an answer.

    Raises:
        ValueError: If a field is missing, of another type, or out of its range.
    """
    status = _STATUSES.get(str(fields.get("status")))
    if status is None:
        raise ValueError(f"status={fields.get('status')!r} is not one of {list(_STATUSES)}")
    sure = _integer(fields, "sure", _EVEN, _CERTAIN) / _CERTAIN
    good = rung(Status.COMPLETED, _integer(fields, "quality", 0, _BEST) / _BEST)
    reason, feedback = _text(fields, "reason"), _text(fields, "feedback")
    completed = status is Status.COMPLETED
    # Of a failure that is not expected no kind is told: most are errors.
    failure = Status.CRASHED if completed else status
    likelier = Ending(Status.COMPLETED, sure, good) if completed else _failing(failure, sure)
    other = _failing(failure, 1 - sure) if completed else Ending(Status.COMPLETED, 1 - sure, good)
    stream = "stdout" if completed else "stderr"
    said = f"--- {stream} ---\n{feedback}" if feedback else ""
    return Prediction((likelier, other), said, reason)


def _failing(status: Status, probability: float) -> Ending:
    return Ending(status, probability, rung(status))


def _integer(fields: Mapping[str, Any], name: str, low: int, high: int) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name}={value!r} is not an integer from {low} to {high}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r} is not a text")
    return value.strip()[:_LONGEST]
