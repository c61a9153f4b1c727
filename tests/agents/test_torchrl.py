from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torch import nn
from torchrl.envs import GymEnv, GymWrapper, check_env_specs
from torchrl.modules import ProbabilisticActor, TanhNormal
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.llm import MCAdvantage

from wmrl_gym import WorldModelRewardWrapper
from wmrl_gym.agents.torchrl import WorldModelInfo, weighted_loss, whole_groups
from wmrl_gym.envs.synthetic import SyntheticWorldModel

VLA = {"tasks": ["reach"], "horizon": 6}


def episode(
    group: int, rewards: list[float], *, weight: float = 1.0, valid: bool = True
) -> TensorDict:
    """A rollout as `GymWrapper` makes it, with what `WorldModelInfo` read."""
    steps = len(rewards)
    done = torch.zeros(steps, 1, dtype=torch.bool)
    done[-1] = True
    following = TensorDict(
        {
            "reward": torch.tensor(rewards)[:, None],
            "done": done,
            "group": torch.full((steps, 1), group),
            # Only the last step's are known.
            "weight": torch.tensor([*[1.0] * (steps - 1), weight])[:, None],
            "valid": torch.tensor([*[True] * (steps - 1), valid])[:, None],
        },
        [steps],
    )
    return TensorDict({"observation": torch.rand(steps, 4), "next": following}, [steps])


@pytest.mark.parametrize(
    ("env_id", "arguments"),
    [
        ("WMRL-VLA-State-v0", VLA),
        ("WMRL-VLA-v0", {**VLA, "image_size": 36, "render_profile": "fast"}),
    ],
)
def test_gym_env_makes_our_ids(env_id: str, arguments: dict[str, Any]) -> None:
    env = GymEnv(f"wmrl_gym:{env_id}", **arguments)
    check_env_specs(env, seed=0)
    first = env.reset(seed=3, options={"group": 4})
    again = env.reset(seed=3, options={"group": 4})
    assert torch.equal(first["observation"], again["observation"])
    told = env.unwrapped.instruction if env_id == "WMRL-VLA-v0" else None
    rollout = env.rollout(20)
    assert rollout.shape == (6,)
    assert bool(rollout["next", "truncated"][-1])
    if env_id == "WMRL-VLA-v0":
        assert rollout["observation"].shape == (6, 8)  # torchrl's name of `state`
        assert rollout["image"].shape == (6, 36, 36, 3)
        assert again["instruction"] == told
    env.close()


def test_group_and_weight_of_the_wrapper_arrive() -> None:
    wrapped = WorldModelRewardWrapper(
        gym.make("wmrl_gym:WMRL-Synthetic-v0"), world_model=SyntheticWorldModel()
    )
    env = GymWrapper(wrapped).set_info_dict_reader(WorldModelInfo())
    check_env_specs(env, seed=0)
    start = env.reset(seed=5, options={"group": 17})
    last = env.rollout(3, auto_reset=False, tensordict=start)["next"][-1]
    assert (int(last["group"]), float(last["weight"]), bool(last["valid"])) == (17, 1.0, True)
    env.close()


def test_batches_are_whole_groups_with_weights_of_mean_one() -> None:
    episodes = [
        episode(0, [0.0, 1.0], weight=1.0),
        episode(1, [0.5], weight=2.0),
        episode(2, [0.5], weight=8.0, valid=False),
        episode(0, [0.0], weight=1.0),
        episode(1, [0.1], weight=2.0),
        episode(2, [0.5], weight=8.0),
    ]
    batch = whole_groups(episodes)
    assert batch is not None
    assert batch["group"].flatten().tolist() == [0, 0, 1, 0, 1]
    # Mean weight of the four episodes that are left is 1.5.
    expected = torch.tensor([1, 1, 2, 1, 2]) / 1.5
    torch.testing.assert_close(batch["weight"].flatten(), expected)
    advantages = MCAdvantage(2, prompt_key="group", trajectory_return="sum").inv(batch)
    by_group = {
        int(group): round(float(advantage), 3)
        for group, advantage in zip(advantages["group"], advantages["advantage"], strict=True)
    }
    assert len(advantages) == 5
    assert by_group == {0: -0.707, 1: -0.707}  # the worse one comes last in both
    assert whole_groups([episode(0, [1.0], valid=False)]) is None


def test_weights_multiply_the_objective_and_nothing_else() -> None:
    losses = TensorDict(
        {
            "loss_objective": torch.tensor([1.0, -2.0, 3.0]),
            "loss_entropy": torch.tensor(0.25),
            "entropy": torch.tensor(9.0),
        }
    )
    weight = torch.tensor([[0.5], [1.0], [1.5]])
    assert float(weighted_loss(losses, weight)) == pytest.approx((0.5 - 2.0 + 4.5) / 3 + 0.25)


def test_weights_reach_the_gradient_of_the_clipped_loss() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 6), NormalParamExtractor())
    actor = ProbabilisticActor(
        TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        return_log_prob=True,
    )
    module = ClipPPOLoss(actor, entropy_bonus=False, reduction="none")
    with torch.no_grad():
        batch = actor(TensorDict({"observation": torch.rand(6, 4)}, [6]))
    batch["advantage"] = torch.tensor([1.0, -1.0, 0.5, -0.5, 2.0, -2.0])[:, None]

    def gradient(weight: list[float]) -> torch.Tensor:
        module.zero_grad()
        weighted_loss(module(batch), torch.tensor(weight)[:, None]).backward()
        return torch.cat([parameter.grad.flatten() for parameter in module.parameters()])

    apart = [gradient([float(i == j) for j in range(6)]) for i in range(6)]
    weight = [0.5, 0.5, 1.5, 1.5, 1.0, 1.0]
    mixed = sum(w * part for w, part in zip(weight, apart, strict=True))
    torch.testing.assert_close(gradient(weight), mixed)
    assert gradient([1.0] * 6).abs().max() > 0
