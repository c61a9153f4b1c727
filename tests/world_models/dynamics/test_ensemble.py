from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.world_models.dynamics.double_integrator import ACTIONS, SIZE, advance, record
from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.errors import UnsupportedEnvironmentError
from wmrl_gym.world_models.dynamics import DynamicsModel, EnsembleDynamics, require_fit
from wmrl_gym.world_models.dynamics.protocol import ImaginedStep

SMALL = {"hidden": 32, "batch_size": 32, "members": 3}


@pytest.fixture(scope="module")
def episodes() -> list[EpisodeRecord]:
    return record(40, seed=0)


@pytest.fixture(scope="module")
def model(episodes: list[EpisodeRecord]) -> EnsembleDynamics:
    return EnsembleDynamics(SIZE, ACTIONS, updates=150, **SMALL).fit(episodes)


def batch(episodes: list[EpisodeRecord]) -> tuple[np.ndarray, np.ndarray]:
    states = np.concatenate([episode.observations[:-1] for episode in episodes])
    return states, np.concatenate([episode.actions for episode in episodes])


def same(one: ImaginedStep, other: ImaginedStep) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("observations", "rewards", "success", "uncertainty", "termination")
    )


def test_steps_follow_the_system(model: EnsembleDynamics) -> None:
    states, actions = batch(record(10, seed=5)[::5])  # of the expert, who stays in range
    step = model.step(states, actions)
    moved = np.abs(advance(states, actions) - states)[:, :4].mean()
    error = np.abs(step.observations - advance(states, actions))[:, :4].mean()
    assert error < 0.5 * moved
    assert isinstance(model, DynamicsModel)


def test_success_is_what_members_say_on_average_and_an_end_what_none_denies(
    model: EnsembleDynamics,
) -> None:
    states, actions = batch(record(3, seed=6))
    step = model.step(states, actions)
    network, scaling = model._trained()
    with torch.no_grad():
        logits = network.judge(torch.from_numpy(step.observations)[None], scaling)
        each = (logits + scaling.log_odds).sigmoid().numpy()
    assert step.success == pytest.approx(each[..., 0].mean(axis=0), rel=1e-4)
    assert step.termination == pytest.approx(each[..., 1].min(axis=0), rel=1e-4)
    assert (each[..., 1].min(axis=0) < each[..., 1].mean(axis=0)).all()


def test_types_and_shapes(model: EnsembleDynamics) -> None:
    states, actions = batch(record(1, seed=6))
    step = model.step(states, actions)
    assert step.observations.dtype == np.float32
    assert step.observations.shape == states.shape
    for name in ("rewards", "success", "uncertainty", "termination"):
        values = getattr(step, name)
        assert (values.dtype, values.shape) == (np.float64, (len(states),))
        assert np.isfinite(values).all()
    assert ((step.success >= 0) & (step.success <= 1)).all()
    assert (step.uncertainty > 0).all()


def test_what_no_step_changes_stays_bit_for_bit(model: EnsembleDynamics) -> None:
    states, actions = batch(record(3, seed=7))
    states[:, 8] = 3.0  # a padded slot that was 0 in all of the training data
    following = model.step(states, actions).observations
    assert np.array_equal(following[:, [4, 5, 8, 9]], states[:, [4, 5, 8, 9]])


def test_a_new_value_of_a_constant_changes_nothing_else(model: EnsembleDynamics) -> None:
    states, actions = batch(record(3, seed=7))
    changed = states.copy()
    changed[:, 8] = 1e6
    one, other = model.step(states, actions), model.step(changed, actions)
    moving = [0, 1, 2, 3, 6, 7]
    assert np.array_equal(one.observations[:, moving], other.observations[:, moving])


def test_states_stay_within_the_range_of_the_data(
    model: EnsembleDynamics, episodes: list[EpisodeRecord]
) -> None:
    training = [e for index, e in enumerate(episodes) if index % 8 != 7]
    low, high = (
        getattr(np.concatenate([e.observations for e in training]), name)(axis=0)
        for name in ("min", "max")
    )
    states, actions = batch(record(2, seed=8))
    states[:, :4] = 50.0
    following = model.step(states, actions).observations[:, :4]
    assert (following >= low[:4]).all()
    assert (following <= high[:4]).all()


def test_members_disagree_more_where_there_was_no_data(model: EnsembleDynamics) -> None:
    states, actions = batch(record(5, seed=9))
    far = states.copy()
    far[:, :4] *= 4.0
    known, unknown = (model.step(s, actions).uncertainty.mean() for s in (states, far))
    assert unknown > 2.0 * known


