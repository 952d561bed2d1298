"""Pictures and masks of users: read with clear errors, written as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foretell.errors import UsageError
from foretell.files import read_file, require_writable
from foretell.match.opencv import opencv
from foretell.sim.photo import MOST_BYTES, decode
from foretell.sim.render import Renderer

__all__ = ["boxed", "encode_png", "read_mask", "read_picture", "require_png", "shrunk", "write_picture"]


def read_picture(path: str | Path, field: str) -> np.ndarray:
    """(height, width, 3) uint8 of a PNG or JPEG file. `field` is how errors call it."""
    try:
        return decode(read_file(path, MOST_BYTES, follow=True))
    except OSError as error:
        raise UsageError(f"{field}: cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{field}: cannot read {path}: {error}") from None


def read_mask(path: str | Path, field: str, height: int, width: int) -> np.ndarray:
    """(height, width) bool: where a mask file is bright. Its size must be that of the picture."""
    mask: np.ndarray = read_picture(path, field).max(axis=2) > 127
    if mask.shape != (height, width):
        rows, columns = mask.shape
        raise UsageError(
            f"{field}: {path} has {columns}x{rows} pixels, and the picture {width}x{height}: a mask needs the same size"
        )
    return mask


def boxed(numbers: Sequence[int], field: str, height: int, width: int) -> np.ndarray:
    """(height, width) bool: the pixels in some boxes, each of four numbers: left, top, right, bottom."""
    if len(numbers) % 4:
        raise UsageError(f"{field}: {len(numbers)} numbers; a box has four: LEFT TOP RIGHT BOTTOM, in pixels")
    mask = np.zeros((height, width), dtype=bool)
    for at in range(0, len(numbers), 4):
        left, top, right, bottom = numbers[at : at + 4]
        if not (0 <= left < right <= width and 0 <= top < bottom <= height):
            raise UsageError(
                f"{field}: {left} {top} {right} {bottom} is no box (LEFT TOP RIGHT BOTTOM) in a picture of "
                f"{width}x{height} pixels"
            )
        mask[top:bottom, left:right] = True
    return mask


def shrunk(image: np.ndarray, masks: Sequence[np.ndarray] = ()) -> tuple[np.ndarray, list[np.ndarray]]:
    """A picture (height, width, 3) and masks (height, width) of it, smaller where the renderer draws none so large."""
    height, width = image.shape[:2]
    ratio = min(1.0, Renderer.TALLEST / height, Renderer.WIDEST / width)
    if ratio == 1:
        return image, list(masks)
    cv2, size = opencv(), (max(1, int(width * ratio)), max(1, int(height * ratio)))
    small = [cv2.resize(m.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.5 for m in masks]
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA)), small


def require_png(path: str | Path, option: str) -> Path:
    """The path of a PNG file that can be written."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise UsageError(f"{option}: {path} should end in .png")
    require_writable(path, option)
    return path


def encode_png(image: np.ndarray) -> bytes:
    """A picture (height, width, 3), or a mask (height, width), as a PNG file."""
    pixels = image[..., ::-1] if image.ndim == 3 else image.astype(np.uint8) * 255
    _, data = opencv().imencode(".png", np.ascontiguousarray(pixels))
    return bytes(data)


def write_picture(path: Path, image: np.ndarray) -> None:
    path.write_bytes(encode_png(image))
