"""Loading a causal language model with transformers."""

from __future__ import annotations

from typing import Any

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.world_models.language.fitted import FittedModel, model_place


def load_model(model: str, device: str, dtype: str) -> tuple[Any, Any]:
    """Load a model and its tokenizer.

    Args:
        model: Directory or hub name, also a directory that `wmrl-gym fit` wrote.
        device: A torch device, or `"auto"` for a GPU where there is one.
        dtype: Name of a torch type, or `"auto"`: float32 on a CPU, else that of the weights.

    Returns:
        The tokenizer and the model.

    Raises:
        MissingDependencyError: If torch or transformers is not installed.
        ValueError: If the model cannot be loaded.
    """
    try:
        import torch
        import transformers  # noqa: F401  # here, so that a lack of it is told apart below
    except ImportError as error:
        raise MissingDependencyError(
            f"{error}: language models in process need it; pip install 'wmrl-gym[llm]'"
        ) from error
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if dtype == "auto" and device == "cpu":
        dtype = "float32"
    try:
        tokenizer, loaded = _load(model, dtype)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"model={model!r} cannot be loaded: {error}; give the directory of a causal language "
            "model in the layout of transformers, or its hub name where the hub can be reached"
        ) from error
    return tokenizer, loaded.to(device).eval()


def _load(model: str, dtype: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    fitted = FittedModel.read(model)
    if fitted is None:
        return tokenizer, AutoModelForCausalLM.from_pretrained(model, dtype=dtype)
    _, base = _load(model_place(fitted.model), dtype)
    return tokenizer, base if fitted.adapter is None else _adapted(base, str(fitted.adapter))


def _adapted(base: Any, adapter: str) -> Any:
    """The model with the adapter added to its weights, so that it costs nothing."""
    try:
        from peft import PeftModel
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{error}: adapters need it; pip install 'wmrl-gym[llm]'"
        ) from error
    return PeftModel.from_pretrained(base, adapter).merge_and_unload()
