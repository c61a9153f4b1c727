"""A real chat model, several turns, real sandboxes: every part of the machinery at its smallest."""

from __future__ import annotations

import warnings
import zlib
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
    from peft import LoraConfig
    from transformers import AutoTokenizer
    from trl.trainer.grpo_config import GRPOConfig

    from wmrl_gym.agents.llm.language import ChatLanguage
    from wmrl_gym.agents.llm.pipeline_language import PipelineLanguage, random_sentences
    from wmrl_gym.agents.llm.spec import WMRLSpec
    from wmrl_gym.agents.llm.trl import WMRLTrainer
    from wmrl_gym.agents.llm.trl_checkpoint import STATE_FILE, last_checkpoint
    from wmrl_gym.world_models.language import LanguageWorldModel
    from wmrl_gym.world_models.language.backends.adapter_off import AdapterOffBackend
    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory
    from wmrl_gym.world_models.surrogate import SurrogateWorldModel

TASKS = ["wine-cultivar", "penguin-sex"]


class ScriptByChecksum(ChatLanguage):
    """Takes any words for a pipeline: a model of this size writes no script that runs."""

    def action(self, task: str, text: str) -> str:
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        return PipelineLanguage().action(task, random_sentences(1, rng)[0])


def make_spec(tmp_path: Path, **options: Any) -> WMRLSpec:
    arguments: dict[str, Any] = {"groups": 4, "max_turns": 2, "anchor_fraction": 0.5, **options}
    env_options = {"timeout_s": 20.0, "store": str(tmp_path / "store.sqlite")}
    return WMRLSpec(
        TASKS,
        env_options={"max_turns": arguments.pop("max_turns"), **env_options},
        language=ScriptByChecksum(),
        episodes=4,
        turn_tokens=6,
        max_prompt_tokens=96,
        max_observation_tokens=32,
        **arguments,
    )


@pytest.fixture
def spec(tmp_path: Path) -> Iterator[WMRLSpec]:
    model = SurrogateWorldModel(min_outcomes=4, min_outcomes_per_task=1, n_estimators=5)
    spec = make_spec(tmp_path, world_model=model)
    yield spec
    spec.close()


def make_trainer(spec: WMRLSpec, tmp_path: Path, tokenizer: Any) -> WMRLTrainer:
    args = GRPOConfig(
        output_dir=str(tmp_path / "out"),
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=64,
        num_train_epochs=1,
        learning_rate=1e-4,
        logging_steps=1,
        save_steps=2,
        report_to="none",
        disable_tqdm=True,
        gradient_checkpointing=False,
        log_completions=False,
    )
    return WMRLTrainer(
        str(smollm2_directory()),
        spec,
        args=args,
        processing_class=tokenizer,
        peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )


def make_tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(str(smollm2_directory()), padding_side="left")


def test_a_few_steps(spec: WMRLSpec, tmp_path: Path) -> None:
    trainer = make_trainer(spec, tmp_path, make_tokenizer())
    batches: list[dict[str, Any]] = []
    play = spec.rollout_func

    def watched(prompts: Any, trainer: Any) -> dict[str, Any]:
        batches.append(play(prompts, trainer))
        return batches[-1]

    trainer.rollout_func = watched
    before = {n: p.detach().clone() for n, p in trainer.model.named_parameters() if "lora_B" in n}
    trainer.train()

    assert len(batches) == 2
    for batch in batches:
        for ids, mask in zip(batch["completion_ids"], batch["env_mask"], strict=True):
            # Two turns: what it said, what it was told, what it said.
            assert len(ids) == len(mask) <= 64
            turns = "".join(map(str, mask)).split("0")
            assert [len(turn) > 0 for turn in turns].count(True) == 2
        # One source and one weight for each group, and a reward for each sample.
        assert batch["wmrl_source"][0::2] == batch["wmrl_source"][1::2]
        assert batch["wmrl_group"][0::2] == batch["wmrl_group"][1::2]
        assert all(reward is not None for reward in batch["wmrl_reward"])
    groups = [g for batch in batches for g in batch["wmrl_group"][::2]]
    assert groups == list(range(4))
    sources = [s for batch in batches for s in batch["wmrl_source"]]
    assert {"real", "predicted"} == set(sources)
    assert sum(batch["wmrl_anchor"].count(True) for batch in batches) == 4

    logged = [line for line in trainer.state.log_history if "reward" in line]
    assert len(logged) == 2
    assert logged[-1]["wmrl/executions_avoided"] > 0
    assert logged[-1]["wmrl/pairs"] > 0
    assert any(
        (p.detach() != before[n]).any() for n, p in trainer.model.named_parameters() if n in before
    )
    checkpoint = last_checkpoint(tmp_path / "out")
    assert checkpoint is not None
    assert (checkpoint / STATE_FILE).is_file()


def test_the_model_that_training_started_with_is_the_world_model(tmp_path: Path) -> None:
    made: list[WMRLTrainer] = []
    tokenizer = make_tokenizer()
    model = LanguageWorldModel(AdapterOffBackend(lambda: made[0].model, tokenizer), min_mass=0.0)
    spec = make_spec(tmp_path, world_model=model, groups=2, max_turns=1, anchor_fraction=0.0)
    made.append(make_trainer(spec, tmp_path, tokenizer))
    made[0].train()
    (logged,) = [line for line in made[0].state.log_history if "reward" in line]
    # Nothing was executed; the adapters are on again, and were trained.
    assert logged["wmrl/executions_avoided"] == 4
    assert logged["wmrl/unscorable"] == 0.0
    weights = dict(made[0].model.named_parameters())
    assert all(p.requires_grad for name, p in weights.items() if "lora_" in name)
    assert any(p.abs().max() > 0 for name, p in weights.items() if "lora_B" in name)
    spec.close()
