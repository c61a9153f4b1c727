"""Loading a causal language model with transformers."""

from __future__ import annotations

from typing import Any

from wmrl_gym.errors import MissingDependencyError


def load_model(model: str, device: str, dtype: str) -> tuple[Any, Any, Any]:
    """Load a model and its tokenizer.

    Args:
        model: Directory or hub name.
        device: A torch device, or `"auto"` for a GPU where there is one.
        dtype: Name of a torch type, or `"auto"`: float32 on a CPU, else that of the weights.

    Returns:
        The module `torch`, the tokenizer and the model.

    Raises:
        MissingDependencyError: If torch or transformers is not installed.
        ValueError: If the model cannot be loaded.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingDependencyError(
            f"{error}: language models in process need it; pip install 'wmrl-gym[llm]'"
        ) from error
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if dtype == "auto" and device == "cpu":
        dtype = "float32"
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
        loaded: Any = AutoModelForCausalLM.from_pretrained(model, dtype=dtype)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"model={model!r} cannot be loaded: {error}; give the directory of a causal language "
            "model in the layout of transformers, or its hub name where the hub can be reached"
        ) from error
    return torch, tokenizer, loaded.to(device).eval()
