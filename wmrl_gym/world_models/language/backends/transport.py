"""Requests to a server that may be slow, busy, or gone. Every one of them ends.

Rate limits are waited out until the deadline; other failures that may pass are tried again a
few times, with growing pauses that differ from client to client. After a request has failed
for good the server counts as down: until it answers again, each request has one attempt, so
that a batch does not wait for the same dead server over and over.
"""

from __future__ import annotations

import json
import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from wmrl_gym.errors import MissingDependencyError

_log = logging.getLogger(__name__)

T = TypeVar("T")

_ATTEMPTS = 4
_LEAST_S = 0.5
"""An attempt with less time would be cut short, and a busy server taken for a dead one."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 20.0
_CONNECT_S = 5.0
_BUSY = 429
_MAY_PASS = frozenset({408, 409, 425, _BUSY, 500, 502, 503, 504})
_MOST_BYTES = 2**24
_RECHECK_S = 10.0
_STRAGGLER_S = 30.0


class RequestError(Exception):
    """A request that failed for good.

    Args:
        message: What happened.
        status: HTTP status, 0 if there was no answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Transport:
    """JSON over HTTP with retries and deadlines.

    Args:
        url: What paths are appended to.
        api_key: Sent as a bearer token, if there is one.
        concurrency: Requests at once.
        deadline_s: Seconds for one request with all its attempts. A server that sends its
            answer in drops can take up to twice as long.

    Raises:
        MissingDependencyError: If httpx is not installed.
        ValueError: If an argument is out of its range.
    """

    def __init__(
        self, url: str, *, api_key: str | None, concurrency: int, deadline_s: float
    ) -> None:
        if concurrency < 1 or not deadline_s > 0:
            raise ValueError(
                f"concurrency={concurrency} must be at least 1 and deadline_s={deadline_s} positive"
            )
        try:
            import httpx
        except ImportError as error:
            raise MissingDependencyError(
                f"{error}: model servers are reached with it; pip install 'wmrl-gym[llm]'"
            ) from error
        self.url = url.rstrip("/")
        self.deadline_s = deadline_s
        self._httpx = httpx
        self._concurrency = concurrency
        self._down_since: float | None = None
        self._checked = 0.0
        self._client = httpx.Client(
            headers={"authorization": f"Bearer {api_key}"} if api_key else {},
            limits=httpx.Limits(max_connections=concurrency),
            follow_redirects=True,
        )

    def call(self, path: str, body: Any = None, *, method: str = "POST") -> Any:
        """The JSON that answers one request.

        Raises:
            RequestError: If there is none by the deadline, or the server refuses.
        """
        until = time.monotonic() + self.deadline_s
        attempts = 1 if self._down_since is not None else _ATTEMPTS
        failures = 0
        while True:
            try:
                answer = self._once(method, path, body, until)
            except _Passing as passing:
                failures += passing.status != _BUSY
                pause = _pause(failures, passing.after_s)
                if failures >= attempts or time.monotonic() + pause + _LEAST_S >= until:
                    if passing.status != _BUSY:
                        self._down_since = self._checked = time.monotonic()
                    raise RequestError(str(passing), passing.status) from passing
                time.sleep(pause)
            else:
                self._down_since = None
                return answer

    def healthy(self) -> bool:
        """Whether the server answers; a server that is down is asked again now and then."""
        now = time.monotonic()
        if self._down_since is not None and now - self._checked >= _RECHECK_S:
            self._checked = now
            try:
                self._once("GET", "/models", None, now + _CONNECT_S)
                self._down_since = None
            except RequestError as error:
                if error.status:  # it answers, if only to refuse
                    self._down_since = None
            except _Passing:
                pass
        return self._down_since is None

    def map(self, work: Callable[[Any], T], items: Sequence[Any], names: Sequence[str]) -> list[T]:
        """Do `work` on `[B]` items, several at once; tells the names of those that take long."""
        if not items:
            return []
        with ThreadPoolExecutor(min(self._concurrency, len(items))) as pool:
            futures = [pool.submit(work, item) for item in items]
            _await(futures, names)
            return [future.result() for future in futures]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _once(self, method: str, path: str, body: Any, until: float) -> Any:
        left = max(until - time.monotonic(), 0.001)
        limit = self._httpx.Timeout(left, connect=min(left, _CONNECT_S))
        url = path if path.startswith("http") else self.url + path
        try:
            with self._client.stream(method, url, json=body, timeout=limit) as response:
                content = self._content(response, until)
        except self._httpx.HTTPError as error:
            raise _Passing(f"{url}: {type(error).__name__}: {error}", 0) from error
        if response.status_code in _MAY_PASS:
            after = response.headers.get("retry-after", "")
            message = f"{url} answers {response.status_code}: {_excerpt(content)}"
            raise _Passing(message, response.status_code, after)
        if response.status_code >= 400:
            message = f"{url} answers {response.status_code}: {_excerpt(content)}"
            raise RequestError(message, response.status_code)
        try:
            return json.loads(content)
        except ValueError as error:
            message = f"{url} answers no JSON: {_excerpt(content)}"
            raise _Passing(message, response.status_code) from error

    def _content(self, response: Any, until: float) -> bytes:
        """The body, which must not take forever nor fill the memory."""
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if time.monotonic() > until or len(content) > _MOST_BYTES:
                raise _Passing(f"{response.url}: the answer is too slow or too long", 0)
        return bytes(content)


class _Passing(Exception):
    """A failure that may pass."""

    def __init__(self, message: str, status: int, after: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.after_s = _seconds(after)


def _seconds(after: str) -> float:
    """Seconds that a `Retry-After` header tells, as a number or as a date; 0 if it tells none."""
    try:
        told = float(after)
    except ValueError:
        try:
            told = parsedate_to_datetime(after).timestamp() - time.time()
        except ValueError:
            return 0.0
    return told if 0.0 < told < math.inf else 0.0


def _pause(failures: int, after_s: float) -> float:
    """Seconds to wait, with jitter: clients that failed together must not return together."""
    grown = min(_FIRST_PAUSE_S * 2**failures, _LONGEST_PAUSE_S)
    return float(max(grown * random.uniform(0.5, 1.5), after_s))


def _await(futures: Sequence[Future[Any]], names: Sequence[str]) -> None:
    pending = set(futures)
    while pending:
        _, pending = wait(pending, timeout=_STRAGGLER_S)
        late = [name for future, name in zip(futures, names, strict=True) if future in pending]
        if late:
            _log.warning("waiting for the model's answer on %d prompts: %s", len(late), late[:10])


def _excerpt(content: bytes) -> str:
    return content[:300].decode("utf-8", "replace")
