"""Between texts and tokens: prompts, actions, and what stands between two turns of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

Message = dict[str, str]
Prompt = str | Sequence[Message]
"""Plain text, or chat messages of which the last one is what is shortened if need be."""

CUT = "\n[... shortened to fit the context ...]\n"
_SAID = "@@what-the-assistant-said@@"


class Tokenizer(Protocol):
    """What is used of a `transformers` tokenizer."""

    eos_token_id: int

    def encode(self, text: str, *, add_special_tokens: bool = ...) -> list[int]:
        """Tokens of a text."""
        ...

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = ...) -> str:
        """Text of tokens."""
        ...

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """The conversation as text, or as tokens with `tokenize=True`."""
        ...


class Dialogue:
    """Writes a conversation as one growing sequence of tokens.

    What the model said stays as it said it, token by token, and is never tokenised again:
    the probabilities of other tokens than it sampled would be no policy gradient.

    Args:
        tokenizer: The tokenizer of the model.
        max_prompt_tokens: Longest prompt; a longer one loses its middle, visibly.
        max_observation_tokens: Longest observation between two turns, likewise.
        end_tokens: Tokens that end a turn of the model; `None` for the tokenizer's own.
        template_options: Further arguments of the chat template.

    Raises:
        ValueError: If a limit is below 32 tokens.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        max_prompt_tokens: int,
        max_observation_tokens: int,
        end_tokens: Collection[int] | None = None,
        template_options: Mapping[str, Any] | None = None,
    ) -> None:
        limits = {
            "max_prompt_tokens": max_prompt_tokens,
            "max_observation_tokens": max_observation_tokens,
        }
        for name, limit in limits.items():
            if limit < 32:
                raise ValueError(f"{name}={limit} must be at least 32")
        self.tokenizer = tokenizer
        self.max_prompt_tokens = max_prompt_tokens
        self.max_observation_tokens = max_observation_tokens
        self._end_tokens = frozenset(end_tokens or {tokenizer.eos_token_id})
        self._template_options = dict(template_options or {})

    def prompt(self, prompt: Prompt) -> list[int]:
        """Tokens that the model continues with its first action.

        Raises:
            ValueError: If a chat prompt does not fit without its last message.
        """
        if isinstance(prompt, str):
            return self._encode(self._shortened(prompt, self.max_prompt_tokens))
        ids = self._template(prompt)
        excess = len(ids) - self.max_prompt_tokens
        if excess <= 0:
            return ids
        *before, last = prompt
        room = len(self._encode(last["content"])) - excess
        if room < 1:
            raise ValueError(
                f"max_prompt_tokens={self.max_prompt_tokens} leaves no room for the task beside "
                "the chat template: raise it"
            )
        content = self._shortened(last["content"], room)
        return self._template([*before, {**last, "content": content}])

    def action(self, ids: Sequence[int]) -> str:
        """What the model said, as text."""
        return self.tokenizer.decode(ids, skip_special_tokens=True)

    def reply(self, said: Sequence[int], observation: str, *, chat: bool) -> list[int]:
        """Tokens between an action and the next one: the end of its turn, what it is told.

        Args:
            said: Tokens of the action.
            observation: What the environment answered.
            chat: Whether the conversation follows the chat template.

        Raises:
            ValueError: If the chat template does not show what the assistant said.
        """
        text = self._shortened(observation, self.max_observation_tokens)
        if not chat:
            return self._encode(f"\n{text}\n")
        between = self._encode(self._between(text))
        # A turn that was cut short is ended for the model; otherwise it has ended it.
        ended = bool(said) and said[-1] in self._end_tokens
        return between[1:] if ended and between[0] in self._end_tokens else between

    def _between(self, observation: str) -> str:
        """What the template writes from the end of the assistant's words to its next turn."""
        messages = [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": _SAID},
            {"role": "user", "content": observation},
        ]
        text: str = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **self._template_options
        )
        _, found, between = text.partition(_SAID)
        if not found:
            raise ValueError(
                "the chat template of this tokenizer hides earlier answers: pass another one, "
                "or train with max_turns=1"
            )
        return between

    def _shortened(self, text: str, limit: int) -> str:
        ids = self._encode(text)
        if len(ids) <= limit:
            return text
        half = max(0, (limit - len(self._encode(CUT))) // 2)
        head, tail = ids[:half], ids[len(ids) - half :]
        return self.tokenizer.decode(head) + CUT + self.tokenizer.decode(tail)

    def _encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def _template(self, messages: Sequence[Message]) -> list[int]:
        ids: list[int] = self.tokenizer.apply_chat_template(
            list(messages),
            tokenize=True,
            return_dict=False,
            add_generation_prompt=True,
            **self._template_options,
        )
        return ids
