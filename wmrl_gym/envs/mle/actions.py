"""What an agent can say to `WMRL-MLE-v0`, and how its text is read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

TOPICS = ("overview", "data", "sample_submission", "budget")
"""What `request_info` can be asked for."""

_FENCE = re.compile(r"```[ \t]*(\w*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_NAME = re.compile(
    r"^[ \t]*(request_info|validate_code|execute_code|submit)\b[ \t:#]*(\w*)", re.MULTILINE
)


class ActionKind(StrEnum):
    """The actions."""

    REQUEST_INFO = "request_info"
    """Read about the task again; nothing is executed."""
    VALIDATE_CODE = "validate_code"
    """Check a script without running it."""
    EXECUTE_CODE = "execute_code"
    """Run a script and have its submission graded."""
    SUBMIT = "submit"
    """End the episode, with a graded submission of choice or with a script to run and grade."""
    MALFORMED = "malformed"
    """None of the above."""


@dataclass(frozen=True)
class Action:
    """An action as it was understood."""

    kind: ActionKind
    code: str | None = None
    topic: str = "overview"
    choice: int | None = None
    """Number of the graded submission that `submit` hands in; `None` for the best one."""
    problem: str = ""
    """What is wrong with a malformed action."""


def parse_action(text: str) -> Action:
    """Read an action. Never raises: text that says nothing is a malformed action.

    Two forms are understood. *Fenced*: the name of the action on a line of its own, then the
    script in a fenced block (the last one, if there are several); a script without a name is
    `execute_code`. *JSON*: an object with `action`, and `code`, `topic` or `choice`.
    """
    stripped = text.strip()
    if stripped.startswith("{"):
        return _parse_json(stripped)
    blocks = _FENCE.findall(text)
    code = blocks[-1][1] if blocks else None
    if blocks and blocks[-1][0].lower() == "json":
        return _parse_json(blocks[-1][1])
    names = _NAME.findall(_FENCE.sub("\n", text))
    if not names:
        if code is None:
            return _malformed("There is neither an action nor a fenced script in it.")
        return Action(ActionKind.EXECUTE_CODE, code=code)
    kind, word = names[-1]
    return _checked(ActionKind(kind), code, word)


def _parse_json(text: str) -> Action:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _malformed(f"It is not valid JSON: {error}")
    if not isinstance(fields, dict):
        return _malformed("The JSON is not an object.")
    name, code = fields.get("action"), fields.get("code")
    # A list: whatever JSON holds can be looked up in it, hashable or not.
    if name not in [kind for kind in ActionKind if kind is not ActionKind.MALFORMED]:
        return _malformed(f"action={name!r} is not one of the actions.")
    if code is not None and not isinstance(code, str):
        return _malformed("code is not a string.")
    word = fields.get("topic") if "topic" in fields else fields.get("choice")
    return _checked(ActionKind(name), code, "" if word is None else str(word))


def _checked(kind: ActionKind, code: str | None, word: str) -> Action:
    """An action whose name was followed by `word`: a topic or a choice."""
    if kind in (ActionKind.VALIDATE_CODE, ActionKind.EXECUTE_CODE) and code is None:
        return _malformed(f"{kind} needs a script.")
    if kind is ActionKind.REQUEST_INFO:
        topic = word or TOPICS[0]
        known = topic in TOPICS
        problem = f"request_info knows {', '.join(TOPICS)}, not {topic!r}."
        return Action(kind, topic=topic) if known else _malformed(problem)
    # Longer numbers than any count of submissions are words, as are all others: "submit it".
    if kind is ActionKind.SUBMIT and word.isdecimal() and len(word) <= 6:
        problem = "submit takes the number of a graded submission or a script, not both."
        return Action(kind, choice=int(word)) if code is None else _malformed(problem)
    return Action(kind, code=code)


def _malformed(problem: str) -> Action:
    return Action(ActionKind.MALFORMED, problem=problem)
