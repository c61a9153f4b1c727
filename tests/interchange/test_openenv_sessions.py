"""A real server, and OpenEnv's own client."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.interchange.episodes import SCRIPT, WINE, refuse
from tests.interchange.serving import Server, serving, wait_for

pytestmark = pytest.mark.slow

HEADER = "```python\nprint(open('../input/train.csv').readline())\n```"
"""Prints the columns of whatever task it runs on."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    tasks = f'tasks=["{WINE}", "diabetes"]'
    with serving(
        "--env", "WMRL-MLE-v0", "--env-kwargs", tasks, "max_turns=3", "--max-sessions", "2"
    ) as server:  # fmt: skip
        yield server


def told(result: Any) -> str:
    text: str = result.observation["observation"]
    return text


def test_an_episode_of_several_turns(server: Server) -> None:
    with server.client() as client:
        start = client.reset(seed=1, options={"task": WINE}, episode_id="mine")
        assert "wine" in told(start).lower()
        assert (start.reward, start.done) == (None, False)
        # Text that says nothing is an outcome: it costs a turn and earns nothing.
        malformed = client.step({"action": "I would rather not"})
        assert (malformed.reward, malformed.done) == (0.0, False)
        assert malformed.observation["info"]["status"] == 0
        # A dict is the JSON form of an action.
        asked = client.step({"action": {"action": "request_info", "topic": "budget"}})
        assert "1 of 3 turns" in told(asked)
        ended = client.step({"action": SCRIPT})
        assert ended.done
        assert ended.observation["terminated"]
        assert not ended.observation["truncated"]
        assert ended.reward >= 0.5
        assert ended.reward == pytest.approx(ended.observation["info"]["score"])
        assert "left it" in told(ended)
        assert client.state() == {
            "episode_id": "mine",
            "step_count": 3,
            "seed": 1,
            "options": {"task": WINE},
            "done": True,
        }
        with pytest.raises(RuntimeError, match="the episode has ended: reset"):
            client.step({"action": "submit"})
        # Options may be given by name too; the session goes on after an error.
        again = client.reset(task="diabetes")
        assert "diabetes" in told(again).lower()
        assert client.state()["step_count"] == 0


def test_sessions_do_not_mix(server: Server) -> None:
    with server.client() as wine, server.client() as diabetes:
        wine.reset(task=WINE)
        diabetes.reset(task="diabetes")
        diabetes.step({"action": "request_info"})
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda c: c.step({"action": HEADER}), [wine, diabetes]))
        assert "alcohol" in told(results[0])
        assert "alcohol" not in told(results[1])
        assert "bmi" in told(results[1])
        assert [client.state()["step_count"] for client in (wine, diabetes)] == [1, 2]
        infos = [result.observation["info"] for result in results]
        assert [info["turn"] for info in infos] == [1, 2]
        assert infos[0]["task_index"] != infos[1]["task_index"]


def test_closing_makes_room(server: Server) -> None:
    def refusal() -> str:
        """Code of the error that a new connection gets; empty if it gets a session."""
        with connect(server.ws) as socket:
            # A connection that is refused gets its error, and its end, without asking.
            with contextlib.suppress(ConnectionClosed):
                socket.send(json.dumps({"type": "state"}))
            answer = json.loads(socket.recv(timeout=60))
            return str(answer["data"].get("code", ""))

    with server.client() as first, server.client() as second:
        first.reset(task=WINE)
        second.reset(task=WINE)
        assert refusal() == "CAPACITY_REACHED"
        assert not first.step({"action": "request_info"}).done
    wait_for(lambda: refusal() == "", "room for a session")


def test_the_wire(server: Server) -> None:
    def ask(message: Any) -> Any:
        socket.send(message if isinstance(message, str) else json.dumps(message))
        return json.loads(socket.recv(timeout=60), parse_constant=refuse)

    with connect(server.ws) as socket:
        reset = ask({"type": "reset", "data": {"seed": 3, "options": {"task": WINE}}})
        assert reset["type"] == "observation"
        assert set(reset["data"]) == {"observation", "reward", "done"}
        assert set(reset["data"]["observation"]) >= {
            "observation", "terminated", "truncated", "info",
        }  # fmt: skip
        step = ask({"type": "step", "data": {"action": "request_info: data"}})
        assert step["data"]["reward"] == 0.0
        # What is wrong is said, and the session goes on.
        wrong = ask({"type": "reset", "data": {"options": {"task": "no-such-task"}}})
        assert wrong["type"] == "error"
        assert "no-such-task" in wrong["data"]["message"]
        assert ask({"type": "step", "data": {"text": "x"}})["data"]["code"] == "VALIDATION_ERROR"
        assert ask("{")["data"]["code"] == "INVALID_JSON"
        assert ask({"type": "state"})["data"]["step_count"] == 1


def test_plain_http(server: Server) -> None:
    with httpx.Client(base_url=server.url, timeout=120) as http:
        assert http.get("/metadata").json()["name"] == "WMRL-MLE-v0"
        assert "An agent improves" in http.get("/metadata").json()["description"]
        schema = http.get("/schema").json()
        assert schema["action"]["properties"]["action"]["type"] == "string"
        assert "truncated" in schema["observation"]["properties"]
        reset = http.post("/reset", json={"seed": 1, "options": {"task": WINE}})
        assert reset.status_code == 200
        assert "wine" in reset.json()["observation"]["observation"].lower()
        # A request is an episode of its own, with one step.
        step = http.post("/step", json={"action": {"action": SCRIPT}, "options": {"task": WINE}})
        assert step.status_code == 200
        assert step.json()["reward"] >= 0.5
        wrong = http.post("/reset", json={"task": "no-such-task"})
        assert wrong.status_code == 400
        assert "no-such-task" in wrong.json()["detail"]
        assert http.post("/step", json={"action": {}}).status_code == 422


def test_no_request_takes_a_session_for_ever(server: Server) -> None:
    create = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}
    for _ in range(5):
        answer = httpx.post(f"{server.url}/mcp", json=create).json()
        assert answer["jsonrpc"] == "2.0"
        assert answer["error"]["message"] == "this environment has no MCP tools"
    with server.client() as client:
        assert not client.reset(task=WINE).done
