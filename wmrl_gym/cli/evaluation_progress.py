"""What an evaluation of a language model shows while it goes on."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from wmrl_gym.agents.llm.attempts import Ended
from wmrl_gym.agents.llm.journal import Attempt
from wmrl_gym.executors import StoringExecutor
from wmrl_gym.outcomes import Executor

_STRAGGLER_S = 30.0
"""Where there is no live display, a line names what is waited for this often."""
_MOST_NAMES = 8


@dataclass
class _Wait:
    what: str
    names: Callable[[], Sequence[str]]
    since: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        counts = Counter(self.names())
        shown = [name if n == 1 else f"{name} x{n}" for name, n in counts.items()]
        more = f", and {len(shown) - _MOST_NAMES} more" if len(shown) > _MOST_NAMES else ""
        return (
            f"waiting for {self.what} for {time.monotonic() - self.since:.0f} s: "
            f"{', '.join(shown[:_MOST_NAMES])}{more}"
        )


class EvaluationProgress:
    """A live display on a terminal, plain lines elsewhere; both name what is waited for.

    Args:
        total: Attempts of the evaluation.
        done: Those that have ended before.
        console: Where to print.
    """

    def __init__(self, total: int, done: int, console: Console) -> None:
        self._total, self._done = total, done
        self._console = console
        self._bar = Progress(
            TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        )
        self._task = self._bar.add_task("episodes", total=total, completed=done)
        self._live: Live | None = None
        self._wait: _Wait | None = None

    def __enter__(self) -> EvaluationProgress:
        if self._console.is_terminal:
            self._live = Live(
                get_renderable=self._view, console=self._console, refresh_per_second=2
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def ended(self, ended: Ended) -> None:
        """Show that an attempt has come to its end."""
        self._done += 1
        self._bar.update(self._task, completed=self._done)
        if self._live is None or ended.failure:
            end = f"has no score: {ended.failure}" if ended.failure else "is done"
            print(f"episode {self._done}/{self._total}: {ended.attempt} {end}", flush=True)

    @contextmanager
    def answers(self, attempts: Sequence[Attempt]) -> Iterator[None]:
        """While a model answers."""
        names = [str(attempt) for attempt in attempts]
        with self._waiting(_Wait("answers", lambda: names)):
            yield

    @contextmanager
    def executions(self, executor: Executor) -> Iterator[None]:
        """While scripts run."""

        def names() -> list[str]:
            if not isinstance(executor, StoringExecutor):
                return ["all of them"]
            return [execution.task for execution in executor.waiting]

        with self._waiting(_Wait("executions", names)):
            yield

    @contextmanager
    def _waiting(self, wait: _Wait) -> Iterator[None]:
        self._wait = wait
        over = threading.Event()
        if self._live is None:
            threading.Thread(target=_tell, args=(wait, over), daemon=True).start()
        try:
            yield
        finally:
            over.set()
            self._wait = None

    def _view(self) -> RenderableType:
        wait = self._wait
        return self._bar if wait is None else Group(self._bar, str(wait))


def _tell(wait: _Wait, over: threading.Event) -> None:
    while not over.wait(_STRAGGLER_S):
        print(wait, flush=True)
