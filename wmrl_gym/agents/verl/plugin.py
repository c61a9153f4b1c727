"""What verl imports by itself, in every process: the agent loop and the trainers."""

from __future__ import annotations

# Importing these two registers the trainers of verl, and the agent loop.
import verl.trainer.ppo.v1  # noqa: F401  # fills the registry

from wmrl_gym.agents.verl import loop  # noqa: F401  # registers itself
from wmrl_gym.agents.verl.trainer import register_corrected_trainers

register_corrected_trainers()
