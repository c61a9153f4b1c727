"""GRPO with a world model and 10 % anchors against GRPO with every group executed.

Same tasks, same seeds, same number of groups; every execution of both arms is carried out
(no store). The final policies are judged by real executions on the training tasks and on
tasks that neither arm has seen.

    python benchmarks/grpo_study.py                  # all seeds; goes on where it was stopped
    python benchmarks/grpo_study.py --seeds 0 1      # some
    python benchmarks/grpo_study.py --report         # only the tables
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wmrl_gym.training.config import TrainConfig
from wmrl_gym.training.directory import replace_file
from wmrl_gym.training.evaluation import Scores, true_scores
from wmrl_gym.training.run import TrainingRun, load_agent, save_agent

CONFIG = TrainConfig()
ARMS = {
    "every group executed": replace(CONFIG, world_model="none"),
    "10 % anchors": CONFIG,
}


def run_arm(config: TrainConfig, evaluations: Path) -> dict[str, Any]:
    """Train one arm with one seed, then measure its policy."""
    training = TrainingRun(config)
    before = save_agent(training.agent)
    curve = []
    while not training.finished:
        metrics = training.train_batch()
        curve.append({k: metrics[k] for k in ("groups", "elapsed", "score", "executions_real")})
        print(
            f"  {metrics['groups']:.0f} groups, {metrics['elapsed']:.0f} s, "
            f"score {metrics['score']:.3f}",
            flush=True,
        )
    after = save_agent(training.agent)
    training.close()
    return {
        "config": asdict(config),
        "metrics": metrics,
        "curve": curve,
        "before": evaluate(before, config, evaluations),
        "after": evaluate(after, config, evaluations),
    }


def evaluate(agent: bytes, config: TrainConfig, evaluations: Path) -> Scores:
    """True scores on all tasks; executions of earlier evaluations are not repeated."""
    tasks = config.evaluation_tasks
    return true_scores(load_agent(config, agent), config, tasks=tasks, store=str(evaluations))


def mean_score(result: dict[str, Any], when: str, which: str) -> float:
    """Mean over tasks (`"tasks"` or `"held_out_tasks"`) of the mean score before or after."""
    scores = result[when]
    return float(np.mean([np.mean(scores[task]) for task in result["config"][which]]))


def interval(values: Sequence[float]) -> str:
    """Mean and 95 % bootstrap interval over seeds."""
    array = np.asarray(values)
    resampled = np.random.default_rng(0).choice(array, size=(10_000, len(array))).mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return f"{array.mean():.3f} [{low:.3f}, {high:.3f}]"


TASK_SETS = (("trained on", "tasks"), ("held out", "held_out_tasks"))


def report(directory: Path) -> None:
    """Print the tables from the results that are there, paired by seed."""
    results = {arm: load_results(directory, arm) for arm in ARMS}
    everything, anchored = (results[arm] for arm in ARMS)
    seeds = sorted(everything.keys() & anchored.keys())
    if not seeds:
        print(f"no seed is finished in {directory}")
        return
    config = everything[seeds[0]]["config"]
    print(f"\nseeds {seeds}, {config['groups']} groups of {config['group_size']}")
    for label, which in TASK_SETS:
        print(f"{label}: {', '.join(config[which])}")
    print("mean over seeds [95 % bootstrap interval]")
    for arm, of in results.items():
        print(f"\n{arm}")
        for name in ("elapsed", "executions_real"):
            print(f"  {name:<24}", interval([of[s]["metrics"][name] for s in seeds]))
        for when in ("before", "after"):
            for label, which in TASK_SETS:
                values = [mean_score(of[s], when, which) for s in seeds]
                print(f"  score {when + ', ' + label:<18}", interval(values))
    print("\npaired by seed")
    times = [
        (everything[s]["metrics"]["elapsed"], anchored[s]["metrics"]["elapsed"]) for s in seeds
    ]
    print("  wall-clock ratio        ", interval([a / b for a, b in times]))
    for label, which in TASK_SETS:
        gains = [
            mean_score(anchored[s], "after", which) - mean_score(everything[s], "after", which)
            for s in seeds
        ]
        print(f"  score gained, {label:<10}", interval(gains))


def load_results(directory: Path, arm: str) -> dict[int, Any]:
    """Results of an arm by seed."""
    paths = directory.glob(f"{list(ARMS).index(arm)}-*.json")
    return {int(path.stem.partition("-")[2]): json.loads(path.read_text()) for path in paths}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, default=Path("runs/grpo-study"))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.directory.mkdir(parents=True, exist_ok=True)
    for seed in () if arguments.report else arguments.seeds:
        for index, (arm, config) in enumerate(ARMS.items()):
            path = arguments.directory / f"{index}-{seed}.json"
            if path.exists():
                continue
            print(f"{arm}, seed {seed}", flush=True)
            result = run_arm(replace(config, seed=seed), arguments.directory / "evaluations.sqlite")
            replace_file(path, json.dumps(result).encode())
    report(arguments.directory)


if __name__ == "__main__":
    main()
