"""The world model that every other one has to beat."""

from __future__ import annotations

import pytest

from wmrl_gym.outcomes import Execution, Outcome, Source, Status
from wmrl_gym.world_models.constant import ConstantWorldModel
from wmrl_gym.world_models.registry import make_world_model


def test_it_says_the_mean_of_the_task_and_of_all_for_a_new_task() -> None:
    model = make_world_model("constant")
    assert isinstance(model, ConstantWorldModel)
    [nothing] = model.execute([Execution("a", "")])
    assert (nothing.status, nothing.score) == (Status.UNSCORED, None)
    assert not model.ready("a")
    model.learn(
        [Execution("a", "1"), Execution("a", "2"), Execution("b", "3"), Execution("b", "4")],
        [
            Outcome(Status.COMPLETED, 0.9, seconds=2.0),
            Outcome(Status.CRASHED, 0.1, seconds=1.0),
            Outcome(Status.COMPLETED, 0.5, seconds=3.0),
            Outcome.unscored("broke"),
        ],
    )
    assert model.ready("new")
    known, new = model.execute([Execution("a", "5"), Execution("new", "6")])
    assert known.score == pytest.approx(0.5)
    assert known.seconds == pytest.approx(1.5)
    assert known.details["p_completed"] == 0.5
    assert known.source is Source.PREDICTED
    assert new.score == pytest.approx(0.5)
    assert new.details["p_completed"] == pytest.approx(2 / 3)
    again = ConstantWorldModel()
    again.load_state_dict(model.state_dict())
    assert again.execute([Execution("b", "7")]) == model.execute([Execution("b", "7")])
