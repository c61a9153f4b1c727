"""Language world models by name, so that a wrapper's specification holds a string.

    smollm2                         SmolLM2-135M-Instruct in this process, read through a head
    transformers:MODEL              a directory or hub name, in this process
    vllm:MODEL?OPTION=VALUE&...     the same in a vLLM engine, with arguments of `vllm.LLM`
                                    (`?gpu_memory_utilization=0.3&max_model_len=4096`), if any
    openai:URL#MODEL                a server; `#MODEL` may be left out if it serves one

A mode is given as `+MODE` before the colon, or at the end: `transformers+head:MODEL`,
`transformers:MODEL+head`, `smollm2+expected`. Without one it is `expected`; for `smollm2`, which
says nothing useful without training, `head`; for a directory that `wmrl-gym fit` wrote, the mode
that was fitted. `+pairwise` or `+listwise` after it compares the members of groups besides.
`+execute` has new groups executed for real while a server or an engine does not answer, up to 64
in a run; `+execute=N` up to N.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl

from wmrl_gym.world_models.language.backend import LanguageBackend
from wmrl_gym.world_models.language.fitted import FittedModel
from wmrl_gym.world_models.language.model import (
    MODES,
    MOST_EXECUTED,
    LanguageWorldModel,
    ModeName,
)
from wmrl_gym.world_models.language.reranking import RERANKINGS, Reranking

_SMOLLM2 = "smollm2"
SCHEMES = (_SMOLLM2, "transformers", "vllm", "openai")
"""What the name of a language model begins with."""
_WORD = re.compile(rf"({'|'.join((*MODES, *RERANKINGS))}|execute(=[1-9]\d*)?)")


def language_world_model(name: str) -> LanguageWorldModel:
    """The language world model of that name.

    Args:
        name: As above.

    Raises:
        ValueError: If the name is malformed, or there is no such model or mode.
        MissingDependencyError: If a package that it needs is not installed.
        WorldModelError: If its server does not answer.
    """
    parts = _Parts.of(name)
    fitted = FittedModel.read(parts.place) if parts.scheme == "transformers" else None
    usual = fitted.mode if fitted else "head" if parts.scheme == _SMOLLM2 else "expected"
    model = LanguageWorldModel(
        language_backend(parts.backend, "world_model"),
        mode=cast(ModeName, parts.mode or usual),
        rerank=parts.rerank,
        when_down="execute" if parts.most_executed else "unscored",
        most_executed=parts.most_executed or MOST_EXECUTED,
    )
    if fitted is not None and fitted.mode == model.mode:
        model.load_state_dict(fitted.state())
    return model


@dataclass(frozen=True)
class _Parts:
    """What a name says."""

    scheme: str
    place: str
    backend: str
    """The name without mode and re-ranking."""
    mode: str
    """Empty if the name has none."""
    rerank: Reranking | None
    most_executed: int
    """Groups that are executed while it does not answer."""

    @classmethod
    def of(cls, name: str) -> _Parts:
        head, colon, place = name.partition(":")
        scheme, *words = head.split("+")
        while "+" in place and _WORD.fullmatch(place.rpartition("+")[2]):
            place, _, last = place.rpartition("+")
            words.append(last)
        unknown = [word for word in words if not _WORD.fullmatch(word)]
        if unknown:
            raise ValueError(
                f"world_model={name!r}: {unknown[0]!r} is no mode ({', '.join(MODES)}), no "
                f"re-ranking ({', '.join(RERANKINGS)}), and not 'execute' or 'execute=N'"
            )
        modes = [mode for mode in MODES for word in words if word == mode]
        rerankings = [method for method in RERANKINGS for word in words if word == method]
        executes = [word for word in words if word.startswith("execute")]
        if max(len(modes), len(rerankings), len(executes)) > 1:
            raise ValueError(f"world_model={name!r} says the same thing in two ways")
        return cls(
            scheme=scheme,
            place=place,
            backend=scheme + colon + place,
            mode="".join(modes),
            rerank=rerankings[0] if rerankings else None,
            most_executed=sum(int(word.partition("=")[2] or MOST_EXECUTED) for word in executes),
        )


def language_backend(
    name: str, parameter: str = "model", *, deadline_s: float | None = None
) -> LanguageBackend:
    """The language model of that name.

    Args:
        name: As above, without a mode.
        parameter: What it is called in error messages.
        deadline_s: Seconds for one call in this process, or for one request to a server; `None`
            for the back end's own.

    Raises:
        ValueError: If the name is malformed, or there is no such model.
        MissingDependencyError: If a package that it needs is not installed.
        WorldModelError: If its server does not answer, or its engine does not start.
    """
    scheme, _, place = name.partition(":")
    if scheme not in SCHEMES or bool(place) == (scheme == _SMOLLM2):
        raise ValueError(
            f"{parameter}={name!r} must look like 'smollm2', 'transformers:MODEL', 'vllm:MODEL' "
            "or 'openai:URL#MODEL'"
        )
    limits: dict[str, Any] = {} if deadline_s is None else {"deadline_s": deadline_s}
    if scheme == "openai":
        from wmrl_gym.world_models.language.backends.server import ServerBackend

        url, _, model = place.partition("#")
        return ServerBackend(url, model or None, **limits)
    if scheme == "vllm":
        from wmrl_gym.world_models.language.backends.vllm import VLLMBackend

        model, options = _with_options(place)
        return VLLMBackend(model, engine_options=options, **limits)
    from wmrl_gym.world_models.language.backends.transformers import TransformersBackend
    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

    return TransformersBackend(smollm2_directory() if scheme == _SMOLLM2 else place, **limits)


def _with_options(place: str) -> tuple[str, dict[str, Any]]:
    """A model, and the options behind a `?`.

    Raises:
        ValueError: If something there is no `OPTION=VALUE`.
    """
    model, _, query = place.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise ValueError(
            f"model='vllm:{place}': after '?' come options as OPTION=VALUE&OPTION=VALUE ({error})"
        ) from error
    return model, {name: _value(text) for name, text in pairs}


def _value(text: str) -> Any:
    """A number, a truth value or any other JSON where it reads as one, else the text."""
    if text in ("True", "False"):
        return text == "True"
    try:
        return json.loads(text)
    except ValueError:
        return text
