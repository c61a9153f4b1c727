"""Conversations as tokens, with the tokenizer of a real chat model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from wmrl_gym.agents.llm.dialogue import CUT, Dialogue
from wmrl_gym.agents.llm.rollout import Lengths, TokenEpisode, open_episodes, play_turn
from wmrl_gym.agents.llm.scorer import Turn

pytestmark = pytest.mark.llm
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from transformers import AutoTokenizer

    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

ASKED = [{"role": "user", "content": "What is 2 + 2?"}]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(smollm2_directory())


def dialogue(tokenizer: Any, **limits: int) -> Dialogue:
    return Dialogue(tokenizer, **{"max_prompt_tokens": 512, "max_observation_tokens": 64, **limits})


def test_a_conversation_is_what_the_template_would_have_written(tokenizer: Any) -> None:
    talk = dialogue(tokenizer)
    said = tokenizer.encode("It is 4.<|im_end|>", add_special_tokens=False)
    grown = [*talk.prompt(ASKED), *said, *talk.reply(said, "Wrong:\n  5", chat=True)]
    messages = [
        *ASKED,
        {"role": "assistant", "content": "It is 4."},
        {"role": "user", "content": "Wrong:\n  5"},
    ]
    assert grown == tokenizer.apply_chat_template(
        messages, tokenize=True, return_dict=False, add_generation_prompt=True
    )


def test_a_turn_that_was_cut_short_is_ended(tokenizer: Any) -> None:
    talk = dialogue(tokenizer)
    whole = tokenizer.encode("It is<|im_end|>", add_special_tokens=False)
    cut = whole[:-1]
    assert [*cut, *talk.reply(cut, "x", chat=True)] == [*whole, *talk.reply(whole, "x", chat=True)]


def test_long_texts_lose_their_middle(tokenizer: Any) -> None:
    talk = dialogue(tokenizer, max_prompt_tokens=100, max_observation_tokens=40)
    long = [{"role": "user", "content": "first " + "word " * 500 + "last"}]
    ids = talk.prompt(long)
    text = tokenizer.decode(ids)
    assert len(ids) <= 100
    assert "first" in text
    assert CUT in text
    assert "last" in text
    reply = talk.reply([2], "begin " + "word " * 500 + "end", chat=True)
    assert len(reply) <= 40 + 12
    assert "begin" in tokenizer.decode(reply)
    assert "end" in tokenizer.decode(reply)


def test_no_room_for_the_task(tokenizer: Any) -> None:
    system = {"role": "system", "content": "word " * 40}
    with pytest.raises(ValueError, match="max_prompt_tokens=32 leaves no room"):
        dialogue(tokenizer, max_prompt_tokens=32).prompt([system, *ASKED])
    with pytest.raises(ValueError, match="max_observation_tokens=3 must be at least 32"):
        dialogue(tokenizer, max_observation_tokens=3)


class Script:
    """A model that says given lines, one token too many if it is let."""

    def __init__(self, tokenizer: Any, lines: list[list[str]]) -> None:
        self.said = [[tokenizer.encode(x, add_special_tokens=False) for x in t] for t in lines]
        self.inputs: list[list[list[int]]] = []

    def __call__(self, inputs: list[list[int]], limit: int) -> Any:
        self.inputs.append(inputs)
        turn = self.said.pop(0)
        assert len(turn) == len(inputs)
        return [ids[:limit] for ids in turn], None


def test_the_mask_tells_the_model_from_the_environment(tokenizer: Any) -> None:
    talk, lengths = dialogue(tokenizer), Lengths(turn=8, completion=100, context=1000)
    episodes = open_episodes([ASKED, ASKED], talk, lengths)
    model = Script(tokenizer, [["one<|im_end|>", "two<|im_end|>"], ["three<|im_end|>"]])
    heard: list[dict[int, str]] = []

    def step(actions: Mapping[int, str]) -> dict[int, Turn]:
        heard.append(dict(actions))
        # The second episode ends at once, the first after two turns.
        return {i: Turn(f"answer {i}", i == 1 or len(heard) == 2) for i in actions}

    for _ in range(2):
        play_turn(
            episodes, talk, lengths, generate=model, read_action=lambda i, text: text, step=step
        )
    assert heard == [{0: "one", 1: "two"}, {0: "three"}]
    first = episodes[0]
    assert len(first.mask) == len(first.completion) == len(first.logprobs)
    spoken = [t for t, own in zip(first.completion, first.mask, strict=True) if own]
    told = [t for t, own in zip(first.completion, first.mask, strict=True) if not own]
    assert tokenizer.decode(spoken) == "one<|im_end|>three<|im_end|>"
    assert "answer 0" in tokenizer.decode(told)
    assert "answer" not in tokenizer.decode(spoken)
    assert episodes[1].mask == [1] * len(episodes[1].completion)
    # What the model reads in its second turn is all that it has said and heard.
    third = len(tokenizer.encode("three<|im_end|>", add_special_tokens=False))
    assert model.inputs[1] == [first.prompt + first.completion[:-third]]


def play(tokenizer: Any, lengths: Lengths, line: str) -> tuple[TokenEpisode, int]:
    """Plays to the end against an environment that always answers; the episode, its turns."""
    talk = dialogue(tokenizer)
    episodes = open_episodes([ASKED], talk, lengths)
    turns = 0
    while not episodes[0].done:
        play_turn(
            episodes,
            talk,
            lengths,
            generate=Script(tokenizer, [[line]]),
            read_action=lambda i, text: text,
            step=lambda actions: {i: Turn("try again", False) for i in actions},
        )
        turns += 1
    return episodes[0], turns


def test_the_conversation_ends_with_the_model_when_there_is_no_room(tokenizer: Any) -> None:
    episode, turns = play(tokenizer, Lengths(turn=8, completion=40, context=1000), "no<|im_end|>")
    assert turns > 1
    assert len(episode.completion) <= 40
    assert episode.mask[-1] == 1


def test_the_context_of_the_model_counts_too(tokenizer: Any) -> None:
    prompt = len(dialogue(tokenizer).prompt(ASKED))
    lengths = Lengths(turn=8, completion=1000, context=prompt + 30)
    episode, _ = play(tokenizer, lengths, "no<|im_end|>")
    assert prompt + len(episode.completion) <= prompt + 30
    with pytest.raises(ValueError, match="fills the context of 10"):
        open_episodes([ASKED], dialogue(tokenizer), Lengths(turn=1, completion=1, context=10))


def test_an_action_has_its_limit(tokenizer: Any) -> None:
    lengths = Lengths(turn=3, completion=3, context=1000)
    episode, turns = play(tokenizer, lengths, "one two three four five six")
    assert (len(episode.completion), turns) == (3, 1)
