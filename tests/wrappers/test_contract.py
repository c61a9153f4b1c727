"""Both wrappers behave alike, and leave the environment alone (gym.md section E)."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import multiprocessing
import pickle
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TransformAction

from tests.wrappers.toys import CountingEnv, CountingExecutor, SquareWorldModel, true_score
from wmrl_gym import (
    BatchedExecution,
    Outcome,
    Source,
    Status,
    WorldModelRewardVectorWrapper,
    WorldModelRewardWrapper,
)
from wmrl_gym.errors import UnsupportedEnvironmentError, WorldModelError

MODES = list(AutoresetMode)
LENGTHS = (2, 3, 5)
ENDS = ("terminate", "truncate", "both")
KEYS = {
    "wmrl/group": int,
    "wmrl/anchor": bool,
    "wmrl/score_predicted": float,
    "wmrl/score_calibrated": float,
    "wmrl/score_true": float,
    "wmrl/weight": float,
    "wmrl/valid": bool,
    "wmrl/source": int,
    "wmrl/version": int,
    "wmrl/seconds": float,
}
OPTIONS: dict[str, Any] = {"anchor_fraction": 0.5, "seed": 3}


def toy(i: int) -> CountingEnv:
    return CountingEnv(length=LENGTHS[i], end=ENDS[i])


def wrapped_toy(i: int) -> gym.Env[Any, Any]:
    model = SquareWorldModel()
    return WorldModelRewardWrapper(
        toy(i), world_model=model, first_group=i, group_stride=len(LENGTHS), **OPTIONS
    )


def make(kind: str, factory: Any, mode: AutoresetMode) -> VectorEnv[Any, Any, Any]:
    factories = [partial(factory, i) for i in range(len(LENGTHS))]
    if kind == "sync":
        return SyncVectorEnv(factories, autoreset_mode=mode)
    return AsyncVectorEnv(factories, autoreset_mode=mode)


def assert_same(a: Any, b: Any, where: str) -> None:
    """Equal in structure, type and value, where NaN equals NaN."""
    assert type(a) is type(b), where
    if isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}/{key}")
    elif isinstance(a, np.ndarray) and a.dtype == object:
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y, where)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        np.testing.assert_array_equal(a, b, err_msg=where)
    else:
        assert a == b or (a != a and b != b), where


def play(env: VectorEnv[Any, Any, Any], steps: int = 25) -> list[Any]:
    """A fixed run; under DISABLED, ended environments are reset by mask."""
    rng = np.random.default_rng(0)
    log = [env.reset(seed=11)]
    for _ in range(steps):
        result = env.step(rng.integers(5, size=env.num_envs))
        log.append(copy.deepcopy(result))
        done = np.logical_or(result[2], result[3])
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and done.any():
            log.append(env.reset(options={"reset_mask": done}))
    env.close()
    return log


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_two_wrappers_are_equal(kind: str, mode: AutoresetMode) -> None:
    expected = play(make("sync", wrapped_toy, mode))
    vector = make(kind, toy, mode)
    wrapper = WorldModelRewardVectorWrapper(vector, world_model=SquareWorldModel(), **OPTIONS)
    actual = play(wrapper)
    assert len(actual) == len(expected)
    for step, (a, b) in enumerate(zip(actual, expected, strict=True)):
        for part, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"step {step}, part {part}")


@pytest.mark.parametrize("mode", MODES)
def test_each_vector_step_is_one_batch_and_dummy_rows_execute_nothing(mode: AutoresetMode) -> None:
    model, real = SquareWorldModel(), CountingExecutor()
    batched = BatchedExecution(make("sync", toy, mode), executor=real)
    env = WorldModelRewardVectorWrapper(batched, world_model=model, **OPTIONS)
    env.reset(seed=0)
    done = np.zeros(3, dtype=bool)
    expected = []
    for _ in range(12):
        live = int((~done).sum()) if mode is AutoresetMode.NEXT_STEP else 3
        # A step of nothing but dummy rows asks the model nothing at all.
        expected += [live] if live else []
        _, rewards, term, trunc, infos = env.step(np.zeros(3, dtype=np.int64))
        if mode is AutoresetMode.NEXT_STEP:
            assert np.all(rewards[done] == 0.0)
            assert np.all(infos["wmrl/source"][done] == Source.NONE)
        done = np.logical_or(term, trunc)
        if mode is AutoresetMode.DISABLED and done.any():
            env.reset(options={"reset_mask": done})
    assert model.batches == expected
    assert len(real.batches) <= 12


def test_wrapping_changes_nothing_but_the_reward() -> None:
    bare, wrapped = toy(1), wrapped_toy(1)
    for seed in (5, None, None):
        a, b = bare.reset(seed=seed), wrapped.reset(seed=seed)
        np.testing.assert_array_equal(a[0], b[0])
        for action in (0, 4, 2):
            x, y = bare.step(action), wrapped.step(action)
            np.testing.assert_array_equal(x[0], y[0])
            assert x[2] is y[2]
            assert x[3] is y[3]
            assert x[4].items() <= y[4].items()
    assert bare.np_random.bit_generator.state == wrapped.np_random.bit_generator.state


def test_info_is_flat_total_and_of_fixed_types() -> None:
    env = wrapped_toy(1)
    for _ in range(6):
        _, info = env.reset()
        infos = [info]
        for action in (4, 1, 2):
            infos.append(env.step(action)[4])
        for info in infos:
            assert {k: type(v) for k, v in info.items() if k.startswith("wmrl/")} == KEYS


def test_anchor_episode_has_the_pair_and_model_episode_has_no_truth() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=2), world_model=SquareWorldModel(), anchor_fraction=0.5, seed=0
    )
    seen = set()
    for group in range(8):
        env.reset(seed=1, options={"group": group})
        rewards = [env.step(1)[1]]
        _, reward, _, _, info = env.step(2)
        rewards.append(reward)
        true = [true_score("0:0:1"), true_score("0:1:2")]
        seen.add(info["wmrl/anchor"])
        assert info["wmrl/group"] == group
        assert info["wmrl/score_predicted"] == pytest.approx(max(true) ** 2)
        if info["wmrl/anchor"]:
            assert info["wmrl/source"] == Source.REAL
            assert info["wmrl/score_true"] == max(true)
            assert rewards == true
            assert info["wmrl/seconds"] == 4.0
        else:
            assert info["wmrl/source"] == Source.PREDICTED
            assert np.isnan(info["wmrl/score_true"])
            # Before there are enough pairs the map is the identity.
            assert rewards == pytest.approx([t**2 for t in true])
            assert info["wmrl/seconds"] == 2.0
    assert seen == {True, False}


def test_update_feeds_pairs_back_once_and_raises_the_version() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=1),
        world_model=SquareWorldModel(),
        anchor_fraction=1.0,
        correction_options={"min_pairs": 4},
    )
    for _ in range(6):
        env.reset()
        env.step(1)
    version = env.correction.version
    assert not env.correction.calibrated
    diagnostics = env.update()
    assert diagnostics["pairs"] == 6
    assert env.correction.version == version + 1
    assert env.correction.calibrated
    assert env.anchored.world_model.learned == 6
    assert env.update()["pairs"] == 6
    assert env.anchored.world_model.learned == 6


def test_an_open_group_keeps_its_map_across_an_update() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=2),
        world_model=SquareWorldModel(),
        anchor_fraction=0.5,
        correction_options={"min_pairs": 2},
    )
    anchors = [g for g in range(40) if env.correction.is_anchor(g)]
    model_group = next(g for g in range(40) if not env.correction.is_anchor(g))
    for g in anchors[:10]:
        env.reset(options={"group": g})
        env.step(1)
        env.step(1)
    env.reset(options={"group": model_group})
    before = env.step(1)[4]["wmrl/version"]
    env.update()
    assert env.correction.version == before + 1
    info = env.step(1)[4]
    assert info["wmrl/version"] == before
    # Another member of the group, begun after the update, is on the same scale.
    env.reset(options={"group": model_group})
    assert env.step(1)[4]["wmrl/version"] == before
    env.reset(options={"group": model_group})
    env.update()
    env.reset(options={"group": model_group + 1000})
    assert env.step(1)[4]["wmrl/version"] > before


def test_groups_run_for_real_until_the_model_is_ready() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=1), world_model=SquareWorldModel(ready_after=3), anchor_fraction=0.0
    )
    sources = []
    for _ in range(5):
        env.reset()
        info = env.step(1)[4]
        sources.append((info["wmrl/source"], info["wmrl/anchor"]))
        if len(sources) == 3:
            env.update()
    assert sources == [(Source.REAL, False)] * 3 + [(Source.PREDICTED, False)] * 2


class BrokenEnv(CountingEnv):
    """Its executor fails at the second step."""

    def propose(self, action: int) -> Any:
        execution = super().propose(action)
        if execution is None or self._time != 1:
            return execution
        return type(execution)(task="count", artifact="broken")


def test_a_failed_anchor_has_no_score_and_leaves_no_pair() -> None:
    env = WorldModelRewardWrapper(
        BrokenEnv(length=3), world_model=SquareWorldModel(), anchor_fraction=1.0
    )
    env.reset()
    assert env.step(1)[4]["wmrl/valid"] is True
    _, reward, _, _, info = env.step(1)
    assert (reward, info["wmrl/valid"]) == (0.0, False)
    # The episode stays without a score, whatever comes after.
    assert env.step(1)[4]["wmrl/valid"] is False
    diagnostics = env.update()
    assert diagnostics["pairs"] == 0
    assert diagnostics["unscored"] == 1


def test_an_episode_given_up_leaves_no_pair_and_no_trace() -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=3), world_model=SquareWorldModel(), anchor_fraction=1.0
    )
    env.reset()
    env.step(1)
    _, info = env.reset()
    assert info["wmrl/seconds"] == 0.0
    assert np.isnan(info["wmrl/score_true"])
    assert env.update()["pairs"] == 0


def test_partial_reset_leaves_the_others_and_the_callers_options_alone() -> None:
    env = WorldModelRewardVectorWrapper(
        make("sync", toy, AutoresetMode.DISABLED), world_model=SquareWorldModel(), **OPTIONS
    )
    env.reset(seed=0, options={"group": [10, 20, 30]})
    *_, infos = env.step(np.array([1, 1, 1]))
    *_, infos = env.step(np.array([1, 1, 1]))
    options = {"reset_mask": np.array([True, False, False]), "group": 40}
    env.reset(options=options)
    assert options["reset_mask"].tolist() == [True, False, False]
    *_, infos = env.step(np.array([1, 1, 1]))
    assert infos["wmrl/group"].tolist() == [40, 20, 30]
    assert infos["time"].tolist() == [1, 3, 3]


def test_other_vector_wrappers_may_lie_between() -> None:
    vector = gym.wrappers.vector.RecordEpisodeStatistics(
        BatchedExecution(make("sync", toy, AutoresetMode.NEXT_STEP))
    )
    env = WorldModelRewardVectorWrapper(vector, world_model=SquareWorldModel(), **OPTIONS)
    env.reset(seed=0)
    for _ in range(6):
        *_, infos = env.step(np.array([1, 1, 1]))
    assert "wmrl/group" in infos
    assert env.get_attr("length") == LENGTHS
    assert env.call("render")


def test_an_action_wrapper_below_the_batch_is_refused_when_it_changes_an_action() -> None:
    def factory() -> gym.Env[Any, Any]:
        return TransformAction(CountingEnv(), lambda a: (a + 1) % 4, gym.spaces.Discrete(5))

    env = BatchedExecution(SyncVectorEnv([factory]))
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="apply action wrappers to the vector environment"):
        env.step(np.array([1]))
    env.close()


def test_no_wrapper_in_a_wrapper() -> None:
    with pytest.raises(UnsupportedEnvironmentError, match="already"):
        WorldModelRewardWrapper(
            RecordEpisodeStatistics(wrapped_toy(0)), world_model=SquareWorldModel()
        )
    vector = WorldModelRewardVectorWrapper(
        make("sync", toy, AutoresetMode.NEXT_STEP), world_model=SquareWorldModel()
    )
    with pytest.raises(UnsupportedEnvironmentError, match="already"):
        WorldModelRewardVectorWrapper(vector, world_model=SquareWorldModel())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"anchor_fraction": 1.5}, r"fraction must lie in \[0, 1\], got 1.5"),
        ({"anchor_fraction": float("nan")}, r"fraction must lie in \[0, 1\], got nan"),
        ({"world_model": "no-such-model"}, "world_model='no-such-model'"),
        ({"first_group": -1}, "first_group=-1"),
        ({"group_stride": 0}, "group_stride=0"),
    ],
)
def test_bad_arguments_are_named_and_leave_the_environment_as_it_was(
    arguments: dict[str, Any], message: str
) -> None:
    env = CountingEnv()
    executor = env.executor
    with pytest.raises(ValueError, match=message):
        WorldModelRewardWrapper(env, **{"world_model": SquareWorldModel(), **arguments})
    assert env.executor is executor


def test_environments_without_an_executor_are_refused() -> None:
    with pytest.raises(UnsupportedEnvironmentError, match="no executor"):
        WorldModelRewardWrapper(gym.make("CartPole-v1"), world_model=SquareWorldModel())
    with pytest.raises(UnsupportedEnvironmentError, match="no executor"):
        WorldModelRewardVectorWrapper(
            SyncVectorEnv([lambda: gym.make("CartPole-v1")]), world_model=SquareWorldModel()
        )


class BadWorldModel(SquareWorldModel):
    """Breaks the contract in a way of one's choice."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def execute(self, executions: Any) -> list[Outcome]:
        score = {"nan": float("nan"), "high": 1.5}.get(self.how, 0.5)
        outcomes = [Outcome(Status.COMPLETED, score, source=Source.PREDICTED) for _ in executions]
        return outcomes + outcomes if self.how == "length" else outcomes


