"""Numeric environments behind OpenEnv's interface, without a network in between."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from pydantic import ValidationError

from tests.wrappers.toys import register_toy
from wmrl_gym.errors import RunError
from wmrl_gym.interchange.openenv_environment import GymEnvironment
from wmrl_gym.interchange.openenv_served import ServedEnvironment
from wmrl_gym.interchange.openenv_spaces import action_schema, decode_action


def served(env_id: str, **kwargs: Any) -> ServedEnvironment:
    return ServedEnvironment(env_id, kwargs, workers=1)


def act(session: GymEnvironment, made_of: ServedEnvironment, action: Any) -> Any:
    return session.step(made_of.action_model(action=action))


@pytest.mark.parametrize(
    ("space", "value", "expected"),
    [
        (spaces.Text(9), "as is", "as is"),
        (spaces.Text(9), {"action": "submit"}, '{"action": "submit"}'),
        (spaces.Text(9), 5, "5"),
        (spaces.Discrete(4), 3, 3),
        (spaces.MultiDiscrete([2, 3]), [1, 2], np.array([1, 2], dtype=np.int64)),
        (spaces.Box(-1, 1, (1, 2)), [[0, 0.5]], np.array([[0, 0.5]], dtype=np.float32)),
        (spaces.MultiBinary(2), [0, 1], np.array([0, 1], dtype=np.int8)),
        # Nothing is cut off, filled up or made up.
        (spaces.MultiDiscrete([2, 3]), [1, 0.5], [1, 0.5]),
        (spaces.MultiDiscrete([2, 3]), [[1], [1, 2]], [[1], [1, 2]]),
        (spaces.MultiDiscrete([2, 3]), "left", "left"),
        (spaces.MultiDiscrete([2, 3]), None, None),
        (
            spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Tuple([spaces.Box(0, 1, (1,))])}),
            {"a": 1, "b": [[0.5]], "c": 2},
            {"a": 1, "b": (np.array([0.5], dtype=np.float32),), "c": 2},
        ),
    ],
)
def test_actions_on_the_wire(space: gym.Space[Any], value: Any, expected: Any) -> None:
    decoded = decode_action(space, value)
    assert type(decoded) is type(expected)
    if isinstance(expected, np.ndarray):
        assert decoded.dtype == expected.dtype
        np.testing.assert_array_equal(decoded, expected)
    else:
        assert decoded == expected


def test_schemas_tell_what_an_action_is() -> None:
    assert action_schema(spaces.Discrete(3, start=-1)) == {
        "description": "Discrete(3, start=-1)", "type": "integer", "minimum": -1, "maximum": 1,
    }  # fmt: skip
    schema = action_schema(spaces.Dict({"a": spaces.Box(0, 1, (2,))}))
    assert schema["properties"]["a"]["type"] == "array"
    model = served("CartPole-v1").action_model.model_json_schema()
    assert model["properties"]["action"]["maximum"] == 1
    assert "action" in model["required"]


def test_a_classic_environment() -> None:
    cart = served("CartPole-v1", max_episode_steps=2)
    session = cart.session()
    start = session.reset(seed=1)
    expected, _ = gym.make("CartPole-v1").reset(seed=1)
    np.testing.assert_allclose(start.observation, expected)
    assert start.reward is None
    assert act(session, cart, 1).reward == 1.0
    # No action of this environment, and no outcome either: it says so and goes on.
    with pytest.raises(ValueError, match=r"action=7 is not in Discrete\(2\)"):
        act(session, cart, 7)
    end = act(session, cart, 0)
    assert (end.done, end.terminated, end.truncated) == (True, False, True)
    with pytest.raises(RuntimeError, match="has ended"):
        act(session, cart, 0)
    session.close()
    session.close()
    with pytest.raises(RuntimeError, match="session has been closed"):
        session.reset()


def test_a_step_without_a_reset_opens_an_episode() -> None:
    cart = served("CartPole-v1")
    session = cart.session()
    stepped = session.step(cart.action_model(action=0), seed=1)
    env = gym.make("CartPole-v1")
    env.reset(seed=1)
    np.testing.assert_allclose(stepped.observation, env.step(0)[0])
    session.close()


def test_what_has_no_score_has_no_reward() -> None:
    toy = served(register_toy(), length=3)
    session = toy.session()
    session.reset(seed=1)
    assert act(session, toy, 1).reward > 0
    session.close()
    pipelines = served("WMRL-MLE-Pipeline-v0", tasks=["wine-cultivar"])
    session = pipelines.session()
    # Out of range is an outcome of that environment: malformed, with the lowest score.
    for action in ([99] * 9, "nothing", [[0], [1, 2]]):
        session.reset(options={"task": "wine-cultivar"})
        outcome = act(session, pipelines, action)
        assert (outcome.reward, outcome.done, outcome.info["status"]) == (0.0, True, 0)
    session.close()
    pipelines.close()  # whatever would be executed now cannot be
    session = pipelines.session()
    session.reset(options={"task": "wine-cultivar"})
    unscored = act(session, pipelines, [0] * 9)
    assert unscored.info["status"] == -1
    assert unscored.reward is None
    session.close()


def test_options_that_are_none_are_refused() -> None:
    session = served("CartPole-v1").session()
    options: Any = "wine"
    with pytest.raises(ValueError, match="options='wine' must be an object"):
        session.reset(options=options)


def test_an_action_without_an_action_is_refused() -> None:
    with pytest.raises(ValidationError, match="action"):
        served("CartPole-v1").action_model()


@pytest.mark.parametrize(
    ("env_id", "kwargs", "message"),
    [
        ("WMRL-Nope-v0", {}, "env=WMRL-Nope-v0 .* cannot be made"),
        ("no_such_package:X-v0", {}, "no_such_package"),
        ("CartPole-v1", {"no_such_argument": 1}, "no_such_argument"),
        ("WMRL-MLE-v0", {"tasks": ["no-such-task"]}, "no-such-task"),
    ],
)
def test_what_cannot_be_made_is_refused_at_once(
    env_id: str, kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(RunError, match=message):
        ServedEnvironment(env_id, kwargs, workers=1)
