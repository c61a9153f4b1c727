"""Initial states: pure functions of task, split and number; splits that share nothing."""

from __future__ import annotations

import pytest

from wmrl_gym.envs.vla.families import FAMILIES
from wmrl_gym.envs.vla.initial_states import InitialState, initial_state
from wmrl_gym.envs.vla.observation import ROLES
from wmrl_gym.errors import TaskError

TASKS = list(FAMILIES)


def states(task: str, split: str, count: int = 60) -> list[InitialState]:
    return [initial_state(task, split, number) for number in range(count)]


def test_there_are_the_promised_families() -> None:
    assert TASKS == ["reach", "push", "pick_place", "stack", "drawer", "button", "knob", "sort"]


@pytest.mark.parametrize("task", TASKS)
def test_a_state_is_a_pure_function_of_its_number(task: str) -> None:
    assert states(task, "train", 5) == states(task, "train", 5)
    first, second = initial_state(task, "train", 0), initial_state(task, "train", 1)
    assert first.arrangement.poses != second.arrangement.poses
    assert first.hand != second.hand


@pytest.mark.parametrize("task", TASKS)
def test_splits_share_neither_compositions_nor_states(task: str) -> None:
    family = FAMILIES[task]
    train, held_out = set(family.compositions("train")), set(family.compositions("held_out"))
    assert train
    assert held_out
    assert not train & held_out
    assert 0.1 <= len(held_out) / len(train | held_out) <= 0.3
    assert {state.composition for state in states(task, "train")} <= train
    assert {state.composition for state in states(task, "held_out")} <= held_out
    hands = [{state.hand for state in states(task, split)} for split in ("train", "held_out")]
    assert not hands[0] & hands[1]


@pytest.mark.parametrize("task", TASKS)
def test_each_value_of_a_factor_is_seen_in_training(task: str) -> None:
    family = FAMILIES[task]
    train, everything = family.compositions("train"), family.compositions("held_out")
    for position in range(len(family.factors)):
        seen = {composition[position] for composition in train}
        assert {composition[position] for composition in everything} <= seen


def test_sorting_holds_a_pair_of_colours_out_in_both_orders() -> None:
    pairs = [frozenset(c) for c in FAMILIES["sort"].compositions("train")]
    assert len(pairs) == len(set(pairs))
    assert not set(pairs) & {frozenset(c) for c in FAMILIES["sort"].compositions("held_out")}


@pytest.mark.parametrize("task", TASKS)
def test_instructions_vary_and_always_name_what_is_meant(task: str) -> None:
    drawn = states(task, "train")
    assert len({state.instruction for state in drawn}) > 30
    family = FAMILIES[task]
    assert len(set(family.templates)) >= 10
    for template in family.templates:
        for factor in family.factors:
            assert "{" + factor + "}" in template
    for state in drawn:
        assert all(word in state.instruction for word in state.composition)


@pytest.mark.parametrize("task", TASKS)
def test_the_target_is_the_only_thing_that_the_instruction_fits(task: str) -> None:
    for state in states(task, "train") + states(task, "held_out"):
        roles, colours = state.arrangement.roles, state.arrangement.colours
        assert 2 <= len(roles) <= ROLES
        kinds = [(name.rpartition("_")[0], colours[name]) for name in colours]
        assert kinds.count((roles[0].rpartition("_")[0], colours[roles[0]])) == 1


def test_distractors_share_the_colour_or_the_shape() -> None:
    drawn = states("pick_place", "train")
    same_shape = same_colour = 0
    for state in drawn:
        target, _, *others = state.arrangement.roles
        colours = state.arrangement.colours
        same_shape += any(name[:4] == target[:4] for name in others)
        same_colour += any(colours[name] == colours[target] for name in others)
    assert same_shape > 10
    assert same_colour > 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("juggle", "train", 0), "task='juggle' is unknown; choose from reach"),
        (("reach", "test", 0), "split='test' must be one of train, held_out"),
        (("reach", "train", -1), "init_state_id=-1 must be at least 0"),
    ],
)
def test_bad_arguments(arguments: tuple[str, str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        initial_state(*arguments)
    with pytest.raises(TaskError):
        initial_state("juggle", "train", 0)
