"""What an evaluation of a language model shows while it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from wmrl_gym.agents.llm.attempts import Ended
from wmrl_gym.agents.llm.journal import Attempt
from wmrl_gym.cli.waiting import Wait, lines_while
from wmrl_gym.executors import StoringExecutor
from wmrl_gym.outcomes import Executor


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
        self._wait: Wait | None = None

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
        with self._waiting(Wait(lambda: ("answers", names))):
            yield

    @contextmanager
    def executions(self, executor: Executor) -> Iterator[None]:
        """While scripts run."""

        def told() -> tuple[str, list[str]]:
            if not isinstance(executor, StoringExecutor):
                return "executions", ["all of them"]
            return "executions", [execution.task for execution in executor.waiting]

        with self._waiting(Wait(told)):
            yield

    @contextmanager
    def _waiting(self, wait: Wait) -> Iterator[None]:
        self._wait = wait
        try:
            with lines_while(wait) if self._live is None else nullcontext():
                yield
        finally:
            self._wait = None

    def _view(self) -> RenderableType:
        wait = self._wait
        return self._bar if wait is None else Group(self._bar, str(wait))
