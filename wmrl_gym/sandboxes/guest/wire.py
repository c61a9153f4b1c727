"""Messages between the caller and the guest: a JSON header, then bytes.

4 bytes   length of the header, big-endian
header    a JSON object; `size` says how many bytes of payload follow
payload
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

Header = dict[str, Any]
_LENGTH = struct.Struct(">I")


def encode(header: Header, payload: bytes = b"") -> bytes:
    """One message as bytes."""
    return encode_head(header, len(payload)) + payload


def encode_head(header: Header, size: int) -> bytes:
    """A message as bytes, short of the `size` bytes of payload that follow."""
    text = json.dumps({**header, "size": size}).encode()
    return _LENGTH.pack(len(text)) + text


class Decoder:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Header, bytes]]:
        """Take the next `data` of the stream; yield the messages that it completes."""
        self._buffer += data
        while (message := self._next()) is not None:
            yield message

    def _next(self) -> tuple[Header, bytes] | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        start = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
        if len(self._buffer) < start:
            return None
        header: Header = json.loads(self._buffer[_LENGTH.size : start])
        end = start + header["size"]
        if len(self._buffer) < end:
            return None
        payload = bytes(self._buffer[start:end])
        del self._buffer[:end]
        return header, payload


def receive(channel: socket.socket) -> tuple[Header, bytes]:
    """Wait for one message on a blocking `channel` that carries no other.

    Raises:
        EOFError: The other side closed the channel first.
    """
    decoder = Decoder()
    while data := channel.recv(1 << 20):
        for message in decoder.feed(data):
            return message
    raise EOFError("the channel was closed before a whole message came")
