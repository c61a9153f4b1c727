"""Train with torchrl's GRPO pieces under our reward wrapper: groups from us, the rest from torchrl.

A group of episodes starts alike; `MCAdvantage` compares them with one another, `ClipPPOLoss`
clips, and the wrapper's weight multiplies the loss. The task is a made-up one whose truth is
known, under a world model that is too lenient.

    python examples/torchrl_grpo.py
"""

from __future__ import annotations

import logging

import gymnasium as gym
import numpy as np
import torch
from tensordict import TensorDictBase
from tensordict.nn import InteractionType, TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torch import nn
from torchrl import torchrl_logger
from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.envs import GymWrapper
from torchrl.modules import ProbabilisticActor, TanhNormal
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.llm import MCAdvantage

from wmrl_gym import WorldModelRewardWrapper
from wmrl_gym.agents.torchrl import WorldModelInfo, weighted_loss, whole_groups
from wmrl_gym.envs.synthetic import SyntheticWorldModel

ITERATIONS, GROUPS, GROUP_SIZE = 30, 8, 8
EPOCHS, MINIBATCH = 3, 32


def make_actor(observation_size: int, action_size: int) -> ProbabilisticActor:
    """A small policy of squashed Gaussians."""
    network = nn.Sequential(
        nn.Linear(observation_size, 64),
        nn.Tanh(),
        nn.Linear(64, 2 * action_size),
        NormalParamExtractor(),
    )
    return ProbabilisticActor(
        TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        # Without it the mode is taken, and the episodes of a group are all the same.
        default_interaction_type=InteractionType.RANDOM,
        return_log_prob=True,
    )


def true_score(actor: ProbabilisticActor, episodes: int = 60) -> float:
    """Mean score of the policy by real executions."""
    env = GymWrapper(gym.make("WMRL-Synthetic-v0"))
    env.set_seed(10_000)
    with torch.no_grad():
        return float(
            np.mean([float(env.rollout(1, actor)["next", "reward"]) for _ in range(episodes)])
        )


def play(env: GymWrapper, actor: ProbabilisticActor, group: int) -> list[TensorDictBase]:
    """The episodes of one group, which start alike."""
    episodes = []
    for _ in range(GROUP_SIZE):
        start = env.reset(seed=group, options={"group": group})
        with torch.no_grad():
            episodes.append(env.rollout(1, actor, auto_reset=False, tensordict=start))
    return episodes


def train(
    loss_module: ClipPPOLoss, optimizer: torch.optim.Optimizer, steps: TensorDictBase
) -> None:
    """A few passes over the steps of a batch, whose size varies when groups were invalid."""
    buffer = ReplayBuffer(
        storage=LazyTensorStorage(len(steps)),
        sampler=SamplerWithoutReplacement(),
        transform=MCAdvantage(GROUP_SIZE, prompt_key="group", trajectory_return="sum"),
        batch_size=MINIBATCH,
    )
    buffer.extend(steps)
    for _ in range(EPOCHS):
        for batch in buffer:
            loss = weighted_loss(loss_module(batch), batch["weight"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main() -> None:
    """Train, and say what was executed."""
    torch.manual_seed(0)
    wrapped = WorldModelRewardWrapper(
        gym.make("WMRL-Synthetic-v0"), world_model=SyntheticWorldModel(bias=0.4, noise=0.05)
    )
    env = GymWrapper(wrapped).set_info_dict_reader(WorldModelInfo())
    actor = make_actor(env.observation_spec["observation"].shape[-1], env.action_spec.shape[-1])
    loss_module = ClipPPOLoss(actor, entropy_bonus=False, reduction="none")
    optimizer = torch.optim.Adam(loss_module.parameters(), lr=0.02)
    print(f"true score before: {true_score(actor):.3f}")
    for iteration in range(ITERATIONS):
        first = iteration * GROUPS
        episodes = [e for group in range(first, first + GROUPS) for e in play(env, actor, group)]
        wrapped.update()
        steps = whole_groups(episodes)
        if steps is not None:
            train(loss_module, optimizer, steps)
    totals = wrapped.anchored.totals
    print(f"true score after:  {true_score(actor):.3f}")
    print(f"real executions: {totals.executions_real}, avoided: {totals.executions_avoided}")
    env.close()


if __name__ == "__main__":
    torchrl_logger.setLevel(logging.WARNING)
    main()
