"""Meta-World's tasks with starts that follow the seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from wmrl_gym.envs.suites import MetaWorldEnv


def run(env: MetaWorldEnv, *, steps: int = 30, **reset: Any) -> Any:
    observation, _ = env.reset(**reset)
    rng = np.random.default_rng(0)
    observations = [observation]
    for _ in range(steps):
        observations.append(env.step(rng.uniform(-1, 1, 4).astype(np.float32))[0])
    return np.stack(observations)


@pytest.mark.parametrize("task", ["reach-v3", "push-v3", "drawer-open-v3"])
def test_the_same_seed_gives_the_same_episode_bit_for_bit(task: str) -> None:
    env = MetaWorldEnv(task)
    first = run(env, seed=3)
    run(env, seed=4, steps=17)
    np.testing.assert_array_equal(run(env, seed=3), first)
    assert not np.array_equal(run(env, seed=4)[0], first[0])
    by_id = run(env, seed=9, options={"init_state_id": 5})
    np.testing.assert_array_equal(run(env, options={"init_state_id": 5}), by_id)
    env.close()


@pytest.mark.filterwarnings("ignore:.*infinity:UserWarning")  # its own bounds are wrong ones
def test_it_keeps_gymnasiums_rules_and_never_terminates() -> None:
    env = MetaWorldEnv("reach-v3", horizon=12)
    check_env(env, skip_render_check=True)
    _, info = env.reset(seed=0)
    assert (info["task"], info["instruction"], info["is_success"]) == ("reach-v3", "reach", False)
    ends = [env.step(np.zeros(4, dtype=np.float32))[2:4] for _ in range(12)]
    assert ends == [(False, False)] * 11 + [(False, True)]
    env.close()
    env.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "fly-v3"}, "task='fly-v3' is none of Meta-World's: .*reach-v3"),
        ({"horizon": 501}, "horizon=501 must lie between 1 and 500"),
        ({"horizon": 0}, "horizon=0"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MetaWorldEnv(**arguments)
