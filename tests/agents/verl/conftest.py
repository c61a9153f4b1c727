"""verl, Ray and TransferQueue as a training has them, but for the GPU workers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

# verl lives in an environment of its own: `make test-verl`. What needs none of it runs anywhere.
_NEED_VERL = ("advantages", "loop", "options", "plugin", "real_task", "trainer")
collect_ignore = (
    []
    if importlib.util.find_spec("verl")
    else ["configuration.py", "digits.py", *(f"test_{name}.py" for name in _NEED_VERL)]
)


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    import ray

    ray.init(num_cpus=6, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def transfer_queue(ray_cluster: None) -> Iterator[None]:
    import transfer_queue as tq

    from tests.agents.verl.configuration import configuration

    tq.init(configuration().transfer_queue)
    yield
    tq.close()


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

    return AutoTokenizer.from_pretrained(smollm2_directory())
