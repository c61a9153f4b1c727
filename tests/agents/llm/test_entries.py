"""Every way in gives the same scores and weights for the same rollouts."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from openenv.core.env_server import Observation

from tests.agents.llm.scripts import DigitsEnv, HalvingModel
from wmrl_gym.agents.llm import FinishedRollouts, GroupRubric, GroupScorer, Score, TinkerGroups
from wmrl_gym.agents.llm.tinker import weighted_rewards
from wmrl_gym.agents.verl.service import EpisodeService
from wmrl_gym.outcomes import Source

Batch = list[tuple[str, list[list[str]]]]
"""(task, rollouts) of each group."""
Found = list[list[tuple[float | None, float]]]
"""(reward, weight) of each rollout of each group."""
ID = "WMRLTest/Digits-v0"
# Its two answers of two turns each; a weight that grows after the first batches.
ROLLOUTS = [["1", "9 done"], ["4", "2 done"], ["nothing", "7 done"], ["5", "riddle 5 done"]]
OPTIONS: dict[str, Any] = {
    "anchor_fraction": 0.5,
    "seed": 1,
    "correction_options": {"min_pairs": 2, "warmup_groups": 1},
}
BATCHES: list[Batch] = [
    [(task, ROLLOUTS[i % 3 :] + ROLLOUTS[: i % 3]) for i, task in enumerate("abab")]
    for _ in range(4)
]


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    gym.register(ID, DigitsEnv)
    yield
    del gym.registry[ID]


def scorer() -> GroupScorer:
    return GroupScorer(DigitsEnv, episodes=16, world_model=HalvingModel(), **OPTIONS)


def plain(scores: list[Score]) -> list[tuple[float | None, float]]:
    return [(score.reward, score.weight) for score in scores]


def contract() -> list[Found]:
    judge, found = scorer(), []
    for batch in BATCHES:
        groups = judge.next_groups(len(batch))
        asked = [(t, g, said) for g, (t, said) in zip(groups, batch, strict=True)]
        found.append([plain(scores) for scores in judge.score_groups(asked)])
        judge.update()
    return found


@dataclass
class Tokens:
    tokens: list[int]


@dataclass
class Transition:
    ac: Tokens


@dataclass
class Trajectory:
    """As the cookbook has it, with letters for tokens."""

    said: list[str]
    transitions: list[Transition] = field(init=False)

    def __post_init__(self) -> None:
        self.transitions = [Transition(Tokens(list(text.encode()))) for text in self.said]


def through_tinker() -> list[Found]:
    groups = TinkerGroups(scorer(), decode=lambda tokens: bytes(tokens).decode())

    async def play(batch: Batch) -> Found:
        opened = groups.batch([task for task, _ in batch])
        rewarded = await asyncio.gather(
            *(
                group.compute_group_rewards([Trajectory(one) for one in said], [])
                for group, (_, said) in zip(opened, batch, strict=True)
            )
        )
        return [[(m.get("wmrl/reward"), m["wmrl/weight"]) for _, m in one] for one in rewarded]

    return [asyncio.run(play(batch)) for batch in BATCHES]


def through_openenv() -> list[Found]:
    rollouts = FinishedRollouts(scorer())
    rubric = GroupRubric(rollouts)

    def play(task: str, group: int, said: list[str]) -> tuple[float | None, float]:
        rubric.begin(task=task, group=group)
        for turn, text in enumerate(said):
            observation = Observation(done=turn == len(said) - 1)
            reward = rubric(text, observation)
        assert rubric.compute_step_rewards() == [0.0] * (len(said) - 1) + [reward]
        assert observation.metadata["wmrl/group"] == group
        return reward, observation.metadata["wmrl/weight"]

    found = []
    for batch in BATCHES:
        groups = rollouts.next_batch(len(batch))
        members = zip(groups, batch, strict=True)
        found.append([[play(task, group, one) for one in said] for group, (task, said) in members])
    return found


def through_verl() -> list[Found]:
    judge = scorer()
    service = EpisodeService(judge)

    def play(task: str, group: int, said: list[str]) -> Score:
        slot = service.open(task, group).result(timeout=30)
        for text in said:
            service.act(slot, text).result(timeout=30)
        return service.close_episode(slot).result(timeout=30)

    found = []
    for batch in BATCHES:
        groups = service.next_groups(len(batch)).result(timeout=30)
        members = zip(groups, batch, strict=True)
        scores = [[play(task, group, one) for one in said] for group, (task, said) in members]
        found.append([plain(one) for one in scores])
        service.update().result(timeout=30)
    return found


def through_trl() -> list[Found]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tests.agents.llm.test_spec import Trainer
        from wmrl_gym.agents.llm.language import PlainLanguage
        from wmrl_gym.agents.llm.spec import WMRLSpec

    class Reciting(Trainer):
        """Says the rollouts, whatever it is asked."""

        num_generations = 4

        def __init__(self, batch: Batch) -> None:
            super().__init__()
            self.said = [one for _, said in batch for one in said]
            self.turn = -1

        def _generate_single_turn(self, ids: list[list[int]], *_: Any) -> Any:
            self.turn += 1
            return [list(one[self.turn].encode()) for one in self.said], None

    spec = WMRLSpec(
        ["a", "b"], groups=16, env=ID, world_model=HalvingModel(), language=PlainLanguage(),
        episodes=16, **OPTIONS,
    )  # fmt: skip
    found = []
    for batch in BATCHES:
        prompts = [spec.prompts[task] for task, said in batch for _ in said]
        rows = spec.rollout_func(prompts, Reciting(batch))
        pairs = list(zip(rows["wmrl_reward"], rows["wmrl_weight"], strict=True))
        found.append([pairs[i : i + 4] for i in range(0, len(pairs), 4)])
    return found


@pytest.mark.parametrize(
    "entry",
    [
        through_tinker,
        through_openenv,
        through_verl,
        pytest.param(
            through_trl,
            marks=[
                pytest.mark.llm,
                # Deprecations inside TRL and transformers, which no code of ours can answer.
                pytest.mark.filterwarnings("ignore::FutureWarning"),
                pytest.mark.filterwarnings("ignore::DeprecationWarning"),
                pytest.mark.filterwarnings("ignore::UserWarning"),
            ],
        ),
    ],
)
def test_the_same_scores_and_weights(entry: Callable[[], list[Found]]) -> None:
    expected, found = contract(), entry()
    flat = [pair for batch in expected for group in batch for pair in group]
    # It says something: both sources, failures of ours, and weights above 1.
    assert any(reward is None for reward, _ in flat)
    assert {weight > 1.0 for _, weight in flat} == {True, False}
    for one, other in zip(expected, found, strict=True):
        for group, same in zip(one, other, strict=True):
            assert [r for r, _ in same] == pytest.approx([r for r, _ in group], abs=1e-12)
            assert [w for _, w in same] == pytest.approx([w for _, w in group], abs=1e-12)


def test_weights_in_rewards_are_weights_of_advantages() -> None:
    def score(reward: float | None, weight: float) -> Score:
        return Score(0, reward, weight, Source.REAL, True, None, None, reward, 0.0, 0)

    rewards = [r for r, _ in weighted_rewards([score(x, 3.0) for x in (0.1, 0.4, None, 1.0)])]
    advantages = np.array(rewards) - np.mean(rewards)
    # By hand: mean 0.5 of the three that are scored; the fourth has the advantage 0.
    assert advantages == pytest.approx([-1.2, -0.3, 0.0, 1.5])
    assert [r for r, _ in weighted_rewards([score(None, 3.0)] * 2)] == [0.0, 0.0]
    halved = weighted_rewards([score(0.4, 3.0)], mean_weight=2.0)
    assert halved[0][0] == pytest.approx(0.6)
    assert halved[0][1]["wmrl/unscorable"] == 0.0


def test_a_rubric_rewards_an_episode_once_it_is_done() -> None:
    rubric = GroupRubric(FinishedRollouts(scorer()))
    rubric.begin(task="a", group=0)
    assert rubric("9", Observation(done=False)) == 0.0
    assert rubric.score is None
    assert rubric.compute_step_rewards() == [0.0]
    assert rubric("riddle broken", Observation(done=True)) is None
    assert rubric.compute_step_rewards() == [0.0, None]
    rubric.begin(task="a", group=0)
    assert rubric.compute_step_rewards() == []
