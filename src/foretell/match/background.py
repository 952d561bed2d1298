"""A clean plate: the scene without the robot, from a video in which the robot moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError, suggest
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
    unchecked: str | None = None
    """A camera that no task was asked about."""

    @property
    def notes(self) -> list[str]:
        notes = []
        if self.unchecked is not None:
            notes.append(f"whether tasks have a camera {self.unchecked!r:.100} is not checked: name a task (--task)")
        if self.doubtful > 0.05:
            notes.append(
                f"in {self.doubtful:.0%} of the pixels no colour holds in half of the frames: does the camera move "
                "(use a tripod), or does the robot cover them for most of the time (say when they are free: --free)?"
            )
        return notes

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
    free: Sequence[float] = (),
    hide: Sequence[int] = (),
    mask: str | Path | None = None,
    camera: str | None = None,
    world: str | Path | None = None,
    task: str | None = None,
) -> Plate:
    """The scene of a video without what moves in it: each pixel has its median colour.

    Something that stays in a place for most of the time is still in the picture. `free` says when a box is free of it:
    left, top, right, bottom in pixels, and from and to in seconds, six numbers for each box. Something that never moves
    is hidden by `hide` (boxes of four numbers) or `mask` (a picture, bright there): there the plate is inpainted. `out`
    is the PNG file to write. `world` is a world file to write or extend: it gets the plate behind the pictures of
    `camera`, or of all cameras. `task` is a task that should have this camera.
    """
    target = None if out is None else require_png(out, "out")
    file = None if world is None else require_world(world)
    if file is not None and target is None:
        raise UsageError(f"world: {world} needs the plate as a file: give out (-o plate.png) too")
    if camera is not None and file is None:
        raise UsageError(f"camera: {camera!r:.100} is named, and no world: give world (--world lab.yaml) too")
    if camera is not None and task is not None:
        _require_camera(camera, task)
    opencv()
    frames, times = read_frames(video)
    height, width = frames.shape[1:3]
    hidden = boxed(hide, "hide", height, width)
    if mask is not None:
        hidden |= read_mask(mask, "mask", height, width)
    if hidden.all():
        raise UsageError("hide and mask cover the whole picture: nothing is left to make it from")
    plate = clean(frames, hidden, _stretches(free, times, height, width))
    if target is not None:
        write_picture(target, plate.image)
    if target is not None and file is not None:
        cameras = {} if camera is None else {"cameras": [camera]}
        add_transform(file, {"use": "background", "image": relative(target, file), **cameras})
    return Plate(**{**vars(plate), "out": target, "world": file, "unchecked": camera if task is None else None})


def _require_camera(camera: str, task: str) -> None:
    from foretell.match.mounted import bench_of

    known = bench_of(task, "mujoco").world.cameras
    if camera not in known:
        raise UsageError(f"camera: {camera!r:.100} is not in task {task!r}; {suggest(camera, known)}")


def _stretches(
    free: Sequence[float], times: np.ndarray, height: int, width: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pixels (height, width) and the frames (n,) in which they are free, for each box of `free`."""
    if len(free) % 6:
        raise UsageError(f"free: {len(free)} numbers; a box has six: LEFT TOP RIGHT BOTTOM (pixels) FROM TO (seconds)")
    stretches = []
    for at in range(0, len(free), 6):
        first, last = free[at + 4 : at + 6]
        during = (times >= first) & (times <= last)
        if during.sum() < 3:
            raise UsageError(
                f"free: {first:g} to {last:g} s has {during.sum()} of the frames, which last from {times[0]:g} to "
                f"{times[-1]:.1f} s; it takes 3"
            )
        stretches.append((boxed([round(v) for v in free[at : at + 4]], "free", height, width), during))
    return stretches


def clean(frames: np.ndarray, hidden: np.ndarray, free: Sequence[tuple[np.ndarray, np.ndarray]] = ()) -> Plate:
    """A plate from frames (n, height, width, 3). `hidden`, (height, width) bool: what is to vanish though it rests.
    `free`: pixels (height, width), and the frames (n,) from which they are taken."""
    cv2 = opencv()
    image, support = _median(frames)
    for where, during in free:
        better, holds = _median(frames[during])
        image[where], support[where] = better[where], holds[where]
    moved = _apart(frames, image).max(axis=0) > 2 * NEAR
    unseen = cv2.dilate(hidden.astype(np.uint8), np.ones((2 * EDGE + 1, 2 * EDGE + 1), np.uint8)).astype(bool)
    doubtful = float((support < 0.5)[~unseen].mean()) if not unseen.all() else 0.0
    if unseen.any():
        image = cv2.inpaint(image, unseen.astype(np.uint8), RADIUS, cv2.INPAINT_TELEA)
    return Plate(image=image, frames=len(frames), moved=float(moved.mean()), doubtful=doubtful, unseen=unseen)


def _median(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The median colour (height, width, 3), and the share of frames (height, width) that show it."""
    image = np.empty(frames.shape[1:], dtype=np.uint8)
    for row in range(frames.shape[1]):  # row by row: all at once takes many times the memory of the frames
        image[row] = np.median(frames[:, row], axis=0)
    return image, (_apart(frames, image) <= NEAR).mean(axis=0)


def _apart(frames: np.ndarray, image: np.ndarray) -> np.ndarray:
    """(n, height, width) uint8: the largest difference of a channel from a picture, frame by frame."""
    apart = np.empty(frames.shape[:3], dtype=np.uint8)
    for frame, differs in zip(frames, apart, strict=True):
        opencv().absdiff(frame, image).max(axis=2, out=differs)
    return apart
