"""Messages with arrays as bytes: msgpack, in openpi's dialect. Nothing is executed or unpickled when one is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from foretell.errors import UsageError

__all__ = ["pack", "require_msgpack", "unpack"]

ARRAY, SCALAR = b"__ndarray__", b"__npgeneric__"
"""Keys that mark an array, and a number of numpy's."""
KINDS = "biufSU"
"""Types of numbers and texts that are sent: no objects, no structures, no complex numbers."""


def require_msgpack() -> Any:
    """The module, or a UsageError that says how to install it."""
    try:
        import msgpack
    except ImportError:
        raise UsageError("policies over the wire need msgpack: pip install 'foretell[wire]'") from None
    return msgpack


def pack(message: dict[str, Any], *, texts: bool = False) -> bytes:
    """A message as bytes. Values are texts, numbers, lists, mappings and arrays. `texts`: the keys of an array are
    texts, as vla-eval has them, instead of bytes."""
    packed: bytes = require_msgpack().packb(message, default=_named if texts else _plain)
    return packed


def unpack(data: bytes) -> Any:
    """Inverse of `pack`. Arrays are read-only. Raises ValueError for what is no such message."""
    msgpack = require_msgpack()
    try:
        return msgpack.unpackb(data, object_hook=_array)
    except (msgpack.exceptions.UnpackException, msgpack.exceptions.ExtraData, RecursionError, TypeError) as error:
        raise ValueError(f"it is no msgpack message: {error or type(error).__name__}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in KINDS:
            raise ValueError(f"an array of type {value.dtype} cannot be sent")
        return {ARRAY: True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic):
        return {SCALAR: True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _named(value: Any) -> Any:
    plain = _plain(value)
    if SCALAR in plain:
        return value.item()
    return {key.decode(): list(item) if key == b"shape" else item for key, item in plain.items()}


def _array(given: dict[Any, Any]) -> Any:
    if "__ndarray__" in given:
        given = {key.encode() if isinstance(key, str) else key: item for key, item in given.items()}
    if ARRAY in given:
        data: Any = given.get(b"data")
        shape: Any = given.get(b"shape")
        dtype = _dtype(given.get(b"dtype"))
        sizes = isinstance(shape, list | tuple) and all(type(side) is int and side >= 0 for side in shape)
        if not isinstance(data, bytes) or not sizes or math.prod(shape) * dtype.itemsize != len(data):
            raise ValueError(f"an array says shape {shape!r:.60} and type {dtype}, and its data do not fit")
        return np.frombuffer(data, dtype=dtype).reshape(shape)
    if SCALAR in given:
        return _dtype(given.get(b"dtype")).type(given.get(b"data"))
    return given


def _dtype(name: Any) -> np.dtype[Any]:
    try:
        dtype = np.dtype(name.decode() if isinstance(name, bytes) else name)
    except (TypeError, ValueError, AttributeError, UnicodeDecodeError):
        raise ValueError(f"an array says type {name!r:.60}, which numpy does not know") from None
    if name is None or dtype.kind not in KINDS:
        raise ValueError(f"an array says type {name!r:.60}, which is not read")
    return dtype
