"""A small vision-language-action policy: cloned from an expert, then trained by RL.

About a million parameters, which a CPU trains in minutes; on a GPU the same code runs unchanged.
"""

from wmrl_gym.agents.vla.acting import SmallVLAPolicy, saved_policy
from wmrl_gym.agents.vla.cloning import Demonstrations, clone, demonstrate
from wmrl_gym.agents.vla.film import FiLMExtractor, policy_arguments
from wmrl_gym.agents.vla.inputs import PolicyInputs, for_policy

__all__ = [
    "Demonstrations",
    "FiLMExtractor",
    "PolicyInputs",
    "SmallVLAPolicy",
    "clone",
    "demonstrate",
    "for_policy",
    "policy_arguments",
    "saved_policy",
]
