"""Language world models by name, so that a wrapper's specification holds a string.

    smollm2                         SmolLM2-135M-Instruct in this process, read through a head
    transformers:MODEL              a directory or hub name, in this process
    vllm:MODEL                      the same in a vLLM engine
    openai:URL#MODEL                a server; `#MODEL` may be left out if it serves one

A mode is given as `+MODE` before the colon, or at the end: `transformers+head:MODEL`,
`transformers:MODEL+head`, `smollm2+expected`. Without one it is `expected`; for `smollm2`, which
says nothing useful without training, `head`; for a directory that `wmrl-gym fit` wrote, the mode
that was fitted. `+pairwise` or `+listwise` after it compares the members of groups besides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from wmrl_gym.world_models.language.backend import LanguageBackend
from wmrl_gym.world_models.language.fitted import FittedModel
from wmrl_gym.world_models.language.model import MODES, LanguageWorldModel, ModeName
from wmrl_gym.world_models.language.reranking import RERANKINGS, Reranking

_SMOLLM2 = "smollm2"
SCHEMES = (_SMOLLM2, "transformers", "vllm", "openai")
"""What the name of a language model begins with."""


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

    @classmethod
    def of(cls, name: str) -> _Parts:
        head, colon, place = name.partition(":")
        scheme, *words = head.split("+")
        while "+" in place and place.rpartition("+")[2] in (*MODES, *RERANKINGS):
            place, _, last = place.rpartition("+")
            words.append(last)
        modes = [word for word in words if word not in RERANKINGS]
        rerankings = [method for method in RERANKINGS for word in words if word == method]
        for mode in modes:
            if mode not in MODES:
                raise ValueError(
                    f"world_model={name!r}: mode {mode!r} is none of {', '.join(MODES)}, and no "
                    f"re-ranking ({', '.join(RERANKINGS)})"
                )
        if len(modes) > 1 or len(rerankings) > 1:
            raise ValueError(f"world_model={name!r} has more than one mode or re-ranking")
        rerank = rerankings[0] if rerankings else None
        return cls(scheme, place, scheme + colon + place, "".join(modes), rerank)


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
        WorldModelError: If its server does not answer.
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

        return VLLMBackend(place)
    from wmrl_gym.world_models.language.backends.transformers import TransformersBackend
    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

    return TransformersBackend(smollm2_directory() if scheme == _SMOLLM2 else place, **limits)
