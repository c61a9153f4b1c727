"""Episodes of many agents at once, scored by one `GroupScorer`.

Agents of verl come and go by themselves, so there are no steps that all of them take together.
What they ask for while an earlier batch is predicted becomes the next batch. Real executions
take minutes, and hold up nobody but the episodes that wait for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from wmrl_gym.agents.llm.scorer import GroupScorer, Turn
from wmrl_gym.agents.llm.scores import Score
from wmrl_gym.outcomes import Execution, Executor, Outcome

T = TypeVar("T")


@dataclass(frozen=True)
class _Ask:
    """An action of an open episode."""

    slot: int
    text: str
    answer: Future[Turn] = field(default_factory=Future)


class EpisodeService:
    """Serves episodes to agents that run side by side. Safe to call from any thread.

    Every method returns at once; what it does is in the future that it returns.

    Args:
        scorer: Plays and scores; nobody else may call it.
    """

    def __init__(self, scorer: GroupScorer) -> None:
        self._scorer = scorer
        self._lock = threading.Lock()
        """Held by who uses the scorer, except while real executions run."""
        self._asks: list[_Ask] = []
        self._asked = threading.Lock()
        """Held for a moment by who adds to the asks or takes them."""
        self._batches = ThreadPoolExecutor(scorer.episodes, thread_name_prefix="batch")
        self._others = ThreadPoolExecutor(1, thread_name_prefix="others")
        scorer.anchored.real = _Unlocking(scorer.real, self._lock)

    def open(self, task: str, group: int) -> Future[int]:
        """Open an episode; its handle. See `GroupScorer.open`."""
        return self._alone(lambda: self._scorer.open(task, group)[0])

    def act(self, slot: int, text: str) -> Future[Turn]:
        """Take an action in an open episode."""
        ask = _Ask(slot, text)
        with self._asked:
            self._asks.append(ask)
            first = len(self._asks) == 1
        if first:  # of a new batch; the others join it
            self._batches.submit(self._answer)
        return ask.answer

    def close_episode(self, slot: int) -> Future[Score]:
        """Close an episode and score it; its weight is that of its group if it executed."""
        return self._alone(lambda: self._scorer.scores([slot])[0])

    def next_groups(self, count: int) -> Future[range]:
        """Ids for the next groups. See `GroupScorer.next_groups`."""
        return self._alone(lambda: self._scorer.next_groups(count))

    def update(self) -> Future[dict[str, float]]:
        """Feed the anchors back. See `GroupScorer.update`."""
        return self._alone(self._scorer.update)

    def state_dict(self) -> Future[dict[str, Any]]:
        """All that a resumed training needs; open episodes are not part of it."""
        return self._alone(self._scorer.state_dict)

    def load_state_dict(self, state: Mapping[str, Any]) -> Future[None]:
        """Continue from a `state_dict()`; open episodes are dropped."""
        return self._alone(lambda: self._scorer.load_state_dict(state))

    def close(self) -> None:
        """Wait for what has begun, then close the scorer."""
        self._others.shutdown()
        self._batches.shutdown()
        self._scorer.close()

    def _alone(self, act: Callable[[], T]) -> Future[T]:
        def locked() -> T:
            with self._lock:
                return act()

        return self._others.submit(locked)

    def _answer(self) -> None:
        """Take all actions that wait, as one batch."""
        with self._lock:
            with self._asked:
                asks, self._asks = self._asks, []
            try:
                turns = self._scorer.step({ask.slot: ask.text for ask in asks})
            except BaseException as error:
                for ask in asks:
                    ask.answer.set_exception(error)
                return
        for ask in asks:
            ask.answer.set_result(turns[ask.slot])


class _Unlocking:
    """A real executor that lets others use the scorer meanwhile.

    The scorer has no half-done state then: it has predicted, and has added up nothing yet.
    """

    def __init__(self, real: Executor, lock: threading.Lock) -> None:
        self._real = real
        self._lock = lock

    def execute(self, executions: Sequence[Execution]) -> list[Outcome]:
        self._lock.release()
        try:
            return self._real.execute(executions)
        finally:
            self._lock.acquire()

    def close(self) -> None:
        self._real.close()
