"""Requests to servers that are slow, busy, broken or gone: every one of them ends."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from typing import Any

import pytest

from tests.world_models.language.canned_server import Response, canned
from wmrl_gym.world_models.language.backends import transport
from wmrl_gym.world_models.language.backends.transport import RequestError, Transport

OK = Response({"fine": True})
FIRST_PAUSE_S = transport._FIRST_PAUSE_S


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pause, on which all others depend, is short."""
    monkeypatch.setattr(transport, "_FIRST_PAUSE_S", 0.05)


@contextmanager
def answering(
    answer: Callable[[int], Response], *, deadline_s: float = 30.0
) -> Iterator[tuple[Transport, list[float]]]:
    """A transport to a server that answers the n-th request so, and when they came."""
    times: list[float] = []

    def respond(path: str, body: Mapping[str, Any]) -> Response:
        times.append(time.monotonic())
        return answer(len(times) - 1)

    with canned(respond) as url:
        line = Transport(url, api_key=None, concurrency=2, deadline_s=deadline_s)
        yield line, times
        line.close()


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(status: int) -> None:
    with answering(lambda n: OK if n == 2 else Response({}, status)) as (line, times):
        assert line.call("/x", {}) == {"fine": True}
        assert len(times) == 3


def test_pauses_grow_differ_and_heed_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_FIRST_PAUSE_S", FIRST_PAUSE_S)
    for failures in range(12):
        pauses = [transport._pause(failures, 0.0) for _ in range(200)]
        grown = min(0.25 * 2**failures, 20.0)
        assert 0.5 * grown <= min(pauses) < 0.7 * grown
        assert 1.3 * grown < max(pauses) <= 1.5 * grown
    assert transport._pause(0, 7.0) == 7.0
    assert transport._pause(9, 7.0) >= 10.0


def test_requests_run_at_once_up_to_the_limit() -> None:
    together = threading.Barrier(3)
    running, most, lock = 0, 0, threading.Lock()

    def respond(path: str, body: Mapping[str, Any]) -> Response:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(30)  # no three come through before three are there
        with lock:
            running -= 1
        return Response(body["number"])

    with canned(respond) as url:
        line = Transport(url, api_key=None, concurrency=3, deadline_s=60)
        answers = line.map(lambda n: line.call("/x", {"number": n}), range(9), ["t"] * 9)
        line.close()
    assert answers == list(range(9))
    assert most == 3


def test_a_refusal_is_not() -> None:
    with answering(lambda n: Response({"error": "no such field"}, 400)) as (line, times):
        with pytest.raises(RequestError, match=r"answers 400.*no such field"):
            line.call("/x", {})
        assert len(times) == 1
        assert line.healthy()


def test_the_server_says_how_long_to_wait() -> None:
    busy = Response({}, 429, {"retry-after": "2"})
    with answering(lambda n: OK if n else busy) as (line, times):
        line.call("/x", {})
        assert times[1] - times[0] >= 2.0


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ("7", 7.0, 7.0),
        ("1.5", 1.5, 1.5),
        (formatdate(0, usegmt=True), 0.0, 0.0),  # long ago
        ("soon", 0.0, 0.0),
        ("-3", 0.0, 0.0),
        ("nan", 0.0, 0.0),
        ("inf", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_forms_of_retry_after(header: str, low: float, high: float) -> None:
    assert low <= transport._seconds(header) <= high


def test_a_date_in_retry_after_counts_from_now() -> None:
    in_an_hour = formatdate(time.time() + 3600, usegmt=True)
    assert 3500.0 <= transport._seconds(in_an_hour) <= 3600.0


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    busy = Response({"error": "quota"}, 429, {"retry-after": "3600"})
    with answering(lambda n: busy, deadline_s=20.0) as (line, times):
        begin = time.monotonic()
        with pytest.raises(RequestError, match=r"answers 429.*quota"):
            line.call("/x", {})
        assert time.monotonic() - begin < 15.0
        assert len(times) == 1


def test_a_connection_that_breaks_in_mid_answer_is_tried_again() -> None:
    # The server promises more than it sends, as one that dies does.
    torn = Response(b'{"fine": tr', headers={"content-length": "1000"})
    with answering(lambda n: OK if n else torn) as (line, times):
        assert line.call("/x", {}) == {"fine": True}
        assert len(times) == 2


def test_a_rate_limit_is_waited_out_and_no_longer_than_the_deadline() -> None:
    with answering(lambda n: Response({}, 429), deadline_s=3.0) as (line, times):
        begin = time.monotonic()
        with pytest.raises(RequestError, match="answers 429"):
            line.call("/x", {})
        assert time.monotonic() - begin < 10.0
        assert len(times) > 1
        assert line.healthy()  # it answers: it is busy, not down


def test_an_answer_in_drops_does_not_hang() -> None:
    slow = Response(b'"' + b"x" * 1000 + b'"', drip_s=0.05)
    with answering(lambda n: slow, deadline_s=1.0) as (line, _):
        begin = time.monotonic()
        with pytest.raises(RequestError, match="too slow"):
            line.call("/x", {})
        assert time.monotonic() - begin < 10.0


def test_an_answer_that_never_comes_does_not_hang() -> None:
    silent = Response(b'"never"', headers={}, drip_s=60.0)
    with (
        answering(lambda n: silent, deadline_s=1.0) as (line, _),
        pytest.raises(RequestError, match="Timeout"),
    ):
        line.call("/x", {})


def test_what_is_no_json_is_tried_again_and_then_told() -> None:
    with answering(lambda n: Response(b"<html>") if n < 2 else OK) as (line, _):
        assert line.call("/x", {}) == {"fine": True}
    with (
        answering(lambda n: Response(b"<html>")) as (line, times),
        pytest.raises(RequestError, match="no JSON: <html>"),
    ):
        line.call("/x", {})
    assert len(times) == 4


def test_a_dead_server_costs_its_batch_one_series_of_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    up = False
    with answering(lambda n: OK if up else Response({}, 503)) as (line, times):
        for _ in range(3):
            with pytest.raises(RequestError):
                line.call("/x", {})
        assert len(times) == 4 + 1 + 1
        assert not line.healthy()
        up = True
        assert not line.healthy()  # it is asked again only now and then
        monkeypatch.setattr(transport, "_RECHECK_S", 0.0)
        assert line.healthy()


def test_stragglers_are_told_by_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(transport, "_STRAGGLER_S", 0.2)
    caplog.set_level(logging.WARNING)
    with answering(lambda n: Response(b'"slow"', drip_s=0.2)) as (line, _):
        answers = line.map(lambda item: line.call("/x", item), [1], ["wine-cultivar"])
    assert answers == ["slow"]
    assert "wine-cultivar" in caplog.text


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"deadline_s": 0.0}])
def test_wrong_arguments(wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"api_key": None, "concurrency": 1, "deadline_s": 1.0, **wrong}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Transport("http://localhost", **arguments)
