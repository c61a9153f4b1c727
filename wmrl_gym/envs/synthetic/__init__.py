"""A task whose truth is known, and a world model whose faults are dials."""

from wmrl_gym.envs.synthetic.env import SyntheticEnv
from wmrl_gym.envs.synthetic.world_model import SyntheticWorldModel

__all__ = ["SyntheticEnv", "SyntheticWorldModel"]
