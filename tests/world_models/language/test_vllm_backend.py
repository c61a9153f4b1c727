"""What becomes of a vLLM engine that is slow, refuses or dies, with one that does so when told.

The real engine is in `test_vllm.py`, in an environment of its own.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.world_models.language.scripts import bare
from tests.world_models.tiny_models import tiny_tokenizer
from wmrl_gym.errors import WorldModelError
from wmrl_gym.world_models import make_world_model
from wmrl_gym.world_models.language import LanguageWorldModel, Prompt
from wmrl_gym.world_models.language.backends.vllm import VLLMBackend
from wmrl_gym.world_models.language.names import language_backend

DIGITS = tuple("0123456789")
PROMPT = Prompt("You judge.", "Rate it. ", "x = 1")


class Engine:
    """Gives every prompt a nine, unless `before` raises or takes its time."""

    def __init__(self, model: str, *, max_model_len: int = 4096, **options: Any) -> None:
        if model == "nobody/nothing":
            raise OSError("nobody/nothing is not a local folder\nand no model on the hub")
        self.model = model
        self.options = options
        self.model_config = SimpleNamespace(max_model_len=max_model_len)
        self.tokenizer = tiny_tokenizer()
        self.before: Callable[[], object] = lambda: None
        self.batches: list[int] = []

    def get_tokenizer(self) -> Any:
        return self.tokenizer

    def generate(self, inputs: Sequence[Any], sampling: Sequence[Any], use_tqdm: bool) -> Any:
        self.batches.append(len(inputs))
        self.before()
        nine = self.tokenizer("9", add_special_tokens=False)["input_ids"][0]
        told = [{nine: SimpleNamespace(logprob=math.log(0.8))}]
        said = SimpleNamespace(text="nine", token_ids=[nine], logprobs=told)
        return [SimpleNamespace(outputs=[said]) for _ in inputs]


@pytest.fixture(autouse=True)
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: Mapping[str, Mapping[str, Any]] = {
        "vllm": {"LLM": Engine, "SamplingParams": SimpleNamespace, "__version__": "0"},
        "vllm.sampling_params": {"StructuredOutputsParams": SimpleNamespace},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)


def test_a_name_carries_options_of_the_engine() -> None:
    name = (
        "vllm+structured:org/model?gpu_memory_utilization=0.3&max_model_len=512"
        "&enforce_eager=true&trust_remote_code=False&dtype=float16+execute"
    )
    model = make_world_model(name)
    assert isinstance(model, LanguageWorldModel)
    assert isinstance(model.backend, VLLMBackend)
    assert model.mode == "structured"
    assert model.backend.context_tokens == 512
    engine: Engine = model.backend._engine
    assert engine.model == "org/model"
    assert engine.options == {
        "enable_prefix_caching": True,
        "gpu_memory_utilization": 0.3,
        "enforce_eager": True,
        "trust_remote_code": False,
        "dtype": "float16",
    }


@pytest.mark.parametrize("query", ["x", "=1&y", "max_model_len"])
def test_options_that_are_none_are_refused(query: str) -> None:
    with pytest.raises(ValueError, match=r"model='vllm:m\?.*OPTION=VALUE"):
        make_world_model(f"vllm:m?{query}")


def test_an_engine_that_does_not_start_is_told_with_the_mend() -> None:
    with pytest.raises(WorldModelError, match=r"vllm:nobody/nothing: the engine does not start"):
        make_world_model("vllm:nobody/nothing")
    with pytest.raises(WorldModelError, match=r"OSError: .*folder and no model.*\?gpu_memory"):
        make_world_model("vllm:nobody/nothing?gpu_memory_utilization=0.9")
    with pytest.raises(ValueError, match="deadline_s=0"):
        language_backend("vllm:m", deadline_s=0)


def test_a_prompt_longer_than_the_context_spoils_no_batch() -> None:
    backend = VLLMBackend("m", engine_options={"max_model_len": 64})
    long = Prompt("You judge.", "Rate it. ", "x = 1\n" * 100)
    short, refused, last = backend.next_token_probabilities([PROMPT, long, PROMPT], DIGITS)
    assert short.probabilities is not None
    assert last.probabilities is not None
    assert short.mass == pytest.approx(0.8)
    assert "leaves no room for an answer in the 64 of vllm:m" in refused.error
    assert backend._engine.batches == [2]


def test_a_request_that_is_refused_is_told_prompt_by_prompt() -> None:
    backend = VLLMBackend("m")

    def refuse() -> None:
        raise ValueError("max_tokens must be at least 1")

    backend._engine.before = refuse
    for completion in backend.generate([PROMPT] * 2, max_tokens=4):
        assert completion.error == "vllm:m refuses: ValueError: max_tokens must be at least 1"
    assert backend.healthy()
    backend._engine.before = lambda: None
    assert backend.generate([PROMPT], max_tokens=4)[0].text == "nine"


def test_an_engine_that_dies_in_mid_run_leaves_outcomes_without_a_score() -> None:
    backend = VLLMBackend("m")
    model = LanguageWorldModel(backend, when_down="execute")
    batch = [bare(f"f({i})") for i in range(3)]
    assert [outcome.score for outcome in model.execute(batch)] == [1.0] * 3

    def die() -> None:
        raise RuntimeError("EngineCore has died")

    backend._engine.before = die
    for outcome in model.execute(batch):
        assert outcome.score is None
        assert "vllm:m has died: RuntimeError: EngineCore has died" in outcome.feedback
    assert not model.ready("any")
    assert model.execute(batch)[0].score is None
    assert backend._engine.batches == [3, 3]  # the dead one was not asked again
    model.close()
    assert "vllm:m is closed" in model.execute(batch)[0].feedback


def test_a_call_ends_at_its_deadline_and_the_engine_is_left_alone_until_it_is_done() -> None:
    backend = language_backend("vllm:m", deadline_s=0.2)
    assert isinstance(backend, VLLMBackend)
    done = threading.Event()
    backend._engine.before = lambda: done.wait(60)
    (late,) = backend.next_token_probabilities([PROMPT], DIGITS)
    assert late.error == "the deadline of 0.2 s passed"
    assert not backend.healthy()
    (busy,) = backend.generate([PROMPT], max_tokens=4)
    assert "still at a call that took too long" in busy.error
    done.set()
    with backend._busy:  # until the engine is done
        pass
    backend._engine.before = lambda: None
    assert backend.healthy()
    backend._deadline_s = 60.0
    assert backend.next_token_probabilities([PROMPT], DIGITS)[0].probabilities is not None
