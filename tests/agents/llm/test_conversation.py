from __future__ import annotations

import pytest

from tests.agents.llm.speakers import ScriptedSpeaker
from wmrl_gym.agents.llm.conversation import Conversation, fitted


def conversation(exchanges: int, *, first: str = "one two three") -> Conversation:
    said = [(f"said-{i} and more", f"heard-{i} and more") for i in range(exchanges)]
    return Conversation(
        [{"role": "system", "content": "be brief"}, {"role": "user", "content": first}],
        label="a",
        exchanges=said,
    )


def test_all_that_was_said_is_shown_in_turn() -> None:
    prompt = fitted(conversation(2), ScriptedSpeaker(), answer_tokens=10)
    assert (prompt.system, prompt.own, prompt.label) == ("be brief", "one two three", "a")
    assert prompt.turns == (
        ("assistant", "said-0 and more"),
        ("user", "heard-0 and more"),
        ("assistant", "said-1 and more"),
        ("user", "heard-1 and more"),
    )


def test_the_oldest_turns_are_forgotten_first_and_a_note_says_so() -> None:
    # System 2, task 3, note 7, and 6 words for each exchange: two of four fit into 24 + 10.
    speaker = ScriptedSpeaker(context_tokens=34)
    prompt = fitted(conversation(4), speaker, answer_tokens=10)
    assert prompt.own == "one two three\n\n[2 earlier turns are left out here]"
    assert [text.split()[0] for _, text in prompt.turns] == [
        "said-2",
        "heard-2",
        "said-3",
        "heard-3",
    ]


def test_a_task_that_is_too_long_loses_its_middle() -> None:
    task = " ".join(f"word{i}" for i in range(400))
    prompt = fitted(
        conversation(1, first=task), ScriptedSpeaker(context_tokens=310), answer_tokens=10
    )
    assert prompt.turns == ()
    assert prompt.own.startswith("word0 word1")
    assert "shortened to fit" in prompt.own
    assert "word399\n\n[1 earlier turns are left out here]" in prompt.own
    assert ScriptedSpeaker().count_tokens(prompt) <= 300


def test_a_context_without_room_is_an_error_that_says_what_to_lower() -> None:
    speaker = ScriptedSpeaker(context_tokens=100)
    with pytest.raises(ValueError, match="turn_tokens=99 leaves no room"):
        fitted(conversation(0), speaker, answer_tokens=99)


def test_plain_text_is_asked_as_it_is() -> None:
    prompt = Conversation("task=wine").prompt()
    assert (prompt.system, prompt.shared, prompt.own, prompt.turns) == ("", "", "task=wine", ())
