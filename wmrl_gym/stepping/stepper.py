"""The engine of the reward wrappers on environments that only have `step`.

It keeps one open episode per lane (sub-environment). An episode whose group is real is stepped
for real; the same actions are replayed through the model from the same start, which gives the
pair. Any other episode begins with a real reset too, and is then advanced by the model alone.
All lanes share one forward pass. With a model that scores real rollouts instead, every episode
is stepped for real, and its score is predicted where its group is not real.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction import RewardCorrection
from wmrl_gym.executors.episode import NO_VALUE, Route, settled_route
from wmrl_gym.executors.episode_log import append_rows
from wmrl_gym.stepping.episode import Dream, LaneEpisode
from wmrl_gym.stepping.gate import ValidityGate
from wmrl_gym.stepping.groups import GroupBook
from wmrl_gym.stepping.imagination import imagine, judge
from wmrl_gym.stepping.lanes import Lanes, Start, Transition
from wmrl_gym.stepping.scoring import ScoreRule
from wmrl_gym.stepping.spaces import FlatActions, FlatObservations
from wmrl_gym.stepping.success import known_success, step_success
from wmrl_gym.stepping.totals import Fresh, ScoredPair, SteppingTotals
from wmrl_gym.world_models.dynamics import DynamicsModel
from wmrl_gym.world_models.progress import RewardModel

KEPT = ("task", "instruction", "init_state_id")
"""What imagined steps repeat of the reset's `info`: of nothing else is it known to still hold."""


