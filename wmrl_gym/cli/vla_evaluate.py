"""`wmrl-gym evaluate --agent expert|random|saved`: how often a policy achieves each task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from wmrl_gym.cli.vla_episodes import VLAEpisodes

if TYPE_CHECKING:
    from wmrl_gym.envs.vla.base_env import VLABaseEnv
    from wmrl_gym.envs.vla.policies import VLAPolicy
    from wmrl_gym.envs.vla.rollouts import SuccessRate
    from wmrl_gym.episodes import EpisodeRecord


@dataclass(frozen=True, kw_only=True)
class EvaluateVLA(VLAEpisodes):
    """Count how often a policy achieves each of the manipulation tasks; show it on video."""

    agent: Literal["expert", "random", "saved"]
    """The scripted expert, random actions, or a policy saved by stable-baselines3."""
    policy: Path | None = None
    """The zip file, for --agent saved."""
    skill: float = 1.0
    """Skill of the expert, from 0 (random) to 1."""
    play_on: bool = False
    """Go on after success up to the horizon, so that it can be lost again."""
    video: Path | None = None
    """Directory for videos of the first episodes on each task."""
    video_episodes: int = 2
    """How many episodes of each task are filmed."""
    video_format: Literal["mp4", "gif"] = "mp4"
    """Format of the videos."""
    out: Path | None = None
    """File for the result as JSON."""

    def __call__(self) -> None:
        """Play, print the table, write what was asked for."""
        if (self.agent == "saved") == (self.policy is None):
            raise ValueError(f"policy={self.policy} goes with --agent saved, and only with it")
        from wmrl_gym.envs.vla.rollouts import success_rate

        with ExitStack() as stack:
            envs = self.make(terminate_on_success=not self.play_on)
            for env in envs:
                stack.enter_context(closing(env))
            played = {task: self._play(envs, task) for task in self.names()}
        rates = [success_rate(task, episodes) for task, episodes in played.items()]
        everything = [episode for episodes in played.values() for episode in episodes]
        rates.append(success_rate("all tasks", everything))
        Console().print(_table(rates, title=f"{self.env}, {self.split}: {self._label()}"))
        if self.out is not None:
            self.out.write_text(json.dumps(self._result(rates), indent=2) + "\n")

    def _play(self, envs: Sequence[VLABaseEnv[Any]], task: str) -> list[EpisodeRecord]:
        from wmrl_gym.envs.vla.rollouts import Start, play

        # Training draws its states at random from billions: these small numbers stay fresh.
        starts = [Start(task, number) for number in range(self.episodes)]
        rng = np.random.default_rng(self.seed)

        def make_policy(envs: Sequence[VLABaseEnv[Any]]) -> VLAPolicy:
            return self._policy(envs, rng)

        def filmed(start: Start) -> bool:
            return self.video is not None and start.init_state_id < self.video_episodes

        episodes = []
        for episode in play(envs, make_policy, starts, filmed=filmed, label=self._label()):
            self._save_video(episode)
            episodes.append(episode)
        return episodes

    def _policy(self, envs: Sequence[VLABaseEnv[Any]], rng: np.random.Generator) -> VLAPolicy:
        from wmrl_gym.envs.vla import policies

        if self.agent == "random":
            return policies.RandomPolicy(len(envs), rng)
        if self.policy is not None:
            from wmrl_gym.agents.vla import saved_policy

            return saved_policy(self.policy, observation_space=envs[0].observation_space)
        return policies.ExpertPolicy(envs, skill=self.skill, rng=rng)

    def _save_video(self, episode: EpisodeRecord) -> None:
        if self.video is None or episode.frames is None:
            return
        from wmrl_gym.envs.vla.videos import captioned, write_video

        outcome = "success" if episode.success_once else "failure"
        name = f"{episode.task}-{episode.seed}-{outcome}.{self.video_format}"
        path = write_video(self.video / name, captioned(episode.frames, episode.instruction))
        print(path)

    def _label(self) -> str:
        return f"expert of skill {self.skill:g}" if self.agent == "expert" else self.agent

    def _result(self, rates: Iterable[SuccessRate]) -> dict[str, Any]:
        settings = asdict(self)
        for name in ("policy", "video", "out"):
            settings[name] = None if settings[name] is None else str(settings[name])
        versions = {name: version(name) for name in ("wmrl-gym", "mujoco", "gymnasium")}
        rows = [_without_nan(asdict(rate)) for rate in rates]
        return {"settings": settings, "versions": versions, "success": rows}


def _table(rates: Sequence[SuccessRate], *, title: str) -> Table:
    table = Table(
        "task",
        "episodes",
        "success (95 % interval)",
        "at the end",
        "steps to it",
        title=title,
    )
    for rate in rates:
        total = rate is rates[-1]
        table.add_row(
            rate.label,
            str(rate.episodes),
            f"{rate.success_once:.1%} [{rate.low:.1%}, {rate.high:.1%}]",
            f"{rate.success_at_end:.1%}",
            "none" if np.isnan(rate.steps) else f"{rate.steps:.1f}",
            style="bold" if total else None,
            end_section=rate is rates[-2],
        )
    return table


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value != value else value for key, value in row.items()}
