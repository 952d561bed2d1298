"""Messages over a socket: a JSON header, then the bytes of arrays. Nothing that is received is run or unpickled.

A frame is MAGIC, the length of the header (4 bytes, big-endian) and that of the arrays (8 bytes), the header, and the
arrays one after another. `host.py` loads this file in environments that have neither foretell nor numpy: standard
library only, and Python 3.8 must be able to read it.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import sys
import time
from typing import Any

__all__ = ["PROTOCOL", "LinkLost", "WireError", "encode", "receive", "refusal", "send"]

PROTOCOL = 1
"""Version of the frames and of the calls; both ends must have the same."""
MAGIC = b"FTL1"
HEAD = struct.Struct(">4sIQ")
MOST_HEADER, MOST_BYTES, MOST_ARRAYS = 1 << 20, 1 << 26, 64
"""Largest header (1 MiB), largest sum of all arrays (64 MiB) and most arrays of one frame."""
FORMATS = {"B": "uint8", "b": "int8", "H": "uint16", "h": "int16", "i": "int32", "l": "int64", "q": "int64"}
FORMATS.update({"f": "float32", "d": "float64", "?": "bool"})
"""Format of a buffer -> name of its type."""
SIZES = {name: struct.calcsize(f"={code}") for code, name in FORMATS.items() if code != "l"}


class WireError(Exception):
    """What came is no frame, or what goes cannot be one."""


class LinkLost(ConnectionError):  # noqa: N818 - says what happened
    """The other end closed the link, or was silent for too long."""


def encode(message: dict[str, Any]) -> bytes:
    """A frame. Values are what JSON has, and at any depth arrays: whatever has a buffer with a shape."""
    arrays: list[memoryview] = []
    header = json.dumps({"message": _packed(message, arrays), "arrays": [_described(a) for a in arrays]}).encode()
    total = sum(a.nbytes for a in arrays)
    if len(header) > MOST_HEADER or total > MOST_BYTES or len(arrays) > MOST_ARRAYS:
        raise WireError(
            f"a message of {len(header)} bytes with {len(arrays)} arrays of {total} bytes is too large: at most "
            f"{MOST_HEADER} bytes, {MOST_ARRAYS} arrays and {MOST_BYTES} bytes; send smaller pictures"
        )
    return b"".join([HEAD.pack(MAGIC, len(header), total), header, *(a.tobytes() for a in arrays)])


def send(link: socket.socket, message: dict[str, Any], patience: float | None = None) -> None:
    """Send a message within so many seconds. Raises LinkLost; the link is then of no more use."""
    data = encode(message)
    link.settimeout(patience)
    try:
        link.sendall(data)
    except OSError as error:
        raise LinkLost(f"the link is cut: {error}") from None


def receive(link: socket.socket, patience: float | None = None) -> dict[str, Any]:
    """The next message, whole within so many seconds. Raises LinkLost or WireError; the link is then of no more use,
    because nobody knows where the next frame begins."""
    until = None if patience is None else time.monotonic() + patience
    magic, size, total = HEAD.unpack(_exactly(link, HEAD.size, until))
    if magic != MAGIC:
        raise WireError(f"what came is no message: it begins with {magic!r} instead of {MAGIC!r}")
    if size > MOST_HEADER or total > MOST_BYTES:
        raise WireError(f"what came says that it has {size} and {total} bytes; at most {MOST_HEADER} and {MOST_BYTES}")
    header, body = _exactly(link, size, until), _exactly(link, total, until)
    try:
        whole = json.loads(header)
        arrays = _arrays(whole["arrays"], body)
        message = _unpacked(whole["message"], arrays)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise WireError(f"what came is no message: {type(error).__name__}: {error}") from None
    if not isinstance(message, dict):
        raise WireError(f"what came is no message: it is {type(message).__name__} instead of a table")
    return message


def refusal(hello: dict[str, Any], here: str, mine: str, there: str) -> str | None:
    """Why two ends cannot talk, or None. `here` and `there` say what the ends are, `mine` is the version of foretell
    that this end is from."""
    if hello.get("protocol") == PROTOCOL:
        return None
    return (
        f"{there} (foretell {hello.get('version', 'unknown')!s:.40}) speaks version {hello.get('protocol')!r:.20} of "
        f"the link and {here} (foretell {mine}) version {PROTOCOL}: use the same foretell on both ends"
    )


def _exactly(link: socket.socket, size: int, until: float | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            raise LinkLost("the other end was silent for too long")
        link.settimeout(left)
        try:
            part = link.recv(min(size - len(data), 1 << 20))
        except socket.timeout:  # noqa: UP041 - for Python 3.8
            raise LinkLost("the other end was silent for too long") from None
        except OSError as error:
            raise LinkLost(f"the link is cut: {error}") from None
        if not part:
            raise LinkLost("the other end closed the link")
        data += part
    return bytes(data)


def _packed(value: Any, arrays: list[memoryview]) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {"table": {str(key): _packed(entry, arrays) for key, entry in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_packed(entry, arrays) for entry in value]
    buffer = _buffer(value)
    if buffer is None:
        return _number(value)
    arrays.append(buffer)
    return {"array": len(arrays) - 1}


def _buffer(value: Any) -> memoryview | None:
    """The buffer of an array; None of what is a single number, or has none."""
    try:
        buffer = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    if buffer.ndim == 0:
        return None
    if buffer.format not in FORMATS or sys.byteorder != "little":
        raise WireError(f"an array of format {buffer.format!r} cannot be sent; use one of {', '.join(SIZES)}")
    return buffer


def _number(value: Any) -> Any:
    try:
        number = value.item() if hasattr(value, "item") else float(value)
    except (TypeError, ValueError):
        number = None
    if not isinstance(number, (bool, int, float)):
        raise WireError(f"a {type(value).__name__} cannot be sent; use numbers, texts, tables, lists and arrays")
    return number


def _described(array: memoryview) -> list[Any]:
    return [FORMATS[array.format], list(array.shape or ())]


def _arrays(described: Any, body: bytes) -> list[Any]:
    if not isinstance(described, list) or len(described) > MOST_ARRAYS:
        raise ValueError("its list of arrays is none, or too long")
    arrays, at = [], 0
    for kind, shape in described:
        if not all(isinstance(side, int) and 0 <= side <= MOST_BYTES for side in shape):
            raise ValueError(f"an array has shape {shape!r:.100}")
        size = math.prod(shape) * SIZES[kind]
        if at + size > len(body):
            raise ValueError("its arrays are longer than its bytes")
        arrays.append(_array(kind, tuple(shape), body[at : at + size]))
        at += size
    if at != len(body):
        raise ValueError("its arrays are shorter than its bytes")
    return arrays


def _array(kind: str, shape: tuple[int, ...], data: bytes) -> Any:
    """A numpy array; a memoryview where there is no numpy."""
    try:
        import numpy as np
    except ImportError:
        code: Any = {name: code for code, name in FORMATS.items()}[kind]
        return memoryview(data).cast(code, shape) if data else memoryview(data)
    return np.frombuffer(data, dtype=kind).reshape(shape).copy()


def _unpacked(value: Any, arrays: list[Any]) -> Any:
    if isinstance(value, list):
        return [_unpacked(entry, arrays) for entry in value]
    if isinstance(value, dict):
        ((mark, inner),) = value.items()
        if mark == "array":
            return arrays[inner]
        return {key: _unpacked(entry, arrays) for key, entry in inner.items()}
    return value
