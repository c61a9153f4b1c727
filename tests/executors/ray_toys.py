"""What the tests run on Ray: it leaves a trace in a directory, and does what its artifact says."""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import ray

from wmrl_gym import Execution, Outcome, Status

DEADLINE_S = 60.0


def awaited(condition: Callable[[], bool]) -> None:
    """Return as soon as `condition` holds."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def node() -> str:
    return str(ray.get_runtime_context().get_node_id()) if ray.is_initialized() else ""


@dataclass
class Trace:
    """Who did what, as files: `<event>~<artifact>~<node>~<process>~<serial>`."""

    directory: Path
    serial: str = field(default_factory=lambda: uuid.uuid4().hex)

    def note(self, event: str, artifact: str) -> None:
        name = "~".join([event, artifact, node(), str(os.getpid()), uuid.uuid4().hex])
        (self.directory / name).touch()

    def noted(self, event: str) -> list[tuple[str, str, str]]:
        """(artifact, node, process) of each, sorted."""
        names = [path.name.split("~") for path in self.directory.iterdir()]
        return sorted((n[1], n[2], n[3]) for n in names if n[0] == event)

    def artifacts(self, event: str) -> list[str]:
        return [artifact for artifact, _, _ in self.noted(event)]


class Job:
    """Carries out the executions of one worker process."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        trace.note("made", "-")

    def __call__(self, execution: Execution) -> Outcome:
        word, *rest = execution.artifact.split()
        self.trace.note("begun", execution.artifact)
        outcome: Outcome | None = getattr(self, word)(*rest)
        self.trace.note("ended", execution.artifact)
        # An outcome that is only as long as its artifact, unless the job says otherwise.
        return outcome or Outcome(Status.COMPLETED, len(execution.artifact) / 100, seconds=0.5)

    def ok(self, *_: str) -> None:
        """Nothing special."""

    def busy(self, *_: str) -> None:
        time.sleep(0.4)

    def shout(self, *_: str) -> None:
        print("to the log")
        print("to the log", file=sys.stderr)

    def fail(self, *_: str) -> None:
        raise OSError("disk full")

    def mend(self, after: str) -> None:
        awaited(lambda: after in self.trace.artifacts("ended"))
        raise LookupError("mend this")

    def die(self, *_: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def die_once(self, name: str) -> None:
        if self.trace.artifacts("begun").count(f"die_once {name}") == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    def meet(self, count: str, *_: str) -> None:
        """Wait until `count` executions have begun."""
        awaited(lambda: len(self.trace.noted("begun")) >= int(count))

    def stay_on(self, victim: str, *_: str) -> None:
        """On the node `victim` never end; elsewhere wait until one has begun there."""
        awaited(lambda: any(where == victim for _, where, _ in self.trace.noted("begun")))
        if node() == victim:
            time.sleep(10 * DEADLINE_S)

    def gpu(self, *_: str) -> Outcome:
        feedback = os.environ["CUDA_VISIBLE_DEVICES"]
        return Outcome(Status.COMPLETED, 1.0, feedback=feedback)


@dataclass(frozen=True)
class MakeJob:
    """The picklable factory."""

    directory: Path

    def __call__(self) -> Job:
        return Job(Trace(self.directory))


@dataclass(frozen=True)
class MakeNothing:
    """A factory that fails."""

    def __call__(self) -> Job:
        raise RuntimeError("no such device")
