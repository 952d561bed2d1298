"""The world file of a rehearsal: what a lab would write for its own robot."""

from __future__ import annotations

from typing import Any

import yaml

from foretell.hardware.rehearsal.arm import RehearsedArm
from foretell.hardware.rehearsal.base import RehearsedBase

__all__ = ["world_file"]


def world_file(
    name: str, robot: RehearsedArm | RehearsedBase, embodiment: str, cameras: list[str], *, address: str, hands: str
) -> str:
    """YAML that a study's `world` can name."""
    driver = {"use": "foretell.hardware.remote:RemoteRobot", "options": {"address": address}}
    contents: dict[str, Any] = {"name": name, "kind": "robot", "driver": driver, "robot": embodiment, "rate": 50}
    contents |= {"rehearsal": True, "watchdog": {"link": 1.0}}  # it shares a machine with the policy
    contents |= robot.file()
    if cameras:
        contents["cameras"] = {camera: {"key": camera} for camera in cameras}
    text = yaml.safe_dump(contents, sort_keys=False, default_flow_style=None, width=120)
    return f"# A rehearsal: no robot moves. Its table is set over {hands} (foretell.hardware.rehearsal.Hands).\n{text}"
