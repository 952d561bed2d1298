"""MuJoCo's own viewer, to watch an episode while it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from foretell.errors import UsageError

__all__ = ["Viewer", "require_screen"]


def require_screen() -> None:
    """Raises UsageError where nothing can be shown."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise UsageError("watch: there is no screen here (no DISPLAY); record videos instead: `record: {video: 4}`")


class Viewer:
    """A window that shows one scene at a time. `model`: slot -> the model to draw."""

    def __init__(self, model: Callable[[int], mujoco.MjModel]) -> None:
        require_screen()
        self._of = model
        self._window: Any = None
        self._data: Any = None
        self._model: Any = None

    def open(self, slot: int) -> None:
        """The scene of a slot."""
        import mujoco.viewer as viewer

        self.close()
        model = self._of(slot)
        self._model, self._data = model, mujoco.MjData(model)
        self._window = viewer.launch_passive(model, self._data, show_left_ui=False, show_right_ui=False)

    def show(self, seen: np.ndarray) -> None:
        """The scene at these joint positions. A window that was closed stays closed."""
        if self._window is not None and self._window.is_running():
            with self._window.lock():
                self._data.qpos[:] = seen
                mujoco.mj_forward(self._model, self._data)
            self._window.sync()

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None
