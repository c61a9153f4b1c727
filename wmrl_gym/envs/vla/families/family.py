"""What a family of tasks is: bodies, starts, words, a goal, and how to reach it.

A family is one scene with one kind of task. A *composition* fills in its factors (which object,
which colour, which goal). About a fifth of the compositions are held out, chosen so that each
value of a factor is still seen in training, only not in that combination.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.families.motions import Waypoint
from wmrl_gym.envs.vla.view import SceneView

Composition = tuple[str, ...]

_HELD_OUT_EVERY = 5


class Pose(NamedTuple):
    """Where a body stands: metres, and radians about the vertical."""

    x: float
    y: float
    z: float
    yaw: float = 0.0


@dataclass(frozen=True)
class Arrangement:
    """A drawn start: where everything stands, how it is painted, and which part it plays."""

    poses: Mapping[str, Pose]
    """By body; the body is loose or fixed to the world."""
    colours: Mapping[str, str]
    """Name of a colour by body: paints the geoms whose names begin with `<body>_skin`."""
    roles: tuple[str, ...]
    """Bodies in the order in which they are observed, at most `ROLES`; the target first."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Joint value by body, where it is not 0."""
    goal_value: float = 0.0
    """Joint value that the target has to come to; 0 where it has no joint."""


class Family(ABC):
    """One kind of task. Stateless: all that varies is in the `SceneView`."""

    name: ClassVar[str]
    horizon: ClassVar[int]
    """Control steps after which an episode is truncated by default."""
    factors: ClassVar[Mapping[str, tuple[str, ...]]]
    """What a composition is made of: the values of each factor."""
    templates: ClassVar[tuple[str, ...]]
    """Instructions with the factors' names in braces."""

    @abstractmethod
    def bodies(self) -> str:
        """MJCF for the `worldbody`."""

    @abstractmethod
    def arrange(self, rng: np.random.Generator, composition: Composition) -> Arrangement:
        """Draw a start for `composition`."""

    @abstractmethod
    def goal(self, view: SceneView) -> NDArray[np.float64]:
        """Where the target, or the hand, has to come to, `[3]` metres."""

    @abstractmethod
    def success(self, view: SceneView) -> bool:
        """Whether the task is achieved in this state."""

    @abstractmethod
    def progress(self, view: SceneView) -> float:
        """How far the task has come, in [0, 1], 0 at the start; `success` is not looked at."""

    @abstractmethod
    def expert(self, view: SceneView) -> Iterator[Waypoint]:
        """Solve the task: one waypoint for each control step, from the state at that step."""

    def possible(self, composition: Composition) -> bool:
        """Whether a combination of factors makes sense."""
        return True

    def compositions(self, split: str) -> list[Composition]:
        """The combinations of `split`, `"train"` or `"held_out"`; the two are disjoint."""
        sizes = [range(len(values)) for values in self.factors.values()]
        held_out = split == "held_out"
        combinations = (
            self._combination(indices)
            for indices in product(*sizes)
            if (sum(indices) % _HELD_OUT_EVERY == 0) == held_out
        )
        return [combination for combination in combinations if self.possible(combination)]

    def _combination(self, indices: tuple[int, ...]) -> Composition:
        return tuple(
            values[index] for values, index in zip(self.factors.values(), indices, strict=True)
        )

    def instruction(self, rng: np.random.Generator, composition: Composition) -> str:
        """Put `composition` into words, by a template drawn at random."""
        template = self.templates[int(rng.integers(len(self.templates)))]
        return template.format(**dict(zip(self.factors, composition, strict=True)))
