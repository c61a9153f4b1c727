"""A JSON object: status, quality, reason and what the agent would be shown.

An answer that does not follow the form is asked for once more, with what was wrong with it;
then there is no prediction. A broken answer never becomes a low score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wmrl_gym.outcomes import Status
from wmrl_gym.world_models.language.backend import Completion, LanguageBackend, Prompt
from wmrl_gym.world_models.language.prediction import FixedMode, NoPrediction, Prediction, rung
from wmrl_gym.world_models.language.prompts import Question
from wmrl_gym.world_models.language.sanitise import plain_text

_BEST = 10
_SHOWN = 1000
_STATUSES = {status.name.lower(): status for status in Status if status > Status.MALFORMED}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": list(_STATUSES)},
        "quality": {"type": "integer", "minimum": 0, "maximum": _BEST},
        "reason": {"type": "string", "maxLength": 160},
        "feedback": {"type": "string", "maxLength": 240},
    },
    "required": ["status", "quality", "reason", "feedback"],
    "additionalProperties": False,
}
_ASK = (
    "What will happen to the script? Answer with one JSON object: "
    f"status, one of {', '.join(_STATUSES)}; "
    f"quality, from 0 (no better than guessing) to {_BEST} (as good as the best solutions known); "
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
        ValueError: If a field is missing or out of its range.
    """
    status = _STATUSES.get(str(fields.get("status")))
    quality = fields.get("quality")
    if status is None:
        raise ValueError(f"status={fields.get('status')!r} is not one of {list(_STATUSES)}")
    if isinstance(quality, bool) or not isinstance(quality, int | float):
        raise ValueError(f"quality={quality!r} is not a number")
    if not 0 <= quality <= _BEST:
        raise ValueError(f"quality={quality!r} is not in [0, {_BEST}]")
    completed = status is Status.COMPLETED
    feedback = fields.get("feedback")
    stream = "stdout" if completed else "stderr"
    shown = isinstance(feedback, str) and feedback.strip()
    return Prediction(
        status=status,
        p_completed=float(completed),
        score=rung(status, float(quality) / _BEST if completed else None),
        said=f"--- {stream} ---\n{str(feedback)[:_SHOWN]}" if shown else "",
    )
