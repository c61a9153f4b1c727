"""The claims of the theory, checked where the truth is known.

A policy N(theta, 0.3^2) chooses the ambition of the synthetic task, whose expected score J(theta)
is an integral. Policy gradients with centred advantages follow true scores, or those of a lenient
and noisy world model, with and without the correction. Four claims:

    floor       world model only: the gap to the best score does not vanish, and grows with B^2
    contraction with anchors and debiasing the gap goes on falling with the number of steps T
    step size   the part of the gap that comes from variance is proportional to the step size
    fusion      the fused gradient has the variance V_WM / (1 + V_WM / V_E) of the two streams

    python benchmarks/theory.py                   # 5 minutes on one core
    python benchmarks/theory.py --runs 4 --out x.json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.correction import RewardCorrection, group_advantages, normalized_weights
from wmrl_gym.envs.synthetic.truth import CRASH_SCORE, crash_probability, expected_score, quality

Array = NDArray[np.float64]
SPREAD = 0.3
TASK, SKILL = "tin", 0.3
GROUPS, MEMBERS = 8, 8
GRID = np.linspace(-1.0, 1.0, 401)
EXPECTED = np.array([expected_score(TASK, [x, SKILL, 0.0]) for x in GRID])


@dataclass(frozen=True)
class Setting:
    """One run."""

    anchor_fraction: float = 1.0
    bias: float = 0.0
    noise: float = 0.0
    debias: bool = True
    denoise: bool = True
    step_size: float = 0.05
    steps: int = 400


def objective(theta: float) -> float:
    """J(theta): the expected score of the policy; actions beyond the range are clipped."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    actions = np.clip(theta + SPREAD * nodes, -1.0, 1.0)
    return float(np.interp(actions, GRID, EXPECTED) @ weights / weights.sum())


THETAS = np.linspace(-1.0, 1.0, 401)
BEST = max(objective(theta) for theta in THETAS)


def true_scores(actions: Array, rng: np.random.Generator) -> Array:
    """Scores of real executions; whether one crashes is a toss."""
    ran = np.array([quality(TASK, np.array([a, SKILL, 0.0])) for a in actions])
    crashed = rng.random(len(actions)) < np.array([crash_probability(a) for a in actions])
    return np.where(crashed, CRASH_SCORE, ran)


def predicted_scores(true: Array, setting: Setting, rng: np.random.Generator) -> Array:
    """Scores of the world model: lenient and noisy."""
    lenient = true + setting.bias * (1.0 - true) ** 2
    return np.clip(lenient + setting.noise * rng.standard_normal(len(true)), 0.0, 1.0)


def train(setting: Setting, seed: int) -> Array:
    """`[steps]` gap of the policy to the best one, after each step."""
    rng = np.random.default_rng(seed)
    correction = RewardCorrection(
        anchor_fraction=setting.anchor_fraction,
        seed=seed,
        debias=setting.debias,
        denoise=setting.denoise,
    )
    theta, gaps = -0.9, []
    for step in range(setting.steps):
        groups = np.repeat(np.arange(GROUPS) + step * GROUPS, MEMBERS)
        sampled = theta + SPREAD * rng.standard_normal(len(groups))
        true = true_scores(np.clip(sampled, -1.0, 1.0), rng)
        predicted = predicted_scores(true, setting, rng)
        anchor = correction.select(groups)
        scores = np.where(anchor, true, correction.transform(predicted))
        advantages = group_advantages(scores, groups, normalize="center")
        weights = normalized_weights(correction.weights(groups))
        theta += setting.step_size * np.mean(weights * advantages * (sampled - theta)) / SPREAD**2
        correction.update(
            predicted=np.where(anchor, predicted, np.nan),
            true=np.where(anchor, true, np.nan),
            groups=groups,
        )
        gaps.append(BEST - objective(theta))
    return np.array(gaps)


def gap(setting: Setting, runs: int, *, last: int = 100) -> float:
    """Mean gap over runs and the last steps."""
    return float(np.mean([train(setting, seed)[-last:] for seed in range(runs)]))


def floor(runs: int) -> list[dict[str, float]]:
    """The gap that remains with the world model alone, by its bias."""
    bias = (0.0, 0.15, 0.3, 0.45, 0.6)
    alone = Setting(anchor_fraction=0.0, steps=1200)
    return [{"bias": b, "gap": gap(replace(alone, bias=b), runs)} for b in bias]


def contraction(runs: int) -> list[dict[str, float]]:
    """The gap after more and more steps: with the world model alone, and corrected."""
    alone = Setting(anchor_fraction=0.0, bias=0.6, steps=1600)
    arms = {"alone": alone, "corrected": replace(alone, anchor_fraction=0.1)}
    curves = {name: np.mean([train(s, k) for k in range(runs)], axis=0) for name, s in arms.items()}
    return [
        {
            "steps": float(t),
            **{name: float(curve[t - 50 : t].mean()) for name, curve in curves.items()},
        }
        for t in (100, 200, 400, 800, 1600)
    ]


def step_sizes(runs: int) -> list[dict[str, float]]:
    """The gap by step size, for an unbiased but noisy world model."""
    noisy = Setting(anchor_fraction=0.0, noise=0.3)
    sizes = ((0.4, 400), (0.2, 800), (0.1, 1600))
    return [
        {"step_size": size, "gap": gap(replace(noisy, step_size=size, steps=steps), runs)}
        for size, steps in sizes
    ]


def fusion(samples: int) -> dict[str, float]:
    """Variances at one policy: each stream, their fusion, and what the theorem says."""
    rng = np.random.default_rng(0)
    theta, anchors = -0.3, 2
    setting = Setting(noise=0.3)
    groups = np.repeat(np.arange(GROUPS), MEMBERS)
    streams: list[tuple[float, float]] = []
    per_group: list[Array] = []
    for _ in range(samples):
        sampled = theta + SPREAD * rng.standard_normal(len(groups))
        true = true_scores(np.clip(sampled, -1.0, 1.0), rng)
        noisy = true + setting.noise * rng.standard_normal(len(true))
        scores = np.where(groups < anchors, true, noisy)
        advantages = group_advantages(scores, groups, normalize="center")
        gradient = (
            (advantages * (sampled - theta) / SPREAD**2).reshape(GROUPS, MEMBERS).mean(axis=1)
        )
        per_group.append(gradient)
        streams.append((gradient[:anchors].mean(), gradient[anchors:].mean()))
    table = np.array(per_group)
    v_e, v_wm = np.var(np.array(streams), axis=0)
    ratio = table[:, anchors:].var() / table[:, :anchors].var()
    weights = np.where(np.arange(GROUPS) < anchors, ratio, 1.0)
    fused = (table * weights).sum(axis=1) / weights.sum()
    return {
        "V_E": float(v_e),
        "V_WM": float(v_wm),
        "fused": float(fused.var()),
        "theorem": float(v_wm / (1.0 + v_wm / v_e)),
        "plain mixture": float(table.mean(axis=1).var()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/theory.json"))
    arguments = parser.parse_args()
    result = {
        "runs": arguments.runs,
        "best": BEST,
        "floor": floor(arguments.runs),
        "contraction": contraction(arguments.runs),
        "step_sizes": step_sizes(arguments.runs),
        "fusion": fusion(4000),
    }
    print(json.dumps(result, indent=2))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
