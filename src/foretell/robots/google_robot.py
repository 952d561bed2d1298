"""Google's mobile manipulator (Everyday Robots, "meta") as SIMPLER has it: the base stands still. Built in code from
published numbers.

Final: joint, actuator, body, site and camera names, kinematics, gains, controllers. Looks and collision shapes of the
links (not of the fingers) may still change. Units: metres, radians, kilograms, newtons. Sources: docs/google_robot.md.
"""

from __future__ import annotations

from typing import Any, Final

import mujoco
import numpy as np

from foretell.camera import Intrinsics
from foretell.robots.drive import PADS, TOUCH, Drive, DrivenRobot, numbers_of
from foretell.robots.google_looks import dress_google_robot, dress_google_robot_fully
from foretell.robots.inertia import Inertial
from foretell.robots.lens import set_lens
from foretell.robots.robot import Group, Steps

__all__ = ["GoogleRobot"]

# As PhysX has them in SIMPLER: of some links its principal axes are not those of the URDF (docs/google_robot.md).
_LINKS: Final[dict[str, Inertial]] = {
    "link_base": Inertial(
        52.9101, (-0.142543, 0.00233339, 0.130111), (3.2032, 1.33989, 2.82556, -0.172431, -0.140009, -0.52212)
    ),
    "link_torso": Inertial(
        1.89575,
        (-0.00349441, -0.0607148, 0.111756),
        (0.0114555, 0.0132827, 0.00673459, -6.58904e-5, 0.000267669, -0.000422312),
    ),
    "link_shoulder": Inertial(
        1.84719,
        (0.00108074, 0.00480944, 0.104944),
        (0.0138795, 0.00333152, 0.0139597, 0.00205631, 0.00012178, -0.000399715),
    ),
    "link_bicep": Inertial(
        1.24742,
        (0.000409029, -0.0211441, 0.135243),
        (0.00459591, 0.00423085, 0.00696192, -0.00263207, -0.00046688, -0.00048958),
    ),
    "link_elbow": Inertial(
        0.646385,
        (0.00173027, -0.0765654, 0.0367058),
        (0.00178669, 0.00118492, 0.0013175, 4.72958e-9, 1.63949e-5, 0.000457025),
    ),
    "link_forearm": Inertial(
        0.724367,
        (1.27504e-5, 0.0150875, 0.181814),
        (0.000591816, 0.00715761, 0.00721022, -0.000511225, 3.95721e-5, 4.10016e-6),
    ),
    "link_wrist": Inertial(
        0.501929,
        (-0.000297207, -0.00732716, 0.0536615),
        (0.00114263, 0.00107002, 0.000427136, -2.30404e-6, -6.14797e-6, -0.000260093),
    ),
    "link_gripper": Inertial(
        0.40507, (0.00042266, 0.00011761, 0.0379007), (0.00029237, 0.00026364, 0.00031135, 3.59e-6, 2.66e-6, 6.6e-7)
    ),
    "link_finger": Inertial(
        0.0333245,
        (0.0, 0.00035053, 0.0371803),
        (3.23641e-6, 6.61902e-6, 8.78712e-6, -1.44219e-6, -6.41131e-7, -1.20132e-6),
    ),
    "link_finger_tip": Inertial(0.0162231, (0.0, 0.000412735, 0.0215606), (1.066e-5, 1.147e-5, 1.78e-6, 0, 0, 0)),
    "link_head_pan": Inertial(
        0.963358,
        (0.016401, -0.000573983, 0.0868775),
        (0.00199658, 0.00282709, 0.00240811, -0.00022593, 0.00053396, -0.00012776),
    ),
    "link_head_tilt": Inertial(
        0.879241,
        (0.0728449, -0.00300449, 0.00132834),
        (0.00336483, 0.00155399, 0.0041008, -6.95999e-5, -3.20912e-6, -6.72812e-6),
    ),
}

# joint: its link, where the link sits on the one before, and the joint's axis.
_CHAIN: Final = {
    "joint_torso": ("link_torso", (0.0, 0.0, 0.5945), (0, 0, 1)),
    "joint_shoulder": ("link_shoulder", (0.0, -0.16728852885, 0.113), (0, 1, 0)),
    "joint_bicep": ("link_bicep", (0.0, 0.002289, 0.21502852885), (0, 0, 1)),
    "joint_elbow": ("link_elbow", (0.0, -0.064, 0.1849715), (0, 1, 0)),
    "joint_forearm": ("link_forearm", (0.0, -0.101, 0.0915), (0, 0, 1)),
    "joint_wrist": ("link_wrist", (0.0, -0.00604, 0.2735), (0, 1, 0)),
    "joint_gripper": ("link_gripper", (0.0, 0.0060384, 0.10911), (0, 0, 1)),
}
_HEAD: Final = {
    "joint_head_pan": ("link_head_pan", (0.0, 0.0, 1.16902), (0, 0, 1)),
    "joint_head_tilt": ("link_head_tilt", (0.07181, 0.0, 0.11848), (0, 1, 0)),
}
_TCP: Final = (0.0043374896, 0.0018852949, 0.16353297)
_TCP_QUAT: Final = (0.9999972213, -0.0006654029, -0.0022195718, -0.0004358008)  # rpy -0.00133, -0.00444, -0.00087
_FINGERS: Final = {
    # axis +x of a finger closes it; they face each other, so one is turned half around z
    "joint_finger_right": ("link_finger_right", -0.025),
    "joint_finger_left": ("link_finger_left", 0.025),
}
_FINGER_BASE: Final = 0.05861  # along the gripper's z
_FINGER_LEAN: Final = -1.15  # rad about x, wide open
_TIP: Final = (0.0, -0.0103567252, 0.0641556077)
_TIP_LEAN: Final = 0.45

