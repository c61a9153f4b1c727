"""`wmrl-gym collect --env WMRL-VLA-...`: episodes of the expert, as files to learn from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from rich.console import Console
from rich.table import Table

from wmrl_gym.cli.vla_episodes import VLAEpisodes

if TYPE_CHECKING:
    from wmrl_gym.envs.vla.base_env import VLABaseEnv
    from wmrl_gym.envs.vla.policies import VLAPolicy
    from wmrl_gym.envs.vla.rollouts import SuccessRate

_STATES = 2**31


@dataclass(frozen=True, kw_only=True)
class CollectVLA(VLAEpisodes):
    """Play episodes of the manipulation tasks with the expert, and write them down.

    One file for each task and skill, which `wmrl_gym.episodes.load_episodes` reads, as it does
    the whole directory. Episodes of WMRL-VLA-v0 have the picture of each step.
    """

    out: Path
    """New or empty directory for the episodes."""
    policy: str = "expert"
    """Who plays: "expert"."""
    skill: tuple[float, ...] = (1.0,)
    """Skills of the expert, from 0 (random) to 1: as many episodes with each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy != "expert":
            raise ValueError(f"policy={self.policy!r} must be expert")
        if not self.skill or any(not 0.0 <= skill <= 1.0 for skill in self.skill):
            raise ValueError(f"skill={self.skill} must be one or more numbers in [0, 1]")

    def __call__(self) -> None:
        """Play and write; an interrupt leaves the files that are done."""
        if self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
            raise ValueError(f"out={self.out} exists and is no empty directory")
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "settings.json").write_text(json.dumps(self._settings(), indent=2) + "\n")
        rates = []
        with ExitStack() as stack:
            # Episodes end in the success that they are to show.
            envs = self.make(terminate_on_success=True)
            for env in envs:
                stack.enter_context(closing(env))
            for task in self.names():
                for skill in self.skill:
                    rates.append(self._collect(envs, task, skill))
        Console().print(_table(rates))

    def _collect(self, envs: Sequence[VLABaseEnv[Any]], task: str, skill: float) -> SuccessRate:
        from wmrl_gym.envs.vla.policies import ExpertPolicy
        from wmrl_gym.envs.vla.rollouts import Start, play, success_rate
        from wmrl_gym.episodes import save_episodes

        rng = np.random.default_rng([self.seed, crc32(task.encode()), round(1e6 * skill)])
        states = rng.integers(_STATES, size=self.episodes)

        def make_policy(envs: Sequence[VLABaseEnv[Any]]) -> VLAPolicy:
            return ExpertPolicy(envs, skill=skill, rng=rng)

        starts = [Start(task, int(state)) for state in states]
        label = f"expert-{skill:g}"
        episodes = list(
            play(envs, make_policy, starts, filmed=lambda start: self.pixels, label=label)
        )
        save_episodes(self.out / f"{task}-{label}.npz", episodes)
        return success_rate(f"{task}, skill {skill:g}", episodes)

    def _settings(self) -> dict[str, Any]:
        settings = {name: value for name, value in asdict(self).items() if name != "out"}
        versions = {name: version(name) for name in ("wmrl-gym", "mujoco", "numpy")}
        return {"command": "wmrl-gym collect", **settings, "versions": versions}


def _table(rates: Sequence[SuccessRate]) -> Table:
    table = Table("task", "episodes", "success", "steps to success", title="Collected")
    for rate in rates:
        steps = "none" if np.isnan(rate.steps) else f"{rate.steps:.1f}"
        table.add_row(rate.label, str(rate.episodes), f"{rate.success_once:.1%}", steps)
    return table
