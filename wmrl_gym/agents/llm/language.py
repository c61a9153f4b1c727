"""How an agent is asked and understood: freely in a chat, or by the choices of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from wmrl_gym.agents.llm.dialogue import Message, Prompt


class AgentLanguage(Protocol):
    """What an agent reads first, and what its words mean to the environment."""

    def prompt(self, task: str, observation: str) -> Prompt:
        """The prompt of an episode; differs between tasks.

        Args:
            task: Name of the task.
            observation: First observation of the environment.
        """
        ...

    def action(self, task: str, text: str) -> str:
        """The action of the environment that `text`, said in an episode of `task`, stands for."""
        ...


class ChatLanguage:
    """A chat: the observation is the user's message, the answer is the action.

    Args:
        system: Content of a system message; `None` for none but what the template adds.
    """

    def __init__(self, system: str | None = None) -> None:
        self.system = system

    def prompt(self, task: str, observation: str) -> Sequence[Message]:
        """The observation as the user's message."""
        first = [] if self.system is None else [{"role": "system", "content": self.system}]
        return [*first, {"role": "user", "content": observation}]

    def action(self, task: str, text: str) -> str:
        """The text as it is."""
        return text


class PlainLanguage:
    """For models without a chat template: the observation is the prompt, the rest the action."""

    def prompt(self, task: str, observation: str) -> str:
        """The observation as it is."""
        return f"{observation}\n"

    def action(self, task: str, text: str) -> str:
        """The text as it is."""
        return text
