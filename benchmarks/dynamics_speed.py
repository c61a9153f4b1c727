"""Model rollouts against real stepping on Meta-World, and the speed-up that is left of it.

OMP_NUM_THREADS=1 python benchmarks/dynamics_speed.py [--out FILE]

The real environment is tuned: state only, nothing is rendered, no wrapper but the simulator's own
class. The model learns from episodes of the scripted expert with noise. Then both sides carry out
the recorded actions of other such episodes, from the same starts. All in CPU-seconds of one
process; the sides take turns, and the best of many short rounds counts for each, so that a busy
machine matters less. The last lines are the break-even: with an anchor share a, costs of an
episode c and N episodes,

    speed-up = 1 / (a + (1 - a) c_model / c_real + c_train / (N c_real)),

as computed from the costs, and without c_train as timed by doing it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium as gym
import metaworld  # noqa: F401  # registers the ids
import numpy as np
import torch
from metaworld.policies import ENV_POLICY_MAP

from wmrl_gym.episodes import EpisodeBuilder, EpisodeRecord
from wmrl_gym.world_models.dynamics import EnsembleDynamics, replay
from wmrl_gym.world_models.dynamics.report import dynamics_report

TASK = "button-press-topdown-v3"
HORIZON = 100
NOISE = (0.0, 0.2, 0.4, 0.7, 1.0)
"""Of the five policies that are recorded, as standard deviation of their actions and biases."""
EPISODES, MEASURED, N = 180, 80, 320
BATCHES = (1, 64, 256)
ROUNDS = 10


def make_env() -> Any:
    """The simulator's own class, with a new goal at each reset."""
    env = gym.make("Meta-World/MT1", env_name=TASK, seed=0)
    env.reset(seed=0)
    bare: Any = env.unwrapped
    bare._freeze_rand_vec, bare.seeded_rand_vec = False, True
    return bare


def play(env: Any, number: int, noise: float) -> EpisodeRecord:
    """An episode of the expert with noise and a bias of its own."""
    rng = np.random.default_rng([number, round(100 * noise)])
    expert, bias = ENV_POLICY_MAP[TASK](), noise * rng.normal(size=4)
    env.seed(number)
    observation, _ = env.reset()
    builder = EpisodeBuilder(observation, task=TASK, seed=number, policy=f"noise {noise:g}")
    for step in range(HORIZON):
        wish = expert.get_action(observation) + bias + noise * rng.normal(size=4)
        action = np.clip(wish, -1, 1).astype(np.float32)
        observation, reward, _, _, info = env.step(action)
        success = bool(info["success"])
        last = success or step == HORIZON - 1
        builder.add(
            action,
            observation,
            float(reward),
            terminated=success,
            truncated=last and not success,
            success=success,
        )
        if last:
            break
    return builder.build()


def real_seconds(env: Any, episode: EpisodeRecord) -> tuple[float, float]:
    """CPU-seconds of the reset and of the steps of an episode, carried out once more."""
    assert episode.seed is not None
    start = time.process_time()
    env.seed(episode.seed)
    env.reset()
    begun = time.process_time()
    for action in episode.actions:
        env.step(action)
    return begun - start, time.process_time() - begun


def model_seconds(model: EnsembleDynamics, episodes: Sequence[EpisodeRecord]) -> float:
    """CPU-seconds of the same actions in one batch, none of them ended early by the model."""
    starts = np.stack([episode.observations[0] for episode in episodes])
    actions = [episode.actions for episode in episodes]
    start = time.process_time()
    replay(model, starts, actions, threshold=2.0)
    return time.process_time() - start


def race(
    env: Any, model: EnsembleDynamics, episodes: Sequence[EpisodeRecord]
) -> tuple[float, float, dict[int, float]]:
    """Steps per CPU-second for real, the same with resets, and those of the model by batch."""
    real, whole, imagined = [], [], {batch: [] for batch in BATCHES}
    for number in range(ROUNDS):
        episode = episodes[number % len(episodes)]
        reset, steps = real_seconds(env, episode)
        real.append(episode.length / steps)
        whole.append(episode.length / (reset + steps))
        for batch in BATCHES:
            chosen = [episodes[(number + row) % len(episodes)] for row in range(batch)]
            total = sum(each.length for each in chosen)
            imagined[batch].append(total / model_seconds(model, chosen))
    return max(real), max(whole), {batch: max(rates) for batch, rates in imagined.items()}


def timed_speed_up(
    env: Any, model: EnsembleDynamics, episodes: Sequence[EpisodeRecord]
) -> dict[str, float]:
    """N episodes, all of them for real and a tenth of them, in alternating portions of 80."""
    all_real, mixed = 0.0, 0.0
    for _ in range(N // len(episodes)):
        cost = [sum(real_seconds(env, episode)) for episode in episodes]
        all_real += sum(cost)
        anchors = len(episodes) // 10
        mixed += sum(sum(real_seconds(env, episode)) for episode in episodes[:anchors])
        mixed += model_seconds(model, episodes[anchors:])
    return {"all_real_cpu_s": all_real, "a_tenth_real_cpu_s": mixed, "ratio": all_real / mixed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/dynamics_speed.json"))
    out = parser.parse_args().out
    torch.set_num_threads(1)
    env = make_env()
    start = time.process_time()
    episodes = [
        play(env, number, NOISE[number % len(NOISE)]) for number in range(EPISODES + MEASURED)
    ]
    collected = time.process_time() - start
    model = EnsembleDynamics(episodes[0].observations.shape[1], 4)
    start = time.process_time()
    model.fit(episodes[:EPISODES])
    training = time.process_time() - start
    (found,) = dynamics_report(model, episodes[EPISODES:])
    measured = episodes[EPISODES:]
    steps = float(np.mean([episode.length for episode in measured]))
    real, whole, imagined = race(env, model, measured)
    c_real, c_model, a = steps / whole, steps / imagined[64], 0.1
    kept = a + (1 - a) * c_model / c_real
    result = {
        "task": TASK,
        "collecting_cpu_s": collected,
        "training_cpu_s": training,
        "validity": asdict(found.validity),
        "skill_correlation": found.skill_correlation,
        "state_errors": found.state_errors,
        "real_steps_per_cpu_s": real,
        "real_steps_per_cpu_s_with_resets": whole,
        "model_steps_per_cpu_s": imagined,
        "ratio": {batch: rate / real for batch, rate in imagined.items()},
        "break_even": {
            "anchor_share": a,
            "real_episode_cpu_s": c_real,
            "model_episode_cpu_s_in_batches_of_64": c_model,
            "speed_up_without_training": 1.0 / kept,
            "speed_up_with_training_by_episodes": {
                n: 1.0 / (kept + training / (n * c_real)) for n in (320, 2000, 10_000, 100_000)
            },
            "episodes_from_which_it_pays": training / (c_real * (1.0 - kept)),
            "timed_without_training": timed_speed_up(env, model, measured),
        },
    }
    print(json.dumps(result, indent=2))
    out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
