"""The environment of digits on a Ray cluster, and models that say digits."""

from __future__ import annotations

import zlib
from typing import Any

import gymnasium as gym

from tests.agents.llm.scripts import DigitsEnv, carry_out
from wmrl_gym.executors import RayExecutor
from wmrl_gym.executors.ray_task import Run

gym.register("wmrl-tests/RayDigits-v0", entry_point="tests.agents.verl.digits:RayDigitsEnv")


class MakeDigits:
    """Ray ships it to its workers."""

    def __call__(self) -> Run:
        return carry_out


class RayDigitsEnv(DigitsEnv):
    """Two turns, executed by tasks of Ray."""

    def __init__(self) -> None:
        super().__init__(max_turns=2)
        self.executor = RayExecutor(MakeDigits(), memory_mb=16)


class ScriptedServer:
    """In the place of a client of vLLM: says a line that depends on who asks, and how often."""

    def __init__(self, tokenizer: Any, lines: tuple[str, ...], versions: tuple[int, ...] = (0,)):
        self.tokenizer = tokenizer
        self.lines = lines
        self.versions = versions
        self.asked: dict[str, int] = {}

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]
    ) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        turn = self.asked.get(request_id, 0)
        self.asked[request_id] = turn + 1
        line = self.lines[(zlib.crc32(request_id.encode()) + turn) % len(self.lines)]
        ids = self.tokenizer.encode(f"{line}<|im_end|>", add_special_tokens=False)
        version = self.versions[turn % len(self.versions)]
        return TokenOutput(
            token_ids=ids[: sampling_params["max_tokens"]],
            log_probs=[-0.5] * len(ids),
            extra_fields={"min_global_steps": version, "max_global_steps": version},
        )


class TransformersServer:
    """In the place of a client of vLLM: a real model, in this process."""

    def __init__(self, directory: str) -> None:
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(directory, dtype="float32").eval()

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]
    ) -> Any:
        import torch
        from verl.workers.rollout.replica import TokenOutput

        torch.manual_seed(len(prompt_ids))
        output = self.model.generate(
            torch.tensor([prompt_ids]),
            max_new_tokens=sampling_params["max_tokens"],
            do_sample=True,
            temperature=sampling_params["temperature"],
            top_k=0,
            return_dict_in_generate=True,
            output_logits=True,
        )
        ids = output.sequences[0, len(prompt_ids) :].tolist()
        logits = torch.stack(output.logits)[:, 0]
        known = logits.log_softmax(-1)[range(len(ids)), ids].tolist()
        return TokenOutput(
            token_ids=ids,
            log_probs=known,
            extra_fields={"min_global_steps": 0, "max_global_steps": 0},
        )