@pytest.mark.parametrize("how", ["nan", "high", "length"])
def test_a_world_model_that_breaks_its_contract_is_named(how: str) -> None:
    env = WorldModelRewardWrapper(CountingEnv(), world_model=BadWorldModel(how))
    env.reset()
    with pytest.raises(WorldModelError, match="BadWorldModel"):
        env.step(1)


def test_a_failed_prediction_has_no_score() -> None:
    class Silent(SquareWorldModel):
        def execute(self, executions: Any) -> list[Outcome]:
            return [Outcome.unscored("did not parse", Source.PREDICTED) for _ in executions]

    env = WorldModelRewardWrapper(CountingEnv(), world_model=Silent(), anchor_fraction=0.0)
    env.reset()
    _, reward, _, _, info = env.step(1)
    assert (reward, info["wmrl/valid"]) == (0.0, False)
    assert np.isnan(info["wmrl/score_calibrated"])


def test_stepping_before_reset_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="reset"):
        wrapped_toy(0).step(1)


def test_state_continues_the_stream() -> None:
    def fresh() -> WorldModelRewardWrapper:
        return WorldModelRewardWrapper(
            CountingEnv(length=1),
            world_model=SquareWorldModel(),
            anchor_fraction=0.5,
            correction_options={"min_pairs": 4, "warmup_groups": 2},
        )

    def episodes(env: WorldModelRewardWrapper, count: int) -> list[Any]:
        infos = []
        for _ in range(count):
            env.reset(seed=0)
            infos.append(env.step(len(infos) % 4)[4])
            if len(infos) % 5 == 0:
                env.update()
        return infos

    through = fresh()
    episodes(through, 23)
    resumed = fresh()
    resumed.load_state_dict(pickle.loads(pickle.dumps(through.state_dict())))
    a, b = episodes(through, 20), episodes(resumed, 20)
    assert_same(a[-1], b[-1], "info")
    assert_same(through.update(), resumed.update(), "diagnostics")


