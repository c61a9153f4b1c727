"""Conversations with a model that is asked by text: what is shown to it of a long one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from wmrl_gym.agents.llm.dialogue import CUT, Message
from wmrl_gym.agents.llm.dialogue import Prompt as FirstPrompt
from wmrl_gym.world_models.language.backend import Completion, Prompt

_LEAST_CHARACTERS = 200
"""Of a task; a model that cannot read as much is of no use."""


class Speaker(Protocol):
    """What is used of a `LanguageBackend` to let it act; each of them is one."""

    @property
    def name(self) -> str:
        """Model and place, for messages."""
        ...

    @property
    def context_tokens(self) -> int:
        """Tokens that a prompt and its answer may have together."""
        ...

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of `prompt`, or a few more."""
        ...

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        temperature: float = 0.7,
    ) -> list[Completion]:
        """`[B]` answers; see `LanguageBackend.generate`."""
        ...

    def close(self) -> None:
        """Release what it holds; safe to call twice."""
        ...


@dataclass
class Conversation:
    """What an environment and an agent have said to each other."""

    first: FirstPrompt
    """How the agent is asked first: text, or chat messages of the roles system and user."""
    label: str = ""
    """Name of the task: prompts with the same one begin alike, and messages tell it."""
    exchanges: list[tuple[str, str]] = field(default_factory=list)
    """What the agent said each time, and what it heard then."""

    def prompt(self, *, forgotten: int = 0, characters: int | None = None) -> Prompt:
        """The conversation as a prompt for the next answer.

        Args:
            forgotten: How many of the oldest exchanges are left out; a note says so.
            characters: Most characters of the task, which then loses its middle, visibly.
        """
        system, user = _system_and_user(self.first)
        if characters is not None:
            user = _without_middle(user, characters)
        note = f"\n\n[{forgotten} earlier turns are left out here]" if forgotten else ""
        turns = [
            turn
            for said, heard in self.exchanges[forgotten:]
            for turn in (("assistant", said), ("user", heard))
        ]
        return Prompt(system, shared="", own=user + note, turns=tuple(turns), label=self.label)


def fitted(conversation: Conversation, speaker: Speaker, *, answer_tokens: int) -> Prompt:
    """The prompt with as much of the conversation as the model can read.

    The oldest exchanges are left out first; if the task alone is too long it loses its middle.

    Args:
        conversation: What was said so far.
        speaker: Who is to answer.
        answer_tokens: Tokens that are kept for the answer.

    Raises:
        ValueError: If not even a piece of the task fits.
    """
    room = speaker.context_tokens - answer_tokens
    turns = len(conversation.exchanges)
    for forgotten in range(turns + 1):
        prompt = conversation.prompt(forgotten=forgotten)
        if speaker.count_tokens(prompt) <= room:
            return prompt
    characters = len(prompt.own)
    while characters > _LEAST_CHARACTERS:
        characters = 3 * characters // 4
        prompt = conversation.prompt(forgotten=turns, characters=characters)
        if speaker.count_tokens(prompt) <= room:
            return prompt
    raise ValueError(
        f"turn_tokens={answer_tokens} leaves no room for the task in the context of "
        f"{speaker.context_tokens} tokens of {speaker.name}: lower it"
    )


def _system_and_user(first: FirstPrompt) -> tuple[str, str]:
    if isinstance(first, str):
        return "", first
    return _content(first, "system"), _content(first, "user")


def _content(messages: Sequence[Message], role: str) -> str:
    return "\n\n".join(message["content"] for message in messages if message["role"] == role)


def _without_middle(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    half = max(0, characters - len(CUT)) // 2
    return text[:half] + CUT + text[len(text) - half :]
