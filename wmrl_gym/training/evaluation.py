"""The true score of a policy: real executions, and no world model anywhere."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from wmrl_gym.training.config import TrainConfig
from wmrl_gym.training.run import Agent, make_environment

Scores = Mapping[str, list[float]]
"""Scores of the episodes on each task; `""` for an environment without tasks."""


def true_scores(
    agent: Agent, config: TrainConfig, *, tasks: tuple[str, ...], store: str | None
) -> Scores:
    """Play real episodes on each task with the sampled (stochastic) policy.

    Episodes whose execution failed for reasons of ours have no score and are left out.

    Args:
        agent: The policy.
        config: Says how many episodes, and how they are executed.
        tasks: Tasks to play; empty for an environment without tasks.
        store: Path of a store of real outcomes.
    """
    count = config.evaluation_episodes
    environment = make_environment(config, tasks=tasks, num_envs=count, store=store)
    scores = {}
    # The same noise for every policy, so that before and after differ by the policy alone.
    with torch.random.fork_rng(devices=[]):
        for index, task in enumerate(tasks or ("",)):
            torch.manual_seed(config.seed + 1_000_003 * (index + 1))
            options = {"task": task} if task else {}
            observations, _ = environment.reset(seed=config.seed, options=options)
            returns = np.zeros(count)
            done = np.zeros(count, dtype=np.bool_)
            scored = np.ones(count, dtype=np.bool_)
            while not done.all():
                actions, _ = agent.predict(observations, deterministic=False)
                observations, rewards, ended, cut, infos = environment.step(actions)
                returns += np.where(done, 0.0, rewards)
                scored &= infos.get("status", np.zeros(count)) != -1
                mask = np.logical_or(ended, cut)
                done |= mask
                if not done.all() and mask.any():
                    # Slots whose episode ended must be reset before they can be stepped again.
                    observations, _ = environment.reset(options={**options, "reset_mask": mask})
            scores[task] = returns[scored].tolist()
    environment.close()
    return scores


def mean_with_interval(scores: list[float], *, seed: int = 0) -> tuple[float, float, float]:
    """Mean and its 95 % bootstrap interval.

    Args:
        scores: `[N]` scores, at least one.
        seed: Seed of the resampling.
    """
    values = np.asarray(scores)
    rng = np.random.default_rng(seed)
    means = rng.choice(values, size=(2000, len(values))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)
