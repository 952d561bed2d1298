"""Messages with arrays: what goes in comes out, and nothing hostile is taken."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.bridges.packing import pack, unpack

msgpack = pytest.importorskip("msgpack")


def test_arrays_numbers_and_texts_come_back() -> None:
    sent = {
        "image": np.arange(24, dtype=np.uint8).reshape(2, 4, 3),
        "state": np.float32(0.5),
        "prompt": "lift ä",
        "n": [1, 2],
    }
    got = unpack(pack(sent))
    np.testing.assert_array_equal(got["image"], sent["image"])
    assert got["image"].dtype == np.uint8 and not got["image"].flags.writeable
    assert got["state"] == np.float32(0.5) and got["state"].dtype == np.float32
    assert (got["prompt"], got["n"]) == ("lift ä", [1, 2])


def test_the_bytes_are_those_of_openpi() -> None:
    """Its packer writes bytes as keys, the type as text and the shape as a list."""
    raw = msgpack.unpackb(pack({"a": np.zeros((1, 2), np.float32)}))
    assert raw["a"] == {b"__ndarray__": True, b"data": bytes(8), b"dtype": "<f4", b"shape": [1, 2]}


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",
        b"",
        b"\x81",
        msgpack.packb({"a": {b"__ndarray__": True, b"data": b"", b"dtype": "O", b"shape": [0]}}),
        msgpack.packb({"a": {b"__ndarray__": True, b"data": b"", b"dtype": "no", b"shape": [0]}}),
        msgpack.packb({"a": {b"__ndarray__": True, b"data": b"1234", b"dtype": "<f4", b"shape": [7]}}),
        msgpack.packb({"a": {b"__ndarray__": True, b"data": b"1234", b"dtype": "<f4", b"shape": [-1]}}),
        msgpack.packb({"a": {b"__ndarray__": True, b"data": 4, b"dtype": "<f4", b"shape": 4}}),
        msgpack.packb({"a": {b"__ndarray__": True}}),
        b"\x91" * 5000,
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack(data)


def test_objects_are_not_sent() -> None:
    with pytest.raises(ValueError, match="type object"):
        pack({"a": np.array([object()])})
    with pytest.raises(TypeError, match="set cannot be sent"):
        pack({"a": {1, 2}})
