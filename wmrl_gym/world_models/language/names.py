"""Language world models by name, so that a wrapper's specification holds a string.

    smollm2                         SmolLM2-135M-Instruct in this process, read through a head
    transformers:MODEL              a directory or hub name, in this process
    vllm:MODEL                      the same in a vLLM engine
    openai:URL#MODEL                a server; `#MODEL` may be left out if it serves one

A mode is given as `+MODE` before the colon, or at the end: `transformers+head:MODEL`,
`smollm2+expected`. Without one it is `expected`; for `smollm2`, which says nothing useful
without training, `head`.
"""

from __future__ import annotations

from wmrl_gym.world_models.language.backend import LanguageBackend
from wmrl_gym.world_models.language.model import MODES, LanguageWorldModel

_SMOLLM2 = "smollm2"


def language_world_model(name: str) -> LanguageWorldModel:
    """The language world model of that name.

    Args:
        name: As above.

    Raises:
        ValueError: If the name is malformed, or there is no such model or mode.
        MissingDependencyError: If a package that it needs is not installed.
        WorldModelError: If its server does not answer.
    """
    head, _, place = name.partition(":")
    scheme, _, mode = head.partition("+")
    mode = mode or ("head" if scheme == _SMOLLM2 else "expected")
    if mode not in MODES:
        raise ValueError(f"world_model={name!r}: mode {mode!r} is none of {', '.join(MODES)}")
    if bool(place) == (scheme == _SMOLLM2):
        raise ValueError(
            f"world_model={name!r} must look like 'smollm2', 'transformers:MODEL', 'vllm:MODEL' "
            "or 'openai:URL#MODEL'"
        )
    return LanguageWorldModel(_backend(scheme, place), mode=mode)


def _backend(scheme: str, place: str) -> LanguageBackend:
    if scheme == "openai":
        from wmrl_gym.world_models.language.backends.server import ServerBackend

        url, _, model = place.partition("#")
        return ServerBackend(url, model or None)
    if scheme == "vllm":
        from wmrl_gym.world_models.language.backends.vllm import VLLMBackend

        return VLLMBackend(place)
    from wmrl_gym.world_models.language.backends.transformers import TransformersBackend
    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

    return TransformersBackend(smollm2_directory() if scheme == _SMOLLM2 else place)
