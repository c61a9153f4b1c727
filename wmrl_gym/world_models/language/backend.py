"""What a language model has to offer to a world model: a batch of prompts in, a batch out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Prompt:
    """One conversation, ending where the model is to go on.

    The user's turn is `shared` followed by `own`. What the prompts of a batch have in common
    stands first and is worked through once, so the candidate comes last.
    """

    system: str
    """Content of a system message; empty for none but what the chat template adds."""
    shared: str
    """Beginning of the user's turn: the task and what happened so far."""
    own: str
    """The rest of it."""
    turns: tuple[tuple[str, str], ...] = ()
    """Further turns as (role, text)."""
    prefill: str = ""
    """How the answer begins; the model goes on from there."""
    label: str = ""
    """Name of the task: prompts with the same one begin alike, and messages tell it."""


@dataclass(frozen=True)
class Reading:
    """The distribution of the next token over some symbols."""

    probabilities: NDArray[np.float64] | None = None
    """`[K]`, summing to 1; `None` if there is none."""
    mass: float = float("nan")
    """Probability of all symbols together before normalisation; NaN if there is none."""
    error: str = ""
    """Why there is none."""


@dataclass(frozen=True)
class Completion:
    """A text that the model wrote."""

    text: str = ""
    error: str = ""
    """Why there is none."""
    tokens: int = 0
    """Tokens of the text; 0 if the server does not tell."""


@dataclass(frozen=True)
class Capabilities:
    """What a back end can do, found out rather than assumed."""

    probabilities: bool = True
    """Whether it tells the probabilities of next tokens."""
    schema: bool = True
    """Whether it holds the model to a JSON schema."""
    hidden_states: bool = False
    prefill: bool = True
    """Whether an answer can be begun for the model."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Further findings, by name."""

    def summary(self) -> str:
        """One line for each capability."""
        flags = {
            "next-token probabilities": self.probabilities,
            "JSON schema honoured": self.schema,
            "hidden states": self.hidden_states,
            "answers can be begun": self.prefill,
        }
        lines = [f"{name}: {'yes' if flag else 'no'}" for name, flag in flags.items()]
        return "\n".join(lines + [f"{name}: {text}" for name, text in self.notes.items()])


class LanguageBackend(Protocol):
    """A language model. What it fails at is told prompt by prompt, in `error`."""

    @property
    def name(self) -> str:
        """Model and place, for messages."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    @property
    def context_tokens(self) -> int:
        """Tokens that a prompt and its answer may have together."""
        ...

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of `prompt`; at least as many as there are, where that cannot be known."""
        ...

    def check_symbols(self, symbols: Sequence[str]) -> None:
        """Make sure that each symbol is a single token.

        Raises:
            ValueError: If one is not.
        """
        ...

    def next_token_probabilities(
        self, prompts: Sequence[Prompt], symbols: Sequence[str]
    ) -> list[Reading]:
        """`[B]` distributions of the next token over `[K]` symbols."""
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
        """`[B]` texts.

        Args:
            prompts: `[B]`.
            max_tokens: Tokens after which a text is cut off.
            schema: JSON schema of a flat object that the text is to follow, if the back end
                can hold the model to one.
            seed: Draw from the distribution; prompt i with `seed + i` where each has a seed of
                its own, so that equal prompts get different texts. `None` for the likeliest
                tokens.
            temperature: Divides the logits that are drawn from, above 0.
        """
        ...

    def hidden_states(self, prompts: Sequence[Prompt]) -> list[NDArray[np.float64] | None]:
        """`[B]` mean states `[D]` of a middle layer over `Prompt.own`; `None` where that failed.

        Raises:
            ValueError: If the back end shows no hidden states.
        """
        ...

    def healthy(self) -> bool:
        """Whether it is worth asking now."""
        ...

    def close(self) -> None:
        """Release what it holds; safe to call twice."""
        ...
