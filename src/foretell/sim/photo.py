"""Photographs: PNG and JPEG files of users. A file may come from someone else, so its size is bounded before it is
decoded. A JPEG of a phone is turned upright, as EXIF says.

MuJoCo decodes PNG. JPEG needs PyAV (`pip install 'foretell[video]'`).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import mujoco
import numpy as np

__all__ = ["MOST_BYTES", "MOST_PIXELS", "decode", "resize"]

MOST_BYTES = 64 << 20
"""Of a file."""
MOST_PIXELS = 32 << 20
"""Of a photograph."""
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


def decode(data: bytes) -> np.ndarray:
    """(height, width, 3) uint8. Raises ValueError, in words, for what is no such picture."""
    if data.startswith(PNG):
        return _png(data)
    if data.startswith(JPEG):
        return _jpeg(data)
    raise ValueError("it is neither a PNG nor a JPEG file")


def resize(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """(height, width, 3) uint8: a picture at another size, by linear interpolation, or by weighted means where it
    shrinks."""
    rows, columns = _weights(image.shape[0], height), _weights(image.shape[1], width)
    small = np.einsum("hH,HWc->hWc", rows, image.astype(np.float64), optimize=True)
    small = np.einsum("wW,hWc->hwc", columns, small, optimize=True)
    # einsum may leave its axes in another order in memory, and whoever copies the picture would pay for it each time
    return np.ascontiguousarray(np.clip(np.rint(small), 0, 255), dtype=np.uint8)


def _weights(old: int, new: int) -> np.ndarray:
    """(new, old) how much of each old pixel is in each new one; rows add up to 1."""
    ratio = old / new
    centres = (np.arange(new) + 0.5) * ratio - 0.5
    weights = np.clip(1 - np.abs(np.arange(old) - centres[:, None]) / max(ratio, 1.0), 0, None)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _bounded(width: int, height: int) -> None:
    if not (min(width, height) > 0 and width * height <= MOST_PIXELS):
        raise ValueError(f"it has {width}x{height} pixels; a photograph has at least 1 and at most {MOST_PIXELS}")


def _png(data: bytes) -> np.ndarray:
    chunks = list(_chunks(data))
    if not chunks or chunks[0][0] != b"IHDR" or len(chunks[0][1]) != 13:
        raise ValueError("its PNG header is broken")
    width, height = struct.unpack(">II", chunks[0][1][:8])
    _bounded(width, height)
    # a small file may unpack to any size; MuJoCo would unpack all of it
    most = (8 * width + 16) * (height + 16)
    try:
        inflate = zlib.decompressobj()
        inflate.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"), most)
    except zlib.error as error:
        raise ValueError(f"its PNG data are broken: {error}") from None
    if inflate.unconsumed_tail:
        raise ValueError(f"its PNG data are more than {width}x{height} pixels")
    needed = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")  # texts and profiles can unpack to any size too
    plain = PNG + b"".join(_chunk(kind, body) for kind, body in chunks if kind in needed)
    spec = mujoco.MjSpec()
    spec.add_texture(name="photo", type=mujoco.mjtTexture.mjTEXTURE_2D, file="photo.png", nchannel=3)
    spec.assets = {"photo.png": plain}
    try:
        model = spec.compile()
    except ValueError as error:
        reason = str(error).splitlines()[0].removeprefix("Error: ").partition("'photo.png': ")[2]
        raise ValueError(f"its PNG data are broken: {reason or error}") from None
    return np.array(model.tex_data.reshape(height, width, 3))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(PNG)
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _jpeg(data: bytes) -> np.ndarray:
    _bounded(*_jpeg_size(data))
    try:
        import av
    except ImportError:
        raise ValueError("a JPEG needs PyAV: pip install 'foretell[video]'; or save it as PNG") from None
    try:
        codec = av.CodecContext.create("mjpeg", "r")
        frames = [*codec.decode(av.Packet(data)), *codec.decode(None)]
    except av.FFmpegError as error:
        raise ValueError(f"its JPEG data are broken: {error.strerror}") from None
    if not frames:
        raise ValueError("its JPEG data are broken: they end too early")
    image = np.asarray(frames[0].to_ndarray(format="rgb24"))
    mirrored, turns = UPRIGHT.get(_orientation(data), (False, 0))
    return np.ascontiguousarray(np.rot90(image[:, ::-1] if mirrored else image, turns))


UPRIGHT = {2: (True, 0), 3: (False, 2), 4: (True, 2), 5: (True, 1), 6: (False, 3), 7: (True, 3), 8: (False, 1)}
"""What EXIF notes of how a phone was held -> whether the picture is mirrored, and quarter turns to the left after."""


def _orientation(data: bytes) -> int:
    """EXIF's orientation of a JPEG; 1, upright, where there is none."""
    exif = next((body[6:] for kind, body in _segments(data) if kind == 0xE1 and body[:6] == b"Exif\0\0"), b"")
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None or len(exif) < 10:
        return 1
    (at,) = struct.unpack_from(order + "I", exif, 4)
    if at + 2 > len(exif):
        return 1
    (count,) = struct.unpack_from(order + "H", exif, at)
    for entry in range(at + 2, min(at + 2 + 12 * count, len(exif) - 11), 12):
        if struct.unpack_from(order + "H", exif, entry) == (0x0112,):
            return int(struct.unpack_from(order + "H", exif, entry + 8)[0])
    return 1


def _segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and contents of each segment before the pixels."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and (kind := data[at + 1]) != 0xDA:
        if kind == 0xFF:  # padding
            at += 1
            continue
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        yield kind, data[at + 4 : at + 2 + size]
        at += 2 + max(size, 2)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Width and height."""
    for kind, body in _segments(data):
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC) and len(body) >= 5:
            height, width = struct.unpack(">HH", body[1:5])
            return width, height
    raise ValueError("its JPEG header is broken")