def test_delegation() -> None:
    env = WorldModelRewardWrapper(CountingEnv(render_mode="ansi"), world_model=SquareWorldModel())
    env.reset(seed=4)
    env.step(1)
    assert env.render() == "0:1"
    assert env.render_mode == "ansi"
    assert env.metadata["render_modes"] == ["ansi"]
    assert env.np_random is env.unwrapped.np_random
    env.close()
    env.close()


def test_pickle_and_deepcopy() -> None:
    env = wrapped_toy(0)
    env.reset(seed=0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        twin.reset(seed=0)
        assert twin.unwrapped.executor is twin.anchored
        assert twin.step(1)[1] == true_score("0:0:1") ** 2 or twin.step(1)[4]["wmrl/anchor"]


def test_constructor_arguments_are_all_recorded() -> None:
    source = ast.parse(
        inspect.getsource(WorldModelRewardWrapper.__init__).lstrip().replace("\n    ", "\n")
    )
    call = next(
        node
        for node in ast.walk(source)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "RecordConstructorArgs.__init__"
    )
    recorded = {k.arg for k in call.keywords} - {"_disable_deepcopy"}
    assert recorded == set(inspect.signature(WorldModelRewardWrapper).parameters) - {"env"}


def spec_json() -> str:
    env = WorldModelRewardWrapper(
        gym.make("tests.wrappers.toys:tests/Counting-v0", length=2),
        world_model="tests.wrappers.toys:SquareWorldModel",
        anchor_fraction=0.25,
        seed=9,
        correction_options={"min_pairs": 7},
    )
    spec = env.spec
    assert spec is not None
    return spec.to_json()


def run_from_json(text: str) -> list[Any]:
    import tests.wrappers.toys  # registers the id in a spawned process  # noqa: F401

    env = gym.make(gym.envs.registration.EnvSpec.from_json(text))
    infos = []
    for _ in range(12):
        env.reset(seed=2)
        env.step(1)
        infos.append(env.step(2)[4])
    return [(info["wmrl/group"], info["wmrl/anchor"], info["wmrl/source"]) for info in infos]


def test_spec_round_trip_and_a_spawned_worker_agree() -> None:
    text = spec_json()
    assert json.loads(text)["additional_wrappers"][0]["kwargs"]["anchor_fraction"] == 0.25
    here = run_from_json(text)
    assert sum(anchor for _, anchor, _ in here) == 3
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(run_from_json, (text,)) == here


@pytest.mark.parametrize("fraction", [0.1, 0.25])
def test_the_share_of_real_groups_is_exact(fraction: float) -> None:
    env = WorldModelRewardWrapper(
        CountingEnv(length=1), world_model=SquareWorldModel(), anchor_fraction=fraction
    )
    for _ in range(2000):
        env.reset()
        env.step(1)
    assert env.anchored.totals.groups_real == 2000 * fraction