def test_one_member_cannot_disagree(episodes: list[EpisodeRecord]) -> None:
    arguments = {**SMALL, "members": 1}
    alone = EnsembleDynamics(SIZE, ACTIONS, updates=5, **arguments).fit(episodes)
    assert (alone.step(*batch(episodes[:2])).uncertainty == 0.0).all()


def test_rows_do_not_depend_on_their_neighbours(model: EnsembleDynamics) -> None:
    states, actions = batch(record(2, seed=3))
    whole, first = model.step(states, actions), model.step(states[:1], actions[:1])
    np.testing.assert_allclose(whole.observations[:1], first.observations, atol=1e-6)


def test_equal_seeds_give_equal_models(episodes: list[EpisodeRecord]) -> None:
    one, two, other = (
        EnsembleDynamics(SIZE, ACTIONS, updates=20, seed=seed, **SMALL).fit(episodes)
        for seed in (4, 4, 5)
    )
    question = batch(episodes[:3])
    assert same(one.step(*question), two.step(*question))
    assert not same(one.step(*question), other.step(*question))


def test_global_random_state_is_left_alone(episodes: list[EpisodeRecord]) -> None:
    before = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002  # that is the point
    EnsembleDynamics(SIZE, ACTIONS, updates=3, **SMALL).fit(episodes)
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002  # as above


def test_a_saved_model_is_the_same(model: EnsembleDynamics, tmp_path: Path) -> None:
    model.save(tmp_path / "model.pt")
    loaded = EnsembleDynamics.load(tmp_path / "model.pt")
    question = batch(record(2, seed=1))
    assert same(model.step(*question), loaded.step(*question))
    assert loaded.tasks == ("point",)
    assert loaded.ready("point")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no model")
    with pytest.raises(ValueError, match="no saved EnsembleDynamics"):
        EnsembleDynamics.load(tmp_path / "text")
    torch.save({"weights": 1}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match="no saved EnsembleDynamics"):
        EnsembleDynamics.load(tmp_path / "other.pt")
    with pytest.raises(ValueError, match="no saved EnsembleDynamics"):
        EnsembleDynamics.load(tmp_path / "missing.pt")


def test_nothing_in_a_file_is_executed(tmp_path: Path) -> None:
    torch.save({"format": 1, "trap": Path("x")}, tmp_path / "trap.pt")
    with pytest.raises(ValueError, match="no saved EnsembleDynamics"):
        EnsembleDynamics.load(tmp_path / "trap.pt")


def test_ready_needs_enough_episodes_of_the_task(episodes: list[EpisodeRecord]) -> None:
    model = EnsembleDynamics(SIZE, ACTIONS, updates=2, min_episodes=12, **SMALL)
    model.learn(episodes[:11])
    assert not model.ready("point")
    with pytest.raises(ValueError, match="call fit or learn"):
        model.step(*batch(episodes[:1]))
    model.learn(episodes[11:12])
    assert model.ready("point")
    assert not model.ready("another")


def test_learning_goes_on_from_the_present_weights(episodes: list[EpisodeRecord]) -> None:
    model = EnsembleDynamics(SIZE, ACTIONS, updates=100, online_updates=0, **SMALL)
    model.learn(episodes[:24])
    before = model.state_dict()
    model.learn(episodes[24:28])  # neither doubled nor outgrown, and no updates: all is kept
    after = model.state_dict()
    assert all(torch.equal(after["network"][k], v) for k, v in before["network"].items())
    assert torch.equal(after["scaling"]["mean"], before["scaling"]["mean"])
    assert (after["scaling"]["high"] >= before["scaling"]["high"]).all()
    assert (after["trainings"], after["trained_episodes"]) == (2, {"point": 28})


def test_something_that_begins_to_move_is_learned_anew(episodes: list[EpisodeRecord]) -> None:
    model = EnsembleDynamics(SIZE, ACTIONS, updates=40, online_updates=1, **SMALL)
    model.learn(episodes[:30])
    state, action = batch(episodes[:1])
    assert (model.step(state, action).observations[:, 8] == 0.0).all()
    model.learn([_with_drift(episode) for episode in episodes[30:34]])
    assert (model.step(state, action).observations[:, 8] != 0.0).any()


def _with_drift(episode: EpisodeRecord) -> EpisodeRecord:
    observations = episode.observations.copy()
    observations[:, 8] = np.arange(len(observations))
    return EpisodeRecord(
        observations,
        episode.actions,
        episode.rewards,
        episode.terminations,
        episode.truncations,
        episode.successes,
        task=episode.task,
    )


