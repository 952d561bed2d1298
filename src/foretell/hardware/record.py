"""What a robot's cameras saw of each trial: an mp4 for each camera and the first frame as PNG, written by a thread of
their own, so that no send waits for a picture."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bytes
from foretell.errors import UsageError
from foretell.hardware.reading import Reading
from foretell.objects.png import write_png

__all__ = ["FrameRecorder", "film_path", "start_path"]

WAITING = 128
"""Frames that may wait to be written; more are dropped, and counted."""
MILLISECONDS = Fraction(1, 1000)


def film_path(run: Path, episode: str, camera: str) -> Path:
    """Where the film of a camera is."""
    return run / "frames" / f"{episode}-{camera}.mp4"


def start_path(run: Path, episode: str, camera: str) -> Path:
    """Where the first frame of a camera is."""
    return run / "frames" / f"{episode}-start-{camera}.png"


class FrameRecorder:
    """Takes frames in the thread of the link, and writes them in another. rates: camera -> frames per second."""

    def __init__(self, run: Path, rates: dict[str, float]):
        self._run, self._rates = run, rates
        self.dropped = 0
        """Frames of this trial that came faster than they could be written."""
        self._queue: queue.Queue[tuple[str, Any, Any]] = queue.Queue()
        self._films: dict[str, _Film] = {}
        self._firsts: dict[Path, Bytes] = {}
        self._episode: str | None = None
        self._began, self._next = 0.0, dict.fromkeys(rates, 0.0)
        self._thread: threading.Thread | None = None
        if rates:
            try:
                import av
            except ImportError:
                raise UsageError(
                    "a robot's camera frames are always kept, which needs PyAV: pip install 'foretell[video]', or "
                    "leave `cameras` out of the world file"
                ) from None
            self._av = av
            self._thread = threading.Thread(target=self._write, name="robot frames", daemon=True)
            self._thread.start()

    def start(self, episode: str, reading: Reading) -> None:
        """A trial begins."""
        self.finish()
        self.dropped, self._began = 0, time.monotonic()
        self._next = dict.fromkeys(self._rates, 0.0)
        for camera in self._rates:
            self._queue.put(("start", camera, (episode, reading.frames[camera])))
        self._episode = episode

    def take(self, reading: Reading) -> None:
        """A reading has come; its frames are kept where they are due."""
        if self._episode is None:
            return
        passed = reading.at - self._began
        for camera, rate in self._rates.items():
            if passed < self._next[camera]:
                continue
            if self._queue.qsize() > WAITING:
                self.dropped += 1
                continue
            self._next[camera] = max(self._next[camera] + 1.0 / rate, passed - 1.0 / rate)
            self._queue.put(("frame", camera, (passed, reading.frames[camera])))

    def finish(self) -> None:
        """The trial has ended: its films are closed, later, by the thread."""
        if self._episode is not None:
            self._episode = None
            self._queue.put(("finish", None, None))

    def wait(self) -> None:
        """Wait until what was taken so far is written."""
        written = threading.Event()
        self._queue.put(("tell", None, written))
        written.wait()

    def close(self) -> None:
        """Wait until all is written."""
        self.finish()
        if self._thread is not None and self._thread.is_alive():
            self._queue.put(("close", None, None))
            self._thread.join()

    # -- in the thread ----------------------------------------------------------------------------------------

    def _write(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)  # of this thread alone, on Linux
        while True:
            what, camera, given = self._queue.get()
            try:
                if what == "start":
                    self._open(camera, *given)
                elif what == "frame" and camera in self._films:
                    self._films[camera].add(*given)
                elif what == "tell":
                    given.set()
                elif what in ("finish", "close"):
                    self._close()
            except (OSError, ValueError, self._av.error.FFmpegError):  # a full disk must not stop a robot's loop
                self.dropped += 1
            if what == "close":
                return

    def _open(self, camera: str, episode: str, image: Bytes) -> None:
        path = film_path(self._run, episode, camera)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._firsts[start_path(self._run, episode, camera)] = image
        self._films[camera] = _Film(self._av, path, image.shape[0], image.shape[1])

    def _close(self) -> None:
        """Finish films; first frames are written then, because packing one takes as long as many frames of a film."""
        for film in self._films.values():
            film.close()
        self._films.clear()
        for path, image in self._firsts.items():
            part = path.with_suffix(".part")
            part.unlink(missing_ok=True)  # it may be a link, in a folder from someone else
            part.write_bytes(write_png(image))
            part.replace(path)
        self._firsts.clear()


class _Film:
    """An mp4 whose frames have the times at which they came."""

    def __init__(self, av: Any, path: Path, height: int, width: int):
        self._av, self._path, self._part = av, path, path.with_suffix(".part.mp4")
        self._part.unlink(missing_ok=True)
        self._file = av.open(str(self._part), "w")
        self._stream = self._file.add_stream("libx264", rate=30)
        self._stream.width, self._stream.height = width - width % 2, height - height % 2  # the format wants even sides
        self._stream.pix_fmt, self._stream.options = "yuv420p", {"crf": "20", "preset": "superfast"}
        self._stream.codec_context.time_base = MILLISECONDS
        self._last = -1

    def add(self, seconds: float, image: Bytes) -> None:
        height, width = self._stream.height, self._stream.width
        frame = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(image[:height, :width]), format="rgb24")
        self._last = max(self._last + 1, round(1000 * seconds))
        frame.pts, frame.time_base = self._last, MILLISECONDS
        for packet in self._stream.encode(frame):
            self._file.mux(packet)

    def close(self) -> None:
        for packet in self._stream.encode():
            self._file.mux(packet)
        self._file.close()
        self._part.replace(self._path)
