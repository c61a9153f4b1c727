"""A training run: its environment, its agent, one batch after the other, and its checkpoint."""

from __future__ import annotations

import importlib
import inspect
import io
import os
import pickle
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.spaces import Box, Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from stable_baselines3.common.utils import get_device

from wmrl_gym.agents import GRPO, WeightedPPO
from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.errors import RunError
from wmrl_gym.executors import StoringExecutor
from wmrl_gym.training.config import TrainConfig, environment_arguments
from wmrl_gym.training.directory import RunDirectory, replace_file
from wmrl_gym.wrappers import BatchedExecution, WorldModelRewardVectorWrapper

Agent = GRPO | WeightedPPO
NO_WORLD_MODEL = "none"
_LARGEST_MINIBATCH = 128


def make_environment(
    config: TrainConfig, *, tasks: tuple[str, ...], num_envs: int, store: str | None
) -> VectorEnv[Any, Any, Any]:
    """The environment of a run, without a world model.

    Raises:
        RunError: If its actions are text.
        ValueError: If an argument is no `name=value`.
    """
    vector: VectorEnv[Any, Any, Any] = gym.make_vec(
        config.env,
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
        **_arguments(config, tasks, store),
    )
    if isinstance(vector.single_action_space, Text):
        vector.close()
        raise RunError(f"env={config.env} takes text: this command trains on numeric actions only")
    assert isinstance(vector.unwrapped, SyncVectorEnv)  # as asked for
    executes = isinstance(vector.unwrapped.envs[0].unwrapped, ExecutionEnv)
    return BatchedExecution(vector) if executes else vector


def _arguments(config: TrainConfig, tasks: tuple[str, ...], store: str | None) -> dict[str, Any]:
    """Arguments of the environment: the user's, and those of ours that it knows."""
    ours: dict[str, Any] = {
        "tasks": list(tasks) or None,
        "timeout_s": config.timeout_s,
        "sandbox": config.sandbox,
        "workers": config.workers,
        "store": store,
    }
    if config.executor != "pool":
        ours |= {"executor": config.executor, "address": config.address}
    known = _parameters(config.env)
    arguments = {k: v for k, v in ours.items() if k in known and (k != "tasks" or v is not None)}
    return arguments | environment_arguments(config.env_arguments)


def _parameters(env_id: str) -> set[str]:
    """Names of the parameters of an environment's class, and of the classes it passes them to."""
    module, _, registered = env_id.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
        entry_point = gym.spec(registered).entry_point
    except (gym.error.Error, ImportError) as error:
        raise ValueError(f"env={env_id!r} cannot be made: {error}") from error
    made = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    classes = inspect.getmro(made) if inspect.isclass(made) else (made,)
    return {
        name
        for kind in classes
        if callable(kind) and kind is not object
        for name in inspect.signature(kind).parameters
    }


