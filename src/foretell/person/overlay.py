"""What cameras would see if the scene were set as asked: drawn by a simulated world of the same task and scenario.

The world is the one that the robot's file names (`overlay: WORLD.yaml`, with a matched camera), or `mujoco`. It runs in
a process of its own, so that nothing waits for it. Where it cannot draw, the page says why and shows the camera alone.
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

import numpy as np

from foretell.errors import ForetellError
from foretell.process import end, gone, listen, serve, start
from foretell.registry import names, resolve
from foretell.scenario import Scenario
from foretell.tasks.task import Task
from foretell.world import Drawing, World

__all__ = ["Overlay", "main", "task_target"]


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
                self._process = start("foretell.person.overlay", one_thread=True)
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


def main() -> None:
    """The process: an order a line in, an answer a line out. The world is kept for the next scene."""
    wire, orders = serve()
    os.nice(10)
    worlds: dict[str, World] = {}
    for line in os.fdopen(orders):
        order = json.loads(line)
        try:
            trouble = _draw(_world(worlds, order), order)
        except ForetellError as error:
            trouble = dict.fromkeys(order["files"], str(error))
        except Exception as error:  # a world of one's own may raise anything; a picture is no reason to end a study
            trouble = dict.fromkeys(order["files"], f"{type(error).__name__}: {error}")
        wire.write(json.dumps({"scene": order["scene"], "cameras": trouble}) + "\n")


def _world(worlds: dict[str, World], order: dict[str, Any]) -> World:
    from foretell.world_file import make_world

    name = json.dumps([order["task"], order["world"]])
    if name not in worlds:
        for old in worlds.values():
            old.close()
        worlds.clear()
        worlds[name] = make_world(
            order["world"], resolve("tasks", order["task"])(), slots=1, threads=1, controller=None
        )
    return worlds[name]


def _draw(world: World, order: dict[str, Any]) -> dict[str, str]:
    """Camera -> why it cannot be drawn, or nothing."""
    from foretell.objects.png import write_png
    from foretell.spec import Stream

    if not isinstance(world, Drawing):
        return dict.fromkeys(order["files"], f"world {order['world']!r} cannot draw")
    world.require_drawing()
    world.reset(np.array([0], dtype=np.int32), [Scenario.model_validate(order["scenario"])], [0])
    trouble: dict[str, str] = {}
    for camera, path in order["files"].items():
        if f"{camera}/rgb" not in world.features:
            trouble[camera] = f"world {order['world']!r} has no camera {camera!r}"
            continue
        height, width = order["sizes"][camera]
        picture = world.draw(0, f"{camera}/rgb", Stream((height, width, 3)))
        Path(f"{path}.part").write_bytes(write_png(picture, level=6))
        os.replace(f"{path}.part", path)
        trouble[camera] = ""
    return trouble


if __name__ == "__main__":
    main()
