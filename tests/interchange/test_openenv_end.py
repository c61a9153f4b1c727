"""How a server and its sessions end."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.interchange.episodes import SCRIPT, WINE
from tests.interchange.serving import alive, descendants, serving, wait_for
from wmrl_gym.interchange import read_trajectories

pytestmark = pytest.mark.slow

ENDLESS = "```python\nimport time\ntime.sleep(3000)\n```"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_nothing_is_left(number: int, tmp_path: Path) -> None:
    scratch, record = tmp_path / "tmp", tmp_path / "episodes.jsonl"
    scratch.mkdir()
    with serving(
        "--env", "WMRL-MLE-v0", "--env-kwargs", f'{{"tasks": ["{WINE}"], "timeout_s": 1000}}',
        "--record", str(record), "--workers", "1", TMPDIR=str(scratch),
    ) as server:  # fmt: skip
        answers: list[Any] = []

        def endless() -> None:
            with server.client() as client:
                client.reset(task=WINE, seed=2)
                try:
                    answers.append(client.step({"action": ENDLESS}))
                except Exception as error:
                    answers.append(error)

        with server.client() as idle:
            idle.reset(task=WINE, seed=1)
            idle.step({"action": SCRIPT})
            warm = descendants(server.process.pid)
            # One runs, the other waits for its turn.
            threads = [threading.Thread(target=endless) for _ in range(2)]
            for thread in threads:
                thread.start()
            wait_for(
                lambda: len(alive(descendants(server.process.pid))) > len(alive(warm)),
                "the start of the script",
            )
            running = descendants(server.process.pid)
            started = time.monotonic()
            said = server.interrupt(number)
            seconds = time.monotonic() - started
            for thread in threads:
                thread.join()
    assert server.process.returncode == 0, said
    assert "Traceback" not in said
    assert seconds < 30
    wait_for(lambda: not alive(running | warm), "the end of all processes")
    assert list(scratch.iterdir()) == []
    assert [type(answer) for answer in answers] == [type(answers[0])] * 2
    assert isinstance(answers[0], ConnectionClosed)
    # Every session was closed in good order: what was left open is written and marked.
    episodes = sorted(read_trajectories(record), key=lambda episode: episode.seed or 0)
    assert [episode.finished for episode in episodes] == [False] * 3
    assert [episode.seed for episode in episodes] == [1, 2, 2]
    assert episodes[0].total_reward >= 0.5
    # What was cut off has no score.
    cut_off = [step for episode in episodes[1:] for step in episode.steps]
    assert all(step.info["status"] == -1 for step in cut_off)


def test_a_client_that_goes_quiet_loses_its_session() -> None:
    with serving(
        "--env", "CartPole-v1", "--idle-timeout-s", "0.5", "--max-sessions", "1"
    ) as server:  # fmt: skip
        with connect(server.ws) as quiet:
            quiet.send(json.dumps({"type": "reset"}))
            quiet.recv(timeout=60)
            with pytest.raises(ConnectionClosed, match=r"nothing came for 0\.5 s"):
                quiet.recv(timeout=60)

        def is_free() -> bool:
            with connect(server.ws) as busy:
                busy.send(json.dumps({"type": "reset"}))
                return bool(json.loads(busy.recv(timeout=60))["type"] == "observation")

        wait_for(is_free, "room for a session")
        assert "Traceback" not in server.interrupt()


def test_a_step_is_never_idle() -> None:
    with serving(
        "--env", "WMRL-MLE-v0", "--env-kwargs", f'tasks=["{WINE}"]', "--idle-timeout-s", "1"
    ) as server, server.client() as client:  # fmt: skip
        client.reset(task=WINE)
        slow = client.step({"action": "```python\nimport time\ntime.sleep(3)\n```"})
        assert slow.observation["info"]["status"] == 4
        assert client.step({"action": "request_info"}).reward == 0.0
