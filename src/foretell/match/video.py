"""Frames of a real video."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import UsageError

__all__ = ["read_frames", "upright"]

MOST = 120
"""Frames that are kept: enough for a median, and a long video costs no more memory than a short one."""
BYTES = 400 << 20
"""Of the kept frames: a video of large frames gives fewer."""


def upright(frame: Any) -> np.ndarray:
    """(height, width, 3) uint8: a frame (PyAV) as players show it. A phone films as its sensor lies, and notes the
    turn."""
    image: np.ndarray = frame.to_ndarray(format="rgb24")
    return np.ascontiguousarray(np.rot90(image, round(frame.rotation / 90)))


def read_frames(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """(n, height, width, 3) uint8 and (n,) seconds: frames from the whole length of a video, evenly spaced, at most
    `MOST`, and when they are shown."""
    try:
        import av
    except ImportError:
        raise UsageError("videos need PyAV, which is not installed: pip install 'foretell[match]'") from None
    frames: list[np.ndarray] = []
    times: list[float] = []
    every, number = 1, 0
    try:
        with av.open(str(path)) as file:
            if not file.streams.video:
                raise UsageError(f"video: {path} has no pictures")
            for frame in file.decode(video=0):
                if number % every == 0:
                    image = upright(frame)
                    frames.append(image)
                    times.append(float(frame.time or 0.0))
                    if len(frames) > max(3, min(MOST, BYTES // image.nbytes)):
                        frames, times, every = frames[::2], times[::2], 2 * every
                number += 1
    except av.FFmpegError as error:
        raise UsageError(f"video: cannot read {path}: {error.strerror}") from None
    sizes = {frame.shape for frame in frames}
    if len(sizes) > 1:
        raise UsageError(f"video: {path} changes its size between frames; record it again, or cut it")
    if len(frames) < 3:
        raise UsageError(
            f"video: {path} has {number} frame{'s' * (number != 1)}, and a clean plate needs at least 3, in which the "
            "robot moves; a single picture can be cleaned with any editor"
        )
    return np.stack(frames), np.array(times)
