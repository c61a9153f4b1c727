from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_gym.envs.mle.actions import Action, ActionKind, parse_action

SCRIPT = "import pandas as pd\nprint(1)\n"


@pytest.mark.parametrize(
    ("text", "kind", "code", "topic"),
    [
        (f"```python\n{SCRIPT}```", ActionKind.EXECUTE_CODE, SCRIPT, "overview"),
        (f"I think...\nexecute_code\n```py\n{SCRIPT}```\nok", ActionKind.EXECUTE_CODE, SCRIPT, ""),
        (f"validate_code:\n```\n{SCRIPT}```", ActionKind.VALIDATE_CODE, SCRIPT, ""),
        (f"submit\n```python\n{SCRIPT}```", ActionKind.SUBMIT, SCRIPT, ""),
        ("submit", ActionKind.SUBMIT, None, ""),
        ("request_info data", ActionKind.REQUEST_INFO, None, "data"),
        ("request_info", ActionKind.REQUEST_INFO, None, "overview"),
        ("  request_info: budget\n", ActionKind.REQUEST_INFO, None, "budget"),
        (f"```\nfirst\n```\nthen\n```python\n{SCRIPT}```", ActionKind.EXECUTE_CODE, SCRIPT, ""),
        (f"```python\n{SCRIPT}", ActionKind.EXECUTE_CODE, SCRIPT, ""),
        ('{"action": "execute_code", "code": "print(1)"}', ActionKind.EXECUTE_CODE, "print(1)", ""),
        ('{"action": "request_info", "topic": "data"}', ActionKind.REQUEST_INFO, None, "data"),
        ('```json\n{"action": "submit"}\n```', ActionKind.SUBMIT, None, ""),
        # A name inside the script is not an action.
        ("```python\nsubmit = 1\n```", ActionKind.EXECUTE_CODE, "submit = 1\n", ""),
    ],
)
def test_understood(text: str, kind: ActionKind, code: str | None, topic: str) -> None:
    action = parse_action(text)
    assert (action.kind, action.code) == (kind, code)
    if topic:
        assert action.topic == topic


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("submit 2", 2),
        ("submit #12", 12),
        ('{"action": "submit", "choice": 3}', 3),
        ("submit", None),
        ("submit it", None),
        ("submit 12345678901234567890", None),
    ],
)
def test_a_choice_among_the_submissions(text: str, choice: int | None) -> None:
    assert parse_action(text) == Action(ActionKind.SUBMIT, choice=choice)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "neither"),
        ("hello", "neither"),
        ("execute_code", "needs a script"),
        ("request_info weather", "not 'weather'"),
        ("{broken", "not valid JSON"),
        ('{"action": "fly"}', "action='fly'"),
        ('{"action": "malformed"}', "action='malformed'"),
        ('{"action": ["submit"]}', "action="),
        ('{"action": "submit", "code": 3}', "not a string"),
        ("```json\n[1]\n```", "not an object"),
        (f"submit 1\n```python\n{SCRIPT}```", "not both"),
    ],
)
def test_malformed(text: str, problem: str) -> None:
    action = parse_action(text)
    assert action.kind is ActionKind.MALFORMED
    assert problem in action.problem


@given(st.text())
def test_no_text_raises(text: str) -> None:
    parse_action(text)
    parse_action("{" + text)
    parse_action("```" + text)
