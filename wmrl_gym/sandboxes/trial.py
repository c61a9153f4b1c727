"""The trial job: whether a back end runs a program, and whether its walls hold."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from wmrl_gym.sandboxes.base import Job, JobResult, JobStatus, Limits

_SCRIPT = """
import json, socket, sys

def succeeds(action):
    try:
        action()
    except OSError:
        return False
    return True

def connect():
    with socket.socket() as client:
        client.settimeout(2)
        client.connect(("127.0.0.1", {port}))

report = {{
    "data": open("../trial/data.txt").read(),
    "network_off": not succeeds(connect),
    "files_hidden": not succeeds(lambda: open({secret!r}).close()),
}}
with open("report.json", "w") as file:
    json.dump(report, file)
"""


def find_fault(run: Callable[[Job], JobResult], promised: Collection[str]) -> str:
    """Run the trial job.

    Args:
        run: Runs a job.
        promised: Guarantees that have to hold.

    Returns:
        What went wrong; empty if nothing did.
    """
    with tempfile.TemporaryDirectory() as directory, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        secret, data = Path(directory, "secret"), Path(directory, "data")
        secret.write_text("secret")
        data.mkdir()
        (data / "data.txt").write_text("public")
        script = _SCRIPT.format(port=listener.getsockname()[1], secret=str(secret))
        job = Job(
            files={"main.py": script.encode()},
            data={"trial": data},
            outputs=["report.json"],
            limits=Limits(wall_s=60.0),
        )
        return _judge(run(job), promised)


def _judge(result: JobResult, promised: Collection[str]) -> str:
    if result.status is not JobStatus.OK:
        return f"a trial job ended with {result.status}: {result.error or result.stderr.strip()}"
    report = json.loads(result.outputs["report.json"])
    if report.pop("data") != "public":
        return "a trial job could not read its data"
    broken = sorted(name for name, holds in report.items() if name in promised and not holds)
    return f"a trial job got past: {', '.join(broken)}" if broken else ""
