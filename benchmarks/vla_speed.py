"""How fast the manipulation environments are: steps and frames per CPU-second, by task.

OMP_NUM_THREADS=1 LP_NUM_THREADS=1 python benchmarks/vla_speed.py

A step is physics, control, observation, reward and info of `WMRL-VLA-State-v0`. Two streams of
actions: at random, where the hand mostly moves through the air, and the expert's, recorded
beforehand and replayed, where it grasps and pushes. CPU time, so that a busy machine counts
less; the best of a few rounds.

A frame is one picture of the scene from the front, drawn in software unless there is a card.
The last table is whole steps of `WMRL-VLA-v0` with both cameras: an observation after every
action, or one after each chunk of eight.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.expert import Expert
from wmrl_gym.envs.vla.families import FAMILIES
from wmrl_gym.envs.vla.pixel_env import VLAEnv
from wmrl_gym.envs.vla.state_env import VLAStateEnv
from wmrl_gym.wrappers.action_chunks import ActionChunk

ROUNDS = 5
RANDOM_STEPS = 400

Actions = NDArray[np.float32]


def random_actions() -> list[Actions]:
    """One long episode's actions."""
    rng = np.random.default_rng(0)
    return [rng.uniform(-1, 1, (RANDOM_STEPS, 7)).astype(np.float32)]


def expert_actions(task: str, episodes: int = 6) -> list[Actions]:
    """What the expert does from the first initial states, one array for each episode."""
    env = VLAStateEnv(task=task)
    recorded = []
    for number in range(episodes):
        env.reset(options={"init_state_id": number})
        expert, actions, ended = Expert(env.simulation), [], False
        while not ended:
            actions.append(expert.act())
            _, _, terminated, truncated, _ = env.step(actions[-1])
            ended = terminated or truncated
        recorded.append(np.array(actions))
    return recorded


def steps_per_second(task: str, episodes: Sequence[Actions]) -> float:
    """Steps per CPU-second over all episodes, resets left out; the best round."""
    env = VLAStateEnv(task=task, terminate_on_success=False, reward="progress")
    return max(_round(env, episodes) for _ in range(ROUNDS))


def _round(env: VLAStateEnv, episodes: Sequence[Actions]) -> float:
    seconds = 0.0
    for number, actions in enumerate(episodes):
        env.reset(options={"init_state_id": number})
        start = time.process_time()
        for action in actions:
            env.step(action)
        seconds += time.process_time() - start
    return sum(map(len, episodes)) / seconds


def reset_milliseconds(task: str) -> float:
    """CPU milliseconds of a reset, its ten settling steps included."""
    env = VLAStateEnv(task=task)
    env.reset(seed=0)
    start = time.process_time()
    for _ in range(20):
        env.reset()
    return 1000 * (time.process_time() - start) / 20


def frames_per_second(task: str, size: int, profile: str) -> float:
    """Frames of a scene per CPU-second; the best round."""
    env = VLAStateEnv(task=task, image_size=size, render_profile=profile)
    env.reset(seed=0)
    count = 100 if profile == "fast" else 10

    def once() -> float:
        start = time.process_time()
        for _ in range(count):
            env.picture()
        return count / (time.process_time() - start)

    env.picture()
    fastest = max(once() for _ in range(ROUNDS))
    env.close()
    return fastest


def seen_steps_per_second(chunk: int, size: int) -> float:
    """Steps of `WMRL-VLA-v0` per CPU-second in the fast profile, all tasks; the best round."""
    env = VLAEnv(image_size=size, render_profile="fast", terminate_on_success=False)
    chunked = ActionChunk(env, size=chunk)
    actions = np.random.default_rng(0).uniform(-1, 1, (40 // chunk, chunk, 7))

    def once() -> float:
        seconds = 0.0
        for task in FAMILIES:
            chunked.reset(options={"task": task, "init_state_id": 0})
            start = time.process_time()
            for action in actions:
                chunked.step(action)
            seconds += time.process_time() - start
        return 40 * len(FAMILIES) / seconds

    once()
    fastest = max(once() for _ in range(ROUNDS))
    env.close()
    return fastest


def print_frames() -> None:
    """Print the tables of frames."""
    shown = [("fast", 84), ("fast", 128), ("fast", 256), ("faithful", 128), ("faithful", 256)]
    print(
        f"\n{'frames':12}" + "".join(f"{profile + ' ' + str(size):>14}" for profile, size in shown)
    )
    for task in FAMILIES:
        rates = [frames_per_second(task, size, profile) for profile, size in shown]
        print(f"{task:12}" + "".join(f"{rate:14.0f}" for rate in rates))
    print("\nsteps with pictures, fast     chunk 1   chunk 8")
    for size in (128, 256):
        rates = [seen_steps_per_second(chunk, size) for chunk in (1, 8)]
        print(f"{size:5} pixels" + " " * 16 + "".join(f"{rate:10.0f}" for rate in rates))


def main() -> None:
    """Print the tables."""
    print(f"{'task':12}{'random':>10}{'expert':>10}{'reset ms':>10}")
    for task in FAMILIES:
        random = steps_per_second(task, random_actions())
        expert = steps_per_second(task, expert_actions(task))
        print(f"{task:12}{random:10.0f}{expert:10.0f}{reset_milliseconds(task):10.1f}")
    print_frames()


if __name__ == "__main__":
    main()
