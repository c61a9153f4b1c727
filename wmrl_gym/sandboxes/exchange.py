"""The caller's side of one job: sends the request, drains the output, gathers the answer."""

from __future__ import annotations

import os
import selectors
import socket
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

from wmrl_gym.sandboxes.guest import wire

START_S = 120.0
"""Time for the walls to be put up, before the job's own time begins; hosts can be busy."""
GRACE_S = 60.0
"""Time beyond the wall limit for the guest to kill the tree and send outputs."""
_CHUNK = 1 << 18


class HeadTail:
    """Keeps the first and the last half of `capacity` bytes of a stream of any length."""

    def __init__(self, capacity: int) -> None:
        self._half = max(1, capacity // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        surplus = len(self._tail) - self._half
        if surplus > 0:
            del self._tail[:surplus]
            self._dropped += surplus

    @property
    def truncated(self) -> bool:
        """Whether bytes in the middle were dropped."""
        return self._dropped > 0

    def text(self) -> str:
        """What was kept, decoded; a note stands for what was dropped."""
        note = f"\n[... {self._dropped} bytes left out ...]\n" if self._dropped else ""
        head, tail = (part.decode(errors="replace") for part in (self._head, self._tail))
        return head + note + tail if note else (self._head + self._tail).decode(errors="replace")


@dataclass
class Exchange:
    """What came back from the guest."""

    messages: list[tuple[wire.Header, bytes]] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    failure: str = ""
    """Why there is no whole answer, as far as this side can tell."""


class Conversation:
    """Descriptors that connect the caller with the guest of one job.

    A fork of the caller loses them: with copies of them it would hide the death of either
    side from the other.
    """

    def __init__(self) -> None:
        self.channel, self.guest_channel = socket.socketpair()
        self.stdout, self.guest_stdout = os.pipe()
        self.stderr, self.guest_stderr = os.pipe()
        self._is_open = self._is_guest_open = True
        _conversations.add(self)

    @property
    def guest_descriptors(self) -> list[int]:
        """Channel, stdout and stderr, for the guest."""
        return [self.guest_channel.fileno(), self.guest_stdout, self.guest_stderr]

    def release_guest(self) -> None:
        """Close the guest's descriptors on this side; the guest has its own copies."""
        if self._is_guest_open:
            self._is_guest_open = False
            self.guest_channel.close()
            os.close(self.guest_stdout)
            os.close(self.guest_stderr)

    def close(self) -> None:
        """Close everything on this side; a guest that still runs ends its job at once."""
        self.release_guest()
        if self._is_open:
            self._is_open = False
            self.channel.close()
            os.close(self.stdout)
            os.close(self.stderr)

    def hold(self, request: bytes, wall_s: float, output_bytes: int) -> Exchange:
        """Send `request` and take in all that the guest says, within its time."""
        exchange = Exchange()
        out, err = HeadTail(output_bytes), HeadTail(output_bytes)
        try:
            self.channel.settimeout(START_S)
            self.channel.sendall(request)
        except OSError:
            pass  # the guest is gone; what it said before tells why
        exchange.failure = self._listen(exchange, wall_s, {self.stdout: out, self.stderr: err})
        exchange.stdout, exchange.stderr = out.text(), err.text()
        exchange.truncated = out.truncated or err.truncated
        return exchange

    def _listen(self, exchange: Exchange, wall_s: float, streams: dict[int, HeadTail]) -> str:
        decoder = wire.Decoder()
        deadline = time.monotonic() + START_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ)
            for descriptor in streams:
                selector.register(descriptor, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    if key.fd in streams:
                        _drain(key.fd, streams[key.fd], selector.unregister)
                        continue
                    data = _receive(self.channel)
                    exchange.messages += (new := list(decoder.feed(data)))
                    kinds = {header["kind"] for header, _ in new}
                    if "started" in kinds:
                        deadline = time.monotonic() + wall_s + GRACE_S
                    if not data or kinds & {"exit", "error"}:
                        # The job's processes are gone: what they wrote is in the pipes.
                        _empty(streams)
                        return "" if data else "the sandbox ended without an answer"
        return "the sandbox did not answer in time"


_conversations: weakref.WeakSet[Conversation] = weakref.WeakSet()


def _close_all() -> None:
    for conversation in list(_conversations):
        conversation.close()


os.register_at_fork(after_in_child=_close_all)


def _receive(channel: socket.socket) -> bytes:
    try:
        return channel.recv(_CHUNK)
    except ConnectionResetError:
        return b""


def _drain(descriptor: int, stream: HeadTail, at_end: Callable[[int], object]) -> None:
    data = os.read(descriptor, _CHUNK)
    stream.feed(data)
    if not data:
        at_end(descriptor)


def _empty(streams: dict[int, HeadTail]) -> None:
    """Read what is left without waiting: a fork of the caller may hold the other end open."""
    for descriptor, stream in streams.items():
        os.set_blocking(descriptor, False)
        try:
            while data := os.read(descriptor, _CHUNK):
                stream.feed(data)
        except BlockingIOError:
            continue
