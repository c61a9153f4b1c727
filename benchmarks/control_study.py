"""PPO under the wrapper against PPO on the real environment, with a quarter of the real steps.

    OMP_NUM_THREADS=1 python benchmarks/control_study.py           # goes on where it was stopped
    python benchmarks/control_study.py --tasks reach --seeds 0 1   # some
    python benchmarks/control_study.py --report                    # only the table

The same PPO and the same wrapper in all tasks (`control_tasks.py`):

- `real` steps the environment `real_steps` times;
- `quarter` stops after a quarter of that: what so few real steps are worth alone;
- `wrapped` takes a third more steps than `real`, most of them imagined, under
  `WorldModelRewardVectorWrapper` with an ensemble that learns from the run's own real episodes.
  It ends early if its real steps reach a quarter;
- `longer` is `wrapped` with an ensemble that is trained three times as long, on tasks where that
  was tried (`--arms longer`).

The final policy of each run acts without noise from 100 held-out initial states, for real. Seed
after seed, so that a study that was cut short has whole seeds. `--tasks` takes some more, whose
results so far are in `results/control-study-others`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from control_tasks import LEVEL, TASKS
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.callbacks import BaseCallback

from wmrl_gym import WorldModelRewardVectorWrapper
from wmrl_gym.agents import WeightedPPO
from wmrl_gym.benchmark.statistics import mean, mean_gain, paired_interval, stratified_interval
from wmrl_gym.stepping import AnchoredStepper
from wmrl_gym.training.directory import replace_file
from wmrl_gym.world_models.dynamics import EnsembleDynamics

LANES, EPISODES = 16, 100
HELD_OUT = 1_000_000
"""First seed of the held-out starts, where starts follow the seed."""
SHARES = {"real": 1.0, "quarter": 1 / 4, "wrapped": 4 / 3, "longer": 4 / 3}
"""Steps of an arm, in shares of the real steps."""
UNWRAPPED = ("real", "quarter")
ARMS = (*UNWRAPPED, "wrapped")
"""Arms of every task."""
PPO: dict[str, Any] = {
    "n_steps": 128,
    "batch_size": 128,
    "n_epochs": 10,
    "gamma": 0.95,
    "policy_kwargs": {"log_std_init": -0.5},
    "device": "cpu",
}
WRAPPER: dict[str, Any] = {
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


def run(task: str, arm: str, seed: int) -> dict[str, Any]:
    """Train one arm with one seed, then measure its policy."""
    of = TASKS[task]
    envs: Any = SyncVectorEnv([of.train] * LANES, autoreset_mode=AutoresetMode.SAME_STEP)
    stepper, quarter = None, of.real_steps // 4
    if arm not in UNWRAPPED:
        model = "dynamics" if arm == "wrapped" else longer_trained(envs, seed)
        envs = WorldModelRewardVectorWrapper(
            envs, world_model=model, seed=seed, **of.score, **WRAPPER
        )
        stepper = envs.anchored
    watch = Watch(stepper, quarter)
    started, cpu = time.perf_counter(), time.process_time()
    rate = Falling(stepper, quarter)
    agent = WeightedPPO("MlpPolicy", envs, seed=seed, learning_rate=rate, **PPO)
    agent.learn(round(SHARES[arm] * of.real_steps), callback=watch)
    result = {
        "task": task,
        "arm": arm,
        "seed": seed,
        "wall_s": time.perf_counter() - started,
        "cpu_s": time.process_time() - cpu,
        "steps": agent.num_timesteps,
        "real_steps": watch.real_steps,
        "successes": [int(achieves(agent, of.judge(), index)) for index in range(EPISODES)],
        "curve": watch.curve,
    }
    if stepper is not None:
        figures = {**stepper.correction.diagnostics(), **stepper.gate.diagnostics()}
        result["diagnostics"] = {k: v for k, v in figures.items() if np.isfinite(v)}
    envs.close()
    return result


def longer_trained(envs: Any, seed: int) -> EnsembleDynamics:
    """The ensemble of `world_model="dynamics"`, but with three times as many gradient steps."""
    spaces = (envs.single_observation_space, envs.single_action_space)
    return EnsembleDynamics.for_spaces(
        *spaces, members=3, updates=1500, online_updates=150, seed=seed
    )


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
    tasks = [task for task in TASKS if complete_seeds(results, [task])]
    for chosen in [*([task] for task in tasks), *([tasks] if len(tasks) > 1 else [])]:
        seeds = complete_seeds(results, chosen)
        if not seeds:
            continue
        arms = [arm for arm in SHARES if complete_seeds(results, chosen, [*ARMS, arm]) == seeds]
        of = {
            arm: {key: grid(results, chosen, arm, seeds, key) for key in ("success", *_COSTS)}
            for arm in arms
        }
        name = chosen[0] if len(chosen) == 1 else "all"
        for arm, figures in of.items():
            costs = " | ".join(f"{figures[key].mean():.0f}" for key in _COSTS)
            success = stratified_interval(mean, figures["success"])
            rows.append(f"| {name} | {len(seeds)} | {arm} | {success} | {costs} |")
        for arm, other in product(arms[len(UNWRAPPED) :], UNWRAPPED):
            gain = paired_interval(mean_gain, of[arm]["success"], of[other]["success"])
            rows.append(f"| {name} | {len(seeds)} | {arm} - {other} | {gain} | | |")
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
    results: dict[tuple[str, str, int], dict[str, Any]],
    tasks: Sequence[str],
    arms: Sequence[str] = ARMS,
) -> list[int]:
    """Seeds that every one of the arms has finished on every one of the tasks."""
    return [
        seed
        for seed in sorted({seed for _, _, seed in results})
        if all((task, arm, seed) in results for task in tasks for arm in arms)
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
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(LEVEL))
    parser.add_argument("--arms", nargs="+", choices=SHARES, default=ARMS)
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
