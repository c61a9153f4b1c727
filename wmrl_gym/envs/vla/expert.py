"""A scripted expert that sees the true state, and the same expert with less skill."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.controller import GRIP, MOVE, TURN
from wmrl_gym.envs.vla.families.motions import Waypoint
from wmrl_gym.envs.vla.simulation import Simulation

_NOISE_MEMORY = 0.8
_LONGEST_LAPSE = 12


class Expert:
    """Solves any task of a simulation; starts its plan again when that did not achieve it.

    With `skill` below 1 its actions are mixed with slowly varying noise, and now and then it
    lapses into a random motion for some steps. At 0 it acts at random altogether.

    Args:
        simulation: The scene, already reset; make a new expert after each reset.
        skill: From 0 to 1.
        rng: Source of the noise; needed only for a `skill` below 1.

    Raises:
        ValueError: If `skill` is not in [0, 1], or is below 1 without an `rng`.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        skill: float = 1.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        if not 0.0 <= skill <= 1.0:
            raise ValueError(f"skill={skill} must be in [0, 1]")
        if rng is None and skill < 1.0:
            raise ValueError(f"skill={skill} below 1 needs an rng")
        self.skill = skill
        self._simulation = simulation
        self._rng = rng
        self._plan: Iterator[Waypoint] = iter(())
        self._noise = np.zeros(7)
        self._lapse = 0

    def act(self) -> NDArray[np.float32]:
        """The action for the present state, `[7]` within [-1, 1]; call it once for each step."""
        action = self._towards(self._waypoint())
        if self._rng is not None and self.skill < 1.0:
            action = self._spoil(action, self._rng)
        return np.clip(action, -1.0, 1.0).astype(np.float32)

    def _waypoint(self) -> Waypoint:
        for _ in range(2):
            waypoint = next(self._plan, None)
            if waypoint is not None:
                return waypoint
            self._plan = self._simulation.family.expert(self._simulation.view)
        return Waypoint(self._simulation.view.hand.copy(), self._simulation.view.yaw, 1.0)

    def _towards(self, waypoint: Waypoint) -> NDArray[np.float64]:
        """The action that moves the commanded pose as far to the waypoint as its pace allows."""
        controller = self._simulation.controller
        action = np.empty(7)
        action[:3] = _limited((waypoint.position - controller.position) / MOVE, waypoint.pace)
        turn = np.array([0.0, 0.0, waypoint.yaw]) - controller.turn
        action[3:6] = _limited(turn / TURN, 1.0)
        action[6] = (controller.opening - waypoint.opening) / GRIP
        return action

    def _spoil(self, action: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        clumsiness = 1.0 - self.skill
        fresh = rng.normal(size=7) * np.sqrt(1.0 - _NOISE_MEMORY**2)
        self._noise = _NOISE_MEMORY * self._noise + fresh
        if self._lapse == 0 and rng.random() < 0.1 * clumsiness:
            self._lapse = int(rng.integers(1, _LONGEST_LAPSE + 1))
        if self._lapse:
            self._lapse -= 1
            return self._noise
        return self.skill * action + clumsiness * self._noise


def _limited(motion: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """Shorten a motion so that no entry exceeds `most`, and its direction stays."""
    largest = float(np.abs(motion).max())
    return motion if largest <= most else motion * (most / largest)
