"""The processes beside a `realtime` world, and the memory that they share with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from foretell.policy import PolicySpec, observed
from foretell.process import gone
from foretell.rollout.able import draws_apart
from foretell.rollout.companion import Companion, CompanionDied, CompanionFailed
from foretell.rollout.eye import snapshot_shape
from foretell.rollout.shared import Latest, Queue
from foretell.rollout.thinker import ANSWERS, answer_shape, sight_shape, told_shape

__all__ = ["SNAPSHOT", "START_S", "Launch", "Mind"]

START_S = 60.0
"""Wall seconds for a process to start."""
FREE_S = 5.0
"""Wall seconds that a policy may still think about an episode that has ended, before the table of the next is set."""
SNAPSHOT = 4096
"""Numbers that a snapshot has room for."""

Launch = Callable[[dict[str, Any], tuple[int, ...]], Companion]
"""Starts a companion from its role's own arguments and the descriptors it inherits."""


class Mind:
    """A policy's process, and the cameras' process where it has cameras, with the memory between them."""

    def __init__(self, name: str, *, spec: PolicySpec, world: Any, launch: Launch, view: bool):
        self.name, self.spec, self._world, self._launch, self._view = name, spec, world, launch, view
        known = world.features
        reads = observed(spec.reads)
        # of a world that cannot be drawn elsewhere, pictures are looked at like all else
        self.cameras = {n: s for n, s in reads.items() if known[n].image} if draws_apart(world) else {}
        own = {n: s for n, s in reads.items() if n not in self.cameras}
        self.shapes = {"sight": {**sight_shape(own, known), **told_shape(spec)}, "answers": answer_shape(spec)}
        self.sight, self.answers = Latest(self.shapes["sight"]), Queue(self.shapes["answers"], ANSWERS)
        self.frames = self.snapshots = None
        if self.cameras or view:
            self.shapes |= {"frames": sight_shape(self.cameras, known), "snapshots": snapshot_shape(SNAPSHOT)}
            self.frames, self.snapshots = Latest(self.shapes["frames"]), Latest(self.shapes["snapshots"])
        self.thinker: Companion | None = None
        self.eye: Companion | None = None
        self._ended: tuple[Companion, int] | None = None  # who has not said yet that an episode has ended for it
        self.wake, self.wake_eye = os.pipe(), os.pipe()
        for _, end in (self.wake, self.wake_eye):
            os.set_blocking(end, False)

    def open(self) -> None:
        """Start what does not run."""
        if self.thinker is None:
            mine = {"sight": self.sight, "answers": self.answers} | ({"frames": self.frames} if self.cameras else {})
            self.thinker = self._start("thinker", mine, self.wake[0], {"name": self.name})
        if self.frames is not None and self.eye is None:
            mine = {"frames": self.frames, "snapshots": self.snapshots}
            cameras = {n: asdict(s) for n, s in self.cameras.items()}
            self.eye = self._start("eye", mine, self.wake_eye[0], {"cameras": cameras, "view": self._view})

    def _start(self, role: str, memory: dict[str, Any], wake: int, more: dict[str, Any]) -> Companion:
        for part in memory.values():
            if isinstance(part, Queue):
                part.skip()
        described = {k: (self.shapes[k], part.fd) for k, part in memory.items()}
        fds = (wake, *(part.fd for part in memory.values()))
        companion = self._launch({"role": role, "memory": described, "wake": wake, **more}, fds)
        try:
            companion.wait("opened", START_S)
        except CompanionDied:
            companion.kill()  # not kept: the next episode starts another
            raise
        return companion

    def call(self, pipe: tuple[int, int]) -> None:
        """Wake the process that reads this pipe. A full pipe wakes it as well."""
        with contextlib.suppress(BlockingIOError):
            os.write(pipe[1], b"x")

    def end(self, number: int) -> None:
        """The episode has ended."""
        for companion in (self.thinker, self.eye):
            if companion is not None:
                companion.tell({"end": number})
        self._ended = None if self.thinker is None else (self.thinker, number)
        self.sight.write({"episode": -1})  # ends a policy that keeps its own time

    def free(self) -> None:
        """Wait until the policy thinks about no episode that has ended. One that does not come back is ended: its
        silence there must not count in the next episode."""
        companion, number = self._ended or (None, -1)
        self._ended = None
        if companion is None or companion is not self.thinker:
            return
        try:
            companion.wait("ended", FREE_S, number)
        except CompanionDied:
            self.drop("thinker")
        except CompanionFailed:
            pass  # it has come back, with something that nobody asks for any more

    def bury(self) -> None:
        """Drop those that have died while nobody listened: they would stay defunct, and the next episode would meet
        them."""
        for which in ("thinker", "eye"):
            companion = getattr(self, which)
            if companion is not None and gone(companion.process):
                self.drop(which)

    def drop(self, which: str) -> None:
        """End one of them; it starts again with the next episode."""
        companion = getattr(self, which)
        if companion is not None:
            companion.kill()
            setattr(self, which, None)

    def close(self) -> None:
        for which in ("thinker", "eye"):
            self.drop(which)
        for part in (self.sight, self.answers, self.frames, self.snapshots):
            if part is not None:
                part.close()
        for end in (*self.wake, *self.wake_eye):
            os.close(end)
