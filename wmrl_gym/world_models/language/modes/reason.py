"""Think first, then one token: for what has to be worked out step by step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from wmrl_gym.world_models.language.backend import LanguageBackend
from wmrl_gym.world_models.language.modes.expected import Scale
from wmrl_gym.world_models.language.prediction import FixedMode, NoPrediction, Prediction
from wmrl_gym.world_models.language.prompts import Question
from wmrl_gym.world_models.language.sanitise import plain_text

_ASK = (
    "Think it through in a few short sentences: will every line run on these data, is the "
    "submission written in the form that is asked for, and how good will the predictions be?"
)
_CLOSING = "What will happen, and why?"
_THOUGHTS = re.compile(r"</?think>")


class ReasonMode(FixedMode):
    """Has the model think, and reads the scale after its thoughts.

    Args:
        backend: What is asked.
        scale: The scale.
        max_tokens: Tokens of the thoughts.
    """

    def __init__(self, backend: LanguageBackend, scale: Scale, max_tokens: int) -> None:
        self.answer_tokens = max_tokens + 240
        self._backend = backend
        self._scale = scale
        self._max_tokens = max_tokens

    def predict(self, questions: Sequence[Question]) -> list[Prediction | NoPrediction]:
        """`[B]` predictions in two calls."""
        prompts = [question.asking(_ASK, _CLOSING) for question in questions]
        thoughts = self._backend.generate(prompts, max_tokens=self._max_tokens)
        followed = [
            replace(
                prompt,
                turns=(
                    ("assistant", plain_text(_THOUGHTS.sub("", thought.text)).strip() or "..."),
                    ("user", self._scale.question),
                ),
                prefill=self._scale.prefill,
            )
            for prompt, thought in zip(prompts, thoughts, strict=True)
        ]
        read = self._scale.read(followed)
        return [
            NoPrediction(thought.error) if thought.error else prediction
            for thought, prediction in zip(thoughts, read, strict=True)
        ]
