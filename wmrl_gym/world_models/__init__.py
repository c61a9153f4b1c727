"""World models: executors that predict what a real execution would give."""

from wmrl_gym.world_models.registry import make_world_model, register_world_model

__all__ = ["make_world_model", "register_world_model"]
