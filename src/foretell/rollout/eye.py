"""The cameras' side of the `realtime` clock, in a process of its own: draw the newest snapshot of the world."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from foretell.rollout.shared import Latest, Shape
from foretell.spec import Stream

__all__ = ["PolicyEye", "snapshot_shape"]

SLOT = np.zeros(1, dtype=np.int32)


def snapshot_shape(most: int) -> Shape:
    """Fields of a snapshot: the world's numbers, padded to `most`."""
    return {"tick": ((), "i8"), "episode": ((), "i8"), "size": ((), "i8"), "numbers": ((most,), "f8")}


class PolicyEye:
    """Draws what a policy's cameras see, and keeps their history."""

    def __init__(
        self, world: Any, *, cameras: dict[str, Stream], snapshots: Latest, frames: Latest, wake: int, viewer: Any
    ):
        self.world, self.cameras = world, cameras
        self.snapshots, self.frames, self.wake = snapshots, frames, wake
        self.history: dict[str, np.ndarray] = {}
        self.episode = -1
        self.viewer = viewer

    def reset(self, episode: int, scenario: Any, trial: int) -> None:
        """A new episode: the first frame fills the whole history."""
        self.episode, self.history = episode, {}
        self.world.reset(SLOT, [scenario], [trial])
        if self.viewer is not None:
            self.viewer.open(0)
        self.look(self.world.snapshot(0), 0)

    def look(self, snapshot: np.ndarray, tick: int) -> None:
        """Draw all cameras as they saw at a snapshot."""
        for name, stream in self.cameras.items():
            fresh = self.world.draw(0, name, stream, snapshot)
            if name not in self.history:
                self.history[name] = np.repeat(fresh[None], stream.history, axis=0)
            else:
                kept = self.history[name]
                kept[:-1] = kept[1:]
                kept[-1] = fresh
        self.frames.write({"tick": tick, **self.history})
        if self.viewer is not None:
            self.viewer.show(snapshot)

    def run(self, orders: int, say: Callable[[dict[str, Any]], None]) -> None:
        """Draw until there is an order to read."""
        while True:
            there, _, _ = select.select([self.wake, orders], [], [])
            if orders in there:
                return
            os.read(self.wake, 4096)
            _, seen = self.snapshots.read()
            if int(seen["episode"]) == self.episode:
                self.look(seen["numbers"][: int(seen["size"])], int(seen["tick"]))
                say({"frame": int(seen["tick"]), "at": time.perf_counter()})
