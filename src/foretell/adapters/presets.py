"""Presets: the adapters that belong to policies trained on a dataset, as SIMPLER's adapter for Octo has them."""

from __future__ import annotations

from typing import Any

__all__ = ["bridge", "fractal"]


def bridge(
    statistics: Any = None,
    key: str | None = None,
    ensemble: float | None = None,
    history: int | None = None,
    pictures: bool = True,
) -> list[dict[str, Any]]:
    """Policies trained on BridgeData, for the WidowX: roll, pitch, yaw; gripper 1 open and 0 closed, rounded; pictures
    of 480 x 640 shrunk with lanczos3."""
    return [*_network(statistics, key, ensemble), *_eyes(history, pictures, [480, 640]), {"gripper": {"binary": True}}]


def fractal(
    statistics: Any = None,
    key: str | None = None,
    ensemble: float | None = None,
    history: int | None = None,
    pictures: bool = True,
    steps: int = 15,
) -> list[dict[str, Any]]:
    """Policies trained on Fractal (RT-1's data), for the Google robot: roll, pitch, yaw; gripper 1 open and 0 closed,
    changes repeated; pictures of 512 x 640 shrunk with lanczos3."""
    return [*_network(statistics, key, ensemble), *_eyes(history, pictures, [512, 640]), {"sticky_gripper": steps}]


def _network(statistics: Any, key: str | None, ensemble: float | None) -> list[dict[str, Any]]:
    """What stands nearest to the policy: its numbers in metres and radians, averaged, and its rotations."""
    own: list[dict[str, Any]] = []
    if statistics is not None:
        own.append({"unnormalise": {"statistics": statistics, "key": key}})
    if ensemble is not None:
        own.append({"ensemble": ensemble})
    return [*own, {"rotation": "euler_xyz"}]


def _eyes(history: int | None, pictures: bool, source: list[int]) -> list[dict[str, Any]]:
    stacked: list[dict[str, Any]] = [{"history": history}] if history is not None else []
    return [*stacked, {"image": {"source": source}}] if pictures else stacked
