"""Messages over a socket: what goes in comes out, and nothing else does any harm."""

from __future__ import annotations

import json
import math
import pickle
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from foretell.hardware import wire
from foretell.hardware.wire import HEAD, MAGIC, MOST_BYTES, MOST_HEADER, LinkLost, WireError


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def through(pair: tuple[socket.socket, socket.socket], data: bytes) -> dict[str, Any]:
    """What the other end receives of some bytes, after which the link ends."""
    ours, theirs = pair
    sender = threading.Thread(target=lambda: (ours.sendall(data), ours.shutdown(socket.SHUT_WR)))
    sender.start()
    try:
        return wire.receive(theirs, 5.0)
    finally:
        theirs.close()
        sender.join(5.0)


def test_what_goes_in_comes_out(pair: tuple[socket.socket, socket.socket]) -> None:
    picture = np.arange(480 * 640 * 3, dtype=np.uint8).reshape(480, 640, 3)
    message = {
        "call": "x",
        "nothing": None,
        "yes": True,
        "numbers": [1, 2.5, -math.inf],
        "table": {"array": 3, "table": {"deep": "ü"}},  # words that the header uses itself
        "turned": picture[::2, ::-1],
        "half": np.float32(0.5),
        "single": np.array(3.25),
        "whole": np.int64(7),
        **{kind: np.ones((2, 3), dtype=kind) for kind in wire.SIZES},
        "empty": np.zeros((0, 4)),
    }
    back = through(pair, wire.encode(message))
    assert set(back) == set(message)
    for name in ("call", "nothing", "yes", "numbers", "table"):
        assert back[name] == message[name] and type(back[name]) is type(message[name])
    assert (back["half"], back["single"], back["whole"]) == (0.5, 3.25, 7)
    for name in (*wire.SIZES, "turned", "empty"):
        np.testing.assert_array_equal(back[name], message[name], strict=True)
        back[name].fill(0)  # it is one's own


def test_nan_comes_through_for_others_to_judge(pair: tuple[socket.socket, socket.socket]) -> None:
    assert math.isnan(through(pair, wire.encode({"waist.pos": math.nan}))["waist.pos"])


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([object()]), np.array(["text"]), np.ones(2, complex)])
def test_what_is_no_number_is_not_sent(value: Any) -> None:
    with pytest.raises(WireError, match="cannot be sent; use"):
        wire.encode({"value": value})


def test_too_much_is_not_sent() -> None:
    with pytest.raises(WireError, match=r"is too large: at most .* send smaller pictures"):
        wire.encode({"picture": np.zeros(MOST_BYTES + 1, dtype=np.uint8)})
    with pytest.raises(WireError, match="is too large"):
        wire.encode({"text": "x" * MOST_HEADER})


def frame(header: Any, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return HEAD.pack(MAGIC, len(text), len(body)) + text + body


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", "begins with b'HTTP' instead of b'FTL1'"),
        (HEAD.pack(MAGIC, MOST_HEADER + 1, 0), "says that it has 1048577 and 0 bytes; at most"),
        (HEAD.pack(MAGIC, 2, 1 << 60), "at most"),
        (frame(b"{"), "is no message"),
        (frame([1, 2]), "is no message"),
        (frame({"message": 3, "arrays": []}), "it is int instead of a table"),
        (frame({"message": {"table": {}}, "arrays": [["uint8", [4]]]}, b"abc"), "longer than its bytes"),
        (frame({"message": {"table": {}}, "arrays": []}, b"abc"), "shorter than its bytes"),
        (frame({"message": {"table": {}}, "arrays": [["object", [1]]]}, b"12345678"), "is no message"),
        (frame({"message": {"table": {}}, "arrays": [["uint8", [-1]]]}), "shape"),
        (frame({"message": {"table": {"a": {"array": 5}}}, "arrays": []}), "is no message"),
        (frame({"message": {"what": {"a": 1}, "else": 2}, "arrays": []}), "is no message"),
        (frame(b"[" * 100_000), "is no message"),
        (pickle.dumps({"a": print}), "begins with"),
    ],
)
def test_what_is_no_message_is_refused_in_words(
    pair: tuple[socket.socket, socket.socket], data: bytes, words: str
) -> None:
    with pytest.raises(WireError) as refused:
        through(pair, data)
    assert words in str(refused.value)


def test_a_damaged_message_is_read_or_refused() -> None:
    draws, whole = random.Random(0), wire.encode({"id": 1, "answer": {"waist.pos": 1.0, "front": np.ones((4, 4, 3))}})
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draws.randint(1, 4)):
            data[draws.randrange(len(data))] = draws.randrange(256)
        pair = socket.socketpair()
        try:
            assert isinstance(through(pair, bytes(data[: draws.choice((None, -1))])), dict)
        except (WireError, LinkLost):
            refused += 1
        finally:
            pair[0].close()
    assert 150 < refused < 300  # a changed number in an array is still a number


def test_silence_ends_in_time_even_byte_by_byte(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    data, over = wire.encode({"id": 1}), threading.Event()

    def drip() -> None:
        for byte in data * 50:
            if over.wait(0.05):
                return
            ours.sendall(bytes([byte]))

    dripping = threading.Thread(target=drip)
    dripping.start()
    began = time.monotonic()
    with pytest.raises(LinkLost, match="silent for too long"):
        wire.receive(theirs, 0.3)
    assert 0.25 < time.monotonic() - began < 1.5  # the patience is for the whole message
    over.set()
    dripping.join()


def test_a_closed_link_says_so(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    ours.close()
    with pytest.raises(LinkLost, match="closed the link"):
        wire.receive(theirs, 5.0)
    with pytest.raises(LinkLost, match="the link is cut"):
        wire.send(theirs, {"front": np.zeros(1 << 20)}, 5.0)


def test_both_versions_are_named() -> None:
    assert wire.refusal({"protocol": wire.PROTOCOL}, "here", "1.2", "there") is None
    words = wire.refusal({"protocol": 9, "version": "7.0"}, "here", "1.2", "there")
    assert words == (
        "there (foretell 7.0) speaks version 9 of the link and here (foretell 1.2) version 1: use the same foretell on "
        "both ends"
    )


def test_without_numpy_an_array_is_a_view() -> None:
    """As `host.py` loads it where there is no numpy."""
    script = (
        "import importlib.util, socket, sys\n"
        "spec = importlib.util.spec_from_file_location('wire', sys.argv[1])\n"
        "wire = importlib.util.module_from_spec(spec); spec.loader.exec_module(wire)\n"
        "a, b = socket.socketpair()\n"
        "sent = memoryview(bytes(range(12))).cast('B', (2, 2, 3))\n"
        "wire.send(a, {'front': sent, 'waist.pos': 1.5})\n"
        "back = wire.receive(b, 5.0)\n"
        "assert back['front'].tolist() == sent.tolist() and back['waist.pos'] == 1.5, back\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", script, wire.__file__], check=True, timeout=30)
