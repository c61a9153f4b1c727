"""What a worker process of Ray does: one execution, by a function that it makes once."""

from __future__ import annotations

from collections.abc import Callable

from wmrl_gym.outcomes import Execution, Outcome

Run = Callable[[Execution], Outcome]


def worker_function(make_run: Callable[[], Run], fatal: tuple[type[Exception], ...]) -> Run:
    """The function that Ray ships to its workers, each of which loads it once.

    Args:
        make_run: Makes what carries out an execution; called at the first one.
        fatal: Exceptions that are raised instead of becoming an outcome without a score.
    """
    made: list[Run] = []

    def carry_out(execution: Execution) -> Outcome:
        if not made:
            made.append(make_run())
        try:
            return made[0](execution)
        except fatal:
            raise
        except Exception as error:
            return Outcome.unscored(f"{type(error).__name__}: {error}")

    return carry_out
