"""Episodes of a model that does not train: played turn by turn, many at a time, for real."""

from __future__ import annotations

import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from wmrl_gym.agents.llm.conversation import Conversation, Speaker, fitted
from wmrl_gym.agents.llm.journal import Attempt, Journal, Said
from wmrl_gym.agents.llm.language import AgentLanguage
from wmrl_gym.agents.llm.scorer import TextEnv, text_env
from wmrl_gym.errors import RunError
from wmrl_gym.interchange.recording import EpisodeWriter, OpenEpisode
from wmrl_gym.outcomes import Execution, Executor, Outcome
from wmrl_gym.world_models.language.backend import Completion, Prompt
from wmrl_gym.world_models.language.backends.deadline import within

_PER_DEADLINE = 16
"""Answers that a model is given one deadline for; more of them get more time."""


class Watch(Protocol):
    """Shows what is waited for."""

    def answers(self, attempts: Sequence[Attempt]) -> AbstractContextManager[None]:
        """While a model answers."""
        ...

    def executions(self, executor: Executor) -> AbstractContextManager[None]:
        """While scripts run."""
        ...


@dataclass(frozen=True, kw_only=True)
class Play:
    """How attempts are played."""

    turn_tokens: int = 1024
    """Longest answer; at most half of what the model can read."""
    temperature: float = 0.7
    seed: int = 0
    deadline_s: float = 600.0
    """Seconds for one call of the model, for each sixteen answers that it is asked for."""

    def __post_init__(self) -> None:
        if self.turn_tokens < 1:
            raise ValueError(f"turn_tokens={self.turn_tokens} must be at least 1")
        if not (self.temperature > 0 and self.deadline_s > 0):
            raise ValueError(
                f"temperature={self.temperature} and deadline_s={self.deadline_s} must be positive"
            )


@dataclass
class Ended:
    """An attempt that has come to its end."""

    attempt: Attempt
    failure: str = ""
    """Why it has no score, where we failed and not the model; it is not recorded then."""


@dataclass
class _Open:
    attempt: Attempt
    env: TextEnv
    episode: OpenEpisode
    conversation: Conversation
    failure: str = ""

    @property
    def turn(self) -> int:
        return len(self.episode.steps)

    @property
    def ended(self) -> bool:
        return self.episode.ended or bool(self.failure)


