"""PPO under the wrapper against PPO on the real environment, with a quarter of the real steps.

    OMP_NUM_THREADS=1 python benchmarks/control_study.py           # goes on where it was stopped
    python benchmarks/control_study.py --tasks reach --seeds 0 1   # some
    python benchmarks/control_study.py --report                    # only the table

Families of `WMRL-VLA-State-v0` with `reward="progress"`, a task of Meta-World that pays for
progress (`Progress`), one of gymnasium-robotics that pays for success alone (`Reaching`), and poles
of Gymnasium to balance (`Balance`); the same PPO and the same wrapper in all of them:

- `real` steps the environment `real_steps(task)` times;
- `quarter` stops after a quarter of that: what so few real steps are worth alone;
- `wrapped` takes a third more steps than `real`, most of them imagined, under
  `WorldModelRewardVectorWrapper` with an ensemble that learns from the run's own real episodes.
  It ends early if its real steps reach a quarter.

The final policy of each run acts without noise from 100 held-out initial states, for real. Seed
after seed, so that a study that was cut short has whole seeds. `--tasks` takes some more, whose
results so far are in `results/control-study-others`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import gymnasium_robotics
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.callbacks import BaseCallback

from wmrl_gym import WorldModelRewardVectorWrapper
from wmrl_gym.agents import WeightedPPO
from wmrl_gym.benchmark.statistics import mean, mean_gain, paired_interval, stratified_interval
from wmrl_gym.envs.suites import MetaWorldEnv
from wmrl_gym.envs.vla.rollouts import Start, play
from wmrl_gym.stepping import AnchoredStepper
from wmrl_gym.training.directory import replace_file

ENV = "wmrl_gym:WMRL-VLA-State-v0"
META_WORLD = ("reach-v3",)
ROBOTICS = ("FetchReach-v4",)
BALANCING = ("InvertedPendulum-v5", "InvertedDoublePendulum-v5")
HORIZON = {
    **dict.fromkeys(META_WORLD, 100),
    **dict.fromkeys(ROBOTICS, 50),
    **dict.fromkeys(BALANCING, 200),
}
"""Steps of an episode."""
TASKS = ("reach", "button", *META_WORLD, *ROBOTICS)
OTHERS = ("drawer", "knob", *BALANCING)
"""Tasks on which the wrapped arm has fallen short so far."""
LANES, EPISODES = 16, 100
HELD_OUT = 1_000_000
"""First seed of the held-out starts, where starts follow the seed."""
REAL_STEPS = 98_304
EASY = {"FetchReach-v4": 65_536}
"""Real steps of a task that is learned sooner."""
SHARES = {"real": 1.0, "quarter": 1 / 4, "wrapped": 4 / 3}
"""Steps of an arm, in shares of the real steps."""
ARMS = tuple(SHARES)
PPO: dict[str, Any] = {
    "n_steps": 128,
    "batch_size": 128,
    "n_epochs": 10,
    "gamma": 0.95,
    "policy_kwargs": {"log_std_init": -0.5},
    "device": "cpu",
}
WRAPPER: dict[str, Any] = {
    "world_model": "dynamics",
    # About as many as the budget of real steps has room for.
    "anchor_fraction": 0.15,
    # Better than chance; the default asks for more, and keeps tasks for real for longer.
    "gate_threshold": 0.55,
}


class Watch(BaseCallback):
    """Notes the mean return after each rollout, and stops before more than `most` real steps."""

    def __init__(self, stepper: AnchoredStepper | None, most: int) -> None:
        super().__init__()
        self.stepper, self.most = stepper, most
        self.curve: list[dict[str, float]] = []

    @property
    def real_steps(self) -> int:
        """Steps of the environment so far."""
        return self.num_timesteps if self.stepper is None else self.stepper.totals.steps_real

    def _on_step(self) -> bool:
        return self.stepper is None or self.real_steps <= self.most - LANES

    def _on_rollout_end(self) -> None:
        returns = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        if returns:
            row = {"steps": self.num_timesteps, "real_steps": self.real_steps}
            self.curve.append({**row, "return": float(np.mean(returns))})


class Falling:
    """The learning rate when this share of the training is left, by steps or by real ones."""

    def __init__(self, stepper: AnchoredStepper | None, most: int) -> None:
        self.stepper, self.most = stepper, most

    def __call__(self, left: float) -> float:
        if self.stepper is None:
            return 1e-3 * left
        return 1e-3 * min(left, 1.0 - self.stepper.totals.steps_real / self.most)


class Acting:
    """The policy of an agent, without noise; see `VLAPolicy`."""

    def __init__(self, agent: WeightedPPO) -> None:
        self.agent = agent

    def act(self, observations: Any) -> np.ndarray:
        """`[B, 1, 7]`."""
        return self.agent.predict(np.asarray(observations), deterministic=True)[0][:, None]


def real_steps(task: str) -> int:
    """Steps of the arm `real`."""
    return EASY.get(task, REAL_STEPS)


def make_env(task: str) -> gym.Env[Any, Any]:
    """An environment to train in; its return is at most 1."""
    if task in META_WORLD:
        return Progress(MetaWorldEnv(task, horizon=HORIZON[task]))
    if task in ROBOTICS:
        gym.register_envs(gymnasium_robotics)
        return Reaching(gym.make(task, max_episode_steps=HORIZON[task]))
    if task in BALANCING:
        return Balance(gym.make(task, max_episode_steps=HORIZON[task]), HORIZON[task])
    return gym.make(ENV, task=task, reward="progress")


class Progress(gym.Wrapper[Any, Any, Any, Any]):
    """Meta-World's reward as progress: how far its best so far rises; success ends the episode.

    That reward is at most 10, so that the return is at most 1.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.best = 0.0

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        self.best = 0.0
        return self.env.reset(**arguments)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, _, truncated, info = self.env.step(action)
        before, self.best = self.best, max(self.best, float(reward) / 10.0)
        achieved = bool(info["is_success"])
        return observation, self.best - before, achieved, truncated and not achieved, info


