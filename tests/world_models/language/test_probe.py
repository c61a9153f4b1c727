"""What a server really does is found out; what it lacks is done without."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.world_models.language.canned_server import (
    MODELS,
    Response,
    canned,
    chat,
    served_model,
)
from wmrl_gym.errors import WorldModelError
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backends.probe import Findings
from wmrl_gym.world_models.language.backends.server import ServerBackend

Body = Mapping[str, Any]
SPREAD = {"the": 0.5, "7": 0.25, "8": 0.125, "9": 0.1}


def findings(answer: Callable[[Body], Response]) -> Findings:
    with canned(served_model(answer)) as url:
        backend = ServerBackend(url, deadline_s=20)
        backend.close()
        return backend.findings


def like_vllm(body: Body) -> Response:
    """Renormalises under a constraint, and limits log-probabilities to 20."""
    count = body.get("top_logprobs", 0)
    if count > 20:
        return Response({"error": "at most 20"}, 400)
    choice = body.get("structured_outputs", {}).get("choice")
    if choice and body.get("logprobs"):
        return chat(choice[0], {choice[0]: 0.6, choice[1]: 0.4, "the": 0.0})
    if choice:
        return chat(choice[0])
    if "response_format" in body:
        return chat('{"word": "zqx"}')
    if body.get("continue_final_message"):
        return chat(" e r")
    return chat("the", SPREAD if body.get("logprobs") else None)


def test_a_server_that_renormalises() -> None:
    found = findings(like_vllm)
    assert found.constraint == "choice"
    assert found.constrained_logprobs == "renormalised"
    assert found.top_logprobs == 20
    assert found.schema
    assert found.prefill == {"continue_final_message": True, "add_generation_prompt": False}
    assert found.context_tokens == 4096
    assert not found.tokenize


def hosted(body: Body) -> Response:
    """Refuses fields that it does not know, names the limit otherwise, and tells five tokens."""
    known = {"model", "messages", "temperature", "max_completion_tokens", "logprobs"}
    strange = set(body) - known - {"top_logprobs"}
    if strange or body.get("top_logprobs", 0) > 5:
        return Response({"error": f"unknown: {strange}"}, 400)
    return chat("Seven", SPREAD if body.get("logprobs") else None)


def test_a_server_that_refuses_what_it_does_not_know() -> None:
    found = findings(hosted)
    assert found.limit_field == "max_completion_tokens"
    assert found.extra == {}
    assert found.top_logprobs == 5
    assert found.prefill is None
    assert not found.schema
    assert found.constraint == "none"


def test_a_server_that_ignores_everything() -> None:
    with canned(served_model(lambda body: chat("Hello."))) as url:
        backend = ServerBackend(url, deadline_s=20)
        assert not backend.capabilities.probabilities
        assert "next-token probabilities: no" in backend.capabilities.summary()
        assert "constraint on a choice: none" in backend.capabilities.summary()
        with pytest.raises(ValueError, match="use mode='structured'"):
            LanguageWorldModel(backend)
        with pytest.raises(ValueError, match="mode='head' needs a transformers model"):
            LanguageWorldModel(backend, mode="head")
        backend.close()


def test_a_server_too_slow_to_be_tried_out_is_not_taken_for_one_that_can_do_less() -> None:
    def answer(body: Body) -> Response:
        response = like_vllm(body)
        slow = "response_format" in body
        return Response(response.body, response.status, drip_s=60.0 if slow else 0.0)

    with (
        canned(served_model(answer)) as url,
        pytest.raises(WorldModelError, match=r"did not answer while.*raise deadline_s=3"),
    ):
        ServerBackend(url, deadline_s=3)


def test_no_server() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(WorldModelError, match=f"no model server answers at {url}.*start one"):
        ServerBackend(url)


def test_a_server_of_something_else() -> None:
    with (
        canned(lambda path, body: Response(["not", "models"])) as url,
        pytest.raises(WorldModelError, match="is it the right URL"),
    ):
        ServerBackend(url)


def test_access_is_refused() -> None:
    with (
        canned(lambda path, body: Response({}, 401)) as url,
        pytest.raises(WorldModelError, match="OPENAI_API_KEY"),
    ):
        ServerBackend(url)


def test_a_model_that_is_not_served() -> None:
    two = Response({"data": [{"id": "a"}, {"id": "b"}]})
    with canned(lambda path, body: two) as url:
        for model in ("c", None):
            with pytest.raises(ValueError, match=r"choose among \['a', 'b'\]"):
                ServerBackend(url, model)


def test_a_model_that_does_not_answer() -> None:
    with (
        canned(lambda path, body: MODELS if "models" in path else Response({}, 400)) as url,
        pytest.raises(WorldModelError, match="does not answer a plain question"),
    ):
        ServerBackend(url)


def test_symbols_of_several_tokens_are_refused() -> None:
    def respond(path: str, body: Body) -> Response:
        if path == "/tokenize":
            return Response({"tokens": list(range(len(body["prompt"])))})
        return served_model(like_vllm)(path, body)

    with canned(respond) as url:
        backend = ServerBackend(url, deadline_s=20)
        assert backend.findings.tokenize
        with pytest.raises(ValueError, match="symbol 'good' is not a single token"):
            LanguageWorldModel(backend, symbols=["0", "1", "2", "good"])
        backend.close()
