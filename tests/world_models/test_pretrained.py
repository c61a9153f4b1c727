from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.correction import rank_correlation
from wmrl_gym.interchange.outcomes import shipped_outcomes
from wmrl_gym.world_models.pretrained import PretrainedWorldModel, teach
from wmrl_gym.world_models.registry import make_world_model
from wmrl_gym.world_models.surrogate import SurrogateWorldModel

TASK = "titanic"


def test_it_ranks_scripts_of_a_task_that_it_has_never_seen() -> None:
    model = make_world_model(f"pretrained:surrogate!{TASK}")
    records = [r for r in shipped_outcomes().records if r.execution.task == f"{TASK}-micro"]
    assert len(records) > 8
    assert model.ready(f"{TASK}-micro")
    predicted = [outcome.score for outcome in model.execute([r.execution for r in records])]
    true = [record.outcome.score for record in records]
    groups = np.array([record.group for record in records])
    assert rank_correlation(predicted, true, groups) > 0.2


def test_left_out_tasks_are_left_out() -> None:
    some, every = SurrogateWorldModel(), SurrogateWorldModel()
    teach(some, without=[TASK])
    teach(every)
    examples = [len(model.state_dict()["examples"]) for model in (some, every)]
    assert 0 < examples[1] - examples[0] < 100


def test_it_learns_no_more_and_resumes() -> None:
    records = shipped_outcomes().records[:20]
    executions = [record.execution for record in records]
    model = make_world_model("pretrained:surrogate")
    before = [outcome.score for outcome in model.execute(executions)]
    model.learn(executions, [record.outcome for record in records[::-1]])
    assert [outcome.score for outcome in model.execute(executions)] == before
    resumed = PretrainedWorldModel(SurrogateWorldModel())
    resumed.load_state_dict(model.state_dict())
    assert [outcome.score for outcome in resumed.execute(executions)] == before


def test_a_name_without_a_base_is_refused() -> None:
    with pytest.raises(ValueError, match="pretrained:BASE"):
        make_world_model("pretrained:")