class Reaching(gym.Wrapper[Any, Any, Any, Any]):
    """The robot's own observation and the way to the goal; success pays 1 and ends the episode."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        size = self._flat(env.observation_space.sample()).shape
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, size, np.float32)

    def reset(self, *, seed: int | None = None, **_: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed)
        return self._flat(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, _, truncated, info = self.env.step(action)
        achieved = bool(info["is_success"])
        flat = self._flat(observation)
        return flat, float(achieved), achieved, truncated and not achieved, {"is_success": achieved}

    @staticmethod
    def _flat(parts: dict[str, np.ndarray]) -> np.ndarray:
        way = parts["desired_goal"] - parts["achieved_goal"]
        return np.concatenate([parts["observation"], way]).astype(np.float32)


class Balance(gym.Wrapper[Any, Any, Any, Any]):
    """Pays the share of the episode that each step is; not to fall until the end is success."""

    def __init__(self, env: gym.Env[Any, Any], horizon: int) -> None:
        super().__init__(env)
        self.horizon = horizon

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, fallen, truncated, _ = self.env.step(action)
        info = {"is_success": truncated and not fallen}
        return observation, 1.0 / self.horizon, fallen, truncated, info


def run(task: str, arm: str, seed: int) -> dict[str, Any]:
    """Train one arm with one seed, then measure its policy."""
    envs: Any = SyncVectorEnv(
        [partial(make_env, task)] * LANES, autoreset_mode=AutoresetMode.SAME_STEP
    )
    stepper, quarter = None, real_steps(task) // 4
    if arm == "wrapped":
        envs = WorldModelRewardVectorWrapper(envs, seed=seed, **score(task), **WRAPPER)
        stepper = envs.anchored
    watch = Watch(stepper, quarter)
    started, cpu = time.perf_counter(), time.process_time()
    rate = Falling(stepper, quarter)
    agent = WeightedPPO("MlpPolicy", envs, seed=seed, learning_rate=rate, **PPO)
    agent.learn(round(SHARES[arm] * real_steps(task)), callback=watch)
    result = {
        "task": task,
        "arm": arm,
        "seed": seed,
        "wall_s": time.perf_counter() - started,
        "cpu_s": time.process_time() - cpu,
        "steps": agent.num_timesteps,
        "real_steps": watch.real_steps,
        "successes": successes(agent, task),
        "curve": watch.curve,
    }
    if stepper is not None:
        figures = {**stepper.correction.diagnostics(), **stepper.gate.diagnostics()}
        result["diagnostics"] = {k: v for k, v in figures.items() if np.isfinite(v)}
    envs.close()
    return result


def score(task: str) -> dict[str, Any]:
    """What an episode of the task is worth."""
    if task in ROBOTICS:
        return {"score": "success"}
    return {"score": "return", "score_bounds": (0.0, 1.0)}


def successes(agent: WeightedPPO, task: str) -> list[int]:
    """Whether each of the held-out episodes succeeded, for real."""
    if task in META_WORLD + ROBOTICS + BALANCING:
        return [int(achieves(agent, make_env(task), index)) for index in range(EPISODES)]
    envs: list[Any] = [gym.make(ENV, task=task, split="held_out").unwrapped for _ in range(20)]
    starts = [Start(task, index) for index in range(EPISODES)]
    return [int(e.success_once) for e in play(envs, lambda batch: Acting(agent), starts)]


def achieves(agent: WeightedPPO, env: gym.Env[Any, Any], index: int) -> bool:
    """Whether an episode of `env` from a start that training hardly draws succeeds."""
    observation, _ = env.reset(seed=HELD_OUT + index, options={"init_state_id": index})
    achieved = ended = False
    while not ended:
        action, _ = agent.predict(observation, deterministic=True)
        observation, _, terminated, truncated, info = env.step(action)
        achieved |= info["is_success"]
        ended = terminated or truncated
    env.close()
    return achieved


def table(directory: Path) -> str:
    """Markdown: each task and all together, over the seeds that every arm has finished."""
    results = load(directory)
    rows = [
        "| task | seeds | arm | success on held-out starts | real steps | CPU-s |",
        "|---|---|---|---|---|---|",
    ]
    tasks = [task for task in (*TASKS, *OTHERS) if complete_seeds(results, [task])]
    for chosen in [*([task] for task in tasks), *([tasks] if len(tasks) > 1 else [])]:
        seeds = complete_seeds(results, chosen)
        if not seeds:
            continue
        of = {
            arm: {key: grid(results, chosen, arm, seeds, key) for key in ("success", *_COSTS)}
            for arm in ARMS
        }
        name = chosen[0] if len(chosen) == 1 else "all"
        for arm, figures in of.items():
            costs = " | ".join(f"{figures[key].mean():.0f}" for key in _COSTS)
            success = stratified_interval(mean, figures["success"])
            rows.append(f"| {name} | {len(seeds)} | {arm} | {success} | {costs} |")
        for other in ("real", "quarter"):
            gain = paired_interval(mean_gain, of["wrapped"]["success"], of[other]["success"])
            rows.append(f"| {name} | {len(seeds)} | wrapped - {other} | {gain} | | |")
    return "\n".join(rows) + "\n"


_COSTS = ("real_steps", "cpu_s")


def grid(
    results: dict[tuple[str, str, int], dict[str, Any]],
    tasks: Sequence[str],
    arm: str,
    seeds: Sequence[int],
    key: str,
) -> np.ndarray:
    """`[R, T]` figures of an arm."""
    return np.array([[results[task, arm, seed][key] for task in tasks] for seed in seeds])


def complete_seeds(
    results: dict[tuple[str, str, int], dict[str, Any]], tasks: Sequence[str]
) -> list[int]:
    """Seeds that every arm has finished on every one of the tasks."""
    return [
        seed
        for seed in sorted({seed for _, _, seed in results})
        if all((task, arm, seed) in results for task in tasks for arm in ARMS)
    ]


def load(directory: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Results by task, arm and seed."""
    found = [json.loads(path.read_text()) for path in sorted(directory.glob("*-*-*.json"))]
    return {
        (each["task"], each["arm"], each["seed"]): {
            **each,
            "success": float(np.mean(each["successes"])),
        }
        for each in found
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, default=Path("benchmarks/results/control-study"))
    parser.add_argument("--tasks", nargs="+", choices=TASKS + OTHERS, default=TASKS)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.directory.mkdir(parents=True, exist_ok=True)
    wanted = [
        (task, arm, seed)
        for seed in arguments.seeds
        for task in arguments.tasks
        for arm in arguments.arms
    ]
    for task, arm, seed in () if arguments.report else wanted:
        path = arguments.directory / f"{task}-{arm}-{seed}.json"
        if not path.exists():
            result = run(task, arm, seed)
            print(
                f"{path.stem}: success {np.mean(result['successes']):.2f}, "
                f"{result['real_steps']} real of {result['steps']} steps, "
                f"{result['cpu_s']:.0f} CPU-s",
                flush=True,
            )
            replace_file(path, (json.dumps(result) + "\n").encode())
    text = table(arguments.directory)
    (arguments.directory / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
