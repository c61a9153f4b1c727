"""The real vLLM engine, in process and as a server. Run by `make test-vllm`.

It needs an environment of its own, and on a CPU the variables that the Makefile sets.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import numpy as np
import pytest

from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backend import Prompt
from wmrl_gym.world_models.language.backends.server import ServerBackend
from wmrl_gym.world_models.language.backends.vllm import VLLMBackend
from wmrl_gym.world_models.language.modes.structured import SCHEMA
from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

pytestmark = pytest.mark.vllm

DIGITS = tuple("0123456789")
OPTIONS = {
    "dtype": "float32",
    "max_model_len": 2048,
    "enforce_eager": True,
    "max_num_seqs": 16,
}
START_S = 600.0
PROMPTS = [
    Prompt("You judge.", "Rate the script 0 to 9.", f"\nx = {i}", prefill='{"score": ')
    for i in range(4)
]


@pytest.fixture(scope="module")
def engine() -> Iterator[VLLMBackend]:
    backend = VLLMBackend(smollm2_directory(), engine_options=OPTIONS)
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerBackend]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(smollm2_directory()), "--served-model-name", "smollm2"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--max-model-len", "2048", "--enforce-eager", "--max-num-seqs", "16"]
    with subprocess.Popen(command) as child:
        try:
            _await_health(f"http://127.0.0.1:{port}/health", child)
            backend = ServerBackend(f"http://127.0.0.1:{port}/v1", "smollm2", deadline_s=300)
            yield backend
            backend.close()
        finally:
            child.terminate()


def _await_health(url: str, child: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        assert child.poll() is None, "the server has ended"
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(1.0)  # it offers no event to wait for
    raise TimeoutError(url)


def test_the_engine_reads_distributions(engine: VLLMBackend) -> None:
    engine.check_symbols(DIGITS)
    for reading in engine.next_token_probabilities(PROMPTS, DIGITS):
        assert reading.probabilities is not None
        assert reading.probabilities.sum() == pytest.approx(1.0)
        assert 0.9 < reading.mass <= 1.0001


def test_the_engine_is_held_to_a_schema(engine: VLLMBackend) -> None:
    prompts = [Prompt("You judge.", "Say", " it as JSON.")]
    (completion,) = engine.generate(prompts, max_tokens=200, schema=SCHEMA)
    assert json.loads(completion.text)["status"] in SCHEMA["properties"]["status"]["enum"]


def test_what_the_server_does(server: ServerBackend) -> None:
    found = server.findings
    assert found.context_tokens == 2048
    assert found.constraint == "choice"
    assert found.constrained_logprobs == "renormalised"
    assert found.top_logprobs == 20
    assert found.prefill == {"continue_final_message": True, "add_generation_prompt": False}
    assert found.schema
    assert found.tokenize
    assert found.list_prompts
    assert found.token_ids


def test_server_and_engine_agree(engine: VLLMBackend, server: ServerBackend) -> None:
    server.check_symbols(DIGITS)
    ours = engine.next_token_probabilities(PROMPTS, DIGITS)
    theirs = server.next_token_probabilities(PROMPTS, DIGITS)
    for one, other in zip(ours, theirs, strict=True):
        assert one.probabilities is not None
        assert other.probabilities is not None
        assert np.allclose(one.probabilities, other.probabilities, atol=0.01)


def test_modes_are_refused_where_the_engine_cannot(engine: VLLMBackend) -> None:
    with pytest.raises(ValueError, match="mode='head' needs a transformers model"):
        LanguageWorldModel(engine, mode="head")