_FINGER: Final[dict[str, Any]] = {
    "stiffness": 200.0,
    "damping": 8.0,
    "force": 60.0,
    "speed": 1.3,
    "low": -0.0001,
    "high": 1.3,
    "finger": True,
}
_DRIVES: Final = {
    "joint_torso": Drive(stiffness=1700.0, damping=1059.97919, force=300.0, speed=2.0, low=-4.49, high=1.35),
    "joint_shoulder": Drive(stiffness=1737.04717, damping=1010.47206, force=300.0, speed=2.0, low=-2.66, high=3.18),
    "joint_bicep": Drive(stiffness=979.975872, damping=767.280316, force=100.0, speed=2.0, low=-2.13, high=3.71),
    "joint_elbow": Drive(stiffness=930.0, damping=680.0, force=100.0, speed=2.5, low=-2.05, high=3.79),
    "joint_forearm": Drive(stiffness=1212.1545, damping=674.994696, force=100.0, speed=3.0, low=-2.92, high=2.92),
    "joint_wrist": Drive(stiffness=432.965009, damping=274.613381, force=100.0, speed=3.0, low=-1.79, high=1.79),
    "joint_gripper": Drive(stiffness=468.001337, damping=340.532561, force=100.0, speed=3.0, low=-4.49, high=1.35),
    "joint_finger_right": Drive(**_FINGER),
    "joint_finger_left": Drive(**_FINGER),
    "joint_head_pan": Drive(stiffness=2000.0, damping=900.0, force=100.0, speed=2.0, low=-3.79, high=2.22),
    "joint_head_tilt": Drive(stiffness=2000.0, damping=900.0, force=100.0, speed=2.0, low=-1.17, high=1.17),
}

PAD_FRICTION: Final = 1.25
"""PhysX takes the mean of both sides: fingers have 2.0, objects 0.5."""
PATCH: Final = 0.1
"""Radius over which a pad resists turning, m (SIMPLER's patch radius)."""
# Half of the convex outlines of a finger and its tip, x >= 0; -y is the side that grasps.
_BASE_HULL: Final = (
    (0.0274, -0.0162, 0.0216),
    (0.0198, -0.0176, 0.0668),
    (0.0198, 0.0033, 0.0696),
    (0.0274, 0.0197, 0.0192),
)
_TIP_HULL: Final = (
    (0.0119, -0.0062, 0.0380),
    (0.0119, 0.0003, 0.0451),
    (0.0154, -0.0039, 0.0280),
    (0.0154, 0.0028, 0.0280),
    (0.0212, 0.0158, -0.0011),
    (0.0212, -0.0067, -0.0029),
)
LENS: Final = Intrinsics(fx=425.0, fy=425.0, cx=320.0, cy=256.0, width=640, height=512)


