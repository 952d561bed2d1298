"""The world file of a robot: which driver moves it, how the driver's numbers map to ours, and what is never exceeded.

kind: robot
driver: {use: "arm.py:Arm", options: {port: /dev/ttyACM0}}
robot: widowx
joints:
  arm: [{key: waist.pos, unit: deg}, ...]
  gripper: {key: gripper.pos, open: 100, closed: 0}
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    PrivateAttr,
    Tag,
    ValidationInfo,
    model_validator,
)

from foretell.judging.confirm import SHARE
from foretell.world_file import WorldFile

__all__ = [
    "BaseEntry",
    "CameraEntry",
    "DriverEntry",
    "GripperEntry",
    "JointEntry",
    "LimitsEntry",
    "RobotFile",
    "WatchdogEntry",
    "Workspace",
]

VERSION = 1
"""Raised whenever a change of how robots are driven could alter an outcome; part of every such world's hash."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DriverEntry(_Entry):
    """Who talks to the hardware: a class with LeRobot's `Robot` methods."""

    use: str
    """ "package.module:Class" or "file.py:Class". A file's path is relative to the world file."""
    options: dict[str, Any] = {}
    """What the class is called with, such as a port. Options do not name a world: the same robot on another port is the
    same world."""
    python: str | None = None
    """The Python of another environment, in which the class is loaded. None: this one."""


class JointEntry(_Entry):
    """A joint: ours is sign x (the driver's number - offset), in `unit`."""

    key: str
    unit: Literal["rad", "deg", "m", "mm"] = "rad"
    sign: Literal[1, -1] = 1
    offset: float = 0.0
    """The driver's number where our joint is at 0."""
    scale: float | None = Field(default=None, gt=0)
    """The driver's units for a rad (of a slide: a metre), where it has units of its own. It takes the place of
    `unit`."""


class GripperEntry(_Entry):
    """A gripper with a single number."""

    key: str
    open: float
    closed: float
    """The driver's numbers where it is wide open, and shut."""

    @model_validator(mode="after")
    def _apart(self) -> GripperEntry:
        if self.open == self.closed:
            raise ValueError(f"open and closed should differ (given: {self.open:g} for both)")
        return self


class BaseEntry(_Entry):
    """A mobile base that takes velocities and says where it is."""

    x: str
    """Key of the speed ahead, m/s."""
    theta: str
    """Key of the turning speed, counter-clockwise."""
    unit: Literal["rad/s", "deg/s"] = "deg/s"
    """Of the turning speed. The heading in `pose` has the unit without the time: rad or deg."""
    pose: tuple[str, str, str]
    """Keys of where localisation says that it is: x and y in m, and the heading."""
    frame: Literal["map", "start"] = "map"
    """Whether `pose` is in the frame of the scenario's room, or counts from wherever it was when the trial began."""
    bump: str | None = None
    """Key of a number above 0 while it touches something; None: collisions are not counted."""
    lidar: str | None = None
    """Key of the distances that its lidar sees, as many as the embodiment has, m, counter-clockwise from ahead."""


class CameraEntry(_Entry):
    """A camera: a key of the driver's that holds pictures (height, width, 3), red, green and blue."""

    key: str
    crop: tuple[int, int, int, int] | None = None
    """x, y, width, height of the part that is kept, in pixels."""
    rate: float = Field(default=30.0, gt=0, le=1000)
    """Frames per second that are kept of a trial, at most."""


class Workspace(_Entry):
    """A box that the tool never leaves: x, y, z in the frame of the robot's base, m. For a mobile base: x and y of its
    middle, in the room."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @model_validator(mode="after")
    def _ordered(self) -> Workspace:
        if len(self.low) != len(self.high) or not all(a < b for a, b in zip(self.low, self.high, strict=True)):
            raise ValueError(f"each number of low should be below that of high (given: {self.low} and {self.high})")
        return self


class LimitsEntry(_Entry):
    """What is never exceeded by what is sent. The embodiment's own limits hold besides, so none gets looser."""

    velocity: float | None = Field(default=None, gt=0)
    """Of each joint, rad/s; of a base, m/s."""
    turning: float | None = Field(default=None, gt=0)
    """Of a base, rad/s."""
    step: float | None = Field(default=None, gt=0)
    """Of each joint from one send to the next, rad."""
    joints: dict[str, tuple[float, float]] = {}
    """Joint -> lowest and highest position, rad."""
    workspace: Workspace | None = None


class WatchdogEntry(_Entry):
    """Seconds of silence after which the robot is stopped, and nothing more is sent."""

    policy: float = Field(default=1.0, gt=0, le=60)
    """Since the last action of the policy ended."""
    link: float = Field(default=0.3, gt=0, le=5)
    """Since the robot was last heard; and since this program last gave it a target."""
    terminal: float = Field(default=5.0, gt=0, le=60)
    """Since the terminal of the person was last alive."""


