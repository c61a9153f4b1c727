"""An evaluation of a language model in a directory: what is left of it, and playing that."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
from rich.console import Console

from wmrl_gym.agents.llm.attempts import AttemptPlayer, Play
from wmrl_gym.agents.llm.conversation import Speaker
from wmrl_gym.agents.llm.journal import Attempt, Journal
from wmrl_gym.agents.llm.language import AgentLanguage, ChatLanguage
from wmrl_gym.agents.llm.results import (
    AttemptResult,
    TaskResult,
    any_medal,
    attempt_result,
    by_task,
    stratified_mean,
)
from wmrl_gym.cli.evaluate_llm_config import EvaluateLLMConfig
from wmrl_gym.cli.evaluation_progress import EvaluationProgress
from wmrl_gym.cli.stopping import stop_request
from wmrl_gym.envs.mle.choice import TaskChoice
from wmrl_gym.errors import WMRLError
from wmrl_gym.interchange.trajectories import read_trajectories
from wmrl_gym.training.config import environment_arguments
from wmrl_gym.world_models.language.names import SCHEMES, language_backend

_log = logging.getLogger(__name__)


class LLMEvaluation:
    """Attempts at tasks, played once each, whatever happens in between.

    Args:
        config: What to play.
        directory: Where answers and episodes are kept.
        store: Store of real outcomes; `None` for one in the directory.

    Raises:
        TaskError: If a task is unknown.
    """

    def __init__(
        self, config: EvaluateLLMConfig, directory: Path, *, store: Path | None = None
    ) -> None:
        self.config = config
        self.directory = directory
        self.failures: dict[Attempt, str] = {}
        """Why attempts of this session have no score."""
        self._store = store or directory / "executions.sqlite"
        self._tasks = TaskChoice(config.tasks).names
        self._env: Any = None
        self._speaker: Speaker | None = None

    @property
    def trajectories(self) -> Path:
        """Every episode that has ended."""
        return self.directory / "episodes.jsonl"

    def done(self) -> dict[Attempt, AttemptResult]:
        """Results of the attempts that have ended."""
        if not self.trajectories.exists():
            return {}
        results = map(attempt_result, read_trajectories(self.trajectories))
        return {result.attempt: result for result in results}

    def left(self) -> list[Attempt]:
        """Attempts that have not ended; the first of every task come first."""
        done = self.done()
        numbers = range(1, self.config.attempts + 1)
        every = [Attempt(task, number) for number in numbers for task in self._tasks]
        return [attempt for attempt in every if attempt not in done]

    def results(self) -> list[TaskResult]:
        """What is known of each task so far."""
        return by_task(self.done().values(), self._tasks)

    def to_dict(self) -> dict[str, Any]:
        """All figures as JSON."""
        results = self.results()
        mean, low, high = stratified_mean([one.scores for one in results])
        medals = any_medal(results)
        return {
            "mean": mean,
            "interval": [low, high],
            "any_medal_percent": None if medals is None else medals.mean,
            "any_medal_standard_error": None if medals is None else medals.standard_error,
            "tasks": {one.task: one.to_dict() for one in results},
            "unscored": {str(attempt): reason for attempt, reason in self.failures.items()},
        }

    def open(self) -> None:
        """Load the model and make an environment, if anything is left to play.

        Raises:
            ValueError: If there is no such model, or an argument is wrong.
            WMRLError: If the model or the environment cannot be had.
        """
        if self.left():
            self._env = self._make_env(store=None)
            self._speaker = make_speaker(self.config.model, deadline_s=self.config.deadline_s)

    def play(self, console: Console) -> None:
        """Play what is left, until it ends or the user has had enough."""
        left = self.left()
        if not left:
            return
        assert self._speaker is not None, "open() comes first"
        total = self.config.attempts * len(self._tasks)
        with EvaluationProgress(total, total - len(left), console) as progress:
            player = self._player(self._speaker, progress)
            try:
                with stop_request("turn") as stop:
                    for ended in player.run(left):
                        if ended is not None:
                            progress.ended(ended)
                        if ended is not None and ended.failure:
                            self.failures[ended.attempt] = ended.failure
                        if stop.wanted:
                            break
            finally:
                player.close()

    def close(self) -> None:
        """Close the model; safe to call twice."""
        for held in (self._speaker, self._env):
            if held is not None:
                held.close()
        self._speaker = self._env = None

    def _player(self, speaker: Speaker, progress: EvaluationProgress) -> AttemptPlayer:
        config = self.config
        return AttemptPlayer(
            partial(self._make_env, store=str(self._store)),
            speaker,
            make_language(config.language),
            places=config.places,
            play=Play(
                turn_tokens=config.turn_tokens,
                temperature=config.temperature,
                seed=config.seed,
                deadline_s=config.deadline_s,
            ),
            journal=Journal(self.directory / "answers.jsonl"),
            trajectories=str(self.trajectories),
            watch=progress,
        )

    def _make_env(self, *, store: str | None) -> Any:
        config = self.config
        cluster: dict[str, Any] = {"executor": config.executor, "address": config.address}
        if config.executor == "pool" and config.address is None:
            cluster = {}  # an environment of one's own may know of none
        with env_named(config.env):
            return gym.make(
                config.env,
                disable_env_checker=True,
                tasks=list(self._tasks),
                max_turns=config.max_turns,
                timeout_s=config.timeout_s,
                sandbox=config.sandbox,
                workers=config.workers,
                store=store,
                **cluster,
                **environment_arguments(config.env_arguments),
            )


@contextmanager
def env_named(env: str) -> Iterator[None]:
    """Say of an environment that cannot be made how it was named.

    Raises:
        ValueError: If there is no such environment, or it does not take the options of one
            that a language model acts in.
    """
    try:
        yield
    except WMRLError:
        raise
    except (gym.error.Error, TypeError) as error:
        raise ValueError(
            f"env={env!r} cannot be made as WMRL-MLE-v0 is, for a language model: {error}"
        ) from error


def make_language(name: str) -> AgentLanguage:
    """The language of that name: "chat" or "pipeline"."""
    if name == "chat":
        return ChatLanguage()
    from wmrl_gym.agents.llm.pipeline_language import PipelineLanguage

    return PipelineLanguage()


def make_speaker(name: str, *, deadline_s: float) -> Speaker:
    """The model of that name: a back end of language models, or "package.module:factory".

    Args:
        name: As above; the factory is called without arguments.
        deadline_s: Seconds for one call.

    Raises:
        ValueError: If there is no such model.
    """
    scheme, colon, place = name.partition(":")
    if scheme in SCHEMES or not colon:
        backend = language_backend(name, deadline_s=deadline_s)
        _log.info("%s\n%s", backend.name, backend.capabilities.summary())
        return backend
    try:
        factory = getattr(import_module(scheme), place)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"model={name!r} is no language model ({', '.join(SCHEMES)}), and no "
            f"'package.module:factory' either: {error}"
        ) from error
    return cast(Speaker, factory())
