"""Wrappers that replace real execution by a world model's corrected prediction."""

from wmrl_gym.wrappers.action_chunks import ActionChunk
from wmrl_gym.wrappers.batched_execution import BatchedExecution
from wmrl_gym.wrappers.world_model_reward import WorldModelRewardWrapper
from wmrl_gym.wrappers.world_model_reward_vector import WorldModelRewardVectorWrapper

__all__ = [
    "ActionChunk",
    "BatchedExecution",
    "WorldModelRewardVectorWrapper",
    "WorldModelRewardWrapper",
]