class AttemptPlayer:
    """Plays attempts side by side: in each turn one call of the model, one batch of executions.

    Answers go to the journal at once, episodes to the file of trajectories when they end. An
    attempt that is played again says what the journal has of it without asking the model.

    Args:
        make_env: Makes a text environment; the executor of the first one carries out all.
        speaker: The model.
        language: How it is asked and understood.
        places: Most attempts at a time, at least 1.
        play: Length of answers, temperature, seed, deadline.
        journal: Answers that were given before, and those to come.
        trajectories: File that whole episodes are appended to.
        watch: Shows what is waited for.
    """

    def __init__(
        self,
        make_env: Callable[[], Any],
        speaker: Speaker,
        language: AgentLanguage,
        *,
        places: int,
        play: Play,
        journal: Journal,
        trajectories: str,
        watch: Watch,
    ) -> None:
        if places < 1:
            raise ValueError(f"places={places} must be at least 1")
        self._envs: list[TextEnv] = [text_env(make_env())]
        self._make_env = make_env
        self._places = places
        self.executor = self._envs[0].executor
        """Carries out all executions."""
        self._speaker, self._language, self._play = speaker, language, play
        self._journal, self._watch = journal, watch
        self._writer = EpisodeWriter(trajectories, self._envs[0].spec)

    def run(self, attempts: Sequence[Attempt]) -> Iterator[Ended | None]:
        """Play attempts; each is given out as it ends, and `None` after every turn.

        Whoever stops to iterate loses nothing but the turn that is going on.

        Raises:
            RunError: If the model does not answer at all.
        """
        waiting, opened = deque(attempts), list[_Open]()
        while waiting or opened:
            while waiting and len(opened) < self._places:
                opened.append(self._open(waiting.popleft(), {id(one.env) for one in opened}))
            self._turn(opened)
            for one in opened:
                if one.ended:
                    yield self._end(one)
            opened = [one for one in opened if not one.ended]
            yield None

    def close(self) -> None:
        """Close the environments and the executor; safe to call twice."""
        for env in self._envs:
            env.close()

    def _open(self, attempt: Attempt, taken: set[int]) -> _Open:
        env = next((env for env in self._envs if id(env) not in taken), None)
        if env is None:
            env = text_env(self._make_env())
            self._envs.append(env)
        # One seed for all attempts: they differ by what the model says.
        options = {"task": attempt.task}
        observation, info = env.reset(seed=0, options=options)
        episode = self._writer.open(
            observation, info, seed=0, options={**options, "attempt": attempt.number}
        )
        first = self._language.prompt(attempt.task, observation)
        return _Open(attempt, env, episode, Conversation(first, label=attempt.task))

    def _turn(self, opened: Sequence[_Open]) -> None:
        said = self._answers(opened)
        live = [one for one in opened if not one.failure]
        actions = [self._language.action(one.attempt.task, said[id(one)].text) for one in live]
        proposals = [one.env.propose(action) for one, action in zip(live, actions, strict=True)]
        outcomes = self._execute(proposals)
        for one, action, outcome in zip(live, actions, outcomes, strict=True):
            _step(one, action, said[id(one)], outcome)

    def _answers(self, opened: Sequence[_Open]) -> Mapping[int, Said]:
        """What each says now; where the model gave no answer, the attempt has failed."""
        known = {id(one): self._journal.get(one.attempt, one.turn) for one in opened}
        asked = [one for one in opened if known[id(one)] is None]
        answers = {key: said for key, said in known.items() if said is not None}
        if not asked:
            return answers
        started = time.monotonic()
        with self._watch.answers([one.attempt for one in asked]):
            completions = self._ask(asked)
        share = (time.monotonic() - started) / len(asked)
        for one, completion in zip(asked, completions, strict=True):
            if completion.error:
                one.failure = f"no answer of {self._speaker.name}: {completion.error}"
                continue
            said = Said(completion.text, completion.tokens, round(share, 6))
            self._journal.put(one.attempt, one.turn, said)
            answers[id(one)] = said
        return answers

    def _ask(self, asked: Sequence[_Open]) -> list[Completion]:
        play = self._play
        answer_tokens = min(play.turn_tokens, self._speaker.context_tokens // 2)
        prompts: list[Prompt] = [
            fitted(one.conversation, self._speaker, answer_tokens=answer_tokens) for one in asked
        ]
        # Drawn anew in every turn, and the same however the run was interrupted before it.
        drawn = repr((play.seed, [(str(one.attempt), one.turn) for one in asked]))
        limit = play.deadline_s * (1 + len(asked) // _PER_DEADLINE)
        try:
            return within(
                limit,
                lambda: self._speaker.generate(
                    prompts,
                    max_tokens=answer_tokens,
                    seed=zlib.crc32(drawn.encode()),
                    temperature=play.temperature,
                ),
            )
        except TimeoutError as error:
            raise RunError(
                f"{self._speaker.name} has not answered within {limit:g} s: --resume goes on "
                "from the last turn, --deadline-s of a new run allows more"
            ) from error

    def _execute(self, proposals: Sequence[Execution | None]) -> list[Outcome | None]:
        executions = [
            replace(execution, slot=slot)
            for slot, execution in enumerate(proposals)
            if execution is not None
        ]
        with self._watch.executions(self.executor):
            outcomes = self.executor.execute(executions)
        by_slot = {e.slot: o for e, o in zip(executions, outcomes, strict=True)}
        return [by_slot.get(slot) for slot in range(len(proposals))]

    def _end(self, one: _Open) -> Ended:
        if not one.failure:
            self._writer.write(one.episode)
        return Ended(one.attempt, one.failure)


def _step(one: _Open, action: str, said: Said, outcome: Outcome | None) -> None:
    if outcome is not None and outcome.score is None:
        one.failure = f"an execution failed: {outcome.feedback}"
        return
    observation, reward, terminated, truncated, info = one.env.resolve(action, outcome)
    told = {"llm/tokens": said.tokens, "llm/seconds": said.seconds}
    if outcome is not None:
        told["execution/seconds"] = outcome.seconds
        told |= {f"execution/{name}": value for name, value in outcome.details.items()}
    one.episode.add(action, observation, reward, terminated, truncated, {**info, **told})
    one.conversation.exchanges.append((said.text, observation))
