"""State, copies and specifications give the same wrapper again."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import multiprocessing
import pickle
from typing import Any

import gymnasium as gym

from tests.wrappers.harness import assert_same, wrapped_toy
from tests.wrappers.toys import CountingEnv, SquareWorldModel, true_score
from wmrl_gym import (
    WorldModelRewardWrapper,
)


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
        _, reward, _, _, info = twin.step(1)
        true = true_score("0:0:1")
        assert reward == (true if info["wmrl/anchor"] else true**2)


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
