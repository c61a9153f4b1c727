"""The executor that the reward wrappers put in the place of the real one.

It keeps one open episode per slot (sub-environment), routes each group either to the real
executor or to the world model, recasts predictions by the map of the correction, and
collects what `update()` feeds back at the batch boundary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.errors import WorldModelError
from wmrl_gym.executors.episode import (
    NO_VALUE,
    AnchorPair,
    Episode,
    Route,
    Totals,
    settled_route,
)
from wmrl_gym.executors.episode_log import EpisodeRow, append_rows
from wmrl_gym.executors.reordering import reordered
from wmrl_gym.outcomes import Execution, Executor, Outcome, Source, Status, WorldModel


@dataclass
class _Fresh:
    """What has come in since the last update."""

    pairs: list[AnchorPair] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)


class AnchoredExecutor:
    """Executes anchors for real and predicts the rest.

    Args:
        real: Executor of real executions.
        world_model: Predicts outcomes; learns from the real ones at each `update()`.
        correction: Chooses the anchors, recasts predicted scores and weighs the groups.
        slots: Number of sub-environments.
        first_group: First group id that is given out to episodes without one of their own.
        group_stride: Distance between such ids; `slots` workers number without collisions
            with `first_group=i, group_stride=slots`.
    """

    def __init__(
        self,
        real: Executor,
        world_model: WorldModel,
        correction: RewardCorrection,
        *,
        slots: int = 1,
        first_group: int = 0,
        group_stride: int = 1,
    ) -> None:
        self.real = real
        self.world_model = world_model
        self.correction = correction
        self.totals = Totals()
        self._first_group = first_group
        self._group_stride = group_stride
        self._started = [0] * slots
        self._episodes: list[Episode | None] = [None] * slots
        self._routes: dict[int, Route] = {}
        self._fresh = _Fresh()
        self.log: str | None = None
        """File that gets a line for every finished episode, at each `update()`; see
        `episode_log`."""
        self._rows: list[EpisodeRow] = []

    def begin(self, slot: int, group: int | None = None) -> None:
        """Open an episode in `slot`; the one that was open there leaves no pair.

        Args:
            slot: Index of the sub-environment.
            group: Group of the episode; `None` makes it a group of its own.
        """
        if group is None:
            group = self._next_group(slot)
        self._episodes[slot] = Episode(group=group, anchor=self.correction.is_anchor(group))

    def finish(self, slot: int) -> None:
        """Close the episode in `slot` at its natural end; an anchor leaves its pair."""
        episode = self._episode(slot)
        if episode.anchor and episode.valid and episode.paired and episode.route is not None:
            task = episode.last[0].task if episode.last is not None else ""
            pair = AnchorPair(episode.score_predicted, episode.score_true, episode.group, task)
            self._fresh.pairs.append(pair)
        row = episode.row()
        if self.log is not None and row is not None:
            self._rows.append(row)

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        """Route `[B]` executions by the group of their slot's episode; see `Executor.execute`.

        Predictions of the batch are one call of the world model, real executions one call
        of the real executor.

        Raises:
            WorldModelError: If the world model breaks its contract.
        """
        episodes = [self._episode(execution.slot) for execution in executions]
        routes = [self._route(e, x.task) for e, x in zip(episodes, executions, strict=True)]
        predicted = self._predict(executions, [route.predicted for route in routes])
        real = self._execute_real(executions, [route.real for route in routes])
        recast = self._recast(executions, episodes, predicted)
        outcomes = []
        for i, episode in enumerate(episodes):
            calibrated = recast.get(i, NO_VALUE)
            outcome = _combine(calibrated, predicted.get(i), real.get(i))
            episode.add(executions[i], outcome, calibrated)
            self.totals.add(outcome)
            outcomes.append(outcome)
        return outcomes

    def info(self, slot: int) -> dict[str, Any]:
        """The flat keys that `info` carries after every reset and step: plain Python values."""
        return self._episode(slot).info(self.correction.version)

    def update(self) -> dict[str, float]:
        """Feed the anchors back: to be called between batches, and only there.

        The residual is measured with the map from before these pairs, then the map and the
        weight change, then the world model learns. Groups whose episodes are still open
        keep the map that they started with.

        Returns:
            Diagnostics of the correction, and the totals.
        """
        fresh, self._fresh = self._fresh, _Fresh()
        self.correction.update(
            predicted=np.array([pair.predicted for pair in fresh.pairs], dtype=np.float64),
            true=np.array([pair.true for pair in fresh.pairs], dtype=np.float64),
            groups=np.array([pair.group for pair in fresh.pairs], dtype=np.int64),
            strata=[pair.task for pair in fresh.pairs],
        )
        self.world_model.learn(fresh.executions, fresh.outcomes)
        self._write_rows()
        open_groups = {episode.group for episode in self._episodes if episode is not None}
        self._routes = {g: route for g, route in self._routes.items() if g in open_groups}
        return {**self.correction.diagnostics(), **_floats(asdict(self.totals))}

    def close(self) -> None:
        """Close the real executor and the world model; safe to call twice."""
        self._write_rows()
        self.real.close()
        self.world_model.close()

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs. Episodes that are open are not part of it."""
        return {
            "correction": self.correction.state_dict(),
            "world_model": self.world_model.state_dict(),
            "pairs": [asdict(pair) for pair in self._fresh.pairs],
            "executions": list(self._fresh.executions),
            "outcomes": list(self._fresh.outcomes),
            "started": list(self._started),
            "totals": asdict(self.totals),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`.

        Raises:
            ValueError: If it was made for another number of slots.
        """
        if len(state["started"]) != len(self._started):
            raise ValueError(
                f"state has {len(state['started'])} slots, this executor {len(self._started)}"
            )
        self.correction.load_state_dict(state["correction"])
        self.world_model.load_state_dict(state["world_model"])
        self._fresh = _Fresh(
            pairs=[AnchorPair(**pair) for pair in state["pairs"]],
            executions=list(state["executions"]),
            outcomes=list(state["outcomes"]),
        )
        self._started = list(state["started"])
        self.totals = Totals(**state["totals"])
        self._routes = {}

    def _next_group(self, slot: int) -> int:
        turn = self._started[slot]
        self._started[slot] += 1
        return self._first_group + self._group_stride * (slot + len(self._started) * turn)

    def _episode(self, slot: int) -> Episode:
        episode = self._episodes[slot]
        if episode is None:
            raise RuntimeError(f"slot {slot} has no open episode: reset the environment first")
        return episode

    def _route(self, episode: Episode, task: str) -> Route:
        if episode.route is None:
            if episode.group not in self._routes:
                self._routes[episode.group] = self._new_route(episode, task)
            episode.route = self._routes[episode.group]
        return episode.route

    def _new_route(self, episode: Episode, task: str) -> Route:
        ready = self.world_model.ready(task)
        if self.correction.allocation is not None:
            # Only now is it known which task the group plays, on which its chances depend.
            episode.anchor = self.correction.is_anchor(episode.group, task)
        route = settled_route(
            self.correction, task, anchor=episode.anchor, forced=not ready, predicted=ready
        )
        self.totals.groups += 1
        self.totals.groups_real += route.real
        return route

    def _write_rows(self) -> None:
        rows, self._rows = self._rows, []
        if self.log is not None and rows:
            append_rows(self.log, rows)

    def _predict(self, batch: Sequence[Execution], wanted: Sequence[bool]) -> dict[int, Outcome]:
        chosen = [i for i, asked in enumerate(wanted) if asked]
        if not chosen:
            return {}
        predictions = self.world_model.execute([batch[i] for i in chosen])
        self._check(predictions, expected=len(chosen))
        return dict(zip(chosen, predictions, strict=True))

    def _execute_real(
        self, batch: Sequence[Execution], wanted: Sequence[bool]
    ) -> dict[int, Outcome]:
        chosen = [i for i, asked in enumerate(wanted) if asked]
        if not chosen:
            return {}
        executions = [batch[i] for i in chosen]
        outcomes = self.real.execute(executions)
        self._fresh.executions.extend(executions)
        self._fresh.outcomes.extend(outcomes)
        return dict(zip(chosen, outcomes, strict=True))

    def _recast(
        self,
        batch: Sequence[Execution],
        episodes: Sequence[Episode],
        predicted: Mapping[int, Outcome],
    ) -> dict[int, float]:
        """Scores by the map of each group, in the order that the world model prefers, if any.

        Anchors are treated alike, so that `info` shows what they would have got.
        """
        recast: dict[int, float] = {}
        groups: dict[int, list[int]] = {}
        for i, prediction in predicted.items():
            route = episodes[i].route
            if prediction.score is not None and route is not None:
                recast[i] = float(route.map(np.array([prediction.score]))[0])
                groups.setdefault(episodes[i].group, []).append(i)
        together = [members for members in groups.values() if len(members) > 1]
        if together:
            asked = [[batch[i] for i in members] for members in together]
            for members, preferred in zip(together, self.world_model.rerank(asked), strict=True):
                if preferred is not None:
                    values = reordered([recast[i] for i in members], preferred)
                    recast.update(zip(members, values, strict=True))
        return recast

    def _check(self, predictions: Sequence[Outcome], *, expected: int) -> None:
        name = type(self.world_model).__name__
        if len(predictions) != expected:
            raise WorldModelError(
                f"world model {name} gave {len(predictions)} outcomes for {expected} executions"
            )
        low, high = self.correction.bounds
        for outcome in predictions:
            # Written so that NaN, which compares false with everything, fails too.
            if outcome.score is not None and not low <= outcome.score <= high:
                raise WorldModelError(
                    f"world model {name} predicted score={outcome.score}, which is not within "
                    f"[{low}, {high}]; a prediction that failed is Outcome.unscored(...)"
                )


def _combine(calibrated: float, prediction: Outcome | None, real: Outcome | None) -> Outcome:
    """The outcome that the environment sees; `calibrated` is the recast prediction, if any."""
    raw = None if prediction is None else prediction.score
    if real is not None:
        return replace(real, predicted=raw)
    if prediction is None:
        raise RuntimeError("an execution was neither predicted nor carried out")
    if raw is None:
        return replace(prediction, status=Status.UNSCORED, source=Source.PREDICTED)
    return replace(prediction, score=calibrated, predicted=raw, source=Source.PREDICTED)


def _floats(counts: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in counts.items()}
