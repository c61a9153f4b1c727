from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym import Execution, Outcome
from wmrl_gym.envs.synthetic import SyntheticEnv, SyntheticWorldModel
from wmrl_gym.envs.synthetic.truth import execute
from wmrl_gym.world_models.constant import ConstantWorldModel
from wmrl_gym.world_models.registry import make_world_model
from wmrl_gym.world_models.residual import ResidualWorldModel, _belief


def executions(count: int, seed: int) -> list[Execution]:
    env = SyntheticEnv(tasks=["tin"])
    env.reset(seed=seed)
    actions = np.random.default_rng(seed).uniform(-1, 1, (count, 3))
    return [env.propose(action) for action in actions]


def error(model: ResidualWorldModel | SyntheticWorldModel, batch: list[Execution]) -> float:
    predicted = np.array([outcome.score for outcome in model.execute(batch)])
    true = np.array([execute(execution).score for execution in batch])
    return float(np.mean((predicted - true) ** 2))


def taught(base: SyntheticWorldModel, count: int = 400) -> ResidualWorldModel:
    model = ResidualWorldModel(base)
    batch = executions(count, seed=1)
    model.learn(batch, [execute(execution) for execution in batch])
    return model


def test_what_one_kind_is_over_rated_by_is_taken_off() -> None:
    model = taught(SyntheticWorldModel(misjudgement=0.3))
    fresh = executions(300, seed=2)
    assert error(model, fresh) < 0.3 * error(SyntheticWorldModel(misjudgement=0.3), fresh)
    assert model.belief > 0.8


def test_noise_is_not_believed() -> None:
    model = taught(SyntheticWorldModel(noise=0.2))
    fresh = executions(300, seed=2)
    assert error(model, fresh) < 1.05 * error(SyntheticWorldModel(noise=0.2), fresh)


def test_nothing_is_corrected_before_there_are_outcomes() -> None:
    base = SyntheticWorldModel(misjudgement=0.3)
    fresh = executions(20, seed=2)
    for model in (ResidualWorldModel(base), taught(base, count=63)):
        assert model.belief == 0.0
        assert [o.score for o in model.execute(fresh)] == [o.score for o in base.execute(fresh)]


def test_belief_by_hand() -> None:
    assert _belief(np.array([0.2, -0.2]), np.array([0.1, -0.1])) == pytest.approx(0.5)
    assert _belief(np.array([0.2]), np.array([-0.1])) == 0.0
    assert _belief(np.zeros(2), np.ones(2)) == 0.0


def test_it_resumes() -> None:
    model = taught(SyntheticWorldModel(misjudgement=0.3))
    resumed = ResidualWorldModel(SyntheticWorldModel(misjudgement=0.3))
    resumed.load_state_dict(model.state_dict())
    fresh = executions(20, seed=3)
    assert [o.score for o in resumed.execute(fresh)] == [o.score for o in model.execute(fresh)]


def test_what_has_no_score_is_passed_on() -> None:
    class Silent(ConstantWorldModel):
        def execute(self, executions: object) -> list[Outcome]:
            return [Outcome.unscored("no answer")]

    model = ResidualWorldModel(Silent())
    (batch,) = (executions(1, seed=0),)
    model.learn(batch, [execute(batch[0])])
    assert model.execute(batch)[0].score is None


def test_names() -> None:
    model = make_world_model("residual:constant")
    assert isinstance(model, ResidualWorldModel)
    assert isinstance(model.base, ConstantWorldModel)
    with pytest.raises(ValueError, match="residual:BASE"):
        make_world_model("residual:")
    with pytest.raises(ValueError, match="min_outcomes=5"):
        ResidualWorldModel(ConstantWorldModel(), min_outcomes=5)
