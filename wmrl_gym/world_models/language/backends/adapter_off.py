"""The model that a policy is trained from, as the language model of a world model.

A policy that is trained through adapters (LoRA) holds the weights that it started with. With the
adapters switched off for the moment it is that model again, whatever has been trained: a world
model that shares the policy's memory and does not drift with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from wmrl_gym.world_models.language.backend import Capabilities, Prompt
from wmrl_gym.world_models.language.backends.batches import Rows
from wmrl_gym.world_models.language.backends.in_process import InProcessBackend


class AdapterOffBackend(InProcessBackend):
    """Runs the base model of a policy with adapters, which it leaves as it found them.

    For a policy that is whole in one process: weights that are sharded over processes cannot be
    used by one of them alone.

    Args:
        policy: Gives the policy, a `peft.PeftModel`. Called at each use, so it may come into
            being later: `lambda: trainer.model`.
        tokenizer: Its tokenizer.
        rows: Most prompts in one pass; less uses less memory.
        deadline_s: Seconds for one call; prompts that are not reached by then have no answer.

    Raises:
        ValueError: If an argument is out of its range; at the first use, if the policy has no
            adapters.
    """

    def __init__(
        self,
        policy: Callable[[], Any],
        tokenizer: Any,
        *,
        rows: int = 16,
        deadline_s: float = 600.0,
    ) -> None:
        super().__init__(
            tokenizer, self._base, "adapter-off:policy", rows=rows, deadline_s=deadline_s
        )
        self._policy = policy

    @property
    def capabilities(self) -> Capabilities:
        """All of them; the policy itself may not exist yet."""
        return Capabilities(hidden_states=True, notes={"weights": "those of the policy"})

    def _base(self) -> Any:
        return _with_adapters(self._policy()).get_base_model()

    def _in_batches(
        self,
        prompts: Sequence[Prompt],
        work: Callable[[Rows], list[Any]],
        late: Any,
        *,
        whole_own: bool = False,
    ) -> list[Any]:
        with _as_base(_with_adapters(self._policy())):
            return super()._in_batches(prompts, work, late, whole_own=whole_own)


@contextmanager
def _as_base(policy: Any) -> Iterator[None]:
    """Adapters off, no dropout; afterwards every switch stands as it stood before."""
    trained = [module for module in policy.modules() if module.training]
    # Switching adapters on again makes their weights trainable, also those that were frozen.
    wanted = [(weight, weight.requires_grad) for weight in policy.parameters()]
    policy.eval()
    try:
        with policy.disable_adapter():
            yield
    finally:
        for module in trained:
            module.training = True
        for weight, requires_grad in wanted:
            weight.requires_grad_(requires_grad)


def _with_adapters(policy: Any) -> Any:
    if not hasattr(policy, "disable_adapter") or not hasattr(policy, "get_base_model"):
        raise ValueError(
            f"policy={type(policy).__name__} has no adapters to switch off: train it with LoRA "
            "(`--lora-rank` above 0), or use a world model of its own"
        )
    return policy
