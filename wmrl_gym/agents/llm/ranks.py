"""One scorer for all ranks: what they want executed comes together on the main process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from accelerate.utils import (  # type: ignore[import-untyped]  # it has no stubs
    broadcast_object_list,
    gather_object,
)

from wmrl_gym.agents.llm.scorer import GroupScorer, Turn

T = TypeVar("T")


class Ranks:
    """The processes of a training. With one process nothing is sent anywhere.

    Every method is collective: all ranks call it, in the same order, with equally many rows.

    Args:
        accelerator: The `Accelerator` of the trainer.
    """

    def __init__(self, accelerator: Any) -> None:
        self.main = bool(accelerator.is_main_process)
        self.index = int(accelerator.process_index)
        self.count = int(accelerator.num_processes)
        self._rows = 0
        """Samples of each rank."""

    def any(self, mine: Iterable[bool]) -> bool:
        """Whether anything holds on any rank."""
        return any(self._gather([any(mine)]))

    def on_main(self, act: Callable[[list[T]], None], rows: Sequence[T]) -> None:
        """Call `act` on the main process with the rows of all ranks, in order."""
        self._rows = len(rows)
        every = self._gather(list(rows))
        self.broadcast(lambda: act(every))

    def step(self, scorer: GroupScorer, actions: Mapping[int, str]) -> dict[int, Turn]:
        """Take the actions of all ranks in one step of the scorer; indices are local."""
        first = self.index * self._rows
        every = dict(self._gather([(first + i, text) for i, text in actions.items()]))
        turns = self.broadcast(lambda: scorer.step(every))
        return {i: turns[first + i] for i in actions}

    def scatter(self, make: Callable[[], list[T]]) -> list[T]:
        """This rank's part of a list with a row for each sample, made on the main process."""
        first = self.index * self._rows
        return self.broadcast(make)[first : first + self._rows]

    def broadcast(self, make: Callable[[], T]) -> T:
        """What the main process made; an error there is raised on every rank.

        Without that the others would wait for the main process until they time out.
        """
        if self.count == 1:
            return make()
        box: list[Any] = [None, None]
        if self.main:
            try:
                box = [make(), None]
            except Exception as error:
                box = [None, error]
        value, raised = broadcast_object_list(box)
        if raised is not None:
            raise raised
        result: T = value
        return result

    def _gather(self, rows: list[T]) -> list[T]:
        return rows if self.count == 1 else list(gather_object(rows))
