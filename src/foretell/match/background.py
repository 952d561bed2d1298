"""A clean plate: the scene without the robot, from a video in which the robot moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError
from foretell.match.opencv import opencv
from foretell.match.picture import boxed, read_mask, require_png, write_picture
from foretell.match.video import read_frames
from foretell.match.world import add_transform, relative, require_world

__all__ = ["Plate", "background", "clean"]

NEAR = 12
"""Grey levels within which two colours of a pixel count as one: noise and compression."""
RADIUS = 5
"""Pixels around a hidden one that inpainting looks at."""
EDGE = 3
"""Pixels by which what is hidden is made wider: the edge of a robot is half robot."""


@dataclass(frozen=True, kw_only=True)
class Plate:
    """A clean plate, and how much of it was really seen."""

    image: np.ndarray
    """(height, width, 3) uint8."""
    frames: int
    moved: float
    """Share of pixels that something passed over."""
    doubtful: float
    """Share of pixels, outside what is hidden, where no colour holds in half of the frames."""
    unseen: np.ndarray
    """(height, width) bool: hidden, and never seen free. These pixels are made up from their neighbours."""
    out: Path | None = None
    world: Path | None = None

    @property
    def notes(self) -> list[str]:
        if self.doubtful > 0.05:
            return [
                f"in {self.doubtful:.0%} of the pixels no colour holds in half of the frames: does the camera move "
                "(use a tripod), or does the robot cover them for most of the time (film it longer, elsewhere)?"
            ]
        return []

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; the picture is left out."""
        height, width, _ = self.image.shape
        return {
            "width": width,
            "height": height,
            "frames": self.frames,
            "moved": self.moved,
            "doubtful": self.doubtful,
            "never_seen_free": float(self.unseen.mean()),
            "notes": self.notes,
            "out": None if self.out is None else str(self.out),
            "world": None if self.world is None else str(self.world),
        }

    def text(self) -> str:
        height, width, _ = self.image.shape
        lines = [
            f"{width}x{height} pixels from {self.frames} frames",
            f"something passed over {self.moved:.1%} of the pixels",
            f"never seen free, and made up from their neighbours: {self.unseen.mean():.1%}",
            f"doubtful, because no colour holds in half of the frames: {self.doubtful:.1%}",
            *(f"note: {note}" for note in self.notes),
        ]
        lines += [f"plate: {self.out}"] * (self.out is not None)
        lines += [f"world: {self.world}, which a study can name"] * (self.world is not None)
        return "\n".join(lines)


def background(
    video: str | Path,
    *,
    out: str | Path | None = None,
    hide: Sequence[int] = (),
    mask: str | Path | None = None,
    camera: str | None = None,
    world: str | Path | None = None,
) -> Plate:
    """The scene of a video without what moves in it: each pixel has the colour that holds longest.

    What never moves stays in the picture. `hide` (boxes: left, top, right, bottom, in pixels) and `mask` (a picture,
    bright there) say where such a thing is: there a second colour is taken, where the video shows one, and the rest is
    inpainted. `out` is the PNG file to write. `world` is a world file to write or extend: it gets the plate behind the
    pictures of `camera`, or of all cameras.
    """
    target = None if out is None else require_png(out, "out")
    file = None if world is None else require_world(world)
    if file is not None and target is None:
        raise UsageError(f"world: {world} needs the plate as a file: give out (-o plate.png) too")
    if camera is not None and file is None:
        raise UsageError(f"camera: {camera!r:.100} is named, and no world: give world (--world lab.yaml) too")
    opencv()
    frames = read_frames(video)
    height, width = frames.shape[1:3]
    hidden = boxed(hide, "hide", height, width)
    if mask is not None:
        hidden |= read_mask(mask, "mask", height, width)
    if hidden.all():
        raise UsageError("hide and mask cover the whole picture: nothing is left to make it from")
    plate = clean(frames, hidden)
    if target is not None:
        write_picture(target, plate.image)
    if target is not None and file is not None:
        cameras = {} if camera is None else {"cameras": [camera]}
        add_transform(file, {"use": "background", "image": relative(target, file), **cameras})
    return Plate(**{**vars(plate), "out": target, "world": file})


def clean(frames: np.ndarray, hidden: np.ndarray) -> Plate:
    """A plate from frames (n, height, width, 3). `hidden`, (height, width) bool: what is to vanish though it rests."""
    cv2 = opencv()
    image, support = _longest(frames)
    moved = _apart(frames, image).max(axis=0) > 2 * NEAR
    unseen = cv2.dilate(hidden.astype(np.uint8), np.ones((2 * EDGE + 1, 2 * EDGE + 1), np.uint8)).astype(bool)
    doubtful = float((support < 0.5)[~unseen].mean()) if not unseen.all() else 0.0
    behind, seen = _second(frames, image, unseen)
    image = np.where(seen[..., None], behind, image)
    unseen &= ~seen
    if unseen.any():
        image = cv2.inpaint(image, unseen.astype(np.uint8), RADIUS, cv2.INPAINT_TELEA)
    return Plate(image=image, frames=len(frames), moved=float(moved.mean()), doubtful=doubtful, unseen=unseen)


def _longest(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The colour (height, width, 3) that holds longest, and the share of frames (height, width) in which it does.

    Of the frames in order of brightness, the half that differs least is taken, and of these the median. The median of
    all frames would be drawn towards what covers a pixel at times."""
    image = np.empty(frames.shape[1:], dtype=np.uint8)
    for row in range(frames.shape[1]):  # row by row: all at once takes many times the memory of the frames
        strip = frames[:, row]
        image[row] = _shortest_half(strip)
    return image, (_apart(frames, image) <= NEAR).mean(axis=0)


def _shortest_half(strip: np.ndarray) -> np.ndarray:
    """(width, 3) of (n, width, 3)."""
    count = len(strip)
    half = count // 2 + 1
    bright = strip.sum(axis=2, dtype=np.int32)
    order = np.argsort(bright, axis=0, kind="stable")
    ranked = np.take_along_axis(bright, order, axis=0)
    start = np.argmin(ranked[half - 1 :] - ranked[: count - half + 1], axis=0)
    chosen = np.take_along_axis(order, start + np.arange(half)[:, None], axis=0)
    colours = np.take_along_axis(strip, chosen[..., None], axis=0)
    return np.asarray(np.median(colours, axis=0)).astype(np.uint8)


def _apart(frames: np.ndarray, image: np.ndarray) -> np.ndarray:
    """(n, height, width) uint8: the largest difference of a channel from a picture, frame by frame."""
    apart = np.empty(frames.shape[:3], dtype=np.uint8)
    for frame, differs in zip(frames, apart, strict=True):
        opencv().absdiff(frame, image).max(axis=2, out=differs)
    return apart


def _second(frames: np.ndarray, image: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What shows where something hidden moved away: colours (height, width, 3), and where (height, width) there are
    any. A colour counts if it holds in three frames or more, and in most of those that do not show the hidden thing."""
    behind, seen = image.copy(), np.zeros(hidden.shape, dtype=bool)
    for row, column in zip(*np.nonzero(hidden), strict=True):
        colours = frames[:, row, column].astype(np.int16)
        away = colours[np.abs(colours - image[row, column]).max(axis=1) > 2 * NEAR]
        if len(away) < 3:
            continue
        middle = np.median(away, axis=0)
        if (np.abs(away - middle).max(axis=1) <= NEAR).mean() > 0.5:
            behind[row, column], seen[row, column] = middle, True
    return behind, seen
