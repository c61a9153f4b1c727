"""Training an adapter on symbols: what is trained, what is kept, and that it can be read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.world_models.language.scripts import bare
from tests.world_models.tiny_models import tiny_llama
from wmrl_gym.outcomes import Outcome, Status
from wmrl_gym.world_models import make_world_model
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.fitted import FittedModel
from wmrl_gym.world_models.language.lora import LoraBackend, LoraSettings, SymbolExample
from wmrl_gym.world_models.language.modes.expected import DIGITS, Scale, symbol_prompts

# peft uses names that transformers is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

COUNT = 12
SCRIPTS = [bare(f"x = {n % 2}\n" + "y = x\n" * (n // 2), task=f"t{n % 2}") for n in range(COUNT)]
OUTCOMES = [
    Outcome(Status.COMPLETED, 0.9) if n % 2 else Outcome(Status.CRASHED, 0.1) for n in range(COUNT)
]
SETTINGS = LoraSettings(rank=2, learning_rate=0.02, epochs=3, batch=4, seed=1)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("llama"))


def backend(place: Path, settings: LoraSettings = SETTINGS) -> LoraBackend:
    return LoraBackend(place, DIGITS, settings, rows=4)


def examples(of: LoraBackend) -> list[SymbolExample]:
    model = LanguageWorldModel(of, mode="expected")
    questions = [question for e in SCRIPTS if (question := model.question(e)) is not None]
    scale = Scale(of, DIGITS, 0.0)
    targets = [scale.target(outcome) for outcome in OUTCOMES]
    prompts = symbol_prompts(scale, questions)
    return [SymbolExample(*pair) for pair in zip(prompts, targets, strict=True)]


def test_targets_have_the_score_as_their_mean(place: Path) -> None:
    scale = Scale(backend(place), DIGITS, 0.0)
    # The ladder: 0.1 an error, 0.2 no valid submission, 0.5 to 1 in eight steps.
    scores = np.array([0.1, 0.2, *np.linspace(0.5, 1.0, 8)])
    for score in (0.5, 0.61, 0.8, 0.999, 1.0):
        target = scale.target(Outcome(Status.COMPLETED, score))
        assert target.sum() == pytest.approx(1.0)
        assert (target > 0).sum() <= 2
        assert target @ scores == pytest.approx(score)
    for status in (Status.CRASHED, Status.TIMED_OUT, Status.OUT_OF_MEMORY):
        assert scale.target(Outcome(status, 0.1)).tolist() == [1.0] + [0.0] * 9
    for status in (Status.NO_RESULT, Status.INVALID_RESULT):
        assert scale.target(Outcome(status, 0.2)).tolist() == [0.0, 1.0] + [0.0] * 8


def test_the_loss_is_the_cross_entropy_of_what_the_model_says(place: Path) -> None:
    one = backend(place)
    some = examples(one)[:3]
    prompts = [example.prompt for example in some]
    readings = one.next_token_probabilities(prompts, DIGITS)
    expected = []
    for example, reading in zip(some, readings, strict=True):
        assert reading.probabilities is not None
        expected.append(-example.target @ np.log(reading.probabilities * reading.mass))
    assert one.loss(some) == pytest.approx(np.mean(expected), abs=1e-4)
    assert np.isnan(one.loss([]))


def test_an_untrained_adapter_changes_nothing(place: Path) -> None:
    from wmrl_gym.world_models.language.backends.transformers import TransformersBackend

    adapted, plain = backend(place), TransformersBackend(place)
    prompts = [example.prompt for example in examples(adapted)[:2]]
    for one, other in zip(
        adapted.next_token_probabilities(prompts, DIGITS),
        plain.next_token_probabilities(prompts, DIGITS),
        strict=True,
    ):
        assert np.allclose(one.probabilities, other.probabilities, atol=1e-6)


def test_training_lowers_the_loss_and_only_the_upper_layers_learn(place: Path) -> None:
    one = backend(place)
    some = examples(one)
    before = one.loss(some)
    trained = {name for name, weight in one.adapted.named_parameters() if weight.requires_grad}
    layers = {int(name.split("layers.")[1].split(".")[0]) for name in trained}
    assert layers == {2, 3}
    assert all("lora_" in name for name in trained)
    curve = one.train(some, some)
    assert curve.steps == len(curve.train) == 3 * 4
    assert one.loss(some) < before - 0.3
    assert one.loss(some) == pytest.approx(min(loss for _, loss in curve.validation), abs=1e-5)
    assert dict(curve.validation)[0] == pytest.approx(before, abs=1e-5)


def test_equal_seeds_train_alike(place: Path) -> None:
    short = LoraSettings(rank=2, learning_rate=0.02, epochs=1, batch=4, seed=1)
    curves = []
    for _ in range(2):
        one = backend(place, short)
        curves.append(one.train(examples(one), []))
    assert curves[0].train == pytest.approx(curves[1].train)
    assert curves[0].kept == curves[0].steps == 4


def test_it_stops_when_nothing_is_gained_and_takes_back_what_was_lost(place: Path) -> None:
    """Trained on one answer and watched on another, it gets worse from the first step on."""
    wild = LoraSettings(rank=2, learning_rate=0.3, epochs=20, batch=4, patience=2, seed=1)
    one = backend(place, wild)
    crashed = [e for e, o in zip(examples(one), OUTCOMES, strict=True) if o.score == 0.1]
    completed = [e for e, o in zip(examples(one), OUTCOMES, strict=True) if o.score == 0.9]
    before = one.loss(completed)
    curve = one.train(crashed, completed)
    assert curve.steps < 20 * 2
    assert one.loss(completed) <= before + 1e-5


def test_a_fitted_directory_is_a_world_model(place: Path, tmp_path: Path) -> None:
    one = backend(place)
    one.train(examples(one)[:8], [])
    model = LanguageWorldModel(one, mode="expected", min_mass=0.0)
    model.learn(SCRIPTS[:1], [Outcome(Status.COMPLETED, 0.9, seconds=7.0)])
    wanted = model.execute(SCRIPTS)
    directory = tmp_path / "fitted"
    FittedModel(directory, str(place), "expected", {"why": "test"}).write(
        one.tokenizer, one.adapted, model.state_dict()
    )
    read = make_world_model(f"transformers:{directory}")
    assert isinstance(read, LanguageWorldModel)
    assert read.mode == "expected"
    again = LanguageWorldModel(read.backend, mode="expected", min_mass=0.0)
    again.load_state_dict(read.state_dict())
    for outcome, other in zip(wanted, again.execute(SCRIPTS), strict=True):
        assert outcome.score == pytest.approx(other.score, abs=1e-4)
        assert outcome.seconds == other.seconds
    # Asked in another way it is the same model, and has nothing of what was learned.
    unfitted = make_world_model(f"transformers:{directory}+head")
    assert isinstance(unfitted, LanguageWorldModel)
    assert unfitted.mode == "head"
    assert not unfitted.ready("t0")
    fitted = FittedModel.read(directory)
    assert fitted is not None
    assert fitted.provenance == {"why": "test"}
    assert FittedModel.read(place) is None


def test_a_fitted_model_can_be_fitted_again(place: Path, tmp_path: Path) -> None:
    """A head on an adapter: the second directory names the first."""
    one = backend(place)
    one.train(examples(one)[:8], [])
    first, second = tmp_path / "adapter", tmp_path / "head"
    FittedModel(first, str(place), "expected").write(one.tokenizer, one.adapted, _state("expected"))
    head = make_world_model(f"transformers:{first}+head")
    assert isinstance(head, LanguageWorldModel)
    head.learn(SCRIPTS * 2, OUTCOMES * 2)
    FittedModel(second, str(first), "head").write(one.tokenizer, None, head.state_dict())
    read = make_world_model(f"transformers:{second}")
    assert isinstance(read, LanguageWorldModel)
    state, other = read.backend.hidden_states([examples(one)[0].prompt] * 1), one
    assert np.allclose(state[0], other.hidden_states([examples(one)[0].prompt])[0], atol=1e-4)


def _state(mode: str) -> dict[str, object]:
    return {"mode": mode, "learned": {}, "durations": {}}


def test_damaged_directories_are_told(tmp_path: Path) -> None:
    for content in ("{}", "not JSON", '{"schema": "wmrl-gym/fitted-language-model/9"}'):
        (tmp_path / "wmrl_world_model.json").write_text(content)
        with pytest.raises(ValueError, match=r"cannot be read: .*fit the model again"):
            FittedModel.read(tmp_path)


def test_wrong_arguments(place: Path) -> None:
    for name in ("rank", "epochs", "batch", "patience"):
        with pytest.raises(ValueError, match=f"{name}=0"):
            LoraSettings(**{name: 0})
    with pytest.raises(ValueError, match="learning_rate=0"):
        LoraSettings(learning_rate=0)
    with pytest.raises(ValueError, match=r"examples=\[\]"):
        backend(place).train([], [])
    with pytest.raises(ValueError, match="symbol '10'"):
        LoraBackend(place, ["10", "1", "2", "3"], SETTINGS)
