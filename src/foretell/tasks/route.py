"""The expert of navigation: it knows the map, and follows the shortest way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.policy import Policy, PolicySpec
from foretell.spec import ActionSpec, DimSpec, Stream
from foretell.tasks.steer import clear, steer, turn_angle

__all__ = ["ShortestPath"]

CHOICE = ActionSpec("steps", (DimSpec(meaning="choice", unit="1", size=4, low=0.0, high=1.0),))


class ShortestPath(Policy):
    """Follows the shortest way, which it is told, and keeps off walls by its lidar."""

    ENOUGH = 0.15
    """m along the floor at which it stops."""
    spec = PolicySpec(
        reads={"route/ahead": Stream((3,)), "locobot/lidar": Stream((72,))}, action=CHOICE, action_rate=1.0, batch=None
    )

    def bind(self, task: Any, action: ActionSpec) -> None:
        self.spec = replace(self.spec, action=action, action_rate=task.action_rate)
        self._angle = turn_angle(action)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Floats:
        bearing, _, left = np.asarray(observations["route/ahead"]).T
        room = clear(observations["locobot/lidar"], self._angle)
        return steer(bearing, left < self.ENOUGH, room, self._angle, self.spec.action).actions
