"""Scripts for the built-in tasks, good ones and faulty ones, to measure world models with."""

from wmrl_gym.envs.mle.scripts.faults import FAULTS, Fault
from wmrl_gym.envs.mle.scripts.plain import REFERENCES, Model, plain_script
from wmrl_gym.envs.mle.scripts.sample import Script, sample_scripts

__all__ = [
    "FAULTS",
    "REFERENCES",
    "Fault",
    "Model",
    "Script",
    "plain_script",
    "sample_scripts",
]
