"""A server that answers what a test says, for the faults that a real one will not show."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[[str, Mapping[str, Any]], "Response"]


@dataclass(frozen=True)
class Response:
    """What to answer."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drip_s: float = 0.0
    """Seconds between single bytes of the body."""


def chat(content: str, probabilities: Mapping[str, float] | None = None) -> Response:
    """An answer of the model, with log-probabilities of its first token."""
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": content}}
    if probabilities is not None:
        told = [{"token": t, "logprob": _log(p)} for t, p in probabilities.items()]
        choice["logprobs"] = {"content": [{**told[0], "top_logprobs": told}]}
    return Response({"choices": [choice]})


def _log(probability: float) -> float:
    return math.log(probability) if probability else -9999.0


@contextmanager
def canned(respond: Respond) -> Iterator[str]:
    """The address of a server that answers with `respond(path, body)`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            self._answer(json.loads(self.rfile.read(length)))

        def _answer(self, body: Mapping[str, Any]) -> None:
            response = respond(self.path, body)
            raw = response.body
            content = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
            self.send_response(response.status)
            for name, value in {"content-length": str(len(content)), **response.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if not response.drip_s:
                self.wfile.write(content)
                return
            for byte in content:
                try:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                except OSError:  # the client has given up
                    return
                time.sleep(response.drip_s)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def served_model(answer: Callable[[Mapping[str, Any]], Response]) -> Respond:
    """A server with one model, which answers chats with `answer(body)` and nothing else."""

    def respond(path: str, body: Mapping[str, Any]) -> Response:
        if path == "/v1/models":
            return MODELS
        return answer(body) if path == "/v1/chat/completions" else Response({}, 404)

    return respond


MODELS = Response({"data": [{"id": "canned", "max_model_len": 4096}]})
