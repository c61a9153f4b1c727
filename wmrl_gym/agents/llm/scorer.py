"""Groups of text episodes, played and scored: the one contract that trainers call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from gymnasium.spaces import Text

from wmrl_gym.agents.llm.scores import Score, group_scores
from wmrl_gym.correction import RewardCorrection
from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.outcomes import Execution, WorldModel
from wmrl_gym.wrappers.anchoring import make_anchored_executor

TextEnv = ExecutionEnv[str, str]


@dataclass(frozen=True)
class Turn:
    """What an environment answered to one action."""

    observation: str
    done: bool
    """Whether the episode has ended."""


@dataclass
class _Episode:
    env: TextEnv
    group: int
    done: bool = False
    score: float = 0.0
    """Sum of the rewards so far."""


class GroupScorer:
    """Plays a batch of episodes in lock-step and scores them by group.

    In each step all executions that the batch asks for are one call: the world model predicts
    them as one batch, and real ones run side by side. Which groups are anchors is a pure
    function of (seed, group id). Weights and the map change in `update` and nowhere else.

    A trainer that generates by itself calls `start`, then `step` until all are done, then
    `scores`, then `update`. One whose episodes come and go calls `open`, `step` and `scores`
    for each of them. One that has finished rollouts calls `score_groups` (or `score_group`,
    which is its case of one group), then `update`.

    Args:
        make_env: Makes an environment that takes and gives text. Called when more episodes
            are open at once than ever before; the executor of the first one carries out the
            real executions.
        episodes: Most episodes that are open at once, at least 1.
        world_model: A name (see `register_world_model`) or an object.
        anchor_fraction: Share of groups that are executed for real, in `[0, 1]`.
        seed: Seed of the anchor draw, at least 0.
        correction_options: Further arguments of `RewardCorrection`.

    Raises:
        UnsupportedEnvironmentError: If the environment has no executor, or takes no text.
        ValueError: If an argument is out of its range.

    Examples:
        >>> import gymnasium as gym
        >>> scorer = GroupScorer(lambda: gym.make("WMRL-MLE-v0", tasks=["wine-cultivar"]),
        ...                      episodes=2, anchor_fraction=0.0)
        >>> scores = scorer.score_group("wine-cultivar", ["no action", "submit"])
        >>> [(score.reward, score.weight) for score in scores]
        [(0.0, 1.0), (0.0, 1.0)]
        >>> scorer.close()
    """

    def __init__(
        self,
        make_env: Callable[[], Any],
        *,
        episodes: int,
        world_model: str | WorldModel = "surrogate",
        anchor_fraction: float = 0.1,
        seed: int = 0,
        correction_options: Mapping[str, Any] | None = None,
    ) -> None:
        if episodes < 1:
            raise ValueError(f"episodes={episodes} must be at least 1")
        self._make_env = make_env
        self._envs: list[TextEnv] = [text_env(make_env())]
        self.real = self._envs[0].executor
        """Carries out the real executions."""
        if (correction_options or {}).get("fusion") == "prediction_powered":
            raise ValueError(
                "correction_options: fusion='prediction_powered' gives an episode two advantages, "
                "which trainers of language models cannot take: use the GRPO of wmrl_gym.agents"
            )
        self.anchored = make_anchored_executor(
            self.real,
            world_model=world_model,
            anchor_fraction=anchor_fraction,
            seed=seed,
            bounds=self._envs[0].score_bounds,
            options=correction_options,
            slots=episodes,
        )
        self.episodes = episodes
        self.groups_started = 0
        """Groups so far; also the id of the next one."""
        self._open: dict[int, _Episode] = {}
        self.watch: Callable[[Sequence[Execution]], AbstractContextManager[Any]] = (
            lambda executions: nullcontext()
        )
        """Entered while the executions of a step are predicted or carried out."""

    @property
    def correction(self) -> RewardCorrection:
        """The anchors, the map and the weight in use."""
        return self.anchored.correction

    def first_observation(self, task: str) -> str:
        """What an episode of `task` starts with.

        Raises:
            RuntimeError: If a batch is open, whose episodes this would disturb.
        """
        if self._open:
            raise RuntimeError("a batch is open: ask for first observations before `start`")
        return _reset(self._envs[0], task)

    def next_groups(self, count: int) -> range:
        """Ids for the next `count` groups. They count up, also across a resumed run."""
        first = self.groups_started
        self.groups_started += count
        return range(first, self.groups_started)

    def start(self, tasks: Sequence[str], groups: Sequence[int]) -> list[str]:
        """Open a batch; what is left of an unfinished one is dropped.

        Args:
            tasks: `[B]` task of each episode; `""` leaves the choice to the environment.
            groups: `[B]` id of its group, at least 0; members of a group have one task.

        Returns:
            `[B]` first observations.

        Raises:
            ValueError: If there are more than `episodes`, or the lengths differ.
        """
        if len(tasks) > self.episodes:
            raise ValueError(
                f"a batch of {len(tasks)} episodes is more than episodes={self.episodes}"
            )
        self._open = {}
        members = enumerate(zip(tasks, groups, strict=True))
        return [self._begin(slot, task, int(group)) for slot, (task, group) in members]

    def open(self, task: str, group: int) -> tuple[int, str]:
        """Open one more episode beside those that are open.

        Args:
            task: Its task; `""` leaves the choice to the environment.
            group: Id of its group, at least 0.

        Returns:
            Its index, which is free again after `scores`, and its first observation.

        Raises:
            ValueError: If `episodes` are open already.
        """
        slot = next((i for i in range(self.episodes) if i not in self._open), None)
        if slot is None:
            raise ValueError(f"episodes={self.episodes} are open already: score one, or raise it")
        return slot, self._begin(slot, task, group)

    def step(self, actions: Mapping[int, str]) -> dict[int, Turn]:
        """Take one action in some of the open episodes.

        Args:
            actions: Text by the index of its episode in the batch.

        Returns:
            What came of each, by the same indices.

        Raises:
            RuntimeError: If one of the episodes has ended.
        """
        episodes = {slot: self._open[slot] for slot in actions}
        for slot, episode in episodes.items():
            if episode.done:
                raise RuntimeError(f"episode {slot} has ended: it takes no further action")
        proposals = {slot: episodes[slot].env.propose(text) for slot, text in actions.items()}
        executions = [replace(e, slot=slot) for slot, e in proposals.items() if e is not None]
        with self.watch(executions):
            outcomes = self.anchored.execute(executions)
        by_slot = {e.slot: o for e, o in zip(executions, outcomes, strict=True)}
        turns = {}
        for slot, text in actions.items():
            episode = episodes[slot]
            observation, reward, terminated, truncated, _ = episode.env.resolve(
                text, by_slot.get(slot)
            )
            episode.score += float(reward)
            episode.done = terminated or truncated
            turns[slot] = Turn(observation, episode.done)
        return turns

    def scores(self, slots: Sequence[int] | None = None) -> list[Score]:
        """Close episodes, those that a trainer has cut short included, and score them.

        Args:
            slots: `[B]` indices of open episodes; `None` for all, in their order.

        Returns:
            `[B]` scores. Those of anchors become pairs for the next `update`.
        """
        infos, rewards = [], []
        for slot in sorted(self._open) if slots is None else slots:
            episode = self._open.pop(slot)
            info = self.anchored.info(slot)
            self.anchored.finish(slot)
            infos.append(info)
            rewards.append(episode.score if info["wmrl/valid"] else None)
        return group_scores(infos, rewards)

    def score_group(self, task: str, rollouts: Sequence[str | Sequence[str]]) -> list[Score]:
        """Score finished rollouts of one group, which gets the next id; see `score_groups`."""
        return self.score_groups([(task, self.next_groups(1)[0], rollouts)])[0]

    def score_groups(
        self, batch: Sequence[tuple[str, int, Sequence[str | Sequence[str]]]]
    ) -> list[list[Score]]:
        """Score finished rollouts: the executions of a turn, over all groups, are one batch.

        Args:
            batch: (task, group id, rollouts) for each group. A rollout is what the agent
                said, turn by turn, or one text for an episode of one turn. What it said
                after its episode ended is passed over.

        Returns:
            The scores of each group, in the order of `batch` and its rollouts.
        """
        rollouts = [_turns(rollout) for _, _, members in batch for rollout in members]
        self.start(
            [task for task, _, members in batch for _ in members],
            [group for _, group, members in batch for _ in members],
        )
        for turn in range(max(map(len, rollouts), default=0)):
            actions = {
                slot: rollout[turn]
                for slot, rollout in enumerate(rollouts)
                if turn < len(rollout) and not self._open[slot].done
            }
            self.step(actions)
        flat = iter(self.scores())
        return [[next(flat) for _ in members] for _, _, members in batch]

    def update(self) -> dict[str, float]:
        """Feed the anchors back; call it between batches. See `AnchoredExecutor.update`."""
        return self.anchored.update()

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs, as picklable data; an open batch is not part of it."""
        return {"groups_started": self.groups_started, "anchored": self.anchored.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`, also with another size of batches."""
        # The counters of slots number groups without an id; here every group has one.
        counters = [0] * self.episodes
        self.anchored.load_state_dict({**state["anchored"], "started": counters})
        self.groups_started = state["groups_started"]
        self._open = {}

    def close(self) -> None:
        """Close the environments, the real executor and the world model; safe to call twice."""
        self.anchored.close()
        for env in self._envs:
            env.close()

    def _begin(self, slot: int, task: str, group: int) -> str:
        while len(self._envs) <= slot:
            self._envs.append(text_env(self._make_env()))
        observation = _reset(self._envs[slot], task)
        self.anchored.begin(slot, group)
        self._open[slot] = _Episode(self._envs[slot], group)
        return observation


def text_env(env: Any) -> TextEnv:
    """The environment below the wrappers, if a language model can act in it.

    Raises:
        UnsupportedEnvironmentError: If it has no executor, or takes no text.
    """
    base = env.unwrapped
    if not isinstance(base, ExecutionEnv):
        raise UnsupportedEnvironmentError(
            f"env={env} has no executor: {type(base).__name__} is not an ExecutionEnv"
        )
    if not isinstance(base.action_space, Text):
        raise UnsupportedEnvironmentError(
            f"env={env} takes {base.action_space}, not text: a language model cannot act in it"
        )
    return base


def _reset(env: TextEnv, task: str) -> str:
    # One seed for all: the members of a group, and the prompt of its task, start alike.
    observation, _ = env.reset(seed=0, options={"task": task} if task else None)
    return observation


def _turns(rollout: str | Sequence[str]) -> list[str]:
    return [rollout] if isinstance(rollout, str) else list(rollout)
