"""The environment ids: one table."""

from __future__ import annotations

import gymnasium as gym

_ENVIRONMENTS: dict[str, tuple[str, str | None]] = {
    "WMRL-MLE-v0": ("wmrl_gym.envs.mle.env:MLEEnv", "wmrl_gym.vector_envs:make_mle_vec"),
    "WMRL-MLE-Pipeline-v0": (
        "wmrl_gym.envs.mle.pipeline_env:MLEPipelineEnv",
        "wmrl_gym.vector_envs:make_mle_pipeline_vec",
    ),
    "WMRL-VLA-v0": ("wmrl_gym.envs.vla.pixel_env:VLAEnv", None),
    "WMRL-VLA-State-v0": ("wmrl_gym.envs.vla.state_env:VLAStateEnv", None),
    "WMRL-Synthetic-v0": (
        "wmrl_gym.envs.synthetic.env:SyntheticEnv",
        "wmrl_gym.vector_envs:make_synthetic_vec",
    ),
}


def register_environments() -> None:
    """Register every id with Gymnasium; does nothing the second time."""
    for env_id, (entry_point, vector_entry_point) in _ENVIRONMENTS.items():
        if env_id not in gym.registry:
            gym.register(id=env_id, entry_point=entry_point, vector_entry_point=vector_entry_point)
