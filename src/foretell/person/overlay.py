"""What cameras would see if the scene were set as asked: drawn by a simulated world of the same task and scenario.

The world is the one that the robot's file names (`overlay: WORLD.yaml`, with a matched camera), or `mujoco`. It runs in
a process of its own (`overlay_process`), so that nothing waits for it. Where it cannot draw, the page says why and
shows the camera alone.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.process import end, gone, listen, start
from foretell.registry import names, resolve
from foretell.scenario import Scenario
from foretell.tasks.task import Task

__all__ = ["Overlay", "task_target"]


class Overlay:
    """Draws scenes in another process. `ready` is called from a thread with `scene`, its number, and `cameras`: camera
    -> why it cannot be drawn, or nothing where its picture is in its file."""

    def __init__(self, world: str, ready: Callable[[dict[str, Any]], None]) -> None:
        self.world, self._ready = world, ready
        self._process: subprocess.Popen[str] | None = None

    def draw(
        self,
        task: Task,
        scenario: Scenario,
        files: Mapping[str, Path],
        sizes: Mapping[str, Sequence[int]],
        number: int = 0,
    ) -> None:
        """Draw a scene soon. files: camera -> where its picture goes. sizes: camera -> height and width. number: of the
        scene, which the message has too."""
        order = {
            "scene": number,
            "task": task_target(task),
            "world": self.world,
            "scenario": scenario.model_dump(mode="json"),
            "files": {camera: str(path.resolve()) for camera, path in files.items()},
            "sizes": {camera: list(size) for camera, size in sizes.items()},
        }
        with contextlib.suppress(OSError, ValueError):
            if self._process is None or gone(self._process):
                self.close()
                # what it prints is not for the person's screen: what matters comes as a message
                self._process = start("foretell.person.overlay_process", one_thread=True, says=os.devnull)
                listen(self._process, self._heard)
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()

    def _heard(self, message: dict[str, Any] | None) -> None:
        if message is not None:
            self._ready(message)

    def close(self) -> None:
        if self._process is not None:
            end(self._process)
            self._process = None


def task_target(task: Task) -> str:
    """A name by which another process finds the task's class."""
    kind = type(task)
    if task.name in names("tasks") and resolve("tasks", task.name) is kind:
        return task.name
    return f"{inspect.getsourcefile(kind) or kind.__module__}:{kind.__qualname__}"
