"""What a batch with a shared beginning saves: tokens that go through the model."""

from __future__ import annotations

from tests.world_models.language.scripts import TASK
from tests.world_models.tiny_models import tiny_tokenizer
from wmrl_gym.interchange.outcomes import shipped_outcomes
from wmrl_gym.world_models.features import parse
from wmrl_gym.world_models.language.backends.batches import shared_groups
from wmrl_gym.world_models.language.backends.chat import ChatEncoder
from wmrl_gym.world_models.language.prompts import pose
from wmrl_gym.world_models.language.tasks import task_facts


def test_64_real_scripts_in_one_call_are_a_third_of_the_tokens_or_less() -> None:
    encoder = ChatEncoder(tiny_tokenizer())
    runs = [r.execution for r in shipped_outcomes().records if r.execution.task == TASK]
    scripts = [run for run in runs if parse(run.artifact) is not None]
    prompts = []
    for number in range(64):
        run = scripts[number % len(scripts)]
        facts = task_facts(run.task, run.task_version)
        prompts.append(pose(run, facts, lambda prompt: 0, 1).prompt)
    encoded = [encoder.encode(prompt) for prompt in prompts]
    alone = sum(len(one.ids) for one in encoded)
    together = 0
    for group in shared_groups(prompts, encoded, rows=16):
        together += len(group.prefix)
        for batch in group.batches:  # rows are padded to the longest of their batch
            width = max(len(encoded[index].ids) for index in batch) - len(group.prefix)
            together += width * len(batch)
    assert alone > 3 * together
