"""A point mass that is to reach a goal: a system whose every step is known exactly."""

from __future__ import annotations

import numpy as np

from wmrl_gym.episodes import EpisodeBuilder, EpisodeRecord

SIZE, ACTIONS, HORIZON = 10, 2, 40
NOISE = (0.0, 0.3, 0.8, 1.5, 3.0)
"""Of five policies, from an expert to one that hardly knows where it goes."""


def start(rng: np.random.Generator) -> np.ndarray:
    """Position, velocity, goal, way to the goal, a padded slot, and a constant that is not 0."""
    position, goal = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)
    state = np.concatenate([position, np.zeros(2), goal, goal - position, [0.0, 5.0]])
    return state.astype(np.float32)


def advance(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """`[..., 10]` states after `[..., 2]` accelerations."""
    following = states.copy()
    following[..., 2:4] = 0.9 * states[..., 2:4] + 0.1 * np.clip(actions, -1, 1)
    following[..., :2] = states[..., :2] + 0.5 * following[..., 2:4]
    following[..., 6:8] = following[..., 4:6] - following[..., :2]
    return following


def solved(states: np.ndarray) -> np.ndarray:
    """Whether the mass is within 0.15 of the goal."""
    return np.linalg.norm(states[..., 6:8], axis=-1) < 0.15


def expert(states: np.ndarray) -> np.ndarray:
    """Pull towards the goal, and brake."""
    return 2.0 * states[..., 6:8] - 4.0 * states[..., 2:4]


def record(count: int, seed: int, task: str = "point") -> list[EpisodeRecord]:
    """Episodes by the five policies in turn; they end at success."""
    rng = np.random.default_rng(seed)
    episodes = []
    for index in range(count):
        skill = index % len(NOISE)
        bias = NOISE[skill] * rng.normal(size=2)
        state = start(rng)
        builder = EpisodeBuilder(state, task=task, policy=f"noise {skill}", seed=index)
        for step in range(HORIZON):
            action = np.clip(expert(state) + bias + 0.2 * rng.normal(size=2), -1, 1)
            state = advance(state, action)
            done = bool(solved(state))
            builder.add(
                action,
                state,
                -float(np.linalg.norm(state[6:8])),
                terminated=done,
                truncated=not done and step == HORIZON - 1,
                success=done,
            )
            if done:
                break
        episodes.append(builder.build())
    return episodes
