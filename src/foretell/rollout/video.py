"""Videos of episodes, written as mp4 while the episode runs."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from foretell.camera import Camera
from foretell.errors import ForetellError, UsageError, suggest

__all__ = ["AFTER_S", "FRAME_S", "LateVideo", "Video", "every", "film_camera", "frames", "require_encoder"]

RATE = 10.0
"""Frames per simulated second, at most."""
FRAME_S = 0.08
"""One core's time to draw a frame with shadows, at any size, and to write it: 0.05 to 0.08 s were measured."""
FRAMES = 100
"""Frames of an episode that runs to its time limit, at most; a long one has fewer per second."""
STRIP = 5
"""Pictures of a strip, which tells a film at a glance."""
AFTER_S = 1.0
"""Simulated seconds that a film goes on after success. The robot holds what it was last told."""


def require_encoder() -> Any:
    """PyAV, or an error that says how to get it."""
    try:
        import av
    except ImportError:
        raise ForetellError("videos need PyAV: pip install 'foretell[video]'") from None
    return av


def every(rate: float, time_limit: float) -> int:
    """One in how many actions is drawn. rate: actions per simulated second; time_limit: simulated s."""
    return max(1, round(rate / RATE), math.ceil(rate * time_limit / FRAMES))


def frames(sim_s: float) -> float:
    """The most frames that the film of an episode of so many simulated seconds has."""
    return min(FRAMES, RATE * sim_s) + RATE * AFTER_S + 1


def film_camera(world: Any, asked: str | None = None) -> str | Camera:
    """The camera that films: the one asked for, else the task's `film`, else `overview`, else the first."""
    if "draw" not in world.can:
        raise UsageError(f"video: world {world.name!r} cannot draw, so it cannot be filmed; record no video")
    known, film = list(world.cameras), getattr(world.task, "film", None)
    if asked is not None and asked not in known:
        raise UsageError(f"camera: {asked!r} is not in this world; {suggest(asked, known)}")
    if not known and film is None:
        raise UsageError(
            f"video: task {world.task.name!r} has no camera, and neither has its robot: "
            "give the task a `film` camera, or record no video"
        )
    return asked or film or ("overview" if "overview" in known else known[0])


class Video:
    """An mp4 in the making. It appears under its name only when whole."""

    HEIGHT, WIDTH = 480, 640

    def __init__(
        self,
        path: Path,
        *,
        slot: int,
        rate: float,
        time_limit: float,
        camera: str | None = None,
        strip: Path | None = None,
    ):
        av = require_encoder()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._part = path, path.with_suffix(".part.mp4")
        self._slot, self._camera, self._av = slot, camera, av
        self._strip = strip
        self._small: list[np.ndarray] = []
        self._every, self._calls = every(rate, time_limit), 0
        self._part.unlink(missing_ok=True)  # it may be a link, in a folder from someone else
        self._file = av.open(str(self._part), "w", options={"movflags": "faststart"})
        self._stream = self._file.add_stream("libx264", rate=Fraction(rate / self._every).limit_denominator(1000))
        self._stream.width, self._stream.height = self.WIDTH, self.HEIGHT
        self._stream.pix_fmt = "yuv420p"  # the only one every browser plays
        self._stream.options = {"crf": "23", "preset": "veryfast"}

    def shoot(self, world: Any, qpos: Any = None) -> None:
        """Add what the camera sees now, or saw at joint positions qpos."""
        if qpos is None and not self._due():
            return
        image = world.picture(self._slot, film_camera(world, self._camera), self.HEIGHT, self.WIDTH, qpos)
        frame = self._av.VideoFrame.from_ndarray(image, format="rgb24")
        if self._strip is not None:
            small = frame.reformat(self.WIDTH // 2, self.HEIGHT // 2, interpolation="AREA")
            self._small.append(small.to_ndarray())
        for packet in self._stream.encode(frame):
            self._file.mux(packet)

    def _due(self) -> bool:
        """Whether this action is one that is drawn."""
        self._calls += 1
        return (self._calls - 1) % self._every == 0

    def close(self) -> None:
        """Finish the file."""
        for packet in self._stream.encode():
            self._file.mux(packet)
        self._file.close()
        if self._strip is not None and self._small:
            self._strip.parent.mkdir(parents=True, exist_ok=True)
            part = self._strip.with_suffix(".part.jpg")
            part.unlink(missing_ok=True)  # as above
            part.write_bytes(self._pictures())
            part.replace(self._strip)
        self._part.replace(self._path)

    def _pictures(self) -> bytes:
        """A JPEG of pictures side by side, from the first to the last."""
        picked = [self._small[i] for i in np.linspace(0, len(self._small) - 1, STRIP).round().astype(int)]
        image = self._av.VideoFrame.from_ndarray(np.hstack(picked), format="rgb24").reformat(format="yuvj420p")
        coder = self._av.CodecContext.create("mjpeg", "w")
        coder.width, coder.height, coder.pix_fmt, coder.time_base = (
            image.width,
            image.height,
            "yuvj420p",
            Fraction(1, 1),
        )
        return b"".join(bytes(packet) for packet in [*coder.encode(image), *coder.encode(None)])

    def abandon(self) -> None:
        """Give up: the episode did not end."""
        self._file.close()
        self._part.unlink(missing_ok=True)


class LateVideo(Video):
    """A video drawn when the episode is over: drawing takes longer than a tick."""

    def shoot(self, world: Any, qpos: Any = None) -> None:
        if not hasattr(self, "kept"):
            self.kept: list[Any] = []
            self._world = world
        if qpos is not None or self._due():
            self.kept.append(world.snapshot(self._slot) if qpos is None else qpos)

    def close(self) -> None:
        for qpos in self.kept:
            super().shoot(self._world, qpos)
        super().close()
