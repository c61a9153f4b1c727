"""The base model of a policy as world model: training does not move it, nor it the policy."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

from tests.world_models.language.scripts import bare
from tests.world_models.tiny_models import tiny_llama
from wmrl_gym.outcomes import Outcome, Status
from wmrl_gym.world_models.language import LanguageWorldModel, Prompt
from wmrl_gym.world_models.language.backends.adapter_off import AdapterOffBackend
from wmrl_gym.world_models.language.backends.transformers import TransformersBackend

# peft uses names that transformers is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

DIGITS = tuple("0123456789")
PROMPTS = [Prompt("You judge.", "Rate the script. ", f"x = {n}\n" * n, label="a") for n in (1, 3)]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> TransformersBackend:
    return TransformersBackend(tiny_llama(tmp_path_factory.mktemp("llama")))


@pytest.fixture
def policy(plain: TransformersBackend) -> Any:
    """A policy whose adapter has been trained away from the model that it started with."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], lora_dropout=0.5)
    adapted = get_peft_model(copy.deepcopy(plain._model), config)
    with torch.no_grad():
        for weight in adapted.parameters():
            if weight.requires_grad:
                weight.normal_()
    return adapted.train()


def backend(policy: Any, plain: TransformersBackend) -> AdapterOffBackend:
    return AdapterOffBackend(lambda: policy, plain.tokenizer)


def test_it_is_the_model_that_training_started_with(
    policy: Any, plain: TransformersBackend
) -> None:
    shared = backend(policy, plain)
    for one, other in zip(
        shared.next_token_probabilities(PROMPTS, DIGITS),
        plain.next_token_probabilities(PROMPTS, DIGITS),
        strict=True,
    ):
        assert np.allclose(one.probabilities, other.probabilities, atol=1e-6)
        assert one.mass == pytest.approx(other.mass, abs=1e-6)
    for state, other_state in zip(
        shared.hidden_states(PROMPTS), plain.hidden_states(PROMPTS), strict=True
    ):
        assert np.allclose(state, other_state, atol=1e-5)
    assert shared.generate(PROMPTS, max_tokens=4) == plain.generate(PROMPTS, max_tokens=4)
    assert shared.context_tokens == plain.context_tokens


def test_the_policy_itself_says_something_else(policy: Any, plain: TransformersBackend) -> None:
    """Otherwise the test above would show nothing."""
    ids = torch.tensor([plain._encoder.encode(PROMPTS[0]).ids])
    with torch.no_grad():
        own = policy.eval()(input_ids=ids).logits
        base = plain._model(input_ids=ids).logits
    assert (own - base).abs().max() > 0.1


def test_predictions_stay_while_the_policy_is_trained(
    policy: Any, plain: TransformersBackend
) -> None:
    shared = backend(policy, plain)
    model = LanguageWorldModel(shared, mode="head", min_outcomes=4)
    scripts = [bare(f"x = {n}\n") for n in range(6)]
    model.learn(scripts, [Outcome(Status.COMPLETED, n / 6) for n in range(6)])
    before = model.execute(scripts)
    optimizer = torch.optim.SGD([w for w in policy.parameters() if w.requires_grad], lr=1.0)
    ids = torch.tensor([plain._encoder.encode(PROMPTS[1]).ids])
    for _ in range(2):
        policy(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    model._mode._states.clear()  # type: ignore[attr-defined]  # nothing may be remembered
    for one, other in zip(before, model.execute(scripts), strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-6)


def test_every_switch_of_the_policy_stands_as_before(
    policy: Any, plain: TransformersBackend
) -> None:
    frozen = next(name for name, weight in policy.named_parameters() if weight.requires_grad)
    policy.get_parameter(frozen).requires_grad_(False)
    policy.get_submodule("base_model.model.model.layers.1").eval()
    ids = torch.tensor([plain._encoder.encode(PROMPTS[1]).ids])
    policy(input_ids=ids, labels=ids).loss.backward()
    before = _switches(policy)
    weights = {name: weight.detach().clone() for name, weight in policy.named_parameters()}
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    backend(policy, plain).next_token_probabilities(PROMPTS, DIGITS)
    assert torch.equal(torch.rand(3), expected)  # it draws nothing
    after = _switches(policy)
    assert before[:2] == after[:2]
    assert all(torch.equal(before[2][name], after[2][name]) for name in before[2])
    assert before[2].keys() == after[2].keys()
    assert all(torch.equal(weights[name], w) for name, w in policy.named_parameters())
    assert torch.is_grad_enabled()
    policy(input_ids=ids, labels=ids).loss.backward()  # and it can be trained further


def _switches(policy: Any) -> tuple[dict[str, bool], dict[str, bool], dict[str, torch.Tensor]]:
    return (
        {name: module.training for name, module in policy.named_modules()},
        {name: weight.requires_grad for name, weight in policy.named_parameters()},
        {n: w.grad.clone() for n, w in policy.named_parameters() if w.grad is not None},
    )


def test_the_policy_may_come_later(plain: TransformersBackend) -> None:
    held: list[Any] = []
    made = LanguageWorldModel(AdapterOffBackend(lambda: held[0], plain.tokenizer), mode="head")
    assert not made.ready("a")
    assert made.backend.capabilities.hidden_states


def test_a_policy_without_adapters_is_refused(plain: TransformersBackend) -> None:
    with pytest.raises(ValueError, match="has no adapters to switch off"):
        backend(plain._model, plain).next_token_probabilities(PROMPTS, DIGITS)


def test_wrong_arguments(plain: TransformersBackend) -> None:
    with pytest.raises(ValueError, match="rows=0"):
        AdapterOffBackend(lambda: None, plain.tokenizer, rows=0)
