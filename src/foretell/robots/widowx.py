"""WidowX 250 S (Trossen/Interbotix wx250s) as SIMPLER has it, built in code from published numbers.

Final: joint, actuator, body, site and camera names, kinematics, gains, controllers. Looks and collision shapes of the
links (not of the fingers) may still change. Units: metres, radians, kilograms, newtons. Sources: docs/widowx.md.
"""

from __future__ import annotations

from typing import Any, Final

import mujoco
import numpy as np

from foretell.camera import Camera, Intrinsics
from foretell.robots.drive import PADS, TOUCH, Drive, DrivenRobot, numbers_of
from foretell.robots.inertia import Inertial, fused
from foretell.robots.lens import set_lens
from foretell.robots.robot import Group, Steps
from foretell.robots.widowx_looks import dress_widowx, dress_widowx_fully

__all__ = ["WidowX"]

_LINKS: Final[dict[str, Inertial]] = {
    "base_link": Inertial(
        0.538736, (-0.0380446, 0.000613892, 0.0193354), (0.0006921, 0.002115, 0.002524, 1.635e-5, -4.642e-5, 6.998e-7)
    ),
    "shoulder_link": Inertial(
        0.480879,
        (2.23482e-05, 4.14609e-05, 0.0066287),
        (0.0005557, 0.000379, 0.0005889, -2.2e-9, -1.2245e-6, -3.561e-7),
    ),
    "upper_arm_link": Inertial(
        0.430811, (0.0171605, 2.725e-07, 0.191323), (0.003587, 0.003463, 0.0004566, 0.0, -0.0004272, 0.0)
    ),
    "upper_forearm_link": Inertial(
        0.234589, (0.107963, 0.000115876, 0.0), (3.971e-5, 0.0008878, 0.000888, 2.3528e-6, 0.0, 0.0)
    ),
    "lower_forearm_link": Inertial(
        0.220991, (0.0374395, 0.00522252, 0.0), (6.369e-5, 0.0001677, 0.0001834, 2.292e-5, 0.0, 0.0)
    ),
    "wrist_link": Inertial(
        0.084957, (0.04236, -1.0663e-05, 0.010577), (2.822e-5, 3.082e-5, 3.152e-5, -1.91e-8, -2.5481e-6, 2.3e-9)
    ),
    "gripper_link": Inertial(
        0.072885,
        (0.021631, 2.516e-07, 0.01141),
        (1.87755e-5, 1.674e-5, 2.49545e-5, -4.20941e-7, 1.65535e-6, 1.05665e-7),
    ),
    "gripper_prop_link": Inertial(
        0.00434,
        (0.000846, -1.6817e-06, 4.2e-05),
        (5.74515e-7, 8.61632e-7, 8.46053e-7, 2.22499e-7, -2.29299e-7, 2.61642e-7),
    ),
    "gripper_bar_link": Inertial(
        0.034199, (0.009687, 8.177e-07, 0.004962), (2.71235e-5, 7.4125e-6, 2.99065e-5, -2.0e-10, 0.0, -5.9e-10)
    ),
    "finger": Inertial(0.016246, (0.013816, 0.0, 0.0), (1.5506e-6, 4.731e-6, 3.7467e-6, 4.56e-7, 0.0, 0.0)),
    "frame": Inertial(0.001, (0.0, 0.0, 0.0), (0.001, 0.001, 0.001, 0.0, 0.0, 0.0)),
}
_FINGERS_AT: Final = 0.066  # fingers_link on gripper_link, along x
_TOOL_AT: Final = 0.093575  # ee_gripper_link on gripper_link, along x
_HAND: Final = fused(
    [
        (_LINKS["gripper_link"], (0.0, 0.0, 0.0)),
        (_LINKS["frame"], (0.043, 0.0, 0.0)),  # ee_arm_link
        (_LINKS["gripper_prop_link"], (0.0485, 0.0, 0.0)),
        (_LINKS["gripper_bar_link"], (0.043, 0.0, 0.0)),
        (_LINKS["frame"], (_FINGERS_AT, 0.0, 0.0)),  # fingers_link
        (_LINKS["frame"], (_TOOL_AT, 0.0, 0.0)),  # ee_gripper_link
    ]
)

