"""Attempts of a model that does not train, on an environment of digits."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agents.llm.scripts import DigitsEnv, WaitingRun
from tests.agents.llm.speakers import ScriptedSpeaker
from wmrl_gym.agents.llm.attempts import AttemptPlayer, Ended, Play
from wmrl_gym.agents.llm.journal import Attempt, Journal
from wmrl_gym.agents.llm.language import PlainLanguage
from wmrl_gym.errors import RunError
from wmrl_gym.executors import PooledExecutor
from wmrl_gym.interchange import read_trajectories, to_messages
from wmrl_gym.outcomes import Executor
from wmrl_gym.world_models.language.backend import Prompt

ATTEMPTS = [Attempt(task, number) for number in (1, 2) for task in ("a", "b")]


class Watch:
    """Notes what is waited for."""

    def __init__(self) -> None:
        self.answered: list[list[str]] = []

    @contextmanager
    def answers(self, attempts: Sequence[Attempt]) -> Iterator[None]:
        self.answered.append([str(attempt) for attempt in attempts])
        yield

    @contextmanager
    def executions(self, executor: Executor) -> Iterator[None]:
        yield


def player(path: Path, speaker: ScriptedSpeaker, **options: Any) -> AttemptPlayer:
    arguments: dict[str, Any] = {
        "places": 8,
        "play": Play(),
        "journal": Journal(path / "answers.jsonl"),
        "trajectories": str(path / "episodes.jsonl"),
        "watch": Watch(),
        **options,
    }
    return AttemptPlayer(
        arguments.pop("make_env", DigitsEnv), speaker, PlainLanguage(), **arguments
    )


def play(played: AttemptPlayer, attempts: Sequence[Attempt] = ATTEMPTS) -> list[Ended]:
    return [ended for ended in played.run(attempts) if ended is not None]


def rewards(path: Path) -> dict[tuple[str, int], float]:
    return {
        (t.options["task"], t.options["attempt"]): t.total_reward
        for t in read_trajectories(path / "episodes.jsonl")
    }


def test_each_turn_is_one_call_of_the_model(tmp_path: Path) -> None:
    speaker = ScriptedSpeaker(["3", "9 done"])
    watch = Watch()
    ended = play(player(tmp_path, speaker, watch=watch))
    assert [one.attempt for one in ended] == ATTEMPTS
    assert not any(one.failure for one in ended)
    assert speaker.batches == [4, 4]
    assert watch.answered == [["a #1", "b #1", "a #2", "b #2"]] * 2
    assert rewards(tmp_path) == pytest.approx({(a.task, a.number): 1.0 for a in ATTEMPTS})
    # The second time it is shown what it said and heard.
    assert speaker.asked[-1].turns == (("assistant", "3"), ("user", "metric 0.33"))
    assert len(set(speaker.seeds)) == 2


def test_an_answer_takes_at_most_half_of_what_the_model_can_read(tmp_path: Path) -> None:
    speaker = ScriptedSpeaker(["9 done"], context_tokens=20)
    play(player(tmp_path, speaker), ATTEMPTS[:1])
    assert speaker.limits == [10]


def test_all_executions_of_a_turn_run_side_by_side(tmp_path: Path) -> None:
    # The executions of two tasks wait for each other: one by one they would never end.
    run = WaitingRun(together=2)

    def make() -> DigitsEnv:
        env = DigitsEnv()
        env.executor = PooledExecutor(run, workers=2)
        return env

    play(player(tmp_path, ScriptedSpeaker(["9 done"]), make_env=make))
    assert set(rewards(tmp_path).values()) == {1.0}


def test_places_are_filled_again(tmp_path: Path) -> None:
    speaker = ScriptedSpeaker(["1", "2 done"])
    assert len(play(player(tmp_path, speaker, places=3))) == 4
    assert speaker.batches == [3, 3, 1, 1]


def test_an_episode_is_a_conversation_that_tools_can_read(tmp_path: Path) -> None:
    play(player(tmp_path, ScriptedSpeaker(["3", "9 done"])), ATTEMPTS[:1])
    (trajectory,) = read_trajectories(tmp_path / "episodes.jsonl")
    assert [m["content"] for m in to_messages(trajectory)] == [
        "Task a: say digits.", "3", "metric 0.33", "9 done",
    ]  # fmt: skip
    assert trajectory.finished
    assert [step.info["llm/tokens"] for step in trajectory.steps] == [1, 2]
    assert [step.info["execution/seconds"] for step in trajectory.steps] == [0.25, 0.25]


def test_what_was_said_before_a_stop_is_not_asked_again(tmp_path: Path) -> None:
    speaker = ScriptedSpeaker(["1", "2", "3 done"])
    turns = player(tmp_path, speaker).run(ATTEMPTS)
    next(turns)
    next(turns)
    turns.close()
    assert speaker.batches == [4, 4]
    again = ScriptedSpeaker(["never said", "never said", "9 done"])
    play(player(tmp_path, again))
    assert again.batches == [4]
    assert set(rewards(tmp_path).values()) == {1.0}
    assert again.asked[0].turns[:2] == (("assistant", "1"), ("user", "metric 0.11"))


def test_what_we_fail_at_has_no_score_and_leaves_no_episode(tmp_path: Path) -> None:
    (silent,) = play(player(tmp_path, ScriptedSpeaker(["1", "error: server gone"])), ATTEMPTS[:1])
    assert silent.failure == "no answer of scripted: server gone"
    broken = ScriptedSpeaker(["broken 1 done"])
    (fallen,) = play(player(tmp_path, broken), ATTEMPTS[1:2])
    assert "an execution failed: RuntimeError: the sandbox fell over" in fallen.failure
    assert rewards(tmp_path) == {}


def test_a_model_that_hangs_ends_the_run_and_the_error_names_the_mend(tmp_path: Path) -> None:
    speaker, never = ScriptedSpeaker(), threading.Event()

    def hang(prompts: Sequence[Prompt]) -> None:
        never.wait(30)

    speaker.before = hang
    with pytest.raises(RunError, match=r"scripted has not answered within 0\.05 s: --resume"):
        play(player(tmp_path, speaker, play=Play(deadline_s=0.05)))
    never.set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turn_tokens": 0}, "turn_tokens=0 must be at least 1"),
        ({"temperature": 0.0}, r"temperature=0\.0 .* must be positive"),
        ({"deadline_s": -1.0}, r"deadline_s=-1\.0 must be positive"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Play(**options)


def test_a_place_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="places=0 must be at least 1"):
        player(tmp_path, ScriptedSpeaker(), places=0)
