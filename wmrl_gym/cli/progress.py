"""What a run shows while it goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

_SHOWN = (
    ("score", "mean score of the batch", "{:.3f}"),
    ("executions_real", "real executions done", "{:.0f}"),
    ("executions_avoided", "real executions avoided", "{:.0f}"),
    ("seconds_saved", "seconds saved (estimate)", "{:.0f}"),
    ("residual", "residual on fresh anchors", "{:.4f}"),
    ("rank_correlation", "within-group rank correlation", "{:.2f}"),
    ("anchor_weight", "anchor weight", "{:.2f}"),
)


@contextmanager
def said_on_one_line() -> Iterator[Callable[[str], None]]:
    """What is being done: one line that changes on a terminal, one line for each step elsewhere."""
    console = Console(stderr=True, markup=False)
    if not console.is_terminal:
        yield lambda said: print(said, file=sys.stderr, flush=True)
        return
    with console.status("") as status:
        yield lambda said: status.update(Text(said))


class TrainingProgress:
    """A live display on a terminal, one plain line for each batch elsewhere.

    Args:
        total_groups: Groups that the run will have at its end.
        console: Where to print.
    """

    def __init__(self, total_groups: int, console: Console) -> None:
        self._total = total_groups
        self._console = console
        self._bar = Progress(
            TextColumn("groups"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        )
        self._task = self._bar.add_task("groups", total=total_groups)
        self._live: Live | None = None

    def __enter__(self) -> TrainingProgress:
        if self._console.is_terminal:
            self._live = Live(self._view({}), console=self._console, refresh_per_second=4)
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

    def show(self, metrics: Mapping[str, float]) -> None:
        """Show where the run stands after a batch."""
        self._bar.update(self._task, completed=metrics["groups"])
        if self._live is not None:
            self._live.update(self._view(metrics))
            return
        parts = [
            f"{name}={form.format(metrics[name])}" for name, _, form in _SHOWN if name in metrics
        ]
        # Not through rich, which would wrap a long line in the middle of a number.
        print(f"groups={metrics['groups']:.0f}/{self._total}", *parts, flush=True)

    def _view(self, metrics: Mapping[str, float]) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        for name, label, form in _SHOWN:
            if name in metrics:
                table.add_row(label, form.format(metrics[name]))
        return Group(self._bar, table)