class GoogleRobot(DrivenRobot):
    """Seven-axis arm with two turning fingers and a head, on a base that stands still, with SIMPLER's gains."""

    name = "google_robot"
    version = 2  # 2: things sleep in its scenes
    drives = _DRIVES
    numbers = numbers_of(_DRIVES)
    controller = "ee_profile+gripper:grip_profile"
    action_rate = 3.0
    steps = Steps(1 / 513, "euler", sleep=True)
    groups = {
        "arm": Group(
            joints=tuple(_CHAIN),
            home=(-0.26394573, 0.08319134, 0.50176114, 1.15685904, 0.02858367, 1.5925982, -1.08065295),
            low=tuple(_DRIVES[joint].low for joint in _CHAIN),
            high=tuple(_DRIVES[joint].high for joint in _CHAIN),
            speed=tuple(_DRIVES[joint].speed for joint in _CHAIN),
            tool="ee",
        ),
        "gripper": Group(
            joints=tuple(_FINGERS),
            home=(0.0, 0.0),
            low=(-0.0001, -0.0001),
            high=(1.3, 1.3),
            speed=(1.3, 1.3),
            pads=tuple(link for link, _ in _FINGERS.values()),
            shut="high",
        ),
        "head": Group(
            joints=tuple(_HEAD),
            home=(-0.00285961, 0.7851361),
            low=tuple(_DRIVES[joint].low for joint in _HEAD),
            high=tuple(_DRIVES[joint].high for joint in _HEAD),
            speed=tuple(_DRIVES[joint].speed for joint in _HEAD),
        ),
    }

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        """Builds the model anew: root body `link_base` under the world, joints and actuators named alike."""
        spec = mujoco.MjSpec()
        spec.modelname = self.name
        spec.compiler.degree = False
        base = self.add_body(spec.worldbody, "link_base", _LINKS["link_base"])
        hand = self._add_chain(spec, base, _CHAIN)
        hand.add_body(name="link_gripper_tcp", pos=_TCP, quat=_TCP_QUAT).add_site(name="ee", group=4)
        self._add_fingers(spec, hand)
        head = self._add_chain(spec, base, _HEAD)
        # it looks along the head's x, with the head's z up
        set_lens(head.add_camera(name="overhead", pos=[0.10488, 0, 0], quat=[0.5, 0.5, -0.5, -0.5]), LENS)
        _add_shapes(spec)
        if visuals:
            (dress_google_robot_fully if self.physics.looks == "menagerie" else dress_google_robot)(spec)
        return spec

    def _add_chain(self, spec: mujoco.MjSpec, body: mujoco.MjsBody, chain: Any) -> mujoco.MjsBody:
        for joint, (link, at, axis) in chain.items():
            body = self.add_body(body, link, _LINKS[link], pos=at)
            self.add_joint(spec, body, joint, axis, slides=False)
        return body

    def _add_fingers(self, spec: mujoco.MjSpec, hand: mujoco.MjsBody) -> None:
        for name, half in (("finger", _BASE_HULL), ("finger_tip", _TIP_HULL)):
            hull = np.concatenate([half, np.array(half) * [-1, 1, 1]])
            spec.add_mesh(name=name, uservert=hull.ravel())
        lean = np.array([np.cos(_FINGER_LEAN / 2), np.sin(_FINGER_LEAN / 2), 0, 0])
        for (joint, (link, y)), turn in zip(_FINGERS.items(), ([0, 0, 0, 1], [1, 0, 0, 0]), strict=True):
            quat = np.zeros(4)
            mujoco.mju_mulQuat(quat, np.array(turn, dtype=float), lean)
            body = self.add_body(hand, link, _LINKS["link_finger"], pos=[0, y, _FINGER_BASE], quat=quat)
            self.add_joint(spec, body, joint, [1, 0, 0], slides=False)
            self._add_pad(body, f"{link}_pad", "finger")
            tip = self.add_body(
                body,
                link.replace("finger", "finger_tip"),
                _LINKS["link_finger_tip"],
                pos=_TIP,
                quat=[np.cos(_TIP_LEAN / 2), np.sin(_TIP_LEAN / 2), 0, 0],
            )
            self._add_pad(tip, f"{tip.name}_pad", "finger_tip")
        spec.add_pair(
            name="finger_tips",
            geomname1="link_finger_tip_right_pad",
            geomname2="link_finger_tip_left_pad",
            condim=3,
            friction=[2.0, 2.0, 0.005, 0.0001, 0.0001],
            solref=[0.005, 1],
            solimp=[0.99, 0.999, 0.001, 0.5, 2],  # else the tips creep past each other while they press
        )

    def _add_pad(self, body: mujoco.MjsBody, name: str, mesh: str) -> None:
        friction = PAD_FRICTION * self.physics.pad_friction
        body.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh,
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
        ("link_torso", (0, 0, 0.06, 0, 0, 0.15), 0.075),
        ("link_torso", (0, -0.05, 0.113, 0, -0.12, 0.113), 0.05),
        ("link_shoulder", (0, 0.01, 0, 0, 0, 0.16), 0.06),
        ("link_bicep", (0, 0, 0.05, 0, -0.005, 0.185), 0.055),
        ("link_elbow", (0, -0.05, 0, 0, -0.1, 0.045), 0.05),
        ("link_forearm", (0, 0, 0.045, 0, 0.012, 0.27), 0.046),
        ("link_wrist", (0, -0.008, 0, 0, 0, 0.07), 0.041),
    ):
        spec.body(link).add_geom(type=capsule, fromto=ends, size=[radius, 0, 0], **TOUCH)
    for link, at, half in (
        ("link_gripper", (0, 0, 0.0387), (0.0408, 0.0494, 0.0375)),
        ("link_base", (-0.12, 0, 0.13), (0.26, 0.22, 0.15)),
        ("link_base", (-0.03, 0, 0.72), (0.09, 0.09, 0.45)),
        ("link_head_tilt", (0.043, 0, 0), (0.076, 0.112, 0.052)),
    ):
        spec.body(link).add_geom(type=box, pos=at, size=half, **TOUCH)