# joint: its link, where the link sits on the one before, and the joint's axis.
_CHAIN: Final = {
    "waist": ("shoulder_link", (0.0, 0.0, 0.072), (0, 0, 1)),
    "shoulder": ("upper_arm_link", (0.0, 0.0, 0.03865), (0, 1, 0)),
    "elbow": ("upper_forearm_link", (0.04975, 0.0, 0.25), (0, 1, 0)),
    "forearm_roll": ("lower_forearm_link", (0.175, 0.0, 0.0), (1, 0, 0)),
    "wrist_angle": ("wrist_link", (0.075, 0.0, 0.0), (0, 1, 0)),
    "wrist_rotate": ("gripper_link", (0.065, 0.0, 0.0), (1, 0, 0)),
}
_TURN: Final = 3.14158265  # forearm and wrist roll, either way
_SPEED: Final = np.pi
_FINGER: Final[dict[str, Any]] = {
    "stiffness": 1000.0,
    "damping": 200.0,
    "force": 60.0,
    "speed": 1.0,
    "low": 0.015,
    "high": 0.037,
    "finger": True,
}
_DRIVES: Final = {
    "waist": Drive(stiffness=1169.78917, damping=330.0, force=200.0, speed=_SPEED, low=-np.pi, high=np.pi),
    "shoulder": Drive(stiffness=730.0, damping=180.0, force=200.0, speed=_SPEED, low=-1.88495559, high=1.98967535),
    "elbow": Drive(
        stiffness=808.460135, damping=152.120366, force=100.0, speed=_SPEED, low=-2.14675498, high=1.60570291
    ),
    "forearm_roll": Drive(stiffness=1229.12991, damping=309.62153, force=100.0, speed=_SPEED, low=-_TURN, high=_TURN),
    "wrist_angle": Drive(
        stiffness=1272.27605, damping=201.049987, force=100.0, speed=_SPEED, low=-1.74532925, high=2.14675498
    ),
    "wrist_rotate": Drive(stiffness=1056.33266, damping=269.514589, force=100.0, speed=_SPEED, low=-_TURN, high=_TURN),
    "left_finger": Drive(**_FINGER),
    "right_finger": Drive(**_FINGER),
}
_ARM: Final = tuple(_CHAIN)
_FINGERS: Final = ("left_finger", "right_finger")

PAD_FRICTION: Final = 1.25
"""PhysX takes the mean of both sides: fingers have 2.0, objects 0.5."""
PATCH: Final = 0.01
"""Radius over which a pad resists turning, m (SIMPLER's patch radius)."""

# Half of the convex outline of the left finger, z >= 0: x towards the tip, y away from the other finger.
_FINGER_HULL: Final = (
    (0.0432, -0.0090, 0.0121),
    (0.0432, -0.0060, 0.0102),
    (0.0414, -0.0040, 0.0089),
    (0.0382, -0.0001, 0.0105),
    (0.0369, -0.0024, 0.0131),
    (0.0120, -0.0090, 0.0145),
    (0.0120, 0.0025, 0.0145),
    (0.0120, 0.0050, 0.0120),
    (0.0095, 0.0031, 0.0145),
    (0.0019, -0.0110, 0.0100),
    (0.0000, -0.0110, 0.0119),
    (-0.0019, -0.0110, 0.0100),
    (-0.0050, -0.0090, 0.0145),
    (-0.0063, -0.0050, 0.0145),
    (-0.0063, 0.0031, 0.0145),
    (-0.0081, -0.0050, 0.0126),
    (-0.0081, 0.0050, 0.0126),
    (-0.0121, -0.0050, 0.0047),
    (-0.0121, 0.0050, 0.0047),
)

_LENS: Final = Intrinsics(fx=623.588, fy=623.588, cx=319.501, cy=239.545, width=640, height=480)  # Logitech C920
_THIRD: Final = (0.0, -0.16, 0.36)
_LOOKS: Final = (1.0, 0.553, -1.085)
CAMERAS: Final = {
    "third_view": Camera(
        pos=_THIRD,
        target=(_THIRD[0] + _LOOKS[0], _THIRD[1] + _LOOKS[1], _THIRD[2] + _LOOKS[2]),
        intrinsics=_LENS,
    ),
    "sink_view": Camera(
        pos=(-0.003, -0.21, 0.39), target=(1, 0, 0), quat=(0.772297, 0.329757, -0.213216, -0.499356), intrinsics=_LENS
    ),
}
"""On base_link. `third_view` is SIMPLER's camera of the table, `sink_view` that of the sink."""


WRIST: Final = Camera(pos=(-0.01, 0.0, 0.075), target=(0.12, 0.0, 0.0), fovy=62.0)
"""On gripper_link, above the servo of the hand; it looks at the finger tips. Our choice: SIMPLER has none."""


