"""Environments that only have `step` under a world model: the engine of the reward wrappers."""

from wmrl_gym.stepping.async_lanes import AsyncLanes
from wmrl_gym.stepping.build import SteppingOptions, make_stepper
from wmrl_gym.stepping.gate import ValidityGate
from wmrl_gym.stepping.lanes import LocalLanes, Start
from wmrl_gym.stepping.scoring import ScoreFunction
from wmrl_gym.stepping.stepper import AnchoredStepper
from wmrl_gym.stepping.vector import VectorStepping

__all__ = [
    "AnchoredStepper",
    "AsyncLanes",
    "LocalLanes",
    "ScoreFunction",
    "Start",
    "SteppingOptions",
    "ValidityGate",
    "VectorStepping",
    "make_stepper",
]
