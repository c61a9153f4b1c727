"""`wmrl-gym serve`, as far as it gets without serving."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from wmrl_gym.cli import main
from wmrl_gym.cli.serve import environment_arguments


def test_arguments_of_the_environment() -> None:
    texts = [
        'tasks=["a", "b"]',
        "max_turns=3",
        "name=plain text",
        "on=true",
        '{"x": 1, "on": null}',
    ]
    assert environment_arguments(texts) == {
        "tasks": ["a", "b"],
        "max_turns": 3,
        "name": "plain text",
        "on": None,
        "x": 1,
    }


@pytest.mark.parametrize("text", ["tasks", "=3", "{", "{3}", "a b=3"])
def test_arguments_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="env_kwargs="):
        environment_arguments([text])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", "WMRL-Nope-v0"], "WMRL-Nope-v0"),
        (["--env", "CartPole-v1", "--env-kwargs", "no_such=1"], "no_such"),
        (["--env", "CartPole-v1", "--max-sessions", "0"], "max_sessions=0"),
        (["--env", "CartPole-v1", "--idle-timeout-s", "0"], "idle_timeout_s=0"),
        (["--env", "CartPole-v1", "--workers", "0"], "workers=0"),
        (["--env", "CartPole-v1", "--port", "70000"], "port=70000"),
        (["--env", "CartPole-v1", "--host", "no.such.host.invalid"], "no.such.host.invalid"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["serve", *arguments])
    assert message in str(stopped.value)
    assert "\n" not in str(stopped.value)


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit, match=f"port={port} .*in use.*--port 0"):
            main(["serve", "--env", "CartPole-v1", "--port", str(port)])


def test_the_server_is_imported_by_nobody_else() -> None:
    script = (
        "import sys, wmrl_gym.interchange, wmrl_gym.cli.serve;"
        "print([m for m in ('openenv', 'fastapi', 'uvicorn', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_without_the_extra() -> None:
    script = (
        "import sys; sys.modules['uvicorn'] = None;"
        "from wmrl_gym.cli.serve import Serve; Serve(env='CartPole-v1')()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'the server needs uvicorn: pip install "wmrl-gym[serve]"' in done.stderr
