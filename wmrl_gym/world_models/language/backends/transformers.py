"""A language model that transformers loads into this process."""

from __future__ import annotations

from pathlib import Path

from wmrl_gym.world_models.language.backends.in_process import InProcessBackend, check_limits
from wmrl_gym.world_models.language.backends.loading import load_model


class TransformersBackend(InProcessBackend):
    """Loads a causal language model and runs it in batches with a shared prefix.

    Args:
        model: Directory or hub name of a model.
        device: A torch device, or `"auto"` for a GPU where there is one.
        dtype: Name of a torch type, or `"auto"`: float32 on a CPU, else that of the weights.
        rows: Most prompts in one pass; less uses less memory.
        deadline_s: Seconds for one call; prompts that are not reached by then have no answer.

    Raises:
        MissingDependencyError: If torch or transformers is not installed.
        ValueError: If the model cannot be loaded, or an argument is out of its range.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        rows: int = 16,
        deadline_s: float = 600.0,
    ) -> None:
        check_limits(rows, deadline_s)  # before a minute of loading
        tokenizer, loaded = load_model(str(model), device, dtype)
        name = f"transformers:{model}"
        super().__init__(tokenizer, lambda: loaded, name, rows=rows, deadline_s=deadline_s)
