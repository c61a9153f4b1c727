"""A real server: what is found out about it, and predictions through a rate limit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.world_models.language.canned_server import Response, canned
from tests.world_models.language.llama_process import LlamaServer
from tests.world_models.language.scripts import bare
from wmrl_gym.outcomes import Status
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backend import Prompt
from wmrl_gym.world_models.language.backends import probe, transport
from wmrl_gym.world_models.language.backends.server import ServerBackend
from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

pytestmark = pytest.mark.llm

DIGITS = tuple("0123456789")


def test_what_llama_cpp_does(served: ServerBackend) -> None:
    found = served.findings
    assert found.model == "smollm2"
    assert found.context_tokens == 4096  # 8192 for two at once
    assert found.top_logprobs == 20
    assert found.prefill is not None
    assert found.schema
    assert found.constraint == "grammar"
    assert found.constrained_logprobs == "raw"
    assert found.list_prompts
    assert not found.token_ids
    assert "constraint on a choice: grammar" in served.capabilities.summary()


def test_its_tokens_are_those_of_the_converted_tokenizer(served: ServerBackend) -> None:
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(smollm2_directory() / "tokenizer.json"))
    text = Path(probe.__file__).read_text(encoding="utf-8")
    theirs = probe.tokens(served._transport, served.findings.tokenize, "smollm2", text)
    assert tokenizer.encode(text).ids == theirs
    assert len(theirs) > 2000


def test_symbols_are_checked_by_its_tokenizer(served: ServerBackend) -> None:
    served.check_symbols(DIGITS)
    with pytest.raises(ValueError, match="symbol '10' is not a single token"):
        served.check_symbols(["1", "10"])


def test_it_reads_a_distribution(served: ServerBackend) -> None:
    prompts = [
        Prompt("You judge scripts.", "Rate it from 0 to 9.", f"\nx = {i}", prefill='{"score": ')
        for i in range(2)
    ]
    for reading in served.next_token_probabilities(prompts, DIGITS):
        assert reading.probabilities is not None
        assert reading.probabilities.sum() == pytest.approx(1.0)
        assert 0.9 < reading.mass <= 1.0001


def test_it_is_held_to_a_schema(served: ServerBackend) -> None:
    schema = {
        "type": "object",
        "properties": {"end": {"enum": ["zqx"]}},
        "required": ["end"],
    }
    (completion,) = served.generate(
        [Prompt("You judge.", "Say", " it.")], max_tokens=80, schema=schema
    )
    assert json.loads(completion.text) == {"end": "zqx"}


def test_an_overlong_prompt_is_refused_and_told(served: ServerBackend) -> None:
    (reading,) = served.next_token_probabilities(
        [Prompt("You judge.", "word " * 6000, "?")], DIGITS
    )
    assert reading.probabilities is None
    assert "answers 400" in reading.error


def test_lengths_are_counted_where_it_matters(served: ServerBackend) -> None:
    short, long = (Prompt("s", "word " * n, "?") for n in (10, 2000))
    assert served.count_tokens(short) < 60
    assert 2000 < served.count_tokens(long) < 2100


def test_killed_in_mid_run_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(transport, "_RECHECK_S", 0.0)
    batch = [bare(f"f({i})") for i in range(4)]
    with LlamaServer("smollm2") as server:
        backend = ServerBackend(server.url, "smollm2", concurrency=2, deadline_s=300)
        model = LanguageWorldModel(backend, when_down="execute")
        assert all(outcome.score is not None for outcome in model.execute(batch[:1]))
        server.kill()
        for outcome in model.execute(batch):
            assert outcome.status is Status.UNSCORED
            assert outcome.score is None
            assert server.url in outcome.feedback
        assert not model.ready("any task")  # the next groups are executed for real
    with LlamaServer("smollm2", server.port):
        assert model.ready("any task")
        assert all(outcome.score is not None for outcome in model.execute(batch[:1]))
    model.close()


def test_predictions_through_a_rate_limit(
    llama_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_FIRST_PAUSE_S", 0.05)
    refused = 0

    def limited(path: str, body: Mapping[str, Any]) -> Response:
        nonlocal refused
        if refused < 5 and "# Script" in str(body):
            refused += 1
            return Response({"error": "slow down"}, 429, {"retry-after": "0"})
        url = llama_server.removesuffix("/v1") + path
        method = "POST" if body else "GET"
        answer = httpx.request(method, url, json=body or None, timeout=300)
        return Response(answer.content, answer.status_code)

    with canned(limited) as url:
        model = LanguageWorldModel(ServerBackend(url, "smollm2", concurrency=3, deadline_s=300))
        outcomes = model.execute([bare(f"f({i})") for i in range(3)])
        model.close()
    assert refused == 5
    for outcome in outcomes:
        assert outcome.score is not None
        assert 0.1 <= outcome.score <= 1.0
        assert outcome.status is not Status.UNSCORED
        assert outcome.details["mass"] > 0.5
