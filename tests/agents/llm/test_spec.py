"""What TRL is given, and that several processes share one scorer."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from tests.agents.llm.scripts import DigitsEnv, HalvingModel
from tests.world_models.language.canned_server import canned, chat, served_model
from wmrl_gym.world_models.language.backends import transport

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
    from transformers import TrainerState, TrainingArguments

    from wmrl_gym.agents.llm.language import PlainLanguage
    from wmrl_gym.agents.llm.ranks import Ranks
    from wmrl_gym.agents.llm.scorer import GroupScorer
    from wmrl_gym.agents.llm.spec import WMRLSpec, wmrl_score
    from wmrl_gym.agents.llm.trl_checkpoint import CorrectionCheckpoint, last_checkpoint
    from wmrl_gym.errors import RunError

ID = "WMRLTest/Digits-v0"


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    gym.register(ID, DigitsEnv)
    yield
    del gym.registry[ID]


def make(**options: Any) -> WMRLSpec:
    arguments = {
        "groups": 4,
        "env": ID,
        "world_model": HalvingModel(),
        "language": PlainLanguage(),
        "episodes": 8,
        **options,
    }
    return WMRLSpec(arguments.pop("tasks", ["a", "b", "c"]), **arguments)


def test_the_data_set_has_a_row_for_each_group_and_every_task_in_turn() -> None:
    rows = make(groups=7).train_dataset
    tasks = rows["task"]
    assert len(rows) == 7
    assert set(tasks[:3]) == set(tasks[3:6]) == {"a", "b", "c"}
    assert tasks == make(groups=7).train_dataset["task"]
    assert rows[0]["prompt"] == f"Task {tasks[0]}: say digits.\n"


class NoTokenizer:
    """Letters for tokens: what a rollout needs of a tokenizer."""

    eos_token_id = 0

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        return list(text.encode())

    def decode(self, ids: list[int], *, skip_special_tokens: bool = False) -> str:
        return bytes(i for i in ids if i).decode()


class Trainer:
    """What a rollout needs of a trainer; says the digit of each row's place."""

    class accelerator:
        is_main_process = True
        process_index = 0
        num_processes = 1

    num_generations = 2
    processing_class = NoTokenizer()
    eos_token_ids = (0,)
    chat_template_kwargs: dict[str, Any] = {}  # noqa: RUF012  # as TRL has it
    max_completion_length = 200
    use_vllm = False
    said = "{} done"

    def __init__(self) -> None:
        self.model = torch.nn.Linear(1, 1)
        self.model.config = object()  # type: ignore[assignment]  # read for its context length
        self.generation_config = type("Limits", (), {"max_new_tokens": 99})()
        self.limits: list[int] = []

    def _generate_single_turn(self, ids: list[list[int]], *_: Any) -> Any:
        self.limits.append(self.generation_config.max_new_tokens)
        return [list(self.said.format(2 * i).encode()) for i in range(len(ids))], None


def test_a_rollout_brings_tokens_mask_rewards_and_weights() -> None:
    spec, trainer = make(anchor_fraction=0.5, turn_tokens=20), Trainer()
    prompts = [spec.prompts[task] for task in ("a", "a", "b", "b")]
    output = spec.rollout_func(prompts, trainer)
    assert output["completion_ids"][3] == list(b"6 done")
    assert output["env_mask"] == [[1] * 6] * 4
    assert output["logprobs"] is None
    assert output["wmrl_group"] == [0, 0, 1, 1]
    real = output["wmrl_source"].index("real") // 2
    assert (
        output["wmrl_source"]
        == [["real"] * 2 + ["predicted"] * 2, ["predicted"] * 2 + ["real"] * 2][real]
    )
    truth = [0.0, 2 / 9, 4 / 9, 6 / 9]
    halved = [t if i // 2 == real else t / 2 for i, t in enumerate(truth)]
    assert output["wmrl_reward"] == pytest.approx(halved)
    assert trainer.limits == [20]
    assert trainer.generation_config.max_new_tokens == 99
    # The anchors were fed back, and the next batch gets new groups.
    assert output["wmrl_diagnostics"][0]["pairs"] == 2
    assert spec.rollout_func(prompts, trainer)["wmrl_group"] == [2, 2, 3, 3]


def test_when_the_model_server_dies_groups_are_executed_up_to_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_FIRST_PAUSE_S", 0.01)
    trainer = Trainer()
    trainer.said = "x = {}  # done"  # a script
    with canned(served_model(lambda body: chat("9", {"9": 1.0}))) as url:
        spec = make(world_model=f"openai+execute=2:{url}", anchor_fraction=0.0)
        batch = [spec.prompts["a"]] * 4
        alive = spec.rollout_func(batch, trainer)
    noticed, executed, given_up = (spec.rollout_func(batch, trainer) for _ in range(3))
    spec.close()
    assert alive["wmrl_reward"] == [1.0] * 4
    assert noticed["wmrl_reward"] == [None] * 4
    assert executed["wmrl_reward"] == pytest.approx([0.0, 2 / 9, 4 / 9, 6 / 9])
    assert executed["wmrl_source"] == ["real"] * 4
    assert given_up["wmrl_reward"] == [None] * 4  # two groups were executed


def test_the_reward_function_logs_and_returns_none_where_there_is_none() -> None:
    extra: dict[str, list[Any]] = {}
    metrics: dict[str, float] = {}
    count = 2
    fields: dict[str, Any] = {
        f"wmrl_{name}": [0] * count
        for name in ("group", "anchor", "predicted", "calibrated", "true")
    }
    rewards = wmrl_score(
        prompts=["p", "p"],
        log_extra=extra.__setitem__,
        log_metric=metrics.__setitem__,
        **fields,
        wmrl_reward=[None, 0.5],
        wmrl_weight=[2.0, 2.0],
        wmrl_source=["real", "real"],
        wmrl_diagnostics=[{"pairs": 3.0}] * count,
    )
    assert rewards == [None, 0.5]
    assert extra["wmrl_weight"] == [2.0, 2.0]
    assert extra["wmrl_source"] == ["real", "real"]
    assert metrics["wmrl/unscorable"] == 0.5
    assert metrics["wmrl/weight_max"] == 2.0
    assert metrics["wmrl/pairs"] == 3.0
    with pytest.raises(ValueError, match=r"pass rollout_func=spec\.rollout_func"):
        wmrl_score(prompts=["p"])


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="tasks=\\[\\] must name"):
        make(tasks=[])
    with pytest.raises(ValueError, match="groups=0 must be at least 1"):
        make(groups=0)
    trainer = Trainer()
    trainer.model.eval()
    with pytest.raises(ValueError, match="eval_dataset"):
        make().rollout_func([], trainer)