class WidowX(DrivenRobot):
    """Six-axis arm with two sliding fingers (WidowX 250 S), with SIMPLER's gains and controllers."""

    name = "widowx"
    version = 2  # 2: things sleep in its scenes
    drives = _DRIVES
    numbers = numbers_of(_DRIVES)
    controller = "ee_step+gripper:grip_step"
    action_rate = 5.0
    steps = Steps(0.002, "euler", sleep=True)
    frame = "ee_gripper_link"
    groups = {
        "arm": Group(
            joints=_ARM,
            home=(-0.01840777, 0.0398835, 0.22242722, -0.00460194, 1.36524296, 0.00153398),
            low=tuple(_DRIVES[joint].low for joint in _ARM),
            high=tuple(_DRIVES[joint].high for joint in _ARM),
            speed=(_SPEED,) * 6,
            tool="ee",
        ),
        "gripper": Group(
            joints=_FINGERS,
            home=(0.037, 0.037),
            low=(0.015, 0.015),
            high=(0.037, 0.037),
            speed=(1.0, 1.0),
            unit="m",
            pads=("left_finger_link", "right_finger_link"),
        ),
    }

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        """Builds the model anew: root body `base_link` under the world, joints and actuators named alike."""
        spec = mujoco.MjSpec()
        spec.modelname = self.name
        spec.compiler.degree = False
        body = base = self.add_body(spec.worldbody, "base_link", _LINKS["base_link"])
        for joint, (link, at, axis) in _CHAIN.items():
            body = self.add_body(body, link, _HAND if link == "gripper_link" else _LINKS[link], pos=at)
            self.add_joint(spec, body, joint, axis, slides=False)
        self._add_fingers(spec, body)
        _add_shapes(spec)
        body.add_site(name="ee_gripper_link", pos=[_TOOL_AT, 0, 0], group=4)
        tool = body.add_body(name="tool", pos=[_TOOL_AT, 0, 0], quat=[np.sqrt(0.5), 0, np.sqrt(0.5), 0])
        tool.add_site(name="ee", group=4)
        for name, camera in CAMERAS.items():
            set_lens(base.add_camera(name=name, pos=camera.pos, quat=camera.orientation), camera.intrinsics or _LENS)
        body.add_camera(name="wrist", pos=WRIST.pos, quat=WRIST.orientation, fovy=WRIST.fovy)
        if visuals:
            (dress_widowx_fully if self.physics.looks == "menagerie" else dress_widowx)(spec)
        return spec

    def _add_fingers(self, spec: mujoco.MjSpec, hand: mujoco.MjsBody) -> None:
        half = np.array(_FINGER_HULL)
        left = np.concatenate([half, half * [1, 1, -1]])
        friction = PAD_FRICTION * self.physics.pad_friction
        for finger, side in zip(_FINGERS, (1, -1), strict=True):
            link = f"{finger}_link"
            body = self.add_body(hand, link, _LINKS["finger"], pos=[_FINGERS_AT, 0, 0])
            self.add_joint(spec, body, finger, [0, side, 0], slides=True)
            spec.add_mesh(name=link, uservert=(left * [1, side, 1]).ravel())
            body.add_geom(
                name=f"{finger}_pad",
                type=mujoco.mjtGeom.mjGEOM_MESH,
                meshname=link,
                condim=4,
                friction=[friction, friction * PATCH, 0.0001],
                priority=2,
                solimp=PADS,
                solref=[0.005, 1],
                **TOUCH,
            )


def _add_shapes(spec: mujoco.MjSpec) -> None:
    """Collision shapes of the links."""
    capsule, box = mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_BOX
    for link, ends, radius in (
        ("shoulder_link", (0, 0, 0.0, 0, 0, 0.03), 0.045),
        ("upper_arm_link", (0, 0, 0.01, 0, 0, 0.23), 0.032),
        ("upper_arm_link", (0, 0, 0.25, 0.035, 0, 0.25), 0.028),
        ("upper_forearm_link", (0.01, 0, 0, 0.155, 0, 0), 0.021),
        ("lower_forearm_link", (0.015, 0, 0, 0.065, 0, 0), 0.025),
        ("wrist_link", (0.01, 0, 0.004, 0.045, 0, 0.006), 0.022),
    ):
        spec.body(link).add_geom(type=capsule, fromto=ends, size=[radius, 0, 0], **TOUCH)
    spec.body("base_link").add_geom(type=box, pos=[-0.04, 0, 0.036], size=[0.117, 0.0765, 0.036], **TOUCH)
    spec.body("gripper_link").add_geom(type=box, pos=[0.022, 0, 0.0076], size=[0.022, 0.02, 0.0276], **TOUCH)
    spec.body("gripper_link").add_geom(type=box, pos=[0.057, 0, 0.0], size=[0.014, 0.0517, 0.014], **TOUCH)
