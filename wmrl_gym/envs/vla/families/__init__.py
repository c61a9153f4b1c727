"""The families of tasks, one file each."""

from __future__ import annotations

from wmrl_gym.envs.vla.families.button import Button
from wmrl_gym.envs.vla.families.drawer import Drawer
from wmrl_gym.envs.vla.families.family import Arrangement, Composition, Family, Pose
from wmrl_gym.envs.vla.families.knob import Knob
from wmrl_gym.envs.vla.families.pick_place import PickPlace
from wmrl_gym.envs.vla.families.push import Push
from wmrl_gym.envs.vla.families.reach import Reach
from wmrl_gym.envs.vla.families.sort import Sort
from wmrl_gym.envs.vla.families.stack import Stack

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Reach(),
        Push(),
        PickPlace(),
        Stack(),
        Drawer(),
        Button(),
        Knob(),
        Sort(),
    )
}
"""By name; a task of the environments is the name of a family."""

SPLITS = ("train", "held_out")

__all__ = ["FAMILIES", "SPLITS", "Arrangement", "Composition", "Family", "Pose"]
