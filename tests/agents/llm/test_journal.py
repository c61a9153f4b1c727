from __future__ import annotations

from pathlib import Path

from wmrl_gym.agents.llm.journal import Attempt, Journal, Said


def test_what_was_said_is_there_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "answers.jsonl"
    one, two = Attempt("a", 1), Attempt("a", 2)
    first = Journal(file)
    first.put(one, 0, Said("hello\nworld", 2, 0.5))
    first.put(one, 1, Said("again"))
    assert first.get(one, 0) == Said("hello\nworld", 2, 0.5)
    again = Journal(file)
    assert again.get(one, 0) == Said("hello\nworld", 2, 0.5)
    assert again.get(one, 1) == Said("again", 0, 0.0)
    assert again.get(two, 0) is again.get(one, 2) is None
    assert str(two) == "a #2"


def test_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    Journal(file).put(Attempt("a", 1), 0, Said("kept"))
    with file.open("a") as lines:
        lines.write('{"task": "a", "number": 1, "tu')
    journal = Journal(file)
    journal.put(Attempt("a", 1), 1, Said("later"))
    again = Journal(file)
    assert again.get(Attempt("a", 1), 0) == Said("kept")
    assert again.get(Attempt("a", 1), 1) == Said("later")
