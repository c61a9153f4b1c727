"""Behaviour cloning: the policy learns to choose the tokens that an expert would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
import torch as th
from numpy.typing import NDArray
from stable_baselines3.common.policies import ActorCriticPolicy

from wmrl_gym.agents.vla.inputs import STATE_UNITS, to_inputs
from wmrl_gym.envs.vla.actions import ACTION_SIZE
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.wrappers.action_bins import ActionBins

Act = Callable[[], NDArray[np.float32]]
"""Acts for the present state of one environment: `[7]`."""
_ASTRAY = 0.1
"""Chance that a step is the last one before the hand is led astray."""


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
    keep: float = 0.4,
    seed: int = 0,
) -> Demonstrations:
    """Record an expert on the way, with the chunk of actions that followed.

    The hand is led astray at the start and now and then later, for some steps that are not
    recorded: from where a clumsy policy gets to, an expert's own paths would teach nothing.

    Args:
        env: What `for_policy` made.
        make_expert: Makes an expert of the bare environment, which was just reset: for
            instance `lambda env: Expert(env.simulation).act`.
        episodes: Number of episodes, spread evenly over tasks. Many are needed, rather than
            many steps of each: what a word means is learned from different scenes.
        tasks: Tasks to demonstrate; those of the environment if not given.
        wander: Most steps that the hand is led astray at a time.
        keep: Share of the steps that are drawn and recorded, drawing being what takes long.
        seed: Of the initial states.

    Raises:
        UnsupportedEnvironmentError: If `env` has no action bins.
        ValueError: If nothing was recorded of any success, or `keep` is not in (0, 1].
    """
    if not 0.0 < keep <= 1.0:
        raise ValueError(f"keep={keep} must be in (0, 1]")
    bins = _bins(env)
    bare: Any = env.unwrapped
    names = tuple(tasks or bare.tasks)
    inputs, tokens, successes = [], [], 0
    rng = np.random.default_rng(seed)
    for number in range(episodes):
        bare.reset(seed=seed + number, options={"task": names[number % len(names)]})
        stretches, success = _episode(bare, make_expert(bare), rng, wander=wander, keep=keep)
        if success:
            successes += 1
            for stretch in stretches:
                for seen, chunk in stretch.lessons(_chunk_size(bins)):
                    inputs.append(seen)
                    tokens.append(bins.encode(chunk))
    if not tokens:
        raise ValueError(
            f"{successes} of {episodes} episodes succeeded, and keep={keep} has kept no step of "
            "them: there is nothing to clone"
        )
    stacked = {key: np.stack([row[key] for row in inputs]) for key in inputs[0]}
    return Demonstrations(stacked, np.stack(tokens), successes / episodes)


def clone(
    policy: ActorCriticPolicy,
    demonstrations: Demonstrations,
    *,
    epochs: int = 10,
    batch_size: int = 64,
    learning_rate: float = 3e-3,
    value_weight: float = 10.0,
    jitter: float = 0.1,
    seed: int = 0,
) -> list[float]:
    """Maximise the likelihood of the demonstrated tokens, and bring their mean value near.

    To the likelihood all wrong tokens are equally wrong, so that it is soonest raised by learning
    demonstrations by heart. The squared error of the mean action says where to look instead.

    Args:
        policy: That of a `GRPO` or `WeightedPPO` with `policy_arguments()`; on its device.
        demonstrations: What `demonstrate` recorded.
        epochs: Passes.
        batch_size: Samples in a step.
        learning_rate: Of AdamW at its highest; it rises to that in a tenth of the steps and
            falls to 0 along a cosine.
        value_weight: Of the squared error of the mean action, against the likelihood.
        jitter: Spread of noise on the state in `STATE_UNITS`, which would otherwise tell which
            demonstration a picture is from.
        seed: Of the order and the noise.

    Returns:
        Mean loss of each pass: negative log-likelihood of a token, in nats.
    """
    rng = np.random.default_rng(seed)
    optimizer = th.optim.AdamW(policy.parameters(), lr=learning_rate, weight_decay=1e-4)
    steps = epochs * -(-len(demonstrations) // batch_size)
    schedule = th.optim.lr_scheduler.OneCycleLR(
        optimizer, learning_rate, total_steps=steps, pct_start=0.1
    )
    noise = th.Generator().manual_seed(seed)
    policy.set_training_mode(True)
    losses = []
    for _ in range(epochs):
        passed = []
        for observations, tokens in _batches(demonstrations, batch_size, rng, policy.device):
            observations["state"] = _jittered(observations["state"], jitter, noise)
            entropy, error = _distances(policy, observations, tokens)
            loss = entropy + value_weight * error
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no annotation here
            th.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            passed.append(entropy.item())
        losses.append(float(np.mean(passed)))
    policy.set_training_mode(False)
    return losses


def _distances(
    policy: ActorCriticPolicy, observations: dict[str, th.Tensor], tokens: th.Tensor
) -> tuple[th.Tensor, th.Tensor]:
    """Cross entropy of a token, and squared error of the mean value, which is in [-1, 1]."""
    features: Any = policy.extract_features(observations)
    logits = policy.action_net(policy.mlp_extractor.forward_actor(features))
    logits = logits.reshape(*tokens.shape, -1)
    values = th.linspace(-1.0, 1.0, logits.shape[-1], device=logits.device)
    error = (logits.softmax(dim=2) @ values - values[tokens]).square().mean()
    return th.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten()), error


def _jittered(state: th.Tensor, spread: float, noise: th.Generator) -> th.Tensor:
    units = th.tensor(STATE_UNITS) * spread
    return state + (th.randn(state.shape, generator=noise) * units).to(state)


@dataclass
class _Stretch:
    """What an expert did without being disturbed."""

    actions: list[NDArray[np.float32]] = field(default_factory=list)
    seen: dict[int, dict[str, NDArray[Any]]] = field(default_factory=dict)
    """By the number of the action that followed."""
    to_the_end: bool = False
    """Whether the episode ended with it, so that the last action may go on."""

    def lessons(self, size: int) -> Iterator[tuple[dict[str, NDArray[Any]], NDArray[np.float32]]]:
        """What was seen, and the chunk of `size` actions that began there."""
        for start, seen in self.seen.items():
            chunk = self.actions[start : start + size]
            if self.to_the_end:
                chunk = [*chunk, *[chunk[-1]] * (size - len(chunk))]
            if len(chunk) == size:
                yield seen, np.stack(chunk)


def _episode(
    env: Any, act: Act, rng: np.random.Generator, *, wander: int, keep: float
) -> tuple[list[_Stretch], bool]:
    """What the expert did between the times when it was led astray; whether it succeeded."""
    stretches = [_Stretch()]
    # Draws only when told to, if it can.
    env.frames_due = False
    done, info = _lead_astray(env, rng, wander)
    while not done:
        stretch = stretches[-1]
        if rng.random() < keep:
            env.frames_due = True
            stretch.seen[len(stretch.actions)] = to_inputs(env.current_observation())
            env.frames_due = False
        stretch.actions.append(act())
        _, _, terminated, truncated, info = env.step(stretch.actions[-1])
        done = terminated or truncated
        if not done and rng.random() < _ASTRAY:
            stretches.append(_Stretch())
            done, info = _lead_astray(env, rng, wander)
    env.frames_due = True
    stretches[-1].to_the_end = True
    return stretches, bool(info.get("success_once"))


def _lead_astray(env: Any, rng: np.random.Generator, most: int) -> tuple[bool, dict[str, Any]]:
    """Move for some steps roughly one way; whether that ended the episode, and its last info."""
    direction = rng.uniform(-1.0, 1.0, ACTION_SIZE)
    for _ in range(rng.integers(most + 1)):
        action = np.clip(direction + rng.normal(scale=0.5, size=ACTION_SIZE), -1.0, 1.0)
        _, _, terminated, truncated, info = env.step(action.astype(np.float32))
        if terminated or truncated:
            return True, info
    return False, {}


def _chunk_size(bins: ActionBins) -> int:
    return bins.action_space.shape[0] // ACTION_SIZE  # type: ignore[index]  # a MultiDiscrete


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
