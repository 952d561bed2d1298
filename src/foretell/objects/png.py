"""PNG files as foretell writes them: 8 bits each of red, green and blue, unfiltered. Any program opens them; reading
takes these only, so that a small file cannot unpack to a large one. Photographs of users: `sim.photo`."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from foretell.arrays import Bytes

__all__ = ["read_png", "write_png"]

START = b"\x89PNG\r\n\x1a\n"
MOST = 4096
"""Pixels along a side."""
BODY = 41
"""Where the pixels begin: after the start, the header and the length and name of their chunk."""


def write_png(image: Bytes, level: int = 9) -> bytes:
    """The file of a picture (height, width, 3). `level`: 1 is fastest, 9 smallest."""
    height, width, _ = image.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)  # 0: no filter
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), level)), (b"IEND", b""))
    return START + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def read_png(data: bytes) -> Bytes:
    """(height, width, 3) of a file that `write_png` made. Raises ValueError for any other."""
    if data[:8] != START or data[12:16] != b"IHDR" or data[37:41] != b"IDAT" or data[24:29] != b"\x08\x02\0\0\0":
        raise ValueError("it is no PNG as foretell writes it")
    width, height, length = *struct.unpack(">II", data[16:24]), int.from_bytes(data[33:37], "big")
    if not (0 < width <= MOST and 0 < height <= MOST):
        raise ValueError(f"it has {width}x{height} pixels; at most {MOST} along a side are read")
    row = 3 * width + 1
    try:
        unpack = zlib.decompressobj()
        raw = unpack.decompress(data[BODY : BODY + length], row * height + 1)
    except zlib.error as error:
        raise ValueError(f"its data are broken: {error}") from None
    if len(raw) != row * height:
        raise ValueError(f"its data are not {width}x{height} pixels")
    rows = np.frombuffer(raw, np.uint8).reshape(height, row)
    if rows[:, 0].any():
        raise ValueError("it is no PNG as foretell writes it: its rows are filtered")
    return np.ascontiguousarray(rows[:, 1:]).reshape(height, width, 3)
