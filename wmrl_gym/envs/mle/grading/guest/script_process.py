"""The process that a submitted script runs in, apart from the one that grades it.

It is a fork of the grader from before that has read anything. Before the script gets control it
gives up, for good, all it does not need (by Landlock, within the walls of the sandbox): it can
write no file, read none but libraries and what the agent was shown, and neither signal, trace
nor look into the grader. What it can do is answer, through a pipe, when the grader calls.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import resource
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from wmrl_gym.envs.mle.grading.guest.parts import seed
from wmrl_gym.envs.mle.grading.guest.plain import to_json
from wmrl_gym.sandboxes.guest import landlock

HEAD = struct.Struct(">Q")
"""Goes before each message: its length, in bytes."""
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_SHOWN_CHARACTERS = 500


def require_walls(hidden: Sequence[Path]) -> None:
    """Raise if a script could not be kept from its grader here.

    Args:
        hidden: What a script must not be able to read.

    Raises:
        RuntimeError: Saying what is in the way.
    """
    if landlock.abi() < landlock.REQUIRED_ABI:
        raise RuntimeError(
            "a submitted script has to run apart from its grader, which needs version "
            f"{landlock.REQUIRED_ABI} of Landlock (Linux 6.12); there is {landlock.abi()} here"
        )
    for path in hidden:
        within = [tree for tree in _libraries() if path.resolve().is_relative_to(tree)]
        if within:
            raise RuntimeError(f"{path.resolve()} is among libraries, in {within[0]}; move it")


def run(script: Path, questions: int, answers: int) -> None:
    """Serve the grader until it hangs up.

    Args:
        script: What was submitted; it may read the directory that it is in.
        questions: File descriptor to read from: pickled `("member", name)` or
            `("call", name, arguments, keywords)`.
        answers: File descriptor to write to, JSON: `function`, `value` or `raised`.
    """
    _give_up(script.parent, (questions, answers))
    seed()
    loaded = _Script(script)
    while question := _receive(questions):
        content = json.dumps(loaded.answer(question)).encode()
        _send(answers, HEAD.pack(len(content)) + content)


class _Script:
    """The submitted module, imported when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._module: ModuleType | BaseException | None = None

    def answer(self, question: bytes) -> Mapping[str, Any]:
        try:
            kind, name, *arguments = pickle.loads(question)
            found = self._member(name)
            if kind == "call":
                return {"value": to_json(found(*arguments[0], **arguments[1]))}
            return {"function": True} if callable(found) else {"value": to_json(found)}
        except BaseException as error:  # an exit too is an answer
            return {"raised": [type(error).__name__, str(error)[:_SHOWN_CHARACTERS]]}

    def _member(self, name: str) -> Any:
        if self._module is None:
            try:
                self._module = _import(self._path)
            except BaseException as error:
                self._module = error
        if isinstance(self._module, BaseException):
            raise self._module
        if name == "__all__" and not hasattr(self._module, name):
            own = {n: v for n, v in vars(self._module).items() if not isinstance(v, ModuleType)}
            return [each for each in own if not each.startswith("_")]
        return getattr(self._module, name)


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _give_up(place: Path, kept: Sequence[int]) -> None:
    os.setsid()
    _close_all_but(kept)
    _halve(resource.RLIMIT_DATA)  # so that a greedy script fails rather than its grader
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (0, 0))
    libraries, here = _libraries(), Path.cwd()
    others = [e for e in sys.path if Path(e).is_absolute() and not Path(e).is_relative_to(here)]
    sys.path[:], sys.argv[:] = [str(place), *others], [str(place)]
    os.chdir(place)
    readable = [(str(path), landlock.READ) for path in (place, *libraries)]
    devices = [(path, landlock.DEVICE) for path in _DEVICES if os.path.exists(path)]
    landlock.restrict([*readable, *devices])


def _libraries() -> list[Path]:
    """What Python reads of this machine: where it imports from, and shared libraries."""
    here = Path.cwd()
    paths = [Path(entry) for entry in sys.path]
    paths = [path for path in paths if path.is_absolute() and not path.is_relative_to(here)]
    trees = [Path(sys.base_prefix, "lib"), *map(Path, _SYSTEM), *paths]
    found = {tree.resolve() for tree in trees if tree.exists()}
    # Packages are links out of the site-packages of a sandbox.
    linked = {e.resolve() for p in paths if p.is_dir() for e in p.iterdir() if e.is_symlink()}
    return sorted(found | {path for path in linked if path.exists()})


def _close_all_but(kept: Sequence[int]) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _halve(limit: int) -> None:
    allowed = resource.getrlimit(limit)[0]
    if allowed != resource.RLIM_INFINITY:
        resource.setrlimit(limit, (allowed // 2, allowed // 2))


def _receive(descriptor: int) -> bytes:
    """The next message; empty at the end."""
    head = _read(descriptor, HEAD.size)
    return _read(descriptor, HEAD.unpack(head)[0]) if head else b""


def _read(descriptor: int, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        chunk = os.read(descriptor, size - len(content))
        if not chunk:
            return b""
        content += chunk
    return bytes(content)


def _send(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