class AnchoredStepper:
    """Steps anchors for real and imagines the rest.

    Args:
        lanes: The sub-environments.
        model: Imagines steps, or scores real rollouts.
        correction: Chooses the anchors, recasts predicted scores and weighs the groups.
        rule: What an episode is worth.
        gate: Says which tasks need not run for real.
        horizon: Steps after which an episode is truncated, real or imagined, unless
            `info["horizon"]` of its reset is lower; `None` if that decides alone.
        terminate_on_success: Whether success ends an episode, where the score is success.
        first_group: First group id that is given out to episodes without one of their own.
        group_stride: Distance between such ids.
    """

    def __init__(
        self,
        lanes: Lanes,
        model: DynamicsModel | RewardModel,
        correction: RewardCorrection,
        rule: ScoreRule,
        gate: ValidityGate,
        *,
        horizon: int | None,
        terminate_on_success: bool,
        first_group: int = 0,
        group_stride: int = 1,
    ) -> None:
        self.lanes = lanes
        self.world_model = model
        self.correction = correction
        self.rule = rule
        self.gate = gate
        self.horizon = horizon
        self.totals = SteppingTotals()
        self.log: str | None = None
        """File that gets a line for every finished episode; see `episode_log`."""
        self._dynamics = model if isinstance(model, DynamicsModel) else None
        self._judge = None if isinstance(model, DynamicsModel) else model
        # Rewards of single steps are known to a model of the dynamics only.
        self._dense = rule.dense and self._dynamics is not None
        self._stops_at_success = terminate_on_success and rule.by_success
        self._observations = FlatObservations(lanes.spaces.observation)
        self._actions = FlatActions(lanes.spaces.action)
        self._groups = GroupBook(lanes.count, first=first_group, stride=group_stride)
        self._episodes: list[LaneEpisode | None] = [None] * lanes.count
        self._fresh = Fresh()

    def reset(self, starts: Mapping[int, Start]) -> dict[int, tuple[Any, dict[str, Any]]]:
        """Reset the lanes named and open an episode in each; those open there leave no pair."""
        results = {}
        for lane, (observation, info) in self.lanes.reset(starts).items():
            episode = self._open(lane, starts[lane], observation, info)
            self._episodes[lane] = episode
            results[lane] = observation, {**info, **episode.info(self.correction.version)}
        return results

    def step(self, actions: Mapping[int, Any]) -> dict[int, Transition]:
        """Take one step in each of the lanes named: for real, in imagination, or both.

        Args:
            actions: Action by lane.

        Raises:
            RuntimeError: If a lane has no open episode.
            WorldModelError: If the model breaks its contract.
            UnsupportedEnvironmentError: If the score is success, and `info` does not tell it.
        """
        episodes = {lane: self._begun(lane) for lane in actions}
        vectors = {lane: self._actions.flatten(action) for lane, action in actions.items()}
        began = time.perf_counter()
        # Workers in other processes step while the model runs.
        self.lanes.send({i: a for i, a in actions.items() if episodes[i].real is not None})
        self._imagine(episodes, vectors)
        imagined = time.perf_counter()
        real = self.lanes.receive()
        self._spend(episodes, real, imagined - began, time.perf_counter() - imagined)
        results = {
            lane: self._really(episode, vectors[lane], real[lane])
            if lane in real
            else self._imaginarily(episode)
            for lane, episode in episodes.items()
        }
        self._close({lane: e for lane, e in episodes.items() if e.ended}, results)
        version = self.correction.version
        return {
            lane: result._replace(info={**result.info, **episodes[lane].info(version)})
            for lane, result in results.items()
        }

    def update(self) -> dict[str, float]:
        """Feed the real episodes back: to be called between batches, and only there.

        The residual is measured with the map from before these pairs, then the map and the
        weight change, then the model learns, then the gate decides. Groups whose episodes are
        still open keep the source and the map that they started with.

        Returns:
            Diagnostics of the correction and of the gate, and the totals.
        """
        fresh, self._fresh = self._fresh, Fresh()
        self.correction.update(
            predicted=np.array([pair.predicted for pair in fresh.pairs], dtype=np.float64),
            true=np.array([pair.true for pair in fresh.pairs], dtype=np.float64),
            groups=np.array([pair.group for pair in fresh.pairs], dtype=np.int64),
            strata=[pair.task for pair in fresh.pairs],
        )
        for pair in fresh.pairs:
            self.gate.record(pair.task, pair.predicted, pair.true)
        if self._dynamics is not None and fresh.episodes:
            self._dynamics.learn(fresh.episodes)
        self.gate.decide(calibrated=self.correction.calibrated or not self.correction.debias)
        self._groups.keep({e.group for e in self._episodes if e is not None and not e.ended})
        totals = {name: float(value) for name, value in asdict(self.totals).items()}
        return {**self.correction.diagnostics(), **self.gate.diagnostics(), **totals}

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs. Episodes that are open are not part of it."""
        return {
            "correction": self.correction.state_dict(),
            "world_model": {} if self._dynamics is None else self._dynamics.state_dict(),
            "gate": self.gate.state_dict(),
            "pairs": [tuple(pair) for pair in self._fresh.pairs],
            "episodes": list(self._fresh.episodes),
            "started": list(self._groups.started),
            "totals": asdict(self.totals),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`.

        Raises:
            ValueError: If it was made for another number of lanes.
        """
        if len(state["started"]) != self.lanes.count:
            raise ValueError(
                f"state has {len(state['started'])} slots, this environment {self.lanes.count}"
            )
        self.correction.load_state_dict(state["correction"])
        if self._dynamics is not None:
            self._dynamics.load_state_dict(state["world_model"])
        self.gate.load_state_dict(state["gate"])
        pairs = [ScoredPair(*pair) for pair in state["pairs"]]
        self._fresh = Fresh(pairs=pairs, episodes=list(state["episodes"]))
        self._groups.started = list(state["started"])
        self._groups.keep(())
        self.totals = SteppingTotals(**state["totals"])

    def _open(
        self, lane: int, start: Start, observation: Any, info: Mapping[str, Any]
    ) -> LaneEpisode:
        group = self._groups.next_id(lane) if start.group is None else start.group
        return LaneEpisode(
            group=group,
            anchor=self.correction.is_anchor(group),
            task=str(info.get("task", "")),
            start=self._observations.flatten(observation),
            seed=start.seed,
            horizon=_horizon(self.horizon, info),
            kept={key: info[key] for key in KEPT if key in info},
        )

    def _begun(self, lane: int) -> LaneEpisode:
        """The open episode of a lane; before its first step, its source is settled."""
        episode = self._episodes[lane]
        if episode is None or episode.ended:
            raise RuntimeError(f"slot {lane} has no open episode: reset the environment first")
        if episode.route is None:
            route = self._groups.route(episode) or self._new_route(episode)
            episode.route = route
            if route.real or self._dynamics is None:
                episode.real = episode.builder()
            if route.predicted and self._dynamics is not None:
                episode.dream = Dream(episode.start, episode.builder())
        return episode

    def _new_route(self, episode: LaneEpisode) -> Route:
        ready = self._dynamics is None or self._dynamics.ready(episode.task)
        if self.correction.allocation is not None:
            episode.anchor = self.correction.is_anchor(episode.group, episode.task)
        route = settled_route(
            self.correction,
            episode.task,
            anchor=episode.anchor,
            forced=not (ready and self.gate.is_open(episode.task)),
            predicted=ready,
        )
        self.totals.groups += 1
        self.totals.groups_real += route.real
        self._groups.settle(episode.group, route)
        return route

    def _imagine(
        self, episodes: Mapping[int, LaneEpisode], vectors: Mapping[int, npt.NDArray[np.float32]]
    ) -> None:
        dreams = {i: e.dream for i, e in episodes.items() if e.dream and not e.dream.ended}
        if self._dynamics is not None:
            imagine(
                self._dynamics,
                dreams,
                vectors,
                last={
                    lane for lane in dreams if episodes[lane].steps + 1 >= episodes[lane].horizon
                },
                stops_at_success=self._stops_at_success,
            )

    def _spend(
        self,
        episodes: Mapping[int, LaneEpisode],
        real: Mapping[int, Transition],
        seconds_model: float,
        seconds_real: float,
    ) -> None:
        """Account for the time of a step, in equal shares."""
        self.totals.seconds_model += seconds_model
        self.totals.seconds_real += seconds_real if real else 0.0
        for lane, episode in episodes.items():
            episode.seconds += (
                seconds_real / len(real) if lane in real else seconds_model / len(episodes)
            )

    def _really(
        self, episode: LaneEpisode, action: npt.NDArray[np.float32], step: Transition
    ) -> Transition:
        """Account for a step of the environment."""
        assert episode.real is not None
        tell = step_success if self.rule.by_success else known_success
        success = tell(step.info)
        episode.steps += 1
        self.totals.steps_real += 1
        terminated = bool(step.terminated) or (self._stops_at_success and success)
        late = episode.steps >= episode.horizon and not terminated
        truncated = bool(step.truncated) or late
        episode.real.add(
            action,
            self._observations.flatten(step.observation),
            float(step.reward),
            terminated=terminated,
            truncated=truncated,
            success=success,
        )
        frame = None if self._judge is None else self._observations.frame(step.observation)
        if frame is not None:
            episode.real.add_frame(frame)
        episode.ended = terminated or truncated
        reward = float(step.reward) if self._dense else 0.0
        return Transition(step.observation, reward, terminated, truncated, step.info)

    def _imaginarily(self, episode: LaneEpisode) -> Transition:
        """Account for a step that the model took; one that has lost its way ends the episode."""
        dream = episode.dream
        assert dream is not None
        episode.steps += 1
        self.totals.steps_imagined += 1
        episode.ended = dream.ended
        reward = dream.reward if self._dense and not dream.lost else 0.0
        return Transition(
            self._observations.unflatten(dream.observation),
            reward,
            dream.terminated,
            dream.truncated or dream.lost,
            dict(episode.kept),
        )

    def _close(self, ended: Mapping[int, LaneEpisode], results: dict[int, Transition]) -> None:
        """Score the episodes that have ended, and let the score arrive with their last step."""
        for lane, predicted in self._predictions(ended).items():
            episode = ended[lane]
            assert episode.route is not None
            episode.score_predicted = predicted
            if not np.isnan(predicted):
                episode.score_calibrated = float(episode.route.map(np.array([predicted]))[0])
            self._collect(episode)
            score = episode.score_true if episode.route.real else episode.score_calibrated
            episode.valid = not np.isnan(score)
            self._count(episode)
            results[lane] = results[lane]._replace(
                reward=self._last_reward(episode, float(results[lane].reward), score)
            )
        if self.log is not None and ended:
            append_rows(self.log, [episode.row() for episode in ended.values()])

    def _predictions(self, ended: Mapping[int, LaneEpisode]) -> dict[int, float]:
        """Raw predicted score of each ended episode; NaN where there is none."""
        if self._judge is not None:
            records = [e.real.build() for e in ended.values() if e.real is not None]
            began = time.perf_counter()
            shares = judge(self._judge, records)
            self.totals.seconds_model += time.perf_counter() - began
            return {i: self.rule.of_share(s) for i, s in zip(ended, shares, strict=True)}
        return {lane: self._dreamt(episode.dream) for lane, episode in ended.items()}

    def _dreamt(self, dream: Dream | None) -> float:
        if dream is None or dream.lost:
            return NO_VALUE
        return self.rule.imagined(dream.builder.build(), dream.success)

    def _collect(self, episode: LaneEpisode) -> None:
        """Take what an ended episode teaches: its record, and its pair."""
        assert episode.route is not None
        if episode.real is None:
            return
        record = episode.real.build()
        if self._dynamics is not None:
            self._fresh.episodes.append(record)
        if episode.route.real:
            episode.score_true = self.rule.true(record)
            pair = ScoredPair(
                episode.task, episode.group, episode.score_predicted, episode.score_true
            )
            if not np.isnan([pair.predicted, pair.true]).any():
                self._fresh.pairs.append(pair)

    def _count(self, episode: LaneEpisode) -> None:
        assert episode.route is not None
        self.totals.episodes_real += episode.route.real
        self.totals.episodes_predicted += not episode.route.real
        self.totals.unscored += not episode.valid

    def _last_reward(self, episode: LaneEpisode, reward: float, score: float) -> float:
        """What the last step gives, so that the return is the score."""
        if not episode.valid:
            return 0.0
        if not self._dense:
            return score
        if episode.dream is None or episode.real is not None:
            return reward
        # The record holds all predicted rewards, the last one too, which the score replaces.
        return score - (episode.dream.builder.build().total_reward - reward)


def _horizon(limit: int | None, info: Mapping[str, Any]) -> int:
    limits = [int(each) for each in (limit, info.get("horizon")) if each is not None]
    if not limits:
        raise ValueError(
            "horizon=None, and info['horizon'] of the reset does not tell it either: say after how "
            "many steps an episode ends"
        )
    return min(limits)
