"""Models that say what they are told to, and real scripts for them to say."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wmrl_gym.world_models.language.backend import Completion, Prompt

COPY = """execute_code
```python
import shutil
shutil.copy("../input/sample_submission.csv", "submission.csv")
```"""
"""A valid submission, as fast as can be."""
CRASH = "execute_code\n```python\nraise SystemExit(3)\n```"
NOTHING = "execute_code\n```python\nprint('no submission')\n```"


class ScriptedSpeaker:
    """Says the n-th of `lines` in the n-th turn of each conversation, the last one ever after.

    Args:
        lines: What to say, turn by turn.
        context_tokens: A token is a word here.
    """

    name = "scripted"

    def __init__(self, lines: Sequence[str] = (COPY,), *, context_tokens: int = 100_000) -> None:
        self.lines = list(lines)
        self.context_tokens = context_tokens
        self.asked: list[Prompt] = []
        self.batches: list[int] = []
        self.seeds: list[int | None] = []
        self.limits: list[int] = []
        self.closed = False
        self.before: Callable[[Sequence[Prompt]], None] = lambda prompts: None

    def count_tokens(self, prompt: Prompt) -> int:
        texts = [prompt.system, prompt.shared, prompt.own, *(text for _, text in prompt.turns)]
        return sum(len(text.split()) for text in texts)

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        temperature: float = 0.7,
    ) -> list[Completion]:
        self.before(prompts)
        self.asked += prompts
        self.batches.append(len(prompts))
        self.seeds.append(seed)
        self.limits.append(max_tokens)
        return [self._say(prompt) for prompt in prompts]

    def close(self) -> None:
        self.closed = True

    def _say(self, prompt: Prompt) -> Completion:
        said = sum(role == "assistant" for role, _ in prompt.turns)
        line = self.lines[min(said, len(self.lines) - 1)]
        if line.startswith("error:"):
            return Completion(error=line.removeprefix("error:").strip())
        return Completion(line, tokens=len(line.split()))


def copier() -> ScriptedSpeaker:
    """For `--model tests.agents.llm.speakers:copier`."""
    return ScriptedSpeaker([CRASH, COPY, "submit"])


def slow_copier() -> ScriptedSpeaker:
    """The same, with time to think."""
    speaker = copier()
    speaker.before = lambda prompts: time.sleep(1.0)
    return speaker
