from __future__ import annotations

import pytest

from tests.agents.toys import CorrectedVectorWrapper, WalkEnv, sync
from wmrl_gym.agents import VectorEnvBridge


@pytest.fixture
def corrected() -> CorrectedVectorWrapper:
    return CorrectedVectorWrapper(sync(WalkEnv, 3))


def test_what_the_vector_environment_has_is_one_for_all(corrected: CorrectedVectorWrapper) -> None:
    bridge = VectorEnvBridge(corrected)
    assert bridge.get_attr("correction") == [corrected.correction] * 3
    assert bridge.env_method("update", indices=[0, 2]) == [{"updates": 1.0}] * 2
    assert corrected.updates == 1


def test_it_is_found_below_further_wrappers(corrected: CorrectedVectorWrapper) -> None:
    bridge = VectorEnvBridge(CorrectedVectorWrapper(corrected))
    bridge.env_method("update")
    assert corrected.updates == 0, "the outer one comes first"
    assert bridge.has_attr("envs")


def test_what_it_lacks_is_the_sub_environments(corrected: CorrectedVectorWrapper) -> None:
    bridge = VectorEnvBridge(corrected)
    bridge.set_attr("gain", 3.0, indices=[1])
    assert bridge.get_attr("gain") == [1.0, 3.0, 1.0]
    bridge.set_attr("gain", [1, 2])
    assert bridge.get_attr("gain", indices=2) == [[1, 2]]
    assert bridge.env_method("boost", 5.0, indices=[0]) == [5.0]
    assert bridge.env_method("boost", gain=6.0) == [6.0] * 3
    assert bridge.get_attr("gain") == [6.0] * 3


def test_spaces_are_those_of_the_sub_environments(corrected: CorrectedVectorWrapper) -> None:
    bridge = VectorEnvBridge(corrected)
    assert bridge.get_attr("action_space", indices=[0]) == [corrected.single_action_space]


def test_setting_a_vector_attribute(corrected: CorrectedVectorWrapper) -> None:
    VectorEnvBridge(corrected).set_attr("updates", 9)
    assert corrected.updates == 9


def test_missing_names() -> None:
    bridge = VectorEnvBridge(sync(WalkEnv, 2))
    assert not bridge.has_attr("correction")
    assert bridge.has_attr("gain")
    with pytest.raises(AttributeError, match="correction"):
        bridge.get_attr("correction")
