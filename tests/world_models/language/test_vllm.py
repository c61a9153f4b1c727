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
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.world_models.language.scripts import bare
from wmrl_gym.errors import WorldModelError
from wmrl_gym.outcomes import Status
from wmrl_gym.world_models import make_world_model
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backend import Prompt
from wmrl_gym.world_models.language.backends.server import ServerBackend
from wmrl_gym.world_models.language.backends.transformers import TransformersBackend
from wmrl_gym.world_models.language.backends.vllm import VLLMBackend
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


def test_an_engine_by_name_with_its_options() -> None:
    options = "dtype=float32&max_model_len=1024&enforce_eager=true&max_num_seqs=4"
    model = make_world_model(f"vllm:{smollm2_directory()}?{options}+execute")
    assert isinstance(model, LanguageWorldModel)
    assert model.backend.context_tokens == 1024
    (outcome,) = model.execute([bare("f(1)")])
    assert outcome.score is not None, outcome.feedback
    assert model.ready("any")
    model.close()
    assert not model.ready("any")


def test_an_engine_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(WorldModelError, match="nothing: the engine does not start with"):
        make_world_model(f"vllm:{tmp_path / 'nothing'}")
    with pytest.raises(WorldModelError, match="no_such_option"):
        make_world_model(f"vllm:{smollm2_directory()}?no_such_option=1")


def test_the_engine_reads_distributions(engine: VLLMBackend) -> None:
    engine.check_symbols(DIGITS)
    for reading in engine.next_token_probabilities(PROMPTS, DIGITS):
        assert reading.probabilities is not None
        assert reading.probabilities.sum() == pytest.approx(1.0)
        assert 0.9 < reading.mass <= 1.0001


def test_the_engine_agrees_with_transformers(engine: VLLMBackend) -> None:
    in_process = TransformersBackend(smollm2_directory())
    ours = engine.next_token_probabilities(PROMPTS, DIGITS)
    theirs = in_process.next_token_probabilities(PROMPTS, DIGITS)
    for one, other in zip(ours, theirs, strict=True):
        assert one.probabilities is not None
        assert other.probabilities is not None
        assert np.allclose(one.probabilities, other.probabilities, atol=1e-3)
        assert one.mass == pytest.approx(other.mass, abs=1e-3)


def test_the_shared_part_is_worked_through_once(engine: VLLMBackend) -> None:
    shared = "A rule of the competition. " * 60
    prompts = [Prompt("You judge.", shared, f"x = {i}", prefill="Score: ") for i in range(4)]
    outputs = engine._run(prompts, max_tokens=1)
    # The cache works in blocks of 128 tokens; the first prompt fills it.
    cached = sorted(output.num_cached_tokens for output in outputs)
    assert cached[0] == 0
    assert cached[1] >= 256
    assert len({len(output.prompt_token_ids) // 128 * 128 for output in outputs}) == 1


def test_the_engine_is_held_to_a_schema(engine: VLLMBackend) -> None:
    word = {"type": "object", "properties": {"end": {"enum": ["zqx"]}}, "required": ["end"]}
    prompts = [Prompt("You judge.", "Say", f" it {i}.") for i in range(2)]
    for completion in engine.generate(prompts, max_tokens=80, schema=word):
        assert json.loads(completion.text) == {"end": "zqx"}
        assert completion.tokens > 1


def test_a_structured_prediction_has_the_length_that_it_needs(engine: VLLMBackend) -> None:
    model = LanguageWorldModel(engine, mode="structured", max_tokens=480)
    (outcome,) = model.execute([bare("print('hello')")])
    assert outcome.status is not Status.UNSCORED, outcome.feedback
    assert outcome.score is not None


def test_seeds_draw_different_texts(engine: VLLMBackend) -> None:
    prompt = Prompt("You tell stories.", "Begin one.", "")
    drawn = [c.text for c in engine.generate([prompt] * 3, max_tokens=16, seed=1)]
    assert len(set(drawn)) == 3
    again = [c.text for c in engine.generate([prompt] * 3, max_tokens=16, seed=1)]
    assert again == drawn


def test_predictions_in_process(engine: VLLMBackend) -> None:
    outcomes = LanguageWorldModel(engine).execute([bare(f"f({i})") for i in range(3)])
    for outcome in outcomes:
        assert outcome.score is not None
        assert outcome.details["mass"] > 0.5


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


def test_predictions_by_the_server(server: ServerBackend) -> None:
    url = server.name.removeprefix("openai:").partition("#")[0]
    model = make_world_model(f"openai:{url}#smollm2")
    outcomes = model.execute([bare(f"f({i})") for i in range(3)])
    model.close()
    for outcome in outcomes:
        assert outcome.score is not None
        assert outcome.details["mass"] > 0.5


def test_the_server_is_held_to_a_schema(server: ServerBackend) -> None:
    word = {"type": "object", "properties": {"end": {"enum": ["zqx"]}}, "required": ["end"]}
    (completion,) = server.generate(
        [Prompt("You judge.", "Say", " it.")], max_tokens=80, schema=word
    )
    assert json.loads(completion.text) == {"end": "zqx"}


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
