"""From a `Prompt` to token ids, with the chat template of a tokenizer.

Texts of a prompt are encoded apart from the template around them, without special tokens:
whatever a script contains, it cannot end its turn and begin another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wmrl_gym.world_models.language.backend import Prompt

_PLACE = "@@piece-{}@@"
_PLACES = re.compile(r"@@piece-(\d+)@@")
_OWN = 2
"""Index of `Prompt.own` among the texts of a prompt."""


@dataclass(frozen=True)
class Encoded:
    """A prompt in tokens."""

    ids: list[int]
    own_start: int
    """Index of the first token of `Prompt.own`."""
    own_end: int


class ChatEncoder:
    """Encodes prompts for one tokenizer.

    Args:
        tokenizer: A tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._templates: dict[tuple[bool, tuple[str, ...]], str] = {}

    def encode(self, prompt: Prompt) -> Encoded:
        """Token ids of `prompt`, up to where the model goes on."""
        texts = [prompt.system, prompt.shared, prompt.own, *(text for _, text in prompt.turns)]
        roles = tuple(role for role, _ in prompt.turns)
        parts = _PLACES.split(self._template(bool(prompt.system), roles))
        ids: list[int] = []
        own = (0, 0)
        for index, part in enumerate(parts):
            start = len(ids)
            ids += self._plain(texts[int(part)]) if index % 2 else self._markup(part)
            if index % 2 and int(part) == _OWN:
                own = (start, len(ids))
        return Encoded(ids + self._plain(prompt.prefill), *own)

    def symbol_ids(self, symbols: Sequence[str]) -> list[list[int]]:
        """For each symbol the tokens that spell it, with or without a space before it.

        Raises:
            ValueError: If a symbol is not a single token.
        """
        spelled = []
        for symbol in symbols:
            forms = [self._plain(form) for form in (symbol, f" {symbol}")]
            single = sorted({form[0] for form in forms if len(form) == 1})
            if not single:
                raise ValueError(
                    f"symbol {symbol!r} is {len(forms[0])} tokens of this model's vocabulary: "
                    "choose symbols that are single tokens"
                )
            spelled.append(single)
        if len({token for single in spelled for token in single}) != sum(map(len, spelled)):
            raise ValueError(f"symbols={list(symbols)} do not differ in their tokens")
        return spelled

    def _plain(self, text: str) -> list[int]:
        if not text:
            return []
        encoded = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)
        return list(encoded["input_ids"])

    def _markup(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []

    def _template(self, has_system: bool, roles: tuple[str, ...]) -> str:
        key = (has_system, roles)
        if key not in self._templates:
            self._templates[key] = self._render(has_system, roles)
        return self._templates[key]

    def _render(self, has_system: bool, roles: Sequence[str]) -> str:
        """The conversation with a place for each text."""
        system, shared, own = (_PLACE.format(index) for index in range(3))
        later = [
            {"role": role, "content": _PLACE.format(index)} for index, role in enumerate(roles, 3)
        ]
        if not getattr(self.tokenizer, "chat_template", None):
            said = "".join(f"\n\n{turn['content']}" for turn in later)
            begun = f"{system}\n\n" if has_system else ""
            return f"{begun}{shared}{own}{said}\n\n"
        user = {"role": "user", "content": shared + own}
        first = [{"role": "system", "content": system}] if has_system else []
        rendered = self._apply([*first, user, *later])
        # Some templates know no system turn.
        if has_system and (rendered is None or system not in rendered):
            user = {"role": "user", "content": f"{system}\n\n{shared}{own}"}
            rendered = self._apply([user, *later])
        if rendered is None:
            raise ValueError("the chat template of this model takes no user turn")
        return rendered

    def _apply(self, messages: list[dict[str, str]]) -> str | None:
        from jinja2 import TemplateError

        try:
            rendered: str = self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        except TemplateError:
            return None
        return rendered
