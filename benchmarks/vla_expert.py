"""How often the scripted expert succeeds, by task and split; and how much less with less skill.

python benchmarks/vla_expert.py [states]
"""

from __future__ import annotations

import sys

import numpy as np

from wmrl_gym.envs.vla.expert import Expert
from wmrl_gym.envs.vla.families import FAMILIES, SPLITS
from wmrl_gym.envs.vla.state_env import VLAStateEnv

SKILLS = (0.95, 0.85, 0.7, 0.5, 0.0)


def lengths(task: str, split: str, states: int, skill: float = 1.0) -> list[int | None]:
    """Steps to success from the first initial states; `None` where it did not come."""
    env = VLAStateEnv(task=task, split=split)
    found: list[int | None] = []
    for number in range(states):
        env.reset(options={"init_state_id": number})
        expert = Expert(env.simulation, skill=skill, rng=np.random.default_rng(number))
        steps, ended, success = 0, False, False
        while not ended:
            _, _, success, truncated, _ = env.step(expert.act())
            steps, ended = steps + 1, success or truncated
        found.append(steps if success else None)
    return found


def main() -> None:
    """Print both tables."""
    states = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{'task':12}{'split':10}{'success':>8}{'mean steps':>12}{'most':>6}")
    for task in FAMILIES:
        for split in SPLITS:
            found = lengths(task, split, states)
            steps = [length for length in found if length is not None]
            rate = len(steps) / states
            print(f"{task:12}{split:10}{rate:8.2f}{np.mean(steps):12.0f}{max(steps):6}", flush=True)
    print(f"\n{'skill':12}" + "".join(f"{skill:8}" for skill in SKILLS))
    for task in FAMILIES:
        runs = [lengths(task, "train", states // 4, skill) for skill in SKILLS]
        rates = [np.mean([length is not None for length in run]) for run in runs]
        print(f"{task:12}" + "".join(f"{rate:8.2f}" for rate in rates), flush=True)


if __name__ == "__main__":
    main()
