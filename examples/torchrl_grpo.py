"""Train with torchrl's GRPO pieces under our reward wrapper: groups from us, the rest from torchrl.

A group of episodes starts alike; `MCAdvantage` compares them with one another, `ClipPPOLoss`
clips, and the wrapper's weight multiplies the loss. The task is a made-up one whose truth is
known, under a world model that is too lenient.

    python examples/torchrl_grpo.py
"""

from __future__ import annotations

import logging

import gymnasium as gym
import torch
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torch import nn
from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.envs import GymWrapper, set_exploration_type
from torchrl.envs.utils import ExplorationType
from torchrl.modules import ProbabilisticActor, TanhNormal
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.llm import MCAdvantage

from wmrl_gym import WorldModelRewardWrapper
from wmrl_gym.agents.torchrl import WorldModelInfo, weighted_loss, whole_groups
from wmrl_gym.envs.synthetic import SyntheticWorldModel

ITERATIONS, GROUPS, GROUP_SIZE, EPOCHS = 40, 8, 8, 4


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
        return_log_prob=True,
    )


def true_score(actor: ProbabilisticActor, episodes: int = 40) -> float:
    """Mean score of the policy by real executions."""
    env = GymWrapper(gym.make("WMRL-Synthetic-v0"))
    env.set_seed(10_000)
    with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
        return float(
            torch.stack([env.rollout(1, actor)["next", "reward"].sum() for _ in range(episodes)])
            .mean()
            .item()
        )


def main() -> None:
    """Train, and say what was executed."""
    torch.manual_seed(0)
    wrapped = WorldModelRewardWrapper(
        gym.make("WMRL-Synthetic-v0"), world_model=SyntheticWorldModel(bias=0.4, noise=0.05)
    )
    env = GymWrapper(wrapped).set_info_dict_reader(WorldModelInfo())
    actor = make_actor(env.observation_spec["observation"].shape[-1], env.action_spec.shape[-1])
    loss_module = ClipPPOLoss(actor, entropy_bonus=False, reduction="none")
    optimizer = torch.optim.Adam(loss_module.parameters(), lr=2e-2)
    buffer = ReplayBuffer(
        storage=LazyTensorStorage(GROUPS * GROUP_SIZE),
        sampler=SamplerWithoutReplacement(),
        transform=MCAdvantage(GROUP_SIZE, prompt_key="group", trajectory_return="sum"),
        batch_size=16,
    )
    print(f"true score before: {true_score(actor):.3f}")
    for iteration in range(ITERATIONS):
        episodes = []
        for group in range(iteration * GROUPS, (iteration + 1) * GROUPS):
            for _ in range(GROUP_SIZE):
                start = env.reset(seed=group, options={"group": group})
                with torch.no_grad():
                    episode = env.rollout(1, actor, auto_reset=False, tensordict=start)
                episodes.append(episode)
        wrapped.update()
        buffer.empty()
        steps = whole_groups(episodes)
        if steps is None:
            continue
        buffer.extend(steps)
        for _ in range(EPOCHS):
            for batch in buffer:
                loss = weighted_loss(loss_module(batch), batch["weight"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    totals = wrapped.anchored.totals
    print(f"true score after:  {true_score(actor):.3f}")
    print(f"real executions: {totals.executions_real}, avoided: {totals.executions_avoided}")
    env.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    main()
