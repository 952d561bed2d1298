"""Videos of datasets: a picture for each step, written and read with PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import ForetellError, UsageError

__all__ = ["VideoFile", "frames_at"]

LATE = 0.002
"""Seconds by which a frame may be later than the step that shows it: films count in milliseconds."""


def _av() -> Any:
    try:
        import av
    except ImportError:
        raise ForetellError("videos need PyAV: pip install 'foretell[video]'") from None
    return av


class VideoFile:
    """An mp4 with a fixed number of frames per second. A key frame comes twice a second, so that a trainer that jumps
    to a frame decodes few others."""

    def __init__(self, path: Path, height: int, width: int, rate: Fraction):
        if height % 2 or width % 2:
            raise UsageError(f"size: {height}x{width} should have even sides, such as {height + height % 2}x"
                             f"{width + width % 2}: mp4 files need them")  # fmt: skip
        self._av = _av()
        self._file = self._av.open(str(path), "w", options={"movflags": "faststart"})
        self._stream = self._file.add_stream("libx264", rate=rate)
        self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
        self._stream.options = {"crf": "18", "preset": "veryfast", "g": str(max(1, round(float(rate) / 2))), "bf": "0"}

    def add(self, picture: np.ndarray) -> None:
        """The next frame, (height, width, 3) uint8."""
        frame = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
        for packet in self._stream.encode(frame):
            self._file.mux(packet)

    def close(self) -> None:
        """Finish the file."""
        for packet in self._stream.encode():
            self._file.mux(packet)
        self._file.close()


def frames_at(path: Path, times: np.ndarray) -> Iterator[np.ndarray]:
    """At each of the times (s, rising) the frame that a film showed then: the last one that had come, or the first."""
    av = _av()
    try:
        with av.open(str(path)) as file:
            shown, coming = None, ((f.time or 0.0, f) for f in file.decode(video=0))
            later = next(coming, None)
            if later is None:
                raise UsageError(f"{path} has no picture")
            for time in times.tolist():
                while later is not None and (shown is None or later[0] <= time + LATE):
                    shown, later = later[1], next(coming, None)
                assert shown is not None
                yield shown.to_ndarray(format="rgb24")
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise UsageError(f"{path} is no film that can be read: {error}") from None
