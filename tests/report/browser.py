"""A headless Chromium that opens a page and answers questions about it (DevTools protocol)."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)


class Page:
    """One tab."""

    def __init__(self, connection: ClientConnection, session: str) -> None:
        self._connection = connection
        self._session = session
        self._numbers = itertools.count(100)
        self.problems: list[str] = []
        """Uncaught errors of the page's scripts."""

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        self._connection.send(json.dumps(message | {"sessionId": self._session}))
        while True:
            answer = json.loads(self._connection.recv(timeout=30))
            if answer.get("method") == "Runtime.exceptionThrown":
                self.problems.append(json.dumps(answer["params"]))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression holds, at most 30 s."""
        deadline = time.monotonic() + 30
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, f"{expression} never held"
            time.sleep(0.05)

    def open(self, file: Path, *, width: int = 1200, dark: bool = False) -> None:
        """Open a file at a width, in light or dark mode."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Runtime.enable")
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call("Page.navigate", url=file.resolve().as_uri())
        self.wait_for("document.readyState === 'complete'")


@contextmanager
def chromium() -> Iterator[Page]:
    """Start a browser with one tab; CI installs it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found is not None, "install Debian's package chromium"
    with tempfile.TemporaryDirectory() as profile:
        process = subprocess.Popen(
            [found, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            with connect(_address(process), max_size=None) as connection:
                yield _first_tab(connection)
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"ws://\S+", line):
            return found.group()
    raise AssertionError("Chromium ended before it listened")


def _first_tab(connection: ClientConnection) -> Page:
    def ask(number: int, method: str, **parameters: Any) -> Any:
        connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(connection.recv(timeout=30))
            if answer.get("id") == number:
                return answer["result"]

    targets = ask(1, "Target.getTargets")["targetInfos"]
    tab = next(target["targetId"] for target in targets if target["type"] == "page")
    session = ask(2, "Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
    return Page(connection, session)
