"""Behaviour cloning: the policy learns to choose the tokens that an expert would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch as th
from numpy.typing import NDArray
from stable_baselines3.common.policies import ActorCriticPolicy

from wmrl_gym.agents.vla.inputs import to_inputs
from wmrl_gym.envs.vla.actions import ACTION_SIZE
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.wrappers.action_bins import ActionBins

Act = Callable[[], NDArray[np.float32]]
"""Acts for the present state of one environment: `[7]`."""


@dataclass(frozen=True)
class Demonstrations:
    """What an expert saw and did next."""

    observations: dict[str, NDArray[Any]]
    """`[N, ...]` by key, as `PolicyInputs` observes."""
    tokens: NDArray[np.int64]
    """`[N, chunk * 7]` the actions that followed, as tokens."""
    success: float
    """Share of the episodes that succeeded; the others were left out."""

    def __len__(self) -> int:
        return len(self.tokens)


def demonstrate(
    env: gym.Env[Any, Any],
    make_expert: Callable[[Any], Act],
    *,
    episodes: int,
    tasks: Sequence[str] | None = None,
    wander: int = 8,
    seed: int = 0,
) -> Demonstrations:
    """Record an expert at every step, with the chunk of actions that followed.

    Args:
        env: What `for_policy` made.
        make_expert: Makes an expert of the bare environment, which was just reset: for
            instance `lambda env: Expert(env.simulation).act`.
        episodes: Number of episodes, spread evenly over tasks.
        tasks: Tasks to demonstrate; those of the environment if not given.
        wander: Most random actions before the expert takes over: from where a clumsy policy
            gets to, an expert's own paths would teach nothing.
        seed: Of the initial states.

    Raises:
        UnsupportedEnvironmentError: If `env` has no action bins.
        ValueError: If no episode succeeded.
    """
    bins = _bins(env)
    bare: Any = env.unwrapped
    names = tuple(tasks or bare.tasks)
    inputs, tokens, successes = [], [], 0
    rng = np.random.default_rng(seed)
    for number in range(episodes):
        bare.reset(seed=seed + number, options={"task": names[number % len(names)]})
        for _ in range(rng.integers(wander + 1)):
            bare.step(rng.uniform(-1.0, 1.0, ACTION_SIZE).astype(np.float32))
        seen, done, success = _episode(bare, make_expert(bare))
        if success:
            successes += 1
            inputs += seen
            tokens += [bins.encode(chunk) for chunk in _chunks(done, bins)]
    if not successes:
        raise ValueError(f"none of {episodes} episodes succeeded: there is nothing to clone")
    stacked = {key: np.stack([row[key] for row in inputs]) for key in inputs[0]}
    return Demonstrations(stacked, np.stack(tokens), successes / episodes)


def clone(
    policy: ActorCriticPolicy,
    demonstrations: Demonstrations,
    *,
    epochs: int = 10,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    seed: int = 0,
) -> list[float]:
    """Maximise the likelihood of the demonstrated tokens.

    Args:
        policy: That of a `GRPO` or `WeightedPPO` with `policy_arguments()`; on its device.
        demonstrations: What `demonstrate` recorded.
        epochs: Passes.
        batch_size: Samples in a step.
        learning_rate: Of Adam, falling to 0 along a cosine.
        seed: Of the order.

    Returns:
        Mean loss of each pass: negative log-likelihood of a token, in nats.
    """
    rng = np.random.default_rng(seed)
    optimizer = th.optim.Adam(policy.parameters(), lr=learning_rate)
    steps = epochs * -(-len(demonstrations) // batch_size)
    schedule = th.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    policy.set_training_mode(True)
    losses = []
    for _ in range(epochs):
        passed = []
        for observations, tokens in _batches(demonstrations, batch_size, rng, policy.device):
            _, log_likelihood, _ = policy.evaluate_actions(observations, tokens)
            loss = -log_likelihood.mean() / tokens.shape[1]
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no annotation here
            th.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            passed.append(loss.item())
        losses.append(float(np.mean(passed)))
    policy.set_training_mode(False)
    return losses


def _episode(
    env: Any, act: Act
) -> tuple[list[dict[str, NDArray[Any]]], list[NDArray[np.float32]], bool]:
    """What was seen before each action, the actions, and whether it succeeded."""
    seen, actions = [], []
    observation = env.current_observation()
    while True:
        seen.append(to_inputs(observation))
        actions.append(act())
        observation, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            return seen, actions, bool(info["success_once"])


def _chunks(actions: list[NDArray[np.float32]], bins: ActionBins) -> Iterator[NDArray[np.float32]]:
    """For each step the chunk that began there; past the end the last action goes on."""
    size = bins.env.action_space.shape[0]  # type: ignore[index]  # a Box of chunks
    for start in range(len(actions)):
        chunk = actions[start : start + size]
        yield np.stack([*chunk, *[chunk[-1]] * (size - len(chunk))])


def _batches(
    demonstrations: Demonstrations, size: int, rng: np.random.Generator, device: th.device
) -> Iterator[tuple[dict[str, th.Tensor], th.Tensor]]:
    order = rng.permutation(len(demonstrations))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        observations = {
            key: th.as_tensor(values[rows], device=device)
            for key, values in demonstrations.observations.items()
        }
        yield observations, th.as_tensor(demonstrations.tokens[rows], device=device)


def _bins(env: gym.Env[Any, Any]) -> ActionBins:
    while isinstance(env, gym.Wrapper):
        if isinstance(env, ActionBins):
            return env
        env = env.env
    raise UnsupportedEnvironmentError(f"env={env} has no action bins: wrap it by `for_policy`")
