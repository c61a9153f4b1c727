"""A real model in this process, and a real server in another."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from tests.world_models.language.llama_process import LlamaServer
from wmrl_gym.world_models.language.backends.server import ServerBackend
from wmrl_gym.world_models.language.backends.transformers import TransformersBackend
from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

MODEL = "smollm2"

# vLLM lives in an environment of its own: `make test-vllm`.
collect_ignore = [] if importlib.util.find_spec("vllm") else ["test_vllm.py"]


@pytest.fixture(scope="session")
def smollm2() -> TransformersBackend:
    return TransformersBackend(smollm2_directory(), rows=8)


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    """The address of a llama.cpp server that serves SmolLM2 as `smollm2`."""
    with LlamaServer(MODEL) as server:
        yield server.url


@pytest.fixture(scope="session")
def served(llama_server: str) -> Iterator[ServerBackend]:
    backend = ServerBackend(llama_server, MODEL, concurrency=4, deadline_s=300)
    yield backend
    backend.close()
