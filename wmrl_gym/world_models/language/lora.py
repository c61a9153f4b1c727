"""Teaching a language model to give the right symbol, through a LoRA adapter.

The model is trained on exactly what `mode="expected"` asks it: the target is a distribution over
the symbols of the scale whose mean is the real score, so that the mean of what it says becomes a
prediction. The scripts of a task are worked through behind a prefix that they share, as in
prediction; no gradient goes through the prefix, nor through the lower half of the layers, so that
an epoch takes about as long as two rounds of prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.world_models.language.backend import Prompt
from wmrl_gym.world_models.language.backends.batches import shared_groups
from wmrl_gym.world_models.language.backends.transformers import TransformersBackend

_CLIP = 1.0
_WARMUP_STEPS = 8
_LOOKS_PER_EPOCH = 2


@dataclass(frozen=True)
class LoraSettings:
    """How an adapter is trained."""

    rank: int = 8
    """Rank of the adapter."""
    learning_rate: float = 3e-4
    """Step size of AdamW after a short warm-up."""
    epochs: int = 3
    """Most passes over the examples."""
    batch: int = 8
    """Examples of one task in a step."""
    patience: int = 3
    """Looks at the validation examples, two per epoch, without a gain before it stops."""
    seed: int = 0
    """Seed of the adapter and of the order of the examples."""

    def __post_init__(self) -> None:
        for name in ("rank", "epochs", "batch", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate={self.learning_rate} must be positive")


@dataclass(frozen=True)
class SymbolExample:
    """A prompt and what should have been answered."""

    prompt: Prompt
    target: NDArray[np.float64]
    """`[K]` probabilities of the symbols."""


@dataclass(frozen=True)
class LoraCurve:
    """How training went. Losses are cross-entropies in nats."""

    steps: int
    train: tuple[float, ...]
    """`[steps]` loss of each step."""
    validation: tuple[tuple[int, float], ...]
    """(step, loss) of each look at the validation examples, the first before training."""
    kept: int
    """Step whose adapter was kept: the one with the least validation loss."""


class LoraBackend(TransformersBackend):
    """A model in this process with an adapter that can be trained.

    Args:
        model: Directory or hub name of a model.
        symbols: The symbols that it is to learn to give.
        settings: How.
        device: A torch device, or `"auto"` for a GPU where there is one.
        rows: Most prompts in one pass. For each, what the backward pass needs takes about a
            gigabyte for 2000 tokens and a model like SmolLM2-135M on a CPU.

    Raises:
        MissingDependencyError: If torch, transformers or peft is not installed.
        ValueError: If the model cannot be loaded, or a symbol is no single token of it.
    """

    def __init__(
        self,
        model: str | Path,
        symbols: Sequence[str],
        settings: LoraSettings,
        *,
        device: str = "auto",
        rows: int = 4,
    ) -> None:
        super().__init__(model, device=device, rows=rows, deadline_s=float("inf"))
        self._settings = settings
        self._symbol_ids = self._encoder.symbol_ids(symbols)
        self.adapted = self._adapter(settings)
        """The model with its adapter, a `peft.PeftModel`."""

    def train(
        self,
        examples: Sequence[SymbolExample],
        validation: Sequence[SymbolExample],
        progress: Callable[[str], None] = lambda said: None,
    ) -> LoraCurve:
        """Train the adapter; what it was at its best on the validation examples is kept.

        Args:
            examples: `[N]` to learn from.
            validation: `[V]` to stop by; none to train to the end.
            progress: Is told how it goes.

        Raises:
            ValueError: If there are no examples.
        """
        if not examples:
            raise ValueError("examples=[]: there is nothing to learn from")
        torch, settings = self._torch, self._settings
        weights = [weight for weight in self.adapted.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=0.0)
        watch = _Best(weights, settings.patience)
        losses: list[float] = []
        watch.look(0, self.loss(validation))
        for number, batch in enumerate(self._steps(examples), start=1):
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * min(1.0, number / _WARMUP_STEPS)
            optimizer.zero_grad()
            losses.append(sum(self._backward(batch)) / len(batch))
            torch.nn.utils.clip_grad_norm_(weights, _CLIP)
            optimizer.step()
            if number % self._look_every(examples) == 0:
                watch.look(number, self.loss(validation))
                progress(f"step {number}, {watch.said}, training loss {np.mean(losses[-8:]):.3f}")
                if watch.given_up:
                    break
        watch.restore(len(losses))
        return LoraCurve(len(losses), tuple(losses), tuple(watch.looks), watch.kept)

    def loss(self, examples: Sequence[SymbolExample]) -> float:
        """Mean cross-entropy of what the model says of `examples`; NaN if there are none."""
        with self._torch.no_grad():
            found = [float(loss) for losses in self._losses(examples) for loss in losses]
        return float(np.mean(found)) if found else float("nan")

    def _adapter(self, settings: LoraSettings) -> Any:
        try:
            from peft import LoraConfig, get_peft_model
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                f"{error}: training an adapter needs it; pip install 'wmrl-gym[llm]'"
            ) from error
        layers = int(self._model.config.num_hidden_layers)
        config = LoraConfig(
            r=settings.rank,
            lora_alpha=2 * settings.rank,
            target_modules=self._matrices(),
            layers_to_transform=list(range(layers // 2, layers)),
            task_type="CAUSAL_LM",
        )
        with self._torch.random.fork_rng():
            self._torch.manual_seed(settings.seed)
            adapted = get_peft_model(self._model, config)
        # The layers of the adapter are put into the model itself, which goes on as before.
        return adapted

    def _matrices(self) -> list[str]:
        """Names of the linear maps in the layers, whatever the architecture calls them."""
        from transformers.pytorch_utils import Conv1D

        kinds = (self._torch.nn.Linear, Conv1D)
        modules = self._model.base_model.named_modules()
        return sorted({n.rpartition(".")[2] for n, module in modules if isinstance(module, kinds)})

    def _steps(self, examples: Sequence[SymbolExample]) -> Iterator[list[SymbolExample]]:
        """Batches of one task each, in an order of its own in every epoch."""
        rng = np.random.default_rng(self._settings.seed)
        for _ in range(self._settings.epochs):
            batches = _batches(examples, self._settings.batch, rng)
            yield from (batches[index] for index in rng.permutation(len(batches)))

    def _look_every(self, examples: Sequence[SymbolExample]) -> int:
        steps = len(_batches(examples, self._settings.batch, np.random.default_rng(0)))
        return max(1, steps // _LOOKS_PER_EPOCH)

    def _backward(self, batch: Sequence[SymbolExample]) -> list[float]:
        """`[B]` losses of a step, whose mean's gradient is added to that of the weights."""
        found: list[float] = []
        for losses in self._losses(batch):
            (losses.sum() / len(batch)).backward()
            found += losses.tolist()
        return found

    def _losses(self, examples: Sequence[SymbolExample]) -> Iterator[Any]:
        """Cross-entropies, pass by pass."""
        torch = self._torch
        prompts = [example.prompt for example in examples]
        encoded = [self._encoder.encode(prompt) for prompt in prompts]
        for group in shared_groups(prompts, encoded, rows=self._rows):
            with torch.no_grad():
                batches = list(self._batches(group, encoded))
            for batch in batches:
                said = self._forward(batch).logits[:, -1].float().log_softmax(-1)
                logs = [said[:, forms].logsumexp(-1) for forms in self._symbol_ids]
                wanted = np.stack([examples[index].target for index in batch.indices])
                targets = torch.tensor(wanted, dtype=torch.float32, device=said.device)
                yield -(targets * torch.stack(logs, dim=1)).sum(-1)


