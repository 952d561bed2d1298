"""Franka Emika Panda with the Franka Hand, built in code from published numbers.

Units: metres, radians, kilograms, newtons. Every number and its source: docs/panda.md.
"""

from typing import Final

import mujoco
import numpy as np
import numpy.typing as npt

from foretell.arrays import Floats
from foretell.robots.robot import Group, Robot
from foretell.robots.shells import dress_panda

__all__ = ["Panda"]


# Modified (Craig) Denavit-Hartenberg rows a, d, alpha; the flange follows 0.107 m along z7.
_DH: Final = np.array(
    [
        [0.0, 0.333, 0.0],
        [0.0, 0.0, -np.pi / 2],
        [0.0, 0.316, np.pi / 2],
        [0.0825, 0.0, np.pi / 2],
        [-0.0825, 0.384, -np.pi / 2],
        [0.0, 0.0, np.pi / 2],
        [0.088, 0.0, np.pi / 2],
    ]
)
_FLANGE: Final = 0.107
_TCP: Final = 0.1034  # flange to the point between the pad tips
_FINGER_BASE: Final = 0.0584  # hand frame to finger frames, along z
_FINGER_STROKE: Final = 0.04  # each finger
_FINGER_SPEED: Final = 0.05  # m/s, each finger
_FINGER_FORCE: Final = 70.0  # N, continuous, of each finger (peak: 140 N)
_JOINTS: Final = tuple(f"joint{i}" for i in range(1, 8))
_FINGERS: Final = ("finger1", "finger2")

_KP: Final = np.array([4500.0, 4500.0, 3500.0, 3500.0, 2000.0, 2000.0, 2000.0])
_KV: Final = _KP / 20
_DAMPING: Final = 1.0  # N m s/rad
_ARMATURE: Final = 0.1  # kg m^2, rotor inertia seen through the gear

# body: mass, centre of mass, inertia about it (xx, yy, zz, xy, xz, yz), all in the body's own frame.
_INERTIAL: Final[dict[str, tuple[float, tuple[float, ...], tuple[float, ...]]]] = {
    "link0": (2.3966, (-0.0172, 0.0004, 0.0745), (0.0090, 0.0115, 0.0085, 0.0, 0.0020, 0.0)),
    "link1": (
        4.970684,
        (0.003875, 0.002081, -0.04762),
        (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169),
    ),
    "link2": (
        0.646926,
        (-0.003141, -0.02872, 0.003495),
        (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704),
    ),
    "link3": (
        3.228604,
        (0.027518, 0.039252, -0.066502),
        (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805),
    ),
    "link4": (
        3.587895,
        (-0.05317, 0.104419, 0.027454),
        (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641),
    ),
    "link5": (
        1.225946,
        (-0.011953, 0.041065, -0.038437),
        (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229),
    ),
    "link6": (
        1.666555,
        (0.060149, -0.014117, -0.010517),
        (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341),
    ),
    "link7": (
        0.735522,
        (0.010517, -0.004252, 0.061597),
        (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741),
    ),
    "hand": (0.6544, (-0.0000376, 0.0119128, 0.020726), (0.00186, 0.00030, 0.00174, 0.0, 0.0, -0.00002)),
    "finger": (0.0291, (0.0, 0.015285, 0.0219675), (8.49e-6, 8.53e-6, 1.77e-6, 0.0, 0.0, -1.06e-6)),
}

# Collision capsules per link: two end points and a radius, fitted to the outline by eye.
_CAPSULES: Final[dict[str, tuple[tuple[tuple[float, ...], float], ...]]] = {
    "link1": (((0, 0, -0.14, 0, -0.068, 0), 0.06),),
    "link2": (((0, -0.14, 0, 0, 0, 0.068), 0.06),),
    "link3": (((0, 0, -0.066, 0.0825, 0.052, 0), 0.058),),
    "link4": (((-0.0825, 0.066, 0, 0, 0, 0.052), 0.058),),
    "link5": (((0, 0, -0.205, 0, 0.04, -0.12), 0.055), ((0, 0.05, -0.1, 0, 0.078, 0), 0.052)),
    "link6": (((0.088, -0.005, 0, 0.088, 0.036, 0), 0.047),),
    "link7": (((0, 0, 0.06, 0, 0, 0.064), 0.045),),
}

# Wrist camera, in the hand frame: in front of the hand (+x), tilted towards the pads; image right is the
# hand's +y, image up its +x, which points away from the base in the home pose.
_CAMERA_POS: Final = (0.07, 0.0, 0.035)
_CAMERA_TILT: Final = np.deg2rad(28.0)
_CAMERA_QUAT: Final = np.sqrt(0.5) * np.array(
    [np.sin(_CAMERA_TILT / 2), np.cos(_CAMERA_TILT / 2), np.cos(_CAMERA_TILT / 2), np.sin(_CAMERA_TILT / 2)]
)
_CAMERA_FOVY: Final = 58.0  # degrees, RealSense D405


def _frozen(values: object) -> Floats:
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


