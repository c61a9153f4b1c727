"""A recorded conversation as the chat messages that fine-tuning tools read."""

from __future__ import annotations

from typing import Any

from wmrl_gym.interchange.trajectories import Trajectory

Message = dict[str, str]


def to_messages(trajectory: Trajectory, *, system: str | None = None) -> list[Message]:
    """The episode as chat messages: observations are the user's, actions the assistant's.

    The observation after the last action answers nothing and is left out, so that the
    messages end with what a model is to learn.

    Args:
        trajectory: An episode of an environment that takes and gives text.
        system: Content of a system message to put first; `None` for no such message.

    Returns:
        `[2 * steps]` messages with `role` and `content`, one more with `system`. An episode
        without a step has its first observation only.

    Raises:
        ValueError: If an observation or an action is not text.
    """
    first = [] if system is None else [_message("system", system, "system")]
    messages = [*first, _message("user", trajectory.observation, "the first observation")]
    for number, step in enumerate(trajectory.steps, start=1):
        messages.append(_message("assistant", step.action, f"action {number}"))
        messages.append(_message("user", step.observation, f"observation {number}"))
    return messages[:-1] if trajectory.steps else messages


def _message(role: str, content: Any, what: str) -> Message:
    if not isinstance(content, str):
        raise ValueError(
            f"{what} is {type(content).__name__}, not text: only episodes of environments with "
            "text observations and text actions are conversations"
        )
    return {"role": role, "content": content}