class _Best:
    """Remembers the weights with the least validation loss."""

    def __init__(self, weights: Sequence[Any], patience: int) -> None:
        self._weights = weights
        self._patience = patience
        self._copy: list[Any] = []
        self.looks: list[tuple[int, float]] = []
        self.kept = 0

    @property
    def given_up(self) -> bool:
        """Whether the latest looks were all in vain."""
        since = [step for step, _ in self.looks if step > self.kept]
        return len(since) >= self._patience and bool(self._copy)

    @property
    def said(self) -> str:
        """One line about the latest look."""
        step, loss = self.looks[-1]
        return f"validation loss {loss:.3f}{' (least so far)' if step == self.kept else ''}"

    def look(self, step: int, loss: float) -> None:
        """Take note of a loss; NaN, of no examples, keeps nothing."""
        least = min((known for _, known in self.looks), default=np.inf)
        self.looks.append((step, loss))
        if loss < least:
            self.kept = step
            self._copy = [weight.detach().clone() for weight in self._weights]

    def restore(self, last: int) -> None:
        """Put the best weights back; without any look that counts, those of the last step stay."""
        if not self._copy:
            self.kept = last
        for weight, copy in zip(self._weights, self._copy, strict=False):
            weight.data.copy_(copy)


def _batches(
    examples: Sequence[SymbolExample], size: int, rng: np.random.Generator
) -> list[list[SymbolExample]]:
    """Examples of a task, shuffled, in batches."""
    by_task: dict[str, list[SymbolExample]] = {}
    for example in examples:
        by_task.setdefault(example.prompt.label, []).append(example)
    batches = []
    for own in by_task.values():
        order = [own[index] for index in rng.permutation(len(own))]
        batches += [order[cut : cut + size] for cut in range(0, len(order), size)]
    return batches
