"""A language of pipelines: nine words that stand for a whole script.

A model that is to learn from nothing within a minute cannot learn Python. It says the choices
of `WMRL-MLE-Pipeline-v0`, one word each, and they are written out as the script that runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.pipeline_script import render
from wmrl_gym.envs.mle.pipeline_space import DIMENSIONS
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.errors import TaskError

WORDS = tuple(
    tuple(f"{dimension.name}={option}" for option in dimension.options) for dimension in DIMENSIONS
)
"""The words of each place in a sentence."""
SENTENCE = len(WORDS)
"""Words in a sentence."""
_SPECIAL = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}


class PipelineLanguage:
    """A task is asked by its name and answered by a sentence of `SENTENCE` words.

    Anything else is passed on as it is, and the environment cannot read it.
    """

    def prompt(self, task: str, observation: str) -> str:
        """The word of the task.

        Raises:
            TaskError: If `task` is not one table with one target.
        """
        if not isinstance(load_task(task), TableTask):
            raise TaskError(f"task={task!r} is not one table, which pipelines need")
        return task_word(task)

    def action(self, task: str, text: str) -> str:
        """The script of the sentence, executed."""
        words = text.split()
        loaded = load_task(task)
        grammatical = len(words) == SENTENCE and all(
            word in place for word, place in zip(words, WORDS, strict=True)
        )
        if not grammatical or not isinstance(loaded, TableTask):
            return text
        choices = dict(word.split("=", 1) for word in words)
        return f"execute_code\n```python\n{render(choices, loaded)}```"


def task_word(task: str) -> str:
    """The word that asks for a task."""
    return f"task={task}"


def pipeline_tokenizer(tasks: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer with a token for each word, and for each of `tasks`."""
    words = [*_SPECIAL.values(), *map(task_word, tasks), *(w for place in WORDS for w in place)]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=_SPECIAL["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # transformers' own
        tokenizer_object=tokenizer, padding_side="left", model_max_length=64, **_SPECIAL
    )


def random_sentences(count: int, rng: np.random.Generator) -> list[str]:
    """Sentences whose words are drawn evenly."""
    return [" ".join(place[rng.integers(len(place))] for place in WORDS) for _ in range(count)]
