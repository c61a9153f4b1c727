"""Language world models by name: specifications hold strings."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from tests.world_models.language.canned_server import Response, canned, chat, served_model
from tests.world_models.language.scripts import TASK, bare
from wmrl_gym import WorldModelRewardWrapper
from wmrl_gym.errors import MissingDependencyError, WorldModelError
from wmrl_gym.world_models import make_world_model, register_world_model
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backends import transport
from wmrl_gym.world_models.language.model import MOST_EXECUTED


def test_a_server_by_name() -> None:
    with canned(served_model(lambda body: chat("5", {"5": 1.0}))) as url:
        for name, mode in (
            (f"openai:{url}", "expected"),
            (f"openai:{url}#canned", "expected"),
            (f"openai+reason:{url}", "reason"),
            (f"openai+structured:{url}#canned", "structured"),
        ):
            model = make_world_model(name)
            assert isinstance(model, LanguageWorldModel)
            assert model.mode == mode
            assert model.backend.name == f"openai:{url}#canned"
            model.close()


def test_an_environment_is_made_again_from_its_specification() -> None:
    with canned(served_model(lambda body: chat("9", {"9": 0.75, "0": 0.25}))) as url:
        env = gym.make("WMRL-MLE-Pipeline-v0", tasks=[TASK])
        env = WorldModelRewardWrapper(env, world_model=f"openai:{url}#canned", anchor_fraction=0.0)
        assert env.spec is not None
        again = gym.make(EnvSpec.from_json(env.spec.to_json()))
        for one in (env, again):
            one.reset(seed=0)
            action = one.action_space.sample() * 0
            _, reward, _, _, info = one.step(action)
            assert info["wmrl/score_predicted"] == pytest.approx(0.75 + 0.25 * 0.1)
            assert reward == pytest.approx(info["wmrl/score_predicted"])
            one.close()


@pytest.mark.parametrize(
    "name",
    [
        *("smollm2:x", "smollm2+loud", "transformers", "vllm+head", "openai:", "vllm+x:model"),
        *("smollm2+execute=0", "smollm2+execute=x", "smollm2+execute+execute=2", "smollm2+"),
    ],
)
def test_malformed_names(name: str) -> None:
    with pytest.raises(ValueError, match=r"world_model='"):
        make_world_model(name)


@pytest.mark.parametrize(
    ("words", "groups"), [("+execute", MOST_EXECUTED), ("+execute=3", 3), ("", 0)]
)
def test_groups_that_a_name_lets_be_executed(
    words: str, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_FIRST_PAUSE_S", 0.01)
    up = True
    answer = served_model(lambda body: chat("5", {"5": 1.0}) if up else Response({}, 503))
    with canned(answer) as url:
        for name in (f"openai{words}:{url}", f"openai:{url}#canned+expected{words}"):
            up = True
            model = make_world_model(name)
            up = False
            model.execute([bare("f(1)")])
            ready = [model.ready("any") for _ in range(groups + 2)]
            assert ready == [False] * groups + [True] * 2
            model.close()


def test_what_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorldModelError, match="no model server answers"):
        make_world_model("openai:http://127.0.0.1:1/v1")
    with pytest.raises(ValueError, match="cannot be loaded"):
        make_world_model(f"transformers:{tmp_path / 'nothing'}")
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingDependencyError, match="needs the package vllm"):
        make_world_model("vllm:any")


def test_their_names_are_taken() -> None:
    with pytest.raises(ValueError, match="taken by a language model"):
        register_world_model("smollm2", "package.module:factory")


def test_other_names_still_work() -> None:
    with pytest.raises(ValueError, match=r"unknown.*smollm2"):
        make_world_model("oracle")
    factory = "wmrl_gym.world_models.surrogate:SurrogateWorldModel"
    assert type(make_world_model(factory)).__name__ == "SurrogateWorldModel"
