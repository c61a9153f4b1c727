"""From a GGUF file of a Llama model to the directory that transformers loads.

The weights come out bit for bit as transformers' own path through GGUF gives them. The
tokenizer comes out as llama.cpp's: transformers ignores that the file asks for digits to be
split off one by one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.world_models.language.weights.gguf_file import GGUFFile

Tensor = NDArray[np.float32]

_OUTER = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_PRE_TOKENIZER = "smollm"
_CONTROL = 3
"""Type of the tokens that structure a conversation and never come from plain text."""


def convert(source: Path, directory: Path) -> None:
    """Write the model of a GGUF file in the layout of transformers.

    Args:
        source: A GGUF file of architecture `llama` with a `smollm` tokenizer.
        directory: An existing directory, which gets `model.safetensors`, `config.json`,
            `generation_config.json`, `tokenizer.json` and `tokenizer_config.json`.

    Raises:
        MissingDependencyError: If `gguf`, `safetensors` or `tokenizers` is not installed.
        ValueError: If the file holds another kind of model.
    """
    file = GGUFFile(source)
    values = file.values
    kind = values.get("general.architecture"), values.get("tokenizer.ggml.pre")
    if kind != ("llama", _PRE_TOKENIZER):
        raise ValueError(
            f"source={source} holds {kind}; ('llama', {_PRE_TOKENIZER!r}) can be converted"
        )
    heads = values["llama.attention.head_count"], values["llama.attention.head_count_kv"]
    tensors = {_name(name): _unpermuted(name, tensor, *heads) for name, tensor in file.tensors()}
    _save(tensors, directory / "model.safetensors")
    _write_json(directory / "config.json", _config(values, tied="lm_head.weight" not in tensors))
    _write_json(directory / "generation_config.json", _special_ids(values))
    _write_tokenizer(values, directory)


def _name(name: str) -> str:
    """`blk.3.attn_q.weight` is `model.layers.3.self_attn.q_proj.weight`."""
    if name in _OUTER:
        return _OUTER[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{_INNER[part]}.{kind}"


def _unpermuted(name: str, tensor: Tensor, heads: int, key_heads: int) -> Tensor:
    """Undo the order in which llama.cpp keeps the rows that rotary positions turn in pairs."""
    if ".attn_q." in name:
        return _halves_apart(tensor, heads)
    return _halves_apart(tensor, key_heads) if ".attn_k." in name else tensor


def _halves_apart(tensor: Tensor, heads: int) -> Tensor:
    pairs = tensor.reshape(heads, -1, 2, *tensor.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(tensor.shape)


def _save(tensors: Mapping[str, Tensor], path: Path) -> None:
    try:
        from safetensors.numpy import save_file
    except ImportError as error:
        raise _missing(error) from error
    contiguous = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    save_file(contiguous, path, metadata={"format": "pt"})


def _special_ids(values: Mapping[str, Any]) -> dict[str, int]:
    eos = values["tokenizer.ggml.eos_token_id"]
    return {
        "bos_token_id": values["tokenizer.ggml.bos_token_id"],
        "eos_token_id": eos,
        "pad_token_id": values.get("tokenizer.ggml.padding_token_id", eos),
    }


def _config(values: Mapping[str, Any], *, tied: bool) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": values["llama.embedding_length"],
        "intermediate_size": values["llama.feed_forward_length"],
        "num_hidden_layers": values["llama.block_count"],
        "num_attention_heads": values["llama.attention.head_count"],
        "num_key_value_heads": values["llama.attention.head_count_kv"],
        "max_position_embeddings": values["llama.context_length"],
        "rms_norm_eps": values["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": values["llama.rope.freq_base"],
        "vocab_size": len(values["tokenizer.ggml.tokens"]),
        "tie_word_embeddings": tied,
        "hidden_act": "silu",
        "attention_bias": False,
        "dtype": "float32",
        **_special_ids(values),
    }


def _write_tokenizer(values: Mapping[str, Any], directory: Path) -> None:
    try:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    except ImportError as error:
        raise _missing(error) from error
    tokens = values["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in values["tokenizer.ggml.merges"]]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = values["tokenizer.ggml.token_type"]
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in control])
    tokenizer.save(str(directory / "tokenizer.json"))
    _write_json(directory / "tokenizer_config.json", _tokenizer_config(values))


def _tokenizer_config(values: Mapping[str, Any]) -> dict[str, Any]:
    tokens, ids = values["tokenizer.ggml.tokens"], _special_ids(values)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[ids["bos_token_id"]],
        "eos_token": tokens[ids["eos_token_id"]],
        "pad_token": tokens[ids["pad_token_id"]],
        "unk_token": tokens[values.get("tokenizer.ggml.unknown_token_id", 0)],
        "chat_template": values["tokenizer.chat_template"],
        "model_max_length": values["llama.context_length"],
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
    }


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _missing(error: ImportError) -> MissingDependencyError:
    return MissingDependencyError(
        f"{error}: converting weights needs it; pip install 'wmrl-gym[llm]'"
    )
