from __future__ import annotations

import os
import signal

import pytest

from wmrl_gym.sandboxes.exchange import Conversation, HeadTail
from wmrl_gym.sandboxes.guest.wire import Decoder, encode


@pytest.mark.parametrize("step", [1, 3, 7, 100])
def test_head_and_tail_are_kept(step: int) -> None:
    stream = HeadTail(10)
    text = bytes(range(48, 48 + 26))
    for start in range(0, len(text), step):
        stream.feed(text[start : start + step])
    assert stream.truncated
    assert stream.text() == "01234\n[... 16 bytes left out ...]\nEFGHI"


@pytest.mark.parametrize("length", [0, 1, 5, 9, 10])
def test_what_fits_is_whole(length: int) -> None:
    stream = HeadTail(10)
    stream.feed(b"abcdefghij"[:length])
    assert not stream.truncated
    assert stream.text() == "abcdefghij"[:length]


def test_a_character_across_the_halves_survives() -> None:
    stream = HeadTail(6)
    stream.feed("ab€c".encode())
    assert stream.text() == "ab€c"


@pytest.mark.parametrize("step", [1, 5, 1000])
def test_messages_survive_any_cut(step: int) -> None:
    sent = [({"kind": "a"}, b""), ({"kind": "b", "x": [1]}, b"payload" * 9), ({"kind": "c"}, b"z")]
    stream = b"".join(encode(header, payload) for header, payload in sent)
    decoder = Decoder()
    got = [m for i in range(0, len(stream), step) for m in decoder.feed(stream[i : i + step])]
    assert got == [({**header, "size": len(payload)}, payload) for header, payload in sent]


def test_a_fork_does_not_hide_that_the_guest_is_gone() -> None:
    conversation = Conversation()
    fork = os.fork()
    if fork == 0:
        signal.pause()
    conversation.release_guest()
    conversation.channel.settimeout(5.0)
    assert conversation.channel.recv(1) == b""
    assert os.read(conversation.stdout, 1) == b""
    conversation.close()
    os.kill(fork, signal.SIGKILL)
    os.waitpid(fork, 0)
