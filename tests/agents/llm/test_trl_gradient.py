"""The gradient with weights is the weighted sum of the groups' gradients, for every loss."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [
    pytest.mark.llm,
    # Deprecations inside TRL and transformers, which no code of ours can answer.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from trl import GRPOConfig, GRPOTrainer

    from wmrl_gym.agents.llm.pipeline_language import PipelineLanguage
    from wmrl_gym.agents.llm.pipeline_policy import pipeline_policy
    from wmrl_gym.agents.llm.spec import WMRLSpec
    from wmrl_gym.agents.llm.trl import LOSS_TYPES, WMRLTrainer, require_known_trl
    from wmrl_gym.errors import MissingDependencyError

TASKS = ["wine-cultivar", "diabetes"]
SIZE = 4
"""Samples in a group."""


@pytest.fixture(scope="module")
def spec() -> Iterator[WMRLSpec]:
    spec = WMRLSpec(
        TASKS, groups=2, language=PipelineLanguage(), episodes=8, env_options={"max_turns": 1}
    )
    yield spec
    spec.close()


@pytest.fixture(scope="module")
def policy() -> Any:
    return pipeline_policy(TASKS, lessons=2, width=32, layers=1)


def trainer(policy: Any, spec: WMRLSpec, path: Path, **options: Any) -> WMRLTrainer:
    model, tokenizer = policy
    arguments = {
        "output_dir": str(path),
        "use_cpu": True,
        "bf16": False,
        "per_device_train_batch_size": 2 * SIZE,
        "num_generations": SIZE,
        "max_completion_length": 10,
        # Generation and optimisation apart, so that old log-probabilities are kept.
        "num_iterations": 2,
        "report_to": "none",
        "save_strategy": "no",
        "gradient_checkpointing": False,
        "loss_type": "grpo",
        **options,
    }
    return WMRLTrainer(model, spec, args=GRPOConfig(**arguments), processing_class=tokenizer)


def play(spec: WMRLSpec, weights: tuple[float, float]) -> Any:
    """A rollout whose scores are given: random tokens, fixed rewards, one weight a group."""

    def rollout(prompts: list[str], trainer: Any) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        count = len(prompts)
        lengths = rng.integers(4, 10, size=count)
        completions = [rng.integers(3, 20, size=length).tolist() for length in lengths]
        rewards = [0.1, 0.9, 0.4, 0.6, 0.2, 0.5, None, 0.8]
        return {
            "prompt_ids": [trainer.processing_class.encode(prompt) for prompt in prompts],
            "completion_ids": completions,
            "logprobs": None,
            # The third token of each was the environment's.
            "env_mask": [[1, 1, 0] + [1] * (length - 3) for length in lengths],
            "wmrl_reward": rewards,
            "wmrl_weight": [weights[0]] * SIZE + [weights[1]] * SIZE,
            **{
                f"wmrl_{name}": [0] * count
                for name in ("group", "anchor", "predicted", "calibrated", "true")
            },
            "wmrl_source": ["real"] * SIZE + ["predicted"] * SIZE,
            "wmrl_diagnostics": [{}] * count,
        }

    return rollout


def batch(trainer: GRPOTrainer, spec: WMRLSpec, weights: tuple[float, float]) -> dict[str, Any]:
    trainer.model.train()
    trainer.rollout_func = play(spec, weights)
    rows = [dict(spec.train_dataset[i]) for i in range(2) for _ in range(SIZE)]
    output: dict[str, Any] = trainer._generate_and_score_completions(rows)
    # Far from the policy that sampled, so that ratios are clipped on both sides.
    noise = torch.Generator().manual_seed(1)
    old = output["old_per_token_logps"]
    output["old_per_token_logps"] = old + 0.5 * torch.randn(old.shape, generator=noise)
    return output


def gradient(trainer: GRPOTrainer, inputs: dict[str, Any]) -> torch.Tensor:
    trainer.model.zero_grad()
    trainer.current_gradient_accumulation_steps = 1
    trainer.compute_loss(trainer.model, inputs).backward()
    parts = [p.grad.flatten() for p in trainer.model.parameters() if p.grad is not None]
    return torch.cat(parts).double()


def only(inputs: dict[str, Any], group: int) -> dict[str, Any]:
    """The same batch with the advantages of one group alone."""
    kept = torch.zeros(2 * SIZE)
    kept[group * SIZE : (group + 1) * SIZE] = 1.0
    return {**inputs, "advantages": inputs["advantages"] * kept}


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_gradient_is_the_weighted_sum(
    loss_type: str, spec: WMRLSpec, policy: Any, tmp_path: Path
) -> None:
    judge = trainer(policy, spec, tmp_path, loss_type=loss_type)
    plain = batch(judge, spec, (1.0, 1.0))
    weighted = batch(judge, spec, (2.5, 1.0))
    # Seven samples have a score; the weights are divided by their mean over these.
    mean = (4 * 2.5 + 3 * 1.0) / 7
    parts = [gradient(judge, only(plain, group)) for group in (0, 1)]
    expected = 2.5 / mean * parts[0] + 1.0 / mean * parts[1]
    found = gradient(judge, weighted)
    assert min(part.norm() for part in parts) > 1e-4
    assert (found - expected).norm() / expected.norm() < 1e-5
    # Equal weights change nothing, to the last bit.
    assert torch.equal(batch(judge, spec, (3.0, 3.0))["advantages"], plain["advantages"])


def test_clipping_is_active_in_that_test(spec: WMRLSpec, policy: Any, tmp_path: Path) -> None:
    judge = trainer(policy, spec, tmp_path)
    gradient(judge, batch(judge, spec, (2.5, 1.0)))
    clipped = judge._metrics["train"]
    assert clipped["clip_ratio/low_mean"][-1] > 0.05
    assert clipped["clip_ratio/high_mean"][-1] > 0.05


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_exact_however_advantages_are_scaled(
    level: str, scale: str, spec: WMRLSpec, policy: Any, tmp_path: Path
) -> None:
    judge = trainer(
        policy,
        spec,
        tmp_path,
        importance_sampling_level=level,
        scale_rewards=scale,
        delta=2.0,
        top_entropy_quantile=0.8,
    )
    plain, weighted = batch(judge, spec, (1.0, 1.0)), batch(judge, spec, (0.5, 2.0))
    mean = (4 * 0.5 + 3 * 2.0) / 7
    expected = sum(
        weight / mean * gradient(judge, only(plain, group))
        for group, weight in enumerate((0.5, 2.0))
    )
    assert isinstance(expected, torch.Tensor)
    assert (gradient(judge, weighted) - expected).norm() / expected.norm() < 1e-5


def test_what_has_no_score_has_no_advantage(spec: WMRLSpec, policy: Any, tmp_path: Path) -> None:
    advantages = batch(trainer(policy, spec, tmp_path), spec, (1.0, 1.0))["advantages"]
    scored = np.array([0.2, 0.5, 0.8])
    expected = (scored - 0.5) / (scored.std(ddof=1) + 1e-4)
    assert advantages[SIZE:].tolist() == pytest.approx(
        [expected[0], expected[1], 0.0, expected[2]], abs=1e-5
    )


def test_tokens_of_the_environment_have_no_gradient(
    spec: WMRLSpec, policy: Any, tmp_path: Path
) -> None:
    judge = trainer(policy, spec, tmp_path)
    inputs = batch(judge, spec, (1.0, 1.0))
    before = gradient(judge, inputs)
    old = inputs["old_per_token_logps"].clone()
    old[:, 2] += 3.0  # the ratio of the masked token
    assert torch.equal(gradient(judge, {**inputs, "old_per_token_logps": old}), before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_device_train_batch_size": SIZE}, "generation_batch_size=4 holds one group"),
        ({"reward_weights": [0.0]}, "reward_weights"),
        ({"eval_strategy": "steps", "eval_steps": 1}, "does not evaluate"),
        ({"per_device_train_batch_size": 4 * SIZE}, "more than episodes=8"),
        ({"loss_type": "hinge"}, "loss_type='hinge' is not one"),
    ],
)
def test_settings_in_which_weights_would_not_count(
    options: dict[str, Any], message: str, spec: WMRLSpec, policy: Any, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        trainer(policy, spec, tmp_path, **options)


def test_tools_would_hide_the_mask(spec: WMRLSpec, policy: Any, tmp_path: Path) -> None:
    model, tokenizer = policy
    args = GRPOConfig(
        output_dir=str(tmp_path),
        use_cpu=True,
        bf16=False,
        num_generations=2,
        per_device_train_batch_size=4,
    )
    with pytest.raises(ValueError, match="tools: the spec brings the rollouts"):
        WMRLTrainer(model, spec, args=args, processing_class=tokenizer, tools=[print])


def test_another_trl_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require_known_trl()
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", lambda self, prompts: prompts)
    with pytest.raises(MissingDependencyError, match=r"trl 1\.\d+.*_generate_single_turn"):
        require_known_trl()
