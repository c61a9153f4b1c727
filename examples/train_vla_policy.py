"""A small policy that sees two pictures and reads an instruction: cloned, then trained by RL.

It learns from a scripted expert to press one of three buttons, the one that it is told. Then
GRPO goes on with the reward of a judge: here a made-up one that takes some failures for
successes, in life a large model that has watched the episode. At first the true success of all is
looked at; as soon as that shows that the judge ranks episodes rightly, only that of a tenth of the
groups, the anchors.

    python examples/train_vla_policy.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wmrl_gym import WorldModelRewardVectorWrapper
from wmrl_gym.agents import GRPO
from wmrl_gym.agents.vla import SmallVLAPolicy, clone, demonstrate, for_policy, policy_arguments
from wmrl_gym.envs.vla.expert import Expert
from wmrl_gym.envs.vla.rollouts import Start, play, success_rate
from wmrl_gym.episodes import EpisodeRecord

TASK = "button"
DEMONSTRATIONS, EPOCHS = 2400, 5
GROUPS, GROUP_SIZE, BATCHES = 4, 8, 3
EVALUATED = 40


class LenientJudge:
    """Scores real episodes; a fifth of the failures pass for successes."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def score(self, episodes: Sequence[EpisodeRecord]) -> np.ndarray:
        """`[N]` in [0, 1]."""
        deceived = self.rng.random(len(episodes)) < 0.2
        achieved = np.array([episode.success_once for episode in episodes])
        return np.where(achieved | deceived, 0.9, 0.1)


def make() -> gym.Env[Any, Any]:
    """Small pictures that are quickly drawn."""
    return gym.make("wmrl_gym:WMRL-VLA-v0", task=TASK, image_size=64, render_profile="fast")


def evaluate(model: GRPO) -> str:
    """Play from initial states that nobody has trained on."""
    envs: list[Any] = [make().unwrapped for _ in range(10)]
    starts = [Start(TASK, number) for number in range(EVALUATED)]
    rate = success_rate(TASK, list(play(envs, lambda _: SmallVLAPolicy(model), starts)))
    return f"{rate.success_once:.0%} of {rate.episodes} ({rate.low:.0%} to {rate.high:.0%})"


def main() -> None:
    """Clone, train, and say what each has brought."""
    torch.set_num_threads(1)  # the network is small: two threads take twice the work
    shown = demonstrate(
        for_policy(make()), lambda env: Expert(env.simulation).act, episodes=DEMONSTRATIONS
    )
    envs = WorldModelRewardVectorWrapper(
        SyncVectorEnv(
            [lambda: for_policy(make())] * GROUP_SIZE, autoreset_mode=AutoresetMode.DISABLED
        ),
        world_model=LenientJudge(),
        anchor_fraction=0.1,
    )
    model = GRPO(
        "MultiInputPolicy",
        envs,
        group_size=GROUP_SIZE,
        groups_per_batch=GROUPS,
        learning_rate=1e-4,
        policy_kwargs=policy_arguments(),
        seed=0,
    )
    print(f"an untrained policy succeeds in   {evaluate(model)}")
    losses = clone(model.policy, shown, epochs=EPOCHS)
    print(
        f"cloned from {len(shown)} moments: loss {losses[0]:.2f} -> {losses[-1]:.2f} nats a token"
    )
    print(f"the cloned policy succeeds in     {evaluate(model)}")
    for _ in range(BATCHES):
        model.learn(1, reset_num_timesteps=False)  # a batch
    totals: Any = envs.anchored.totals
    print(f"after {model.groups_done} groups by GRPO it does in {evaluate(model)}")
    print(f"scored by the judge: {totals.episodes_predicted}, for real: {totals.episodes_real}")
    envs.close()


if __name__ == "__main__":
    main()