class State:
    """Something with a state."""

    def __init__(self, value: int) -> None:
        self.value = value

    def state_dict(self) -> dict[str, Any]:
        return {"value": self.value}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.value = state["value"]


def test_the_state_travels_with_the_checkpoints(tmp_path: Path) -> None:
    arguments = TrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to="none")
    for step in (2, 10):
        (tmp_path / f"checkpoint-{step}").mkdir()
        CorrectionCheckpoint(State(step)).on_save(arguments, TrainerState(global_step=step), None)  # type: ignore[arg-type]  # unused
    (tmp_path / "checkpoint-11").mkdir()  # killed while it was written
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    assert last_checkpoint(tmp_path / "checkpoint-11") is None

    def restored(step: int, source: Path | None = None) -> int:
        state = State(-1)
        callback = CorrectionCheckpoint(state)
        callback.source = None if source is None else str(source)
        callback.on_train_begin(arguments, TrainerState(global_step=step), None)  # type: ignore[arg-type]  # unused
        return state.value

    assert restored(0) == -1
    assert restored(10) == 10
    assert restored(10, tmp_path / "checkpoint-2") == 2
    with pytest.raises(RunError, match=r"checkpoint-11 has no wmrl_state\.pkl"):
        restored(11)


def on_rank(rank: int, directory: str, port: int, act: Callable[[], Any]) -> None:
    """What a launcher of accelerate does in each process."""
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    os.environ.update({name: str(value) for name, value in names.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.save(act(), f"{directory}/{rank}")
    torch.distributed.destroy_process_group()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def play_on_rank() -> Any:
    """Each rank has one half of three groups of two: the second group lies on both."""
    from accelerate import Accelerator

    model = HalvingModel()
    scorer = GroupScorer(DigitsEnv, episodes=6, world_model=model, anchor_fraction=0.0)
    ranks = Ranks(Accelerator(cpu=True))

    def start(tasks: list[str]) -> None:
        scorer.start(tasks, [0, 0, 1, 1, 2, 2])

    ranks.on_main(start, ["a", "a", "a"])
    turns = ranks.step(scorer, {i: f"{3 * ranks.index + i} done" for i in range(3)})
    unequal = ranks.any([ranks.index == 1])
    scores = ranks.scatter(scorer.scores)
    caught = ""
    try:
        ranks.broadcast(lambda: scorer.start(["a"] * 7, range(7)))
    except ValueError as error:
        caught = str(error)
    return {
        "done": [turns[i].done for i in range(3)],
        "rewards": [score.reward for score in scores],
        "groups": [score.group for score in scores],
        "batches": model.batches,
        "any": unequal,
        "caught": caught,
    }


def test_two_processes_share_one_scorer(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(on_rank, (str(tmp_path), free_port(), play_on_rank), nprocs=2)
    first, second = (torch.load(tmp_path / str(rank), weights_only=False) for rank in (0, 1))
    assert first["rewards"] == pytest.approx([0 / 18, 1 / 18, 2 / 18])
    assert second["rewards"] == pytest.approx([3 / 18, 4 / 18, 5 / 18])
    assert (first["groups"], second["groups"]) == ([0, 0, 1], [1, 2, 2])
    assert first["done"] == second["done"] == [True] * 3
    # All predictions in one batch, on the main process.
    assert (first["batches"], second["batches"]) == ([6], [])
    assert first["any"] is second["any"] is True
    # What goes wrong on the main process is known to all, which would wait for ever otherwise.
    assert first["caught"] == second["caught"] == "a batch of 7 episodes is more than episodes=6"
