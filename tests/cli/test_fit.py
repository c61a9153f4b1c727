"""`wmrl-gym fit`, run as a user runs it, on a model of a few thousand weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.world_models.tiny_models import tiny_llama
from wmrl_gym.cli import main
from wmrl_gym.cli.fit import kind_of
from wmrl_gym.cli.fit_language import figures
from wmrl_gym.executors.store import OutcomeStore
from wmrl_gym.interchange.outcomes import OutcomeRecord, OutcomeWriter
from wmrl_gym.outcomes import Execution, Outcome, Status
from wmrl_gym.world_models import make_world_model
from wmrl_gym.world_models.constant import ConstantWorldModel
from wmrl_gym.world_models.language import LanguageWorldModel

# peft uses names that transformers is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def records(tasks: int = 3, groups: int = 4, size: int = 3) -> list[OutcomeRecord]:
    """Scripts of one to six lines, of which more are better; every fourth crashes."""
    rng = np.random.default_rng(0)
    made = []
    for number in range(tasks * groups):
        for member in range(size):
            lines = int(rng.integers(1, 7))
            script = f"x = {number + member}\n" + "y = x\n" * lines
            crash = (number + member) % 4 == 0
            outcome = (
                Outcome(Status.CRASHED, 0.1, seconds=0.1)
                if crash
                else Outcome(Status.COMPLETED, 0.5 + lines / 12, seconds=2.0)
            )
            execution = Execution(f"t{number % tasks}", ("raise\n" if crash else "") + script)
            made.append(OutcomeRecord(execution, outcome, number))
    return made


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("outcomes") / "outcomes.jsonl.gz"
    with OutcomeWriter(file, {"seed": 7}) as writer:
        writer.write(records())
    return file


def fit(out: Path, source: Path, model: Path, *options: str) -> dict[str, Any]:
    """What the directory says of itself after a successful fit."""
    main(
        ["fit", str(source), "--out", str(out), "--model", str(model), "--device", "cpu", *options]
    )
    fields: dict[str, Any] = json.loads((out / "wmrl_world_model.json").read_text())
    return fields


def test_a_head(
    tmp_path: Path, outcomes: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = fit(tmp_path / "head", outcomes, model, "--held-out", "t1")
    printed = capsys.readouterr()
    sizes = "15 in train groups, 3 in validation groups, 6 in held-out groups, 12 in held-out tasks"
    assert sizes in printed.out
    assert "Fitted in" in printed.out
    assert "learning from" in printed.err
    provenance = told["provenance"]
    assert told["mode"] == "head"
    assert provenance["tasks_held_out"] == ["t1"]
    assert provenance["tasks_learned"] == ["t0", "t2"]
    assert provenance["source_provenance"]["seed"] == 7
    before, after = (provenance["figures"][when] for when in ("before", "after"))
    for part in ("train groups", "held-out groups", "held-out tasks"):
        assert before[part]["unscored"] == before[part]["outcomes"]
        assert after[part]["unscored"] == 0
    assert after["train groups"]["crash_auc"] > 0.7
    made = make_world_model(f"transformers:{tmp_path / 'head'}")
    assert isinstance(made, LanguageWorldModel)
    assert made.mode == "head"
    assert made.ready("t1")
    again = figures(made, [record for record in records() if record.execution.task == "t1"])
    wanted = after["held-out tasks"]
    assert again["rank_correlation"] == pytest.approx(wanted["rank_correlation"], abs=1e-6)


def test_an_adapter(
    tmp_path: Path, outcomes: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["--epochs", "2", "--learning-rate", "0.02", "--batch", "4", "--measured-groups", "2"]
    told = fit(tmp_path / "lora", outcomes, model, "--method", "lora", *short)
    assert "validation loss" in capsys.readouterr().err
    training = told["provenance"]["training"]
    assert told["mode"] == "expected"
    assert told["provenance"]["lora"]["learning_rate"] == 0.02
    assert training["steps"] == len(training["train"])
    losses = dict(training["validation"])
    assert losses[training["kept"]] == min(losses.values()) < losses[0]
    assert (tmp_path / "lora" / "adapter" / "adapter_model.safetensors").is_file()
    made = make_world_model(f"transformers:{tmp_path / 'lora'}+expected")
    assert isinstance(made, LanguageWorldModel)
    assert set(made.state_dict()["durations"]) == {"", *told["provenance"]["tasks_learned"]}


def test_what_is_there_is_not_overwritten(tmp_path: Path, outcomes: Path, model: Path) -> None:
    with pytest.raises(SystemExit, match="exists: choose another name"):
        fit(tmp_path, outcomes, model)


def test_wrong_arguments(tmp_path: Path, outcomes: Path, model: Path) -> None:
    out = tmp_path / "out"
    for options, message in (
        (["--held-out", "nothing"], "held_out="),
        (["--measured-groups", "0"], "measured_groups=0"),
    ):
        with pytest.raises(SystemExit, match=message):
            fit(out, outcomes, model, *options)
    with pytest.raises(SystemExit, match="cannot be loaded"):
        fit(out, outcomes, tmp_path / "no-model")
    with pytest.raises(SystemExit, match="is no file"):
        fit(out, tmp_path / "nothing", model)
    assert not out.exists()


def test_the_kind_of_a_source(tmp_path: Path, outcomes: Path) -> None:
    assert kind_of(outcomes) == "outcomes"
    assert kind_of(tmp_path) == "outcomes"  # the directory of a run
    store = tmp_path / "store.sqlite"
    OutcomeStore(store).close()
    assert kind_of(store) == "outcomes"
    other = tmp_path / "episodes.jsonl"
    other.write_text('{"schema": "wmrl-gym/songs/3"}\n')
    assert kind_of(other) == "songs"
    with pytest.raises(SystemExit, match="holds songs: outcomes can be fitted"):
        fit(tmp_path / "out", other, tmp_path)
    other.write_text("no JSON\n")
    assert kind_of(other) == "outcomes"


def test_figures_by_hand() -> None:
    """A constant orders nothing: rank correlation 0, half of the pairs, an AUC of one half."""
    constant = ConstantWorldModel()
    nothing = figures(constant, records())
    assert nothing["unscored"] == nothing["outcomes"] == 36
    assert np.isnan(nothing["rank_correlation"])
    constant.learn([r.execution for r in records()], [r.outcome for r in records()])
    found = figures(constant, records(tasks=1, groups=4))
    assert found["unscored"] == 0
    assert found["rank_correlation"] == 0.0
    assert found["pair_accuracy"] == 0.5
    assert found["crash_auc"] == 0.5
    assert np.isnan(figures(constant, [])["crash_auc"])
