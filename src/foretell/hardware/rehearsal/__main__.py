"""python -m foretell.hardware.rehearsal: play a robot until Ctrl-C, and print the world file that reaches it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from foretell.errors import ForetellError, UsageError, suggest
from foretell.hardware.rehearsal.arm import RehearsedArm
from foretell.hardware.rehearsal.base import SILENT_S, RehearsedBase
from foretell.hardware.rehearsal.faults import LinkFaults
from foretell.hardware.rehearsal.file import world_file
from foretell.hardware.rehearsal.follow import follow
from foretell.hardware.rehearsal.server import RehearsalServer
from foretell.hardware.rehearsal.table import RehearsalTable
from foretell.registry import resolve
from foretell.world import Drawing, World
from foretell.world_file import make_world

PORT = 8700


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m foretell.hardware.rehearsal", description=__doc__)
    parser.add_argument("--task", required=True, help="the task whose scene is on the table, as `foretell list tasks`")
    parser.add_argument("--world", default="standin", help="the world that plays reality (default: standin)")
    parser.add_argument("--robot", help="the robot, as `foretell list robots`; only to check that the task has it")
    parser.add_argument("--port", type=int, default=PORT, help=f"of the robot; 0: any that is free (default: {PORT})")
    parser.add_argument("--hands", type=int, help="port for who sets the table (default: the next one)")
    parser.add_argument("--camera", action="append", default=[], help="a camera of the task; may be repeated")
    parser.add_argument("--frames", default="96x128", help="height x width of a picture (default: 96x128)")
    parser.add_argument("--camera-rate", type=float, default=10.0, help="pictures per second (default: 10)")
    parser.add_argument("--delay", type=float, default=0.002, help="s that an answer takes (default: 0.002)")
    parser.add_argument("--jitter", type=float, default=0.003, help="s more, on average, by chance (default: 0.003)")
    parser.add_argument(
        "--silent",
        type=float,
        default=SILENT_S,
        help=f"s without a new velocity after which a base stops by itself; 0: never (default: {SILENT_S})",
    )
    parser.add_argument(
        "--run", type=Path, help="the run folder of a study, whose scenes are set when it asks for them"
    )
    parser.add_argument("--out", type=Path, help="write the world file there as well")
    return parser


def robot_of(world: str, task: str, given: str | None, silent: float) -> tuple[World, RehearsedArm | RehearsedBase]:
    """The world with one slot, and its robot."""
    made = resolve("tasks", task)()
    (called, mount), *others = made.robots.items()
    if others:
        raise UsageError(f"task: {task!r} has {1 + len(others)} robots, and a rehearsal plays one")
    if given not in (None, called, mount.robot):
        raise UsageError(f"robot: {given!r} is not the robot of task {task!r}, which is {mount.robot!r}")
    embodiment = resolve("robots", mount.robot)()
    mobile = "base" in embodiment.groups
    robot = RehearsedBase(called, embodiment, silent) if mobile else RehearsedArm(called, embodiment)
    return make_world(world, made, slots=1, threads=1, controller=robot.CONTROLLER), robot


def serve(flags: argparse.Namespace) -> None:
    sides = flags.frames.split("x")
    if len(sides) != 2 or not all(side.isdigit() and int(side) > 0 for side in sides):
        raise UsageError(f"frames: {flags.frames!r:.50} should be written HEIGHTxWIDTH, such as 96x128")
    world, robot = robot_of(flags.world, flags.task, flags.robot, flags.silent)
    for camera in flags.camera:
        if f"{camera}/rgb" not in world.features:
            known = [name.removesuffix("/rgb") for name in world.features if name.endswith("/rgb")]
            raise UsageError(f"camera: {camera!r:.50} is not in this world; {suggest(camera, known)}")
    if flags.camera and isinstance(world, Drawing):
        world.require_drawing()
    shape = (int(sides[0]), int(sides[1]), 3)
    table = RehearsalTable(world, robot, dict.fromkeys(flags.camera, shape), flags.camera_rate)
    hands = flags.hands if flags.hands is not None else flags.port and flags.port + 1
    server = RehearsalServer(table, LinkFaults(flags.delay, flags.jitter), flags.port, hands)
    signal.signal(signal.SIGTERM, lambda *_: server.end())
    embodiment = world.task.robots[robot.robot].robot
    text = world_file("rehearsal", robot, embodiment, flags.camera, address=server.address, hands=server.hands)
    if flags.out is not None:
        flags.out.write_text(text)
    print(text, end="", flush=True)
    print(f"The robot is at {server.address}, the hands are at {server.hands}. Ctrl-C ends it.", file=sys.stderr)
    if flags.run is not None:
        follow(flags.run, server.hands)
    try:
        server.run()
    except KeyboardInterrupt:
        server.end()
    finally:
        world.close()


def main(argv: Sequence[str] | None = None) -> int:
    try:
        serve(arguments().parse_args(argv))
    except ForetellError as error:
        print(f"foretell: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # threads that wait for a link would hold the process
