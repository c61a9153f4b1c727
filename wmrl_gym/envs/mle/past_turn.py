"""A turn of an episode, as world models are told of it.

They learn what was run and how it ended. All else that the agent has a say in could be written
for them rather than for the task: prose around a script, comments of one that does not compile,
what a script prints. None of that is passed on.
"""

from __future__ import annotations

import re

from wmrl_gym.envs.mle.actions import Action, ActionKind
from wmrl_gym.envs.mle.script_check import syntax_error

_STREAMS = re.compile(r"^--- std(out|err) ---$", re.MULTILINE)
_ERROR = re.compile(r"^(?:\w+\.)*(\w{1,40}(?:Error|Exception))\b", re.MULTILINE)


def past_turn(action: Action, feedback: str) -> str:
    """What was asked for, in one form, and what came of it.

    Args:
        action: The action as it was understood.
        feedback: What the agent was shown.
    """
    if action.kind is ActionKind.MALFORMED:
        return "(an action that cannot be read)"
    if action.code is not None and syntax_error(action.code):
        return f"{action.kind}, of a script that does not compile"
    if action.code is not None:
        return f"{action.kind}\n{_fenced(action.code)}\n\n{_ending(feedback)}"
    topic = f" {action.topic}" if action.kind is ActionKind.REQUEST_INFO else ""
    return f"{action.kind}{topic}\n\n{feedback}"


def _ending(feedback: str) -> str:
    """How an execution ended, without what it printed but for the name of an error."""
    verdict, *streams = _STREAMS.split(feedback, maxsplit=1)
    errors = _ERROR.findall(streams[-1]) if streams else []
    return verdict.rstrip() + (f" {errors[-1]}." if errors else "")


def _fenced(script: str) -> str:
    """`script` in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", script)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{script.strip()}\n{fence}"
