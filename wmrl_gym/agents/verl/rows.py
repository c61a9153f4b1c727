"""The data set of a training: rows of prompt and task in a Parquet file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd

from wmrl_gym.agents.llm.language import ChatLanguage


def write_rows(
    path: str | Path,
    tasks: Sequence[str],
    *,
    groups: int,
    env: str = "WMRL-MLE-v0",
    env_options: Mapping[str, Any] | None = None,
    system: str | None = None,
    seed: int = 0,
) -> None:
    """Write a Parquet file for `data.train_files` of verl.

    Args:
        path: Where to.
        tasks: Names of the tasks; `[""]` for an environment that has none.
        groups: Rows, of which each becomes a group; each run of `len(tasks)` holds every task.
        env: Id of an environment that takes and gives text.
        env_options: Further arguments of the environment, the same as in training.
        system: Content of a system message; `None` for none but what the template adds.
        seed: Seed of the order of the tasks.

    Raises:
        ValueError: If there are no tasks or groups.
    """
    if not tasks or groups < 1:
        raise ValueError(f"tasks={list(tasks)} must not be empty, groups={groups} at least 1")
    options = {**({"tasks": list(tasks)} if any(tasks) else {}), **(env_options or {})}
    made = gym.make(env, disable_env_checker=True, **options)
    language = ChatLanguage(system)
    prompts = {}
    for task in tasks:
        observation, _ = made.reset(seed=0, options={"task": task} if task else None)
        prompts[task] = list(language.prompt(task, observation))
    made.close()
    rng = np.random.default_rng(seed)
    cycles = -(-groups // len(tasks))
    order = np.concatenate([rng.permutation(len(tasks)) for _ in range(cycles)])[:groups]
    rows = [_row(index, tasks[task], prompts) for index, task in enumerate(order)]
    pd.DataFrame(rows).to_parquet(path)


def _row(index: int, task: str, prompts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "data_source": "wmrl",
        "prompt": prompts[task],
        "reward_model": {"style": "environment", "ground_truth": ""},
        "extra_info": {"index": index, "task": task},
    }
