"""World models that ask a language model what running a script would do.

`LanguageWorldModel` is the world model; `LanguageBackend` is what it asks, in this process
(`backends.transformers`, `backends.vllm`) or behind a server (`backends.server`).
"""

from wmrl_gym.world_models.language.backend import (
    Capabilities,
    Completion,
    LanguageBackend,
    Prompt,
    Reading,
)
from wmrl_gym.world_models.language.model import LanguageWorldModel

__all__ = [
    "Capabilities",
    "Completion",
    "LanguageBackend",
    "LanguageWorldModel",
    "Prompt",
    "Reading",
]
