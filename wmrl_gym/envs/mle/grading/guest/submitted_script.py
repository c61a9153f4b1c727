"""A submitted script as its grader sees it: a module whose functions run in another process."""

from __future__ import annotations

import builtins
import json
import os
import pickle
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from wmrl_gym.envs.mle.grading.guest import script_process
from wmrl_gym.envs.mle.grading.guest.plain import from_json
from wmrl_gym.envs.mle.grading.guest.script_process import HEAD
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError

STAND_IN = f"from {__name__} import member as __getattr__\n"
"""Source of a module that has what the script which is running has."""
_MAX_BYTES = 16 * 2**20
_CHUNK = 1 << 16


class SubmittedScript:
    """Asks the process of a script for its members, and calls them there.

    Args:
        pid: The process.
        questions: File descriptor to write to it.
        answers: File descriptor to read from it.
        seconds: Time for all that it is asked together.
    """

    def __init__(self, pid: int, questions: int, answers: int, *, seconds: float) -> None:
        self._pid, self._questions, self._answers = pid, questions, answers
        self._seconds = self._left = seconds
        self.fault = ""
        """Why it does not answer any more; empty while it does."""
        os.set_blocking(questions, False)

    def member(self, name: str) -> Any:
        """A function that runs in the other process, or a plain value.

        Raises:
            AttributeError: If the script has no such member.
            InvalidSubmissionError: If it does not answer.
            Exception: What importing the script raised.
        """
        answer = self._ask("member", name)
        if "function" not in answer:
            return self._value(answer)

        def call(*arguments: Any, **keywords: Any) -> Any:
            return self._value(self._ask("call", name, arguments, keywords))

        call.__name__ = call.__qualname__ = name
        return call

    def close(self) -> None:
        """End the process."""
        os.close(self._questions)
        os.close(self._answers)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def _value(self, answer: dict[str, Any]) -> Any:
        try:
            if "raised" not in answer:
                return from_json(answer["value"])
            name, text = map(str, answer["raised"])
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            self._give_up("its answer cannot be read")
        raise _error(name, text)

    def _ask(self, *question: Any) -> dict[str, Any]:
        content = pickle.dumps(question)
        if self.fault:
            raise InvalidSubmissionError(self.fault)
        try:
            self._send(HEAD.pack(len(content)) + content)
            (size,) = HEAD.unpack(self._receive(HEAD.size))
            if size > _MAX_BYTES:
                self._give_up(f"it answers with more than {_MAX_BYTES} bytes")
            answer = json.loads(self._receive(size))
        except (OSError, EOFError):
            self._give_up("it ended early")
        except (ValueError, RecursionError) as error:
            if isinstance(error, InvalidSubmissionError):
                raise
            self._give_up("its answer cannot be read")
        if not isinstance(answer, dict):
            self._give_up("its answer cannot be read")
        return answer

    def _send(self, content: bytes) -> None:
        while content:
            self._wait([], [self._questions])
            content = content[os.write(self._questions, content[:_CHUNK]) :]

    def _receive(self, size: int) -> bytes:
        content = bytearray()
        while len(content) < size:
            self._wait([self._answers], [])
            chunk = os.read(self._answers, min(size - len(content), _CHUNK))
            if not chunk:
                raise EOFError
            content += chunk
        return bytes(content)

    def _wait(self, reading: list[int], writing: list[int]) -> None:
        start = time.monotonic()
        ready = select.select(reading, writing, [], max(0.0, self._left))
        self._left -= time.monotonic() - start
        if not any(ready):
            self._give_up(f"it took more than {self._seconds:g} s")

    def _give_up(self, fault: str) -> NoReturn:
        self.fault = f"the submitted script was called, and {fault}"
        raise InvalidSubmissionError(self.fault)


def _error(name: str, text: str) -> Exception:
    """The error of that name, as far as Python has one that takes a text."""
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with suppress(TypeError):
            return kind(text)
    return RuntimeError(f"{name}: {text}")


_running: list[SubmittedScript] = []


@contextmanager
def running(path: Path, *, seconds: float, hidden: Sequence[Path]) -> Iterator[SubmittedScript]:
    """Run a script in a process of its own, and let `member` speak with it.

    Args:
        path: The script; it can read the directory that it is in.
        seconds: Time that it has, all calls together.
        hidden: What it must not be able to read.

    Raises:
        RuntimeError: If it cannot be kept apart here.
    """
    script_process.require_walls(hidden)
    questions, answers = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            script_process.run(path, questions[0], answers[1])
        finally:
            os._exit(1)
    os.close(questions[0])
    os.close(answers[1])
    script = SubmittedScript(pid, questions[1], answers[0], seconds=seconds)
    _running.append(script)
    try:
        yield script
    finally:
        _running.remove(script)
        script.close()


def member(name: str) -> Any:
    """A member of the script that is running; see `SubmittedScript.member`."""
    return _running[-1].member(name)
