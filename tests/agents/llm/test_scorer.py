"""The contract that every trainer calls."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import pytest

from tests.agents.llm.scripts import DigitsEnv, HalvingModel, WaitingRun
from wmrl_gym.agents.llm import GroupScorer
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.executors import PooledExecutor
from wmrl_gym.outcomes import Source


def scorer(**options: Any) -> GroupScorer:
    arguments = {"episodes": 16, "world_model": HalvingModel(), "anchor_fraction": 0.0, **options}
    return GroupScorer(DigitsEnv, **arguments)


def test_a_predicted_group() -> None:
    scores = scorer().score_group("a", ["9", "0", "no number"])
    assert [score.reward for score in scores] == [0.5, 0.0, 0.0]
    assert [score.predicted for score in scores] == [0.5, 0.0, None]
    assert all(score.true is None and score.weight == 1.0 for score in scores)
    # The member that executed nothing is of its group's source all the same.
    assert {score.source for score in scores} == {Source.PREDICTED}


def test_an_anchor_group_is_rewarded_with_the_truth() -> None:
    scores = scorer(anchor_fraction=1.0).score_group("a", ["9", "0"])
    assert [(score.reward, score.predicted, score.true) for score in scores] == [
        (1.0, 0.5, 1.0),
        (0.0, 0.0, 0.0),
    ]
    assert all(score.anchor and score.source is Source.REAL for score in scores)


def test_what_we_failed_to_score_has_no_reward() -> None:
    real = scorer(anchor_fraction=1.0).score_group("a", ["broken 9", "9"])
    assert [score.reward for score in real] == [None, 1.0]
    predicted = scorer().score_group("a", ["riddle 9", "9"])
    assert [score.reward for score in predicted] == [None, 0.5]


def test_the_best_of_several_turns_is_the_score() -> None:
    (score,) = scorer(anchor_fraction=1.0).score_group("a", [["0", "9", "3"]])
    assert score.reward == pytest.approx(1.0)
    assert score.seconds == pytest.approx(0.75)


def test_turns_after_the_end_are_passed_over() -> None:
    (score,) = scorer(anchor_fraction=1.0).score_group("a", [["3 done", "9"]])
    assert score.reward == pytest.approx(1 / 3)


def test_anchors_depend_on_seed_and_group_alone() -> None:
    one, two = scorer(anchor_fraction=0.5, seed=3), scorer(anchor_fraction=0.5, seed=3)
    batch = [("a", group, ["1", "2"]) for group in range(8)]
    forward = {s[0].group: s[0].anchor for s in one.score_groups(batch)}
    backward = {s[0].group: s[0].anchor for s in two.score_groups(batch[::-1])}
    assert forward == backward
    assert sum(forward.values()) == 4


def test_all_executions_of_a_batch_run_side_by_side() -> None:
    # Six executions wait for each other: one by one they would never end.
    run = WaitingRun(together=6)

    def make() -> DigitsEnv:
        env = DigitsEnv()
        env.executor = PooledExecutor(run, workers=6)
        return env

    judge = GroupScorer(make, episodes=6, world_model=HalvingModel(), anchor_fraction=1.0)
    scores = judge.score_groups([("a", 0, ["1", "2", "3"]), ("b", 1, ["4", "5", "6"])])
    assert [len(group) for group in scores] == [3, 3]
    assert all(score.reward is not None for group in scores for score in group)


def test_predictions_of_a_turn_are_one_batch() -> None:
    model = HalvingModel()
    scorer(world_model=model).score_groups([("a", 0, [["1", "2"], ["3"]]), ("b", 1, [["4", "5"]])])
    assert model.batches == [3, 2]


def test_nothing_changes_before_the_update() -> None:
    judge = scorer(
        anchor_fraction=0.5, correction_options={"min_pairs": 4, "warmup_groups": 1}, seed=1
    )
    groups = [("a", group, ["2", "4", "6", "8"]) for group in range(4)]
    first = judge.score_groups(groups)
    assert {score.version for group in first for score in group} == {0}
    before = [s.calibrated for group in first for s in group if not s.anchor]
    again = judge.score_groups([(task, g + 4, said) for task, g, said in groups])
    assert [s.calibrated for group in again for s in group if not s.anchor] == before
    figures = judge.update()
    assert figures["pairs"] == 16
    later = judge.score_groups([(task, g + 8, said) for task, g, said in groups])
    learned = [s.calibrated for group in later for s in group if not s.anchor]
    # The map has learned that the world model halves: 2/9 is predicted as 1/9.
    assert learned[:4] == pytest.approx([2 / 9, 4 / 9, 6 / 9, 8 / 9], abs=0.02)


def test_all_members_of_a_group_have_one_weight() -> None:
    judge = scorer(anchor_fraction=1.0, correction_options={"min_pairs": 2, "warmup_groups": 1})
    for _ in range(3):
        judge.score_group("a", ["1", "9"])
        judge.update()
    weight = judge.correction.anchor_weight
    assert weight > 1.0
    scores = judge.score_group("a", ["1", "says nothing that runs"])
    assert [score.weight for score in scores] == [weight, weight]


def test_a_resumed_scorer_goes_on_as_if_nothing_had_happened() -> None:
    def play(judge: GroupScorer) -> list[Any]:
        groups = [("a", group, ["1", "5", "9"]) for group in judge.next_groups(4)]
        scores = judge.score_groups(groups)
        return [scores, judge.update()]

    options = {"anchor_fraction": 0.5, "correction_options": {"min_pairs": 4, "warmup_groups": 2}}
    whole, first = scorer(**options), scorer(**options)
    play(whole)
    play(first)
    # A run may go on with another size of batches.
    second = scorer(**options, world_model=HalvingModel(), **{"episodes": 12})
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    assert str(play(second)) == str(play(whole))


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="episodes=0 must be at least 1"):
        scorer(episodes=0)
    with pytest.raises(ValueError, match="a batch of 3 episodes is more than episodes=2"):
        scorer(episodes=2).score_group("a", ["1", "2", "3"])
    with pytest.raises(UnsupportedEnvironmentError, match="not an ExecutionEnv"):
        GroupScorer(lambda: gym.make("CartPole-v1"), episodes=2)
    with pytest.raises(UnsupportedEnvironmentError, match="not text"):
        GroupScorer(lambda: gym.make("WMRL-MLE-Pipeline-v0", tasks=["wine-cultivar"]), episodes=2)


def test_an_episode_that_has_ended_takes_no_action() -> None:
    judge = scorer()
    judge.start(["a"], [0])
    assert judge.step({0: "9 done"})[0].done
    with pytest.raises(RuntimeError, match="episode 0 has ended"):
        judge.step({0: "9"})
    with pytest.raises(RuntimeError, match="a batch is open"):
        judge.first_observation("a")
