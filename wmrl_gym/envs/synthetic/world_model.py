"""A world model of the synthetic task with known faults: r~ = f(r) + misjudgement + noise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from wmrl_gym.envs.synthetic.truth import aim, execute, uniform
from wmrl_gym.outcomes import Execution, Outcome, Source, WorldModel

DIALS = ("bias", "blindness", "noise", "drift", "misjudgement", "hacking")
MOST_BIAS = 0.6
"""Beyond it a crash (0.1) would look better than the worst script that runs (0.35)."""


class SyntheticWorldModel(WorldModel):
    """Predicts the true score, spoilt by six dials; the defaults spoil nothing.

    The faults are those of theory (`r~ = r + b + xi`) and those that users report:

        r~ = clip(r' + b_t (1 - r')^2 + misjudgement [skill > 0] + hacking gloss+ + noise xi, 0, 1)

    r' is the true score r, or what an overlooked crash would have scored if it had run.

    Args:
        bias: b in [0, 0.6], leniency: failures look better than they are. It keeps the order
            of the true scores, so isotonic regression can mend it, but it moves the best
            action: ambition looks cheap.
        blindness: Share of the crashes that are overlooked, in [0, 1]: the solution is judged by
            what it aims at. Ambition looks free.
        noise: Standard deviation of the Gaussian error xi, >= 0. It belongs to the execution:
            asking twice gives the same answer.
        drift: How much the leniency grows with every 1000 predictions, up to 0.6.
        misjudgement: What solutions of one kind (a positive `skill`) are over-rated by. No
            monotone map can mend it.
        hacking: What a whole unit of `gloss` is over-rated by, though it is worth less than
            nothing: the more the policy learns, the more it finds it.

    Raises:
        ValueError: If a dial is out of its range.
    """

    def __init__(
        self,
        *,
        bias: float = 0.0,
        blindness: float = 0.0,
        noise: float = 0.0,
        drift: float = 0.0,
        misjudgement: float = 0.0,
        hacking: float = 0.0,
    ) -> None:
        if not 0.0 <= bias <= MOST_BIAS:
            raise ValueError(f"bias={bias!r} must lie in [0, {MOST_BIAS}]")
        if not 0.0 <= blindness <= 1.0:
            raise ValueError(f"blindness={blindness!r} must lie in [0, 1]")
        if not noise >= 0.0:
            raise ValueError(f"noise={noise!r} must not be negative")
        self.bias = bias
        self.blindness = blindness
        self.noise = noise
        self.drift = drift
        self.misjudgement = misjudgement
        self.hacking = hacking
        self.predictions = 0
        """How many predictions were asked for; the drift follows it."""

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Predict `[B]` executions; see `Executor.execute`."""
        bias = float(np.clip(self.bias + self.drift * self.predictions / 1000.0, 0.0, MOST_BIAS))
        self.predictions += len(executions)
        return [self._predict(execution, bias) for execution in executions]

    def state_dict(self) -> dict[str, Any]:
        """How far the drift has got."""
        return {"predictions": self.predictions}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.predictions = state["predictions"]

    def _predict(self, execution: Execution, bias: float) -> Outcome:
        overlooks = uniform(execution, "overlooked") < self.blindness
        truth = aim(execution) if overlooks else execute(execution)
        assert truth.score is not None  # every synthetic execution has one
        _, skill, gloss, _ = json.loads(execution.artifact)
        score = truth.score + bias * (1.0 - truth.score) ** 2
        score += self.misjudgement * (skill > 0.0) + self.hacking * max(0.0, gloss)
        if self.noise:
            # ppf(0) would be minus infinity.
            score += self.noise * float(norm.ppf(max(uniform(execution, "noise"), 1e-12)))
        return replace(truth, score=float(np.clip(score, 0.0, 1.0)), source=Source.PREDICTED)


def synthetic_world_model(name: str) -> SyntheticWorldModel:
    """The model of that name: `synthetic` or `synthetic:DIAL=VALUE,DIAL=VALUE`.

    Raises:
        ValueError: If a dial is unknown, or no number.
    """
    dials = {}
    for part in filter(None, name.partition(":")[2].split(",")):
        dial, _, value = part.partition("=")
        if dial not in DIALS:
            raise ValueError(f"world_model={name!r}: {dial!r} is no dial; there are {DIALS}")
        dials[dial] = float(value)
    return SyntheticWorldModel(**dials)
