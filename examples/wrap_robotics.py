"""Train on a robot simulator while a learned model of its dynamics takes most of the steps.

The environment is gymnasium's Reacher, as it comes; gymnasium-robotics' and Meta-World's work
alike (Meta-World by `wmrl_gym.envs.suites.MetaWorldEnv`). At first all runs for real. As soon
as the anchors show that the model ranks episodes rightly, most of them are imagined.

    python examples/wrap_robotics.py
"""

from __future__ import annotations

import logging

import gymnasium as gym
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wmrl_gym import WorldModelRewardVectorWrapper
from wmrl_gym.agents import WeightedPPO

logging.basicConfig(level=logging.INFO, format="%(message)s")  # the gate says what it does

env = WorldModelRewardVectorWrapper(
    SyncVectorEnv([lambda: gym.make("Reacher-v5")] * 16, autoreset_mode=AutoresetMode.SAME_STEP),
    world_model="dynamics",
    anchor_fraction=0.1,
    score="return",
    score_bounds=(-120.0, 0.0),
)
agent = WeightedPPO("MlpPolicy", env, n_steps=100, batch_size=200, gamma=0.9, seed=0)
for _ in range(8):
    agent.learn(1600, reset_num_timesteps=False)
    totals, figures = env.anchored.totals, env.anchored.gate.diagnostics()
    print(
        f"real steps {totals.steps_real:6d}   imagined {totals.steps_imagined:6d}   "
        f"agreement of model and reality at least {figures.get('gate/task/lower', 0.0):.2f}"
    )
env.close()
