"""Model rollouts against real stepping on Meta-World, and the speed-up that is left of it.

OMP_NUM_THREADS=1 python benchmarks/dynamics_speed.py [--out FILE]

The real environment is tuned: state only, nothing is rendered, no wrapper but the simulator's own
class. The model learns from episodes of the scripted expert with noise, and is then asked for
rollouts of the same policies' actions in batches. All in CPU-seconds of one process; the two
sides alternate, so that a busy machine slows both. The last lines are the break-even: with an
anchor share a, costs of an episode c and N episodes,

    speed-up = 1 / (a + (1 - a) c_model / c_real + c_train / (N c_real)),

as computed from the costs, and as timed by doing it: a tenth of 640 episodes for real, all the
others imagined in batches of 64.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import metaworld  # noqa: F401  # registers the ids
import numpy as np
import torch
from metaworld.policies import ENV_POLICY_MAP

from wmrl_gym.episodes import EpisodeBuilder, EpisodeRecord
from wmrl_gym.world_models.dynamics import EnsembleDynamics, Validity, imagine
from wmrl_gym.world_models.dynamics.report import dynamics_report

TASK = "button-press-topdown-v3"
HORIZON = 100
NOISE = (0.0, 0.2, 0.4, 0.7, 1.0)
"""Of the five policies that are recorded, as standard deviation of their actions and biases."""
EPISODES, MEASURED, N = 180, 80, 640
BATCHES = (1, 64, 256, 1024)
ROUNDS = 5


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


def real_rate(env: Any, actions: np.ndarray) -> tuple[float, float]:
    """Steps per CPU-second, and CPU-seconds of an episode of `HORIZON` steps with its reset."""
    start = time.process_time()
    env.reset()
    begun = time.process_time()
    for action in actions:
        env.step(action)
    end = time.process_time()
    return len(actions) / (end - begun), end - start


def model_rate(model: EnsembleDynamics, states: np.ndarray, actions: np.ndarray) -> float:
    """Imagined steps per CPU-second over rollouts of `HORIZON` steps that never end early."""
    start = time.process_time()
    rollout = imagine(model, states, actions, threshold=2.0)
    return float(rollout.lengths.sum()) / (time.process_time() - start)


def timed_mixture(env: Any, model: EnsembleDynamics, states: np.ndarray) -> float:
    """CPU-seconds of `N` episodes of random actions, a tenth of them for real."""
    rng = np.random.default_rng(0)
    start = time.process_time()
    for _ in range(N // 10):
        real_rate(env, rng.uniform(-1, 1, (HORIZON, 4)).astype(np.float32))
    for first in range(0, N - N // 10, 64):
        batch = states[np.arange(first, min(first + 64, N - N // 10)) % len(states)]
        imagine(model, batch, rng.uniform(-1, 1, (len(batch), HORIZON, 4)), threshold=2.0)
    return time.process_time() - start


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
    states = np.stack([episode.observations[0] for episode in episodes])
    rng = np.random.default_rng(1)
    real, model_rates, per_episode = [], {batch: [] for batch in BATCHES}, []
    for _ in range(ROUNDS):
        rate, seconds = real_rate(env, rng.uniform(-1, 1, (HORIZON, 4)).astype(np.float32))
        real.append(rate)
        per_episode.append(seconds)
        for batch in BATCHES:
            rows = states[np.arange(batch) % len(states)]
            actions = rng.uniform(-1, 1, (batch, HORIZON, 4)).astype(np.float32)
            model_rates[batch].append(model_rate(model, rows, actions))
    real_steps, c_real = float(np.median(real)), float(np.median(per_episode))
    rates = {batch: float(np.median(each)) for batch, each in model_rates.items()}
    c_model = HORIZON / rates[64]
    a = 0.1
    stepping = 1.0 / (a + (1 - a) * c_model / c_real)
    timed = N * c_real / timed_mixture(env, model, states)
    result = {
        "task": TASK,
        "collecting_cpu_s": collected,
        "training_cpu_s": training,
        "validity": vars(found.validity) if isinstance(found.validity, Validity) else None,
        "skill_correlation": found.skill_correlation,
        "state_errors": found.state_errors,
        "real_steps_per_cpu_s": real_steps,
        "real_episode_cpu_s": c_real,
        "model_steps_per_cpu_s": rates,
        "ratio": {batch: rate / real_steps for batch, rate in rates.items()},
        "break_even": {
            "anchor_share": a,
            "episodes": N,
            "computed_without_training": stepping,
            "timed_without_training": timed,
            "computed_with_training": {
                str(n): 1.0 / (a + (1 - a) * c_model / c_real + training / (n * c_real))
                for n in (640, 2000, 10_000, 100_000)
            },
        },
    }
    print(json.dumps(result, indent=2))
    out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
