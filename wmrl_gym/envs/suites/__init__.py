"""Robotics suites of others whose own Gymnasium front lacks what groups of episodes need.

Most environments need no adapter: gymnasium's MuJoCo and gymnasium-robotics can be wrapped as
they are. Meta-World takes no seed at a reset, and LIBERO speaks an older interface.
"""

from wmrl_gym.envs.suites.libero import LiberoEnv
from wmrl_gym.envs.suites.metaworld import MetaWorldEnv

__all__ = ["LiberoEnv", "MetaWorldEnv"]