class TrainingRun:
    """Trains batch by batch, so that a caller can show, save and stop in between.

    Args:
        config: What to do.
        store: Path of the store of real outcomes; `None` to remember nothing.
        episodes: File that gets a line for every episode under a world model; `None` for none.
    """

    def __init__(
        self, config: TrainConfig, *, store: str | None = None, episodes: str | None = None
    ) -> None:
        self.config = config
        self._log = None if episodes is None else Path(episodes)
        self.elapsed = 0.0
        """Wall-clock seconds of training, over all sessions of the run."""
        self.groups = 0
        """Groups that are done."""
        grpo = config.agent == "grpo"
        batch = config.group_size * config.groups_per_batch
        environment = make_environment(
            config,
            tasks=config.tasks,
            num_envs=batch if grpo else config.group_size,
            store=store,
        )
        self.real = environment.executor if isinstance(environment, BatchedExecution) else None
        # Asked now, so that a cluster that cannot be reached is found out at the start.
        self.workers = self.real.workers if isinstance(self.real, StoringExecutor) else 1
        """Real executions that run at once."""
        self.environment: VectorEnv[Any, Any, Any] = environment
        self.rewards: WorldModelRewardVectorWrapper | None = None
        if config.world_model != NO_WORLD_MODEL:
            stepping = {} if self.real is not None else _stepping(config)
            self.rewards = WorldModelRewardVectorWrapper(
                environment,
                world_model=config.world_model,
                anchor_fraction=config.anchor_fraction,
                seed=config.seed,
                correction_options=config.correction_options,
                **stepping,
            )
            self.environment = self.rewards
            self.rewards.anchored.log = episodes
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
        if "steps_real" in totals:  # the common names of what was done and what was avoided
            totals["executions_real"] = totals["steps_real"]
            totals["executions_avoided"] = totals["steps_imagined"]
        # Where each episode is a group of its own, these are not the groups of the run.
        totals["groups_begun"] = totals.pop("groups")
        return {**metrics, **correction, **totals, "seconds_saved": self._seconds_saved(totals)}

    def save(self, run: RunDirectory) -> None:
        """Write the checkpoint: everything that the next batch depends on."""
        state = {
            "agent": save_agent(self.agent),
            "rewards": None if self.rewards is None else self.rewards.state_dict(),
            "groups": self.groups,
            "elapsed": self.elapsed,
            "logged": self._logged(),
        }
        replace_file(run.checkpoint, pickle.dumps(state))

    def restore(self, run: RunDirectory) -> None:
        """Continue from the checkpoint of a run; what was logged after it will come again."""
        state = pickle.loads(run.checkpoint.read_bytes())
        self.agent = load_agent(self.config, state["agent"], self.environment)
        if self.rewards is not None:
            self.rewards.load_state_dict(state["rewards"])
        self.groups, self.elapsed = state["groups"], state["elapsed"]
        self._forget_log(state["logged"])

    def close(self) -> None:
        """Close the environment and its executors."""
        self.environment.close()

    def _logged(self) -> int:
        """Bytes in the log of episodes."""
        return self._log.stat().st_size if self._log is not None and self._log.exists() else 0

    def _forget_log(self, kept: int) -> None:
        if self._logged() > kept:
            assert self._log is not None
            os.truncate(self._log, kept)

    def _real_totals(self) -> dict[str, float]:
        if self.real is None:
            steps = float(self.agent.num_timesteps)
            return {"executions_real": steps, "executions_avoided": 0.0}
        if not isinstance(self.real, StoringExecutor):
            done = float(self.groups * self.config.group_size)
            return {"executions_real": done, "executions_avoided": 0.0}
        counts = self.real.counts
        return {
            "executions_real": float(counts.executed + counts.replayed),
            "executions_avoided": 0.0,
            "seconds_real": counts.seconds,
        }

    def _seconds_saved(self, totals: dict[str, float]) -> float:
        """Avoided executions at the mean duration of the real ones, all workers kept busy."""
        if not totals["executions_real"]:
            return 0.0
        mean = totals["seconds_real"] / totals["executions_real"]
        return totals["executions_avoided"] * mean / self.workers


def _stepping(config: TrainConfig) -> dict[str, Any]:
    """What the wrapper has to know of an environment that only has `step`."""
    bounds = (0.0, 1.0) if config.score == "return" else None
    return {
        "score": config.score,
        "score_bounds": bounds,
        "gate_threshold": config.gate_threshold,
        "device": _device(config),
    }


def _device(config: TrainConfig) -> str:
    return str(get_device(config.device))


def save_agent(agent: Agent) -> bytes:
    """An agent as stable-baselines3 saves it."""
    buffer = io.BytesIO()
    agent.save(buffer)
    return buffer.getvalue()


def load_agent(
    config: TrainConfig, saved: bytes, environment: VectorEnv[Any, Any, Any] | None = None
) -> Agent:
    """The agent that `save_agent` saved, with an environment to go on in, or without one."""
    kind: type[Agent] = GRPO if config.agent == "grpo" else WeightedPPO
    return kind.load(io.BytesIO(saved), env=environment, device=config.device)  # type: ignore[arg-type]  # bridged


def _make_agent(config: TrainConfig, environment: VectorEnv[Any, Any, Any]) -> Agent:
    shared: dict[str, Any] = {
        "learning_rate": config.learning_rate,
        "n_epochs": config.epochs,
        "ent_coef": config.entropy,
        "seed": config.seed,
        "device": config.device,
    }
    if isinstance(environment.single_action_space, Box):
        shared["policy_kwargs"] = {"log_std_init": float(np.log(config.noise))}
    size, groups = config.group_size, config.groups_per_batch
    if config.agent == "grpo":
        return GRPO(
            "MlpPolicy",
            environment,
            group_size=size,
            groups_per_batch=groups,
            normalize_advantage=config.normalize,
            **shared,
        )
    steps = config.rollout_steps or groups
    # A minibatch as large as a batch of single steps; long rollouts are cut into several.
    batch_size = size * min(steps, _LARGEST_MINIBATCH // size or 1)
    return WeightedPPO(
        "MlpPolicy",
        environment,
        n_steps=steps,
        batch_size=batch_size,
        gamma=config.discount,
        **shared,
    )