def _shape(value: Any) -> str:
    return "ends" if isinstance(value, dict | GripperEntry) else "list"


_Joints = Annotated[
    Annotated[tuple[JointEntry, ...], Tag("list")] | Annotated[GripperEntry, Tag("ends")], Discriminator(_shape)
]


class RobotFile(WorldFile):
    """A robot as a world."""

    kind: str = "robot"
    driver: DriverEntry
    robot: str
    """Our embodiment of it, by name: joints, groups, limits and kinematics. It must be the task's."""
    rate: float = Field(default=50.0, ge=1, le=1000)
    """Sends per second, at most; a tick of the world is as long."""
    joints: dict[str, _Joints] = {}
    """Group -> its joints in our order, or of a gripper its two ends."""
    base: BaseEntry | None = None
    """In the place of `joints`, for a mobile robot."""
    hold: dict[str, FiniteFloat | None] = {}
    """What else the driver wants to be sent: key -> a number, or null for what was measured when the trial began."""
    cameras: dict[str, CameraEntry] = {}
    """Our name of a camera -> the driver's. The stream NAME/rgb has its pictures."""
    limits: LimitsEntry = LimitsEntry()
    watchdog: WatchdogEntry = WatchdogEntry()
    approach: float = Field(default=0.3, gt=0, le=2)
    """Speed of the joints on the way to the start pose, rad/s. The person is asked first."""
    judge: str | None = None
    """Who judges a trial: `person`, `task` (of a base), or a detector: "file.py:Class" or an .onnx file, relative to
    the world file. None: a person, or the task where localisation shows all that it judges by."""
    confirm: float = Field(default=SHARE, gt=0, le=1)
    """Share of the scenarios that a person judges beside a detector, drawn before anybody looks. `foretell bound
    --detector` needs them."""
    overlay: str | None = None
    """A simulated world, by name or file, whose cameras stand as those of the robot: what the person sees of the scene
    to be set is drawn by it."""
    rehearsal: bool = False
    """Whether nobody's robot is behind the driver, but a simulation that plays it. Rows then say that they stand in for
    reality."""
    _folder: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> RobotFile:
        self._folder = Path((info.context or {}).get("folder", "."))
        if bool(self.joints) == (self.base is not None):
            given = "both are given" if self.joints else "none is given"
            raise ValueError(f"a robot has either `joints` or a `base` ({given}): see docs/worlds.md")
        if ":" not in self.driver.use:
            raise ValueError(
                f'driver.use: should look like "package.module:Class" or "file.py:Class" (given: {self.driver.use!r})'
            )
        if self.judge not in (None, "person", "task") and ":" not in self.judge and not self.judge.endswith(".onnx"):
            raise ValueError(
                f'judge: should be person, task, "file.py:Class" or an .onnx file (given: {self.judge!r:.100})'
            )
        if self.detector is not None and not self.cameras:
            raise ValueError("judge: a detector looks at pictures: name a camera in `cameras` (none is given)")
        return self

    @property
    def target(self) -> str:
        """The driver's class, its file as a path from here."""
        where, _, name = self.driver.use.rpartition(":")
        return f"{self._folder / where}:{name}" if where.endswith(".py") else self.driver.use

    @property
    def python(self) -> str | None:
        """The Python of the driver, as a path from here; a bare name is looked up as a shell does."""
        given = self.driver.python
        return given if given is None or "/" not in given else str(self._folder / given)

    @property
    def detector(self) -> str | None:
        """The detector that judges, its file as a path from here; None where none does."""
        if self.judge in (None, "person", "task"):
            return None
        where, colon, name = str(self.judge).rpartition(":")
        if not colon:
            return str(self._folder / str(self.judge))
        return f"{self._folder / where}:{name}" if where.endswith(".py") else self.judge

    @property
    def drawn_by(self) -> str:
        """The world of `overlay`; a file's path is relative to the world file."""
        if self.overlay is None:
            return "planar" if self.base is not None else "mujoco"
        path = self._folder / self.overlay
        return str(path) if path.is_file() else self.overlay

    def decides(self) -> list[Any]:
        left_out = {"name", "about", "fitted_to", "driver", "overlay"}
        where, _, name = self.driver.use.rpartition(":")
        source = self._folder / where
        known = hashlib.sha256(source.read_bytes()).hexdigest() if where.endswith(".py") and source.is_file() else ""
        whole = self.model_dump(mode="json", exclude=left_out)
        return [VERSION, whole, f"{Path(where).name}:{name}", known, *self._detector_hash()]

    def _detector_hash(self) -> list[str]:
        """Names the file of a detector that judges: an edited one is another world."""
        if self.detector is None:
            return []
        where = Path(self.detector.rpartition(":")[0] or self.detector)
        return [hashlib.sha256(where.read_bytes()).hexdigest()] if where.is_file() else []

    @property
    def params(self) -> dict[str, Any]:
        params = super().params
        return {**params, "driver": {"use": self.driver.use}}
