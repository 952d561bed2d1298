"""Photographs of users: read as they are, and refused in words where they are broken or too large."""

from __future__ import annotations

import builtins
import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from foretell.sim import photo

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
SMOOTH = np.stack(np.broadcast_arrays(*np.ogrid[0:240:24j, 0:240:32j], 99.0), axis=-1).astype(np.uint8)


def encoded(pixels: np.ndarray, kind: str, mode: str = "RGB", **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1"])
def test_png_is_read_exactly(mode: str) -> None:
    data = encoded(PIXELS, "PNG", mode)
    assert (photo.decode(data) == np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))).all()


def test_jpeg_is_read_as_others_read_it() -> None:
    pytest.importorskip("av", reason="JPEG needs PyAV")
    for options in ({}, {"progressive": True}):
        data = encoded(SMOOTH, "JPEG", quality=95, subsampling=0, **options)
        theirs = np.asarray(Image.open(io.BytesIO(data))).astype(int)
        assert np.abs(photo.decode(data).astype(int) - theirs).max() <= 3


@pytest.mark.parametrize("held", range(10))
def test_a_jpeg_of_a_phone_is_turned_upright(held: int) -> None:
    """EXIF notes how it was held: 2 to 8; other numbers mean nothing."""
    pytest.importorskip("av", reason="JPEG needs PyAV")
    notes = Image.Exif()
    notes[0x0112] = held
    data = encoded(SMOOTH, "JPEG", quality=95, subsampling=0, exif=notes.tobytes())
    theirs = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data)))).astype(int)
    assert np.abs(photo.decode(data).astype(int) - theirs).max() <= 3
    cut = data.replace(b"MM\0*\0\0\0\x08", b"MM\0*\xff\xff\xff\xff", 1)  # a table beyond its end
    assert cut != data
    assert photo.decode(cut).shape == SMOOTH.shape


def test_a_jpeg_without_pyav_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "av":
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r"a JPEG needs PyAV: pip install 'foretell\[video\]'; or save it as PNG"):
        photo.decode(encoded(SMOOTH, "JPEG"))


def png(width: int, height: int, packed: bytes) -> bytes:
    """A PNG file whose header and data need not agree."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return photo.PNG + b"".join(photo._chunk(k, b) for k, b in ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b"")))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "neither a PNG nor a JPEG"),
        (b"GIF89a", "neither a PNG nor a JPEG"),
        (photo.PNG, "PNG header is broken"),
        (encoded(PIXELS, "PNG")[:60], "PNG data are broken"),
        (png(10, 10, b"junk"), "PNG data are broken"),
        (png(10, 10, zlib.compress(bytes(5))), "PNG data are broken"),
        (png(0, 10, b""), "0x10 pixels"),
        (png(100_000, 100_000, b""), "100000x100000 pixels; a photograph has at least 1 and at most"),
        (png(10, 10, zlib.compress(bytes(10**7))), "more than 10x10 pixels"),
        (photo.JPEG + b"\xe0", "JPEG header is broken"),
        (encoded(SMOOTH, "JPEG")[:30], "JPEG header is broken"),
        (photo.JPEG[:2] + b"\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03" + bytes(20), "65535x65535 pixels"),
    ],
)
def test_what_is_no_photograph_is_refused_in_words(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        photo.decode(data)


def test_texts_in_a_png_are_not_unpacked() -> None:
    """A text can unpack to any size; it is dropped before the picture is decoded."""
    data = encoded(PIXELS, "PNG")
    text = photo._chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**8)))
    at = len(photo.PNG) + 25  # after the header
    assert (photo.decode(data[:at] + text + data[at:]) == PIXELS).all()


@pytest.mark.parametrize("size", [(24, 32), (12, 16), (7, 9), (48, 64)])
def test_resizing_is_that_of_others(size: tuple[int, int]) -> None:
    theirs = Image.fromarray(SMOOTH).resize(size[::-1], Image.Resampling.BILINEAR)
    assert np.abs(photo.resize(SMOOTH, *size).astype(int) - np.asarray(theirs)).max() <= 1
    assert photo.resize(SMOOTH, *size).flags.c_contiguous  # else every copy of it takes a millisecond more