def test_a_resumed_model_learns_as_if_never_stopped(episodes: list[EpisodeRecord]) -> None:
    def new() -> EnsembleDynamics:
        return EnsembleDynamics(SIZE, ACTIONS, updates=10, online_updates=5, **SMALL)

    unbroken, broken = new(), new()
    for model in (unbroken, broken):
        model.learn(episodes[:24])
    resumed = new()
    resumed.load_state_dict(broken.state_dict())
    for model in (unbroken, resumed):
        model.learn(episodes[24:30])
    question = batch(record(2, seed=1))
    assert same(unbroken.step(*question), resumed.step(*question))


def test_the_replay_forgets_the_oldest(episodes: list[EpisodeRecord]) -> None:
    model = EnsembleDynamics(SIZE, ACTIONS, updates=1, replay_steps=300, **SMALL)
    model.learn(episodes)
    state = model.state_dict()["replay"]
    kept = [each["number"] for each in state["episodes"]]
    assert state["seen"] == 40
    assert kept == list(range(kept[0], 40))
    assert sum(len(each["actions"]) for each in state["episodes"]) <= 300


def test_states_of_another_model_are_refused(model: EnsembleDynamics) -> None:
    with pytest.raises(ValueError, match="hidden=32, but this one has hidden=16"):
        EnsembleDynamics(SIZE, ACTIONS, hidden=16, members=3).load_state_dict(model.state_dict())


@pytest.mark.parametrize(
    "argument",
    [{"members": 0}, {"hidden": 1.5}, {"learning_rate": 0.0}, {"chunk": -1}, {"device": "nowhere"}],
)
def test_bad_arguments_are_named(argument: dict[str, object]) -> None:
    name, value = next(iter(argument.items()))
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        EnsembleDynamics(SIZE, ACTIONS, **argument)  # type: ignore[arg-type]  # that is the test


def test_sizes_are_checked(model: EnsembleDynamics, episodes: list[EpisodeRecord]) -> None:
    with pytest.raises(ValueError, match=r"the model needs \[B, 10\]"):
        model.step(np.zeros((2, 9)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="3 observations came with 2 actions"):
        model.step(np.zeros((3, 10)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="observation_size=9"):
        EnsembleDynamics(9, ACTIONS).learn(episodes)
    with pytest.raises(ValueError, match="min_episodes=10"):
        EnsembleDynamics(SIZE, ACTIONS).fit(episodes[:9])


BOX = gym.spaces.Box(-1, 1, (SIZE,), np.float32)
ACTION = gym.spaces.Box(-1, 1, (ACTIONS,), np.float32)
IMAGE = gym.spaces.Box(0, 255, (8, 8, 3), np.uint8)


@pytest.mark.parametrize(
    ("observations", "actions", "message"),
    [
        (IMAGE, ACTION, "images"),
        (gym.spaces.Dict(image=IMAGE, state=BOX), ACTION, "'image': uint8"),
        (gym.spaces.Dict(observation=BOX, desired_goal=BOX), ACTION, "FlattenObservation"),
        (gym.spaces.Box(-1, 1, (2, 5)), ACTION, "no flat Box"),
        (gym.spaces.Discrete(4), ACTION, "no flat Box"),
        (BOX, gym.spaces.Discrete(4), "action_space=Discrete"),
    ],
)
def test_spaces_without_flat_numbers_are_refused(
    observations: gym.Space, actions: gym.Space, message: str
) -> None:
    with pytest.raises(UnsupportedEnvironmentError, match=message):
        EnsembleDynamics.for_spaces(observations, actions)


def test_an_environment_that_it_was_not_made_for_is_refused(model: EnsembleDynamics) -> None:
    require_fit(model, BOX, ACTION, "point")
    with pytest.raises(ValueError, match="observation_size=10, but the environment has 11"):
        require_fit(model, gym.spaces.Box(-1, 1, (11,)), ACTION)
    with pytest.raises(ValueError, match="action_size=2, but the environment has 7"):
        require_fit(model, BOX, gym.spaces.Box(-1, 1, (7,)))
    with pytest.raises(ValueError, match=r"task='reach' .*trained on \(point\)"):
        require_fit(model, BOX, ACTION, "reach")


def test_made_for_spaces() -> None:
    model = EnsembleDynamics.for_spaces(BOX, ACTION, members=2)
    assert (model.observation_size, model.action_size) == (SIZE, ACTIONS)
    require_fit(model, BOX, ACTION, "anything, since it learns from the environment itself")


def test_no_success_is_imagined_before_one_was_seen(episodes: list[EpisodeRecord]) -> None:
    never = [replace(e, successes=np.zeros_like(e.successes)) for e in episodes]
    model = EnsembleDynamics(SIZE, ACTIONS, updates=1, online_updates=1, **SMALL).fit(never)
    states, actions = batch(episodes)
    assert model.step(states, actions).success.max() < 1e-3
    model.learn([e for e in episodes if e.success_once][:1])
    assert model.step(states, actions).success.max() > 0.3  # untrained, but possible
