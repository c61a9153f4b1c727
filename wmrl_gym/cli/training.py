"""A training run: its environment, its agent, one batch after the other, and its checkpoint."""

from __future__ import annotations

import io
import pickle
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, VectorEnv

from wmrl_gym.agents import GRPO, WeightedPPO
from wmrl_gym.cli.run_directory import RunDirectory, replace_file
from wmrl_gym.cli.train_config import TrainConfig
from wmrl_gym.errors import RunError
from wmrl_gym.executors import StoringExecutor
from wmrl_gym.wrappers import BatchedExecution, WorldModelRewardVectorWrapper

Agent = GRPO | WeightedPPO
NO_WORLD_MODEL = "none"


def make_environment(
    config: TrainConfig, *, tasks: tuple[str, ...], num_envs: int, store: str | None
) -> BatchedExecution:
    """The environment of a run, without a world model.

    Raises:
        RunError: If its actions are text.
    """
    arguments: dict[str, Any] = {}
    if tasks:
        arguments = {
            "tasks": list(tasks),
            "timeout_s": config.timeout_s,
            "sandbox": config.sandbox,
            "workers": config.workers,
            "store": store,
        }
        if config.executor != "pool":
            arguments |= {"executor": config.executor, "address": config.address}
    vector: VectorEnv[Any, Any, Any] = gym.make_vec(
        config.env,
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
        **arguments,
    )
    if isinstance(vector.single_action_space, Text):
        vector.close()
        raise RunError(f"env={config.env} takes text: this command trains on numeric actions only")
    return BatchedExecution(vector)


class TrainingRun:
    """Trains batch by batch, so that a caller can show, save and stop in between.

    Args:
        config: What to do.
        store: Path of the store of real outcomes; `None` to remember nothing.
    """

    def __init__(self, config: TrainConfig, *, store: str | None = None) -> None:
        self.config = config
        self.elapsed = 0.0
        """Wall-clock seconds of training, over all sessions of the run."""
        self.groups = 0
        """Groups that are done."""
        grpo = config.algorithm == "grpo"
        batch = config.group_size * config.groups_per_batch
        environment = make_environment(
            config,
            tasks=config.tasks,
            num_envs=batch if grpo else config.group_size,
            store=store,
        )
        self.real = environment.executor
        # Asked now, so that a cluster that cannot be reached is found out at the start.
        self.workers = self.real.workers if isinstance(self.real, StoringExecutor) else 1
        """Real executions that run at once."""
        self.environment: VectorEnv[Any, Any, Any] = environment
        self.rewards: WorldModelRewardVectorWrapper | None = None
        if config.world_model != NO_WORLD_MODEL:
            self.rewards = WorldModelRewardVectorWrapper(
                environment,
                world_model=config.world_model,
                anchor_fraction=config.anchor_fraction,
                seed=config.seed,
                correction_options={"debias": config.debias, "denoise": config.denoise},
            )
            self.environment = self.rewards
        self.agent = _make_agent(config, self.environment)

    @property
    def finished(self) -> bool:
        """Whether all groups are done."""
        return self.groups >= self.config.groups

    def train_batch(self) -> dict[str, float]:
        """Train on one batch of groups and say how it went."""
        started = time.perf_counter()
        self.agent.learn(total_timesteps=1, reset_num_timesteps=False)
        self.elapsed += time.perf_counter() - started
        self.groups += self.config.groups_per_batch
        return self.metrics()

    def metrics(self) -> dict[str, float]:
        """Where the run stands: flat numbers."""
        episodes = self.config.group_size * self.config.groups_per_batch
        assert self.agent.ep_info_buffer is not None
        returns = [episode["r"] for episode in self.agent.ep_info_buffer][-episodes:]
        metrics = {
            "groups": float(self.groups),
            "elapsed": self.elapsed,
            "score": float(np.mean(returns)) if returns else float("nan"),
        }
        if self.rewards is None:
            return {**metrics, **self._real_totals()}
        correction = self.rewards.correction.diagnostics()
        totals = {k: float(v) for k, v in vars(self.rewards.anchored.totals).items()}
        return {**metrics, **correction, **totals, "seconds_saved": self._seconds_saved(totals)}

    def save(self, run: RunDirectory) -> None:
        """Write the checkpoint: everything that the next batch depends on."""
        state = {
            "agent": save_agent(self.agent),
            "rewards": None if self.rewards is None else self.rewards.state_dict(),
            "groups": self.groups,
            "elapsed": self.elapsed,
        }
        replace_file(run.checkpoint, pickle.dumps(state))

    def restore(self, run: RunDirectory) -> None:
        """Continue from the checkpoint of a run."""
        state = pickle.loads(run.checkpoint.read_bytes())
        self.agent = load_agent(self.config, state["agent"], self.environment)
        if self.rewards is not None:
            self.rewards.load_state_dict(state["rewards"])
        self.groups, self.elapsed = state["groups"], state["elapsed"]

    def close(self) -> None:
        """Close the environment and its executors."""
        self.environment.close()

    def _real_totals(self) -> dict[str, float]:
        if not isinstance(self.real, StoringExecutor):
            return {}
        counts = self.real.counts
        return {
            "executions_real": float(counts.executed + counts.replayed),
            "executions_avoided": 0.0,
            "seconds_real": counts.seconds,
        }

    def _seconds_saved(self, totals: dict[str, float]) -> float:
        """Avoided executions at the mean duration of the real ones, all workers kept busy."""
        if not totals["executions_real"] or not isinstance(self.real, StoringExecutor):
            return 0.0
        mean = totals["seconds_real"] / totals["executions_real"]
        return totals["executions_avoided"] * mean / self.workers


def save_agent(agent: Agent) -> bytes:
    """An agent as stable-baselines3 saves it."""
    buffer = io.BytesIO()
    agent.save(buffer)
    return buffer.getvalue()


def load_agent(
    config: TrainConfig, saved: bytes, environment: VectorEnv[Any, Any, Any] | None = None
) -> Agent:
    """The agent that `save_agent` saved, with an environment to go on in, or without one."""
    kind: type[Agent] = GRPO if config.algorithm == "grpo" else WeightedPPO
    return kind.load(io.BytesIO(saved), env=environment, device=config.device)  # type: ignore[arg-type]  # bridged


def _make_agent(config: TrainConfig, environment: VectorEnv[Any, Any, Any]) -> Agent:
    shared: dict[str, Any] = {
        "learning_rate": config.learning_rate,
        "n_epochs": config.epochs,
        "ent_coef": config.entropy,
        "seed": config.seed,
        "device": config.device,
    }
    size, groups = config.group_size, config.groups_per_batch
    if config.algorithm == "grpo":
        return GRPO("MlpPolicy", environment, group_size=size, groups_per_batch=groups, **shared)
    return WeightedPPO("MlpPolicy", environment, n_steps=groups, batch_size=size * groups, **shared)