class Panda(Robot):
    """Seven-axis arm with a two-finger hand."""

    name = "panda"
    numbers = {
        **{f"kp_{joint}": float(gain) for joint, gain in zip(_JOINTS, _KP, strict=True)},
        **{f"kv_{joint}": float(gain) for joint, gain in zip(_JOINTS, _KV, strict=True)},
        "armature": _ARMATURE,
    }
    joint_range: Final = _frozen(
        [
            [-2.8973, 2.8973],
            [-1.7628, 1.7628],
            [-2.8973, 2.8973],
            [-3.0718, -0.0698],
            [-2.8973, 2.8973],
            [-0.0175, 3.7525],
            [-2.8973, 2.8973],
        ]
    )
    """(7, 2), rad."""
    torque_limit: Final = _frozen([87.0] * 4 + [12.0] * 3)
    """(7,), N m."""
    groups = {
        "arm": Group(
            joints=_JOINTS,
            # robosuite's start pose
            home=(0.0, np.pi / 16, 0.0, -np.pi / 2 - np.pi / 3, 0.0, np.pi - 0.2, np.pi / 4),
            low=tuple(joint_range[:, 0].tolist()),
            high=tuple(joint_range[:, 1].tolist()),
            speed=(2.175,) * 4 + (2.61,) * 3,
            tool="ee",
        ),
        "gripper": Group(
            joints=_FINGERS,
            home=(_FINGER_STROKE, _FINGER_STROKE),
            low=(0.0, 0.0),
            high=(_FINGER_STROKE, _FINGER_STROKE),
            speed=(_FINGER_SPEED, _FINGER_SPEED),
            actuators=("gripper",),
            unit="m",
            pads=_FINGERS,
        ),
    }

    @property
    def finger_force(self) -> float:
        """Largest force of each finger on a held object, N."""
        return _FINGER_FORCE * self.physics.finger_force

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        """Builds the model anew: root body `link0` under the world, joints and actuators named alike."""
        spec = mujoco.MjSpec()
        spec.modelname = self.name
        spec.compiler.degree = False
        body = _add_body(spec.worldbody, "link0")
        _add_box(body, "link0_collision", (-0.045, 0, 0.065), (0.1, 0.075, 0.065))
        for i, joint in enumerate(_JOINTS):
            a, d, alpha = _DH[i]
            body = _add_body(
                body,
                f"link{i + 1}",
                pos=[a, -np.sin(alpha) * d, np.cos(alpha) * d],
                quat=[np.cos(alpha / 2), np.sin(alpha / 2), 0, 0],
            )
            self._add_joint(body, joint, i)
            self._add_motor(spec, joint, i)
            for k, (ends, radius) in enumerate(_CAPSULES[body.name]):
                _collider(body, f"{body.name}_collision{k}", mujoco.mjtGeom.mjGEOM_CAPSULE, ends, radius)
        body.add_site(name="flange", pos=[0, 0, _FLANGE], group=4)
        self._add_hand(spec, body)
        if visuals:
            dress_panda(spec)
        return spec

    @staticmethod
    def flange_pose(q: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Flange pose in the base frame from the DH chain: q (n, 7) or (7,) -> (n, 3), (n, 3, 3)."""
        angles = np.atleast_2d(np.asarray(q, dtype=float))
        pose = np.tile(np.eye(4), (len(angles), 1, 1))
        for i, (a, d, alpha) in enumerate(_DH):
            ct, st = np.cos(angles[:, i]), np.sin(angles[:, i])
            ca, sa = np.cos(alpha), np.sin(alpha)
            step = np.zeros_like(pose)
            step[:, 0, 0], step[:, 0, 1], step[:, 0, 3] = ct, -st, a
            step[:, 1, 0], step[:, 1, 1], step[:, 1, 2], step[:, 1, 3] = st * ca, ct * ca, -sa, -d * sa
            step[:, 2, 0], step[:, 2, 1], step[:, 2, 2], step[:, 2, 3] = st * sa, ct * sa, ca, d * ca
            step[:, 3, 3] = 1
            pose = pose @ step
        return pose[:, :3, 3] + _FLANGE * pose[:, :3, 2], pose[:, :3, :3]

    def _add_joint(self, body: mujoco.MjsBody, joint: str, i: int) -> None:
        share = self.torque_limit[i] / self.torque_limit[0]
        body.add_joint(
            name=joint,
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=[0, 0, 1],
            limited=True,
            range=self.joint_range[i],
            armature=self.own("armature"),
            damping=[_DAMPING * self.physics.damping_scale, 0, 0],
            frictionloss=self.physics.joint_friction * share,
        )
        if self.physics.backlash > 0:
            # The encoder sits on the motor joint; this one is what it cannot see.
            body.add_joint(
                name=f"{joint}_backlash",
                type=mujoco.mjtJoint.mjJNT_HINGE,
                axis=[0, 0, 1],
                limited=True,
                range=[-self.physics.backlash, self.physics.backlash],
                armature=0.01,
                damping=[1.0, 0, 0],  # without it light links rattle between the stops
                solref_limit=[0.004, 1],  # two ticks of 2 ms: as stiff a stop as the step allows
                solimp_limit=[0.999, 0.9999, 0.0005, 0.5, 2],
            )

    def _add_motor(self, spec: mujoco.MjSpec, joint: str, i: int) -> None:
        motor = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        p = self.physics
        motor.set_to_position(kp=self.own(f"kp_{joint}") * p.kp_scale, kv=self.own(f"kv_{joint}") * p.kv_scale)
        motor.ctrllimited = True
        motor.ctrlrange = self.joint_range[i]
        motor.forcelimited = True
        motor.forcerange = [-self.torque_limit[i], self.torque_limit[i]]

    def _add_hand(self, spec: mujoco.MjSpec, link7: mujoco.MjsBody) -> None:
        hand = _add_body(link7, "hand", pos=[0, 0, _FLANGE], quat=[np.cos(np.pi / 8), 0, 0, -np.sin(np.pi / 8)])
        hand.add_site(name="ee", pos=[0, 0, _TCP], group=4)
        hand.add_camera(name="wrist", pos=_CAMERA_POS, quat=_CAMERA_QUAT, fovy=_CAMERA_FOVY)
        _add_box(hand, "hand_collision", (0, 0, 0.0285), (0.032, 0.102, 0.0375))
        for finger, turn in zip(_FINGERS, ([1, 0, 0, 0], [0, 0, 0, 1]), strict=True):
            body = _add_body(hand, finger, "finger", pos=[0, 0, _FINGER_BASE], quat=turn)
            body.add_joint(
                name=finger,
                type=mujoco.mjtJoint.mjJNT_SLIDE,
                axis=[0, 1, 0],
                limited=True,
                range=[0, _FINGER_STROKE],
                armature=0.1,
                # Full force against this damping moves a free finger at its published top speed.
                damping=[self.finger_force / _FINGER_SPEED, 0, 0],
            )
            _add_box(body, f"{finger}_collision", (0, 0.0145, 0.018), (0.011, 0.0115, 0.0178))
            self._add_pad(body, finger)

        both = spec.add_tendon(name="gripper")
        for finger in _FINGERS:
            both.wrap_joint(finger, 0.5)
        tie = spec.add_equality(
            name="gripper",
            type=mujoco.mjtEq.mjEQ_JOINT,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            name1=_FINGERS[0],
            name2=_FINGERS[1],
            solref=[0.005, 1],
            solimp=[0.95, 0.99, 0.001, 0.5, 2],
        )
        tie.data[:5] = [0, 1, 0, 0, 0]  # finger1 = finger2
        motor = spec.add_actuator(name="gripper", target="gripper", trntype=mujoco.mjtTrn.mjTRN_TENDON)
        # Half of the tendon force reaches each finger. Full force from 2.5 mm short of the target on, so a
        # held object feels finger_force, not a spring.
        motor.set_to_position(kp=2 * self.finger_force / 0.0025, kv=0)
        motor.ctrllimited = True
        motor.ctrlrange = [0, _FINGER_STROKE]
        motor.forcelimited = True
        motor.forcerange = [-2 * self.finger_force, 2 * self.finger_force]

    def _add_pad(self, finger: mujoco.MjsBody, name: str) -> None:
        surface = {
            "condim": 4,
            "solref": [0.005, 1],
            "friction": [self.physics.pad_friction, 0.005, 0.0001],
            "priority": 2,  # the pads' friction decides, not the larger one of pad and object
        }
        z = _TCP - _FINGER_BASE
        if self.physics.pads == "box":
            _add_box(finger, f"{name}_pad", (0, 0.006, z), (0.0095, 0.006, 0.0092), **surface)
            return
        radius = 0.0035
        places = [(x, z + dz) for dz in (-0.0057, 0.0, 0.0057) for x in (-0.006, 0.006)]
        for k, (x, up) in enumerate(places):
            finger.add_geom(
                name=f"{name}_pad{k}",
                type=mujoco.mjtGeom.mjGEOM_SPHERE,
                pos=[x, radius, up],
                size=[radius, 0, 0],
                **_TOUCH,
                **surface,
            )


# Bit 2 against bit 1: the arm touches the world and its objects (contype 1, MuJoCo's default), never itself.
_TOUCH: Final = {"contype": 2, "conaffinity": 1, "group": 3, "mass": 0}


def _add_body(parent: mujoco.MjsBody, name: str, inertial: str | None = None, **pose: object) -> mujoco.MjsBody:
    """Adds a body with its published inertial; the arm's own controller carries its weight (gravcomp)."""
    mass, com, inertia = _INERTIAL[inertial or name]
    return parent.add_body(
        name=name, mass=mass, ipos=com, fullinertia=inertia, explicitinertial=True, gravcomp=1, **pose
    )


def _add_box(body: mujoco.MjsBody, name: str, pos: object, half: object, **surface: object) -> None:
    body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=half, **_TOUCH, **surface)


def _collider(body: mujoco.MjsBody, name: str, kind: mujoco.mjtGeom, ends: object, radius: float) -> None:
    body.add_geom(name=name, type=kind, fromto=ends, size=[radius, 0, 0], **_TOUCH)
