"""A configuration of verl, composed of its own files, for a training on digits."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import verl  # noqa: F401  # its plugins come first
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

ENV = "tests.agents.verl.digits:wmrl-tests/RayDigits-v0"
SIZE = 4
"""Episodes in a group."""


def configuration(*overrides: str) -> Any:
    """The configuration with these overrides, by verl's own syntax; yours to change."""
    return deepcopy(_composed(*overrides))


@cache
def _composed(*overrides: str) -> Any:
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose(
            "ppo_trainer",
            [
                f"actor_rollout_ref.model.path={smollm2_directory()}",
                "actor_rollout_ref.rollout.name=vllm",
                f"actor_rollout_ref.rollout.n={SIZE}",
                "actor_rollout_ref.rollout.agent.default_agent_loop=wmrl",
                "actor_rollout_ref.rollout.agent.num_workers=2",
                "actor_rollout_ref.rollout.calculate_log_probs=True",
                "algorithm.adv_estimator=grpo",
                "data.max_prompt_length=256",
                "data.max_response_length=128",
                "data.train_batch_size=4",
                "trainer.val_before_train=False",
                "trainer.test_freq=-1",
                "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
                "transfer_queue.enable=True",
                f"+wmrl.env='{ENV}'",
                "+wmrl.world_model='tests.agents.llm.scripts:HalvingModel'",
                "+wmrl.anchor_fraction=0.5",
                "+wmrl.episodes=64",
                "+wmrl.max_observation_tokens=64",
                "+wmrl.correction_options={min_pairs:4,warmup_groups:1}",
                *overrides,
            ],
        )
    OmegaConf.resolve(config)
    return config
