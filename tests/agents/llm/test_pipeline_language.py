from __future__ import annotations

import warnings

import numpy as np
import pytest

from wmrl_gym.envs.mle.actions import ActionKind, parse_action
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.pipeline_script import render
from wmrl_gym.envs.mle.pipeline_space import describe
from wmrl_gym.envs.mle.table_task import TableTask

pytestmark = pytest.mark.llm
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from wmrl_gym.agents.llm.pipeline_language import (
        SENTENCE,
        WORDS,
        PipelineLanguage,
        pipeline_tokenizer,
        random_sentences,
    )
    from wmrl_gym.agents.llm.pipeline_policy import pipeline_policy

TASK = "wine-cultivar"


def test_a_sentence_is_the_script_of_its_choices() -> None:
    sentence = " ".join(place[0] for place in WORDS)
    action = parse_action(PipelineLanguage().action(TASK, sentence))
    task = load_task(TASK)
    assert isinstance(task, TableTask)
    assert action.kind is ActionKind.EXECUTE_CODE
    assert action.code == render(describe(np.zeros(SENTENCE, dtype=np.int64)), task)


@pytest.mark.parametrize(
    "sentence",
    ["", "model=tree", " ".join(place[0] for place in WORDS[::-1]), "imputation=none " * 9],
)
def test_anything_else_cannot_be_read(sentence: str) -> None:
    action = parse_action(PipelineLanguage().action(TASK, sentence))
    assert action.kind is ActionKind.MALFORMED


def test_every_word_is_a_token() -> None:
    tokenizer = pipeline_tokenizer([TASK])
    words = [word for place in WORDS for word in place]
    ids = tokenizer(" ".join(words), add_special_tokens=False)["input_ids"]
    assert len(ids) == len(set(ids)) == len(words)
    assert tokenizer.decode(ids) == " ".join(words)
    assert tokenizer.unk_token_id not in ids
    (sentence,) = random_sentences(1, np.random.default_rng(0))
    assert len(tokenizer(sentence, add_special_tokens=False)["input_ids"]) == SENTENCE


def test_the_policy_knows_the_grammar_and_no_preference() -> None:
    import torch

    before = torch.random.get_rng_state()
    model, tokenizer = pipeline_policy([TASK], seed=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert 0.7e6 < sum(p.numel() for p in model.parameters()) < 1e6
    torch.manual_seed(0)
    ids = tokenizer([f"task={TASK}"] * 200, return_tensors="pt", add_special_tokens=False)
    said = model.generate(
        input_ids=ids["input_ids"],
        attention_mask=ids["attention_mask"],
        do_sample=True,
        top_k=0,
        max_new_tokens=SENTENCE + 1,
    )
    texts = tokenizer.batch_decode(said[:, 1:], skip_special_tokens=True)
    grammatical = [t for t in texts if t.count(" ") == SENTENCE - 1]
    scripts = [PipelineLanguage().action(TASK, text) for text in grammatical]
    assert sum(script.startswith("execute_code") for script in scripts) > 0.8 * len(texts)
    models = [text.split()[4] for text in grammatical]
    shares = [models.count(word) / len(models) for word in WORDS[4]]
    assert max(shares) < 0.3  # of eight models
