"""The simulated world and the camera that see what a robot's camera saw: those of the view that the person lays over
the live one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foretell.document import load_yaml
from foretell.errors import UsageError
from foretell.hardware.file import RobotFile
from foretell.world_file import kind_of

__all__ = ["overlay_of"]


def overlay_of(run: Path, world: str | Path | None, camera: str | None) -> tuple[str | Path, str]:
    """The world and the camera to measure trials of a run with. What is None comes from the robot's world file, which
    the study of the run names: its `overlay`, and its only camera. Raises UsageError where that says neither."""
    robot = None if world is not None and camera is not None else _robot_of(run)
    if camera is None:
        cameras = [] if robot is None else list(robot.cameras)
        if len(cameras) != 1:
            which = f"the robot has {', '.join(cameras)}" if cameras else "the run names no robot with cameras"
            raise UsageError(f"camera: {which}: say which one is matched (--camera)")
        camera = cameras[0]
    if world is None:
        if robot is None or robot.overlay is None:
            raise UsageError(
                f"world: {run} names no simulated world with a matched camera: give one (--world), or name it in the "
                "robot's world file (`overlay: lab.yaml`)"
            )
        world = robot.drawn_by
        _require_data(world)
    return world, camera


def _robot_of(run: Path) -> RobotFile | None:
    """The world file of the robot of a run; None where its study names no robot."""
    study: Any = load_yaml(run / "study.yaml", follow=False)
    source = study.get("world") if isinstance(study, dict) else None
    if not isinstance(source, str | dict) or kind_of(source) != "robot":
        return None
    return RobotFile.load(source)


def _require_data(world: str) -> None:
    """Raises UsageError where a world that a run folder leads to names code: a run may come from someone else."""
    contents: Any = load_yaml(world) if world.endswith((".yaml", ".yml")) else {"kind": world}
    named = [contents.get("kind")] if isinstance(contents, dict) else []
    transforms = contents.get("transforms") if isinstance(contents, dict) else None
    if isinstance(transforms, list):
        named += [item.get("use") for item in transforms if isinstance(item, dict)]
    if code := next((name for name in named if ":" in str(name)), None):
        raise UsageError(
            f"world: {world}, to which the run leads, names code ({code!r:.80}), which is not run unasked: give that "
            "world yourself if you trust it (--world)"
        )
