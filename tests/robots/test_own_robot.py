"""Robots that are not like ours: bases, heads, coupled joints, several grippers."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import foretell
from foretell.checks import check_task
from foretell.errors import UsageError
from foretell.person.scene import _joints
from foretell.robots import Group, Panda, Robot
from foretell.robots.controller import EndEffectorDelta, Grip
from foretell.sim.bench import SLOT, Bench
from foretell.spec import Feature
from foretell.tasks import Mount
from foretell.tasks.frame import frame
from foretell.tasks.lift import Lift

INERTIA: dict[str, Any] = {"mass": 0.1, "inertia": [1e-3] * 3, "explicitinertial": True, "gravcomp": 1}
HINGE, SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
TENDON = mujoco.mjtTrn.mjTRN_TENDON


def lift(robot: str, **more: Any) -> Any:
    """Lift with a robot of this file."""
    mount = Mount(f"{__name__}:{robot}", (-0.56, 0.0, 0.112))
    return type(f"Lift{robot}", (Lift,), {"robots": {"panda": mount}, **more})()


class Rover(Panda):
    """A Panda on a base that rolls."""

    name = "rover"
    base: dict[str, Any] = {"home": (0, 0, 0), "low": (-0.5, -0.5, -1.5), "high": (0.5, 0.5, 1.5)}
    groups = {**Panda.groups, "base": Group(joints=("bx", "by", "bt"), speed=(0.3, 0.3, 0.5), **base)}

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec = super().spec(visuals)
        foot = spec.worldbody.first_body()
        for name, kind, axis in (("bx", SLIDE, [1, 0, 0]), ("by", SLIDE, [0, 1, 0]), ("bt", HINGE, [0, 0, 1])):
            foot.add_joint(name=name, type=kind, axis=axis, armature=1, damping=[50, 0, 0])
            motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_position(kp=20000, kv=2000)
        return spec


@pytest.mark.parametrize("world", ["standin", {"name": "late", "theta": {"sensor_delay": 0.02}}])
def test_the_tool_of_an_arm_on_a_base_is_seen_where_it_is(world: Any) -> None:
    bench = Bench(lift("Rover"), world=world)
    bench.set(**{"panda/base": (0.3, 0.2, 0.5)})
    bench.run(0.2)
    seen = bench.see("panda/ee_pos", "panda/ee_quat")
    assert seen["panda/ee_pos"] == pytest.approx(bench.state.ee_pos("panda")[0], abs=0.005)
    hand = bench.state.quat("panda/ee")[0]
    assert abs(seen["panda/ee_quat"] @ hand) == pytest.approx(1, abs=1e-4)


def test_the_card_says_where_the_base_starts() -> None:
    start = {"start": lambda self, rng: {"panda/base": (0.1, 0.0, 0.5)}}
    task = lift("Rover", **start)
    assert _joints(task.scenario(0), frame(task)) == [
        "panda/base: set bx to +0.100 m",
        "panda/base: set by to +0.000 m",
        "panda/base: set bt to +29°",
    ]
    assert frame(Lift())["joints"] == {}


class Felt(Panda):
    """A Panda that also shows its elbow, a range finder and the load on a wrist."""

    name = "felt"

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec, site = super().spec(visuals), mujoco.mjtObj.mjOBJ_SITE
        spec.body("link4").add_site(name="elbow")
        spec.body("hand").add_site(name="sonar", pos=[0, 0, 0.15])
        finder = {"type": mujoco.mjtSensor.mjSENS_RANGEFINDER, "objtype": site, "objname": "sonar"}
        spec.add_sensor(name="range", intprm=[1 << int(mujoco.mjtRayDataField.mjRAYDATA_DIST), 0, 0], **finder)
        spec.add_sensor(name="load", type=mujoco.mjtSensor.mjSENS_FORCE, objtype=site, objname="sonar")
        return spec

    @cached_property
    def features(self) -> dict[str, Feature]:
        return {
            **super().features,
            "elbow_pos": Feature(kind="position", shape=(3,), unit="m", frame="task", source=("elbow",)),
            "elbow_quat": Feature(kind="orientation", shape=(4,), frame="task", source=("elbow",)),
            "range": Feature(kind="rays", shape=(1,), dtype="float32", unit="m", source=("range",)),
            "load": Feature(kind="scalar", shape=(3,), unit="N", source=("load",)),
        }


class Guessed(Felt):
    """Features that no model could have."""

    name = "guessed"

    @cached_property
    def features(self) -> dict[str, Feature]:
        return {
            **super().features,
            "nowhere": Feature(kind="position", shape=(3,), source=("knee",)),
            "scan": Feature(kind="rays", shape=(4,), source=("elbow",)),
            "weight": Feature(kind="scalar", shape=(1,)),
            "torque": Feature(kind="scalar", shape=(1,), source=("load",)),
            "voice": Feature(kind="text", shape=(), dtype="str", source=("elbow",)),
        }


@pytest.mark.parametrize("world", ["mujoco", {"name": "late", "theta": {"sensor_delay": 0.02}}])
def test_a_robot_may_declare_sites_and_sensors_of_its_own(world: Any) -> None:
    bench = Bench(lift("Felt"), world=world)
    bench.run(0.1)
    seen = bench.see("panda/elbow_pos", "panda/elbow_quat", "panda/range", "panda/load")
    assert seen["panda/elbow_pos"] == pytest.approx(bench.state.pos("panda/elbow")[0], abs=2e-3)
    assert abs(seen["panda/elbow_quat"] @ bench.state.quat("panda/elbow")[0]) == pytest.approx(1, abs=1e-5)
    assert seen["panda/range"].dtype == np.float32 and 0.01 < seen["panda/range"][0] < 0.3
    assert seen["panda/load"].shape == (3,)


@pytest.mark.parametrize(
    ("feature", "why"),
    [
        ("nowhere", "feature of 'panda': source 'panda/knee' is not in the model; `source` names joints"),
        ("scan", "feature 'panda/scan': source 'panda/elbow' is not in the model"),
        ("weight", r"feature 'panda/weight': kind 'scalar' with source \[\] cannot be read in MuJoCo"),
        ("torque", r"feature 'panda/torque': its sensors \['load'\] give 3 numbers, and its shape is \(1,\)"),
        ("voice", "feature 'panda/voice': kind 'text' with source .* cannot be read"),
    ],
)
def test_a_feature_that_cannot_be_read_is_refused_by_name(feature: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Bench(lift("Guessed")).see(f"panda/{feature}")


def test_the_check_of_a_task_reads_every_feature() -> None:
    report = check_task(lift("Guessed"))
    assert not report["features"].passed and "source 'panda/knee' is not in the model" in report["features"].detail


class Eye(Robot):
    """A pan-tilt camera on a stand: a robot without a tool."""

    name = "eye"
    neck: dict[str, Any] = {"home": (0.1, 0.2), "low": (-1.0, -1.0), "high": (1.0, 1.0), "speed": (1.0, 1.0)}
    groups = {"neck": Group(joints=("pan", "tilt"), **neck)}

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec = mujoco.MjSpec()
        body = spec.worldbody.add_body(name="foot")
        for name, axis in (("pan", [0, 0, 1]), ("tilt", [0, 1, 0])):
            body = body.add_body(name=name, **INERTIA)
            body.add_joint(name=name, type=HINGE, axis=axis, damping=[1, 0, 0], armature=0.01)
            motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_position(kp=50, kv=5)
        return spec


class LiftSeen(Lift):
    """Lift beside a head that nobody commands."""

    name, controller, time_limit = "lift-seen-by-eye", "arm:ee_delta", 0.1
    robots = {**Lift.robots, "eye": Mount(f"{__name__}:Eye", (-0.5, 0.5, 0.6), stand=False)}


def test_a_robot_without_a_tool_is_recorded(tmp_path: Path) -> None:
    study = {"tasks": [f"{__name__}:LiftSeen"], "policies": ["random"], "scenarios": 1, "record": {"steps": "all"}}
    done = foretell.run(study, out=tmp_path / "run", workers=0)
    assert done.ran == 1 and len(list((done.path / "steps").iterdir())) == 1
    assert {n.rpartition("/")[0] for n in Bench(LiftSeen()).world.trace(0) if n.endswith("/x")} == {"panda", "cube"}


def test_a_robot_without_a_tool_needs_a_controller_by_name() -> None:
    words = "group 'neck' of eye has no tool, .*such as `arm:ee_delta\\+neck:joint`"
    with pytest.raises(UsageError, match=words):
        Bench(LiftSeen(), controller="ee_delta")
    assert Bench(LiftSeen(), controller="arm:ee_delta+neck:joint").world.action.size == 9


class Handed(Panda):
    """A Panda with a second pair of fingers on its foot."""

    name = "handed"
    slide: dict[str, Any] = {"home": (0.04, 0.04), "low": (0.0, 0.0), "high": (0.04, 0.04), "speed": (0.05, 0.05)}
    second = Group(joints=("l2", "r2"), actuators=("second",), unit="m", pads=("l2", "r2"), **slide)
    groups = {**Panda.groups, "second": second}

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec = super().spec(visuals)
        tendon = spec.add_tendon(name="second")
        for name, axis in (("l2", [0, 1, 0]), ("r2", [0, -1, 0])):
            body = spec.body("link0").add_body(name=name, pos=[-0.3, 0, 0.5], **INERTIA)
            body.add_joint(name=name, type=SLIDE, axis=axis, range=[0, 0.04], limited=True, damping=[100, 0, 0])
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.01, 0.003, 0.01], contype=2, conaffinity=1, mass=0)
            tendon.wrap_joint(name, 0.5)
        spec.add_actuator(name="second", target="second", trntype=TENDON).set_to_position(kp=5000)
        return spec


def test_each_gripper_of_a_robot_holds_by_itself() -> None:
    bench = Bench(lift("Handed"))
    assert [(dim.group, dim.grips) for dim in bench.world.action.dims[2:]] == [
        ("gripper", "closing"),
        ("second", "closing"),
    ]
    closing = [0, 0, 0, 0, 0, 0, 1, -1]
    bench.set(**{"panda/gripper": (0.02, 0.02)})  # the cube would fall while they close
    bench.put("cube", bench.state.ee_pos("panda")[0])
    for _ in range(6):
        bench.run(0.05, closing)
        bench.world.progress(SLOT)
    assert bench.state.holding("panda", "cube")[0]
    assert bench.state.opening("panda/gripper")[0] < 0.7 < bench.state.opening("panda/second")[0]
    assert bench.world.verdict(SLOT)[0].events["grasped"] == 1
    with pytest.raises(UsageError, match="'panda' has several grippers; name one of panda/gripper, panda/second"):
        bench.state.opening("panda")
    bench = Bench(lift("Handed"))
    for _ in range(40):
        bench.run(0.05, closing)
        bench.world.progress(SLOT)
    assert bench.world.verdict(SLOT)[0].events["closed_on_nothing"] == 1


class Coupled(Panda):
    """A Panda with a hand of two pairs of joints beside it; a tendon moves each pair."""

    name = "coupled"
    weight, motors = 0.5, ("a",)
    turning: dict[str, Any] = {"low": (0.0, 0.0), "high": (1.0, 1.0), "speed": (1.0, 1.0)}
    groups = {**Panda.groups, "hand": Group(joints=("a1", "a2"), home=(0.1, 0.5), actuators=("a",), **turning)}

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec = super().spec(visuals)
        for pair in self.motors:
            tendon = spec.add_tendon(name=f"tendon_{pair}")
            for number in "12":
                body = spec.body("link0").add_body(name=pair + number, pos=[-0.3, 0, 0.3], **INERTIA)
                body.add_joint(name=pair + number, type=HINGE, damping=[1, 0, 0])
                tendon.wrap_joint(pair + number, self.weight)
            motor = spec.add_actuator(name=pair, target=f"tendon_{pair}", trntype=TENDON)
            motor.set_to_position(kp=50)
        return spec


class Summed(Coupled):
    """The tendon is as long as the sum of the joints."""

    name, weight = "summed", 1.0


class Pairs(Coupled):
    """One group of four joints and two actuators."""

    name, motors = "pairs", ("a", "b")
    four: dict[str, Any] = {"low": (0.0,) * 4, "high": (1.0,) * 4, "speed": (1.0,) * 4, "home": (0.1, 0.1, 0.5, 0.5)}
    groups = {**Panda.groups, "hand": Group(joints=("a1", "a2", "b1", "b2"), actuators=("a", "b"), **four)}


def test_one_actuator_holds_the_mean_of_its_joints() -> None:
    bench = Bench(lift("Coupled"))
    bench.run(0.5)
    at = [float(bench.state.joint(f"panda/a{n}")[0]) for n in (1, 2)]
    assert np.mean(at) == pytest.approx(0.3, abs=1e-3)


@pytest.mark.parametrize(
    ("robot", "why"),
    [
        ("Summed", "robot 'summed': group 'hand': actuator 'a' measures 1 where the mean of its joints is 0.5, so the"),
        ("Pairs", "robot 'pairs': group 'hand' has 2 actuators for 4 joints; .*split the group"),
    ],
)
def test_a_group_that_would_not_hold_its_start_is_refused(robot: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Bench(lift(robot))


class Wide(EndEffectorDelta):
    """Half the usual scale, in twice the usual range."""

    dims = tuple(replace(dim, low=-2.0, high=2.0, scale=dim.scale / 2) for dim in EndEffectorDelta.dims)


class Share(Grip):
    """0 opens, 1 closes."""

    dims = (replace(Grip.dims[0], low=0.0, high=1.0),)


def test_controllers_keep_the_range_of_their_action() -> None:
    ends = []
    for arm, reach in (("ee_delta", 1.0), (f"{__name__}:Wide", 2.0)):
        bench = Bench("lift", controller=f"arm:{arm}")
        for _ in range(4):
            bench.run(0.05, [0, 0, reach, 0, 0, 0, -1])
        ends.append(bench.state.ee_pos("panda")[0])
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
    fingers = []
    for grip, wide, half in (("grip", -1.0, 0.0), (f"{__name__}:Share", 0.0, 0.5)):
        bench = Bench("lift", controller=f"ee_delta+gripper:{grip}")
        for command in (wide, wide, half, half, half):
            bench.run(0.2, [0, 0, 0, 0, 0, 0, command])
        fingers.append(bench.see("panda/gripper")["panda/gripper"])
    assert fingers[0] == pytest.approx(fingers[1], abs=1e-9) and fingers[0] == pytest.approx([0.04], abs=1e-3)


class Turning(Robot):
    """One finger that turns; no model."""

    name, turn = "turning", {"low": (0.0,), "high": (1.2,), "speed": (3.0,), "home": (1.2,)}
    groups = {"gripper": Group(joints=("a",), pads=("a",), **turn)}  # type: ignore[arg-type]


def test_the_target_of_a_turning_finger_runs_ahead_by_a_share_of_its_range() -> None:
    """A hundredth of a radian, as of a metre, was hardly any force."""
    grip, slot = Grip(Turning(), group="gripper", slots=1, tick=0.002), np.zeros(1, dtype=int)
    grip.reset(slot, np.array([[0.6]]), slot)
    for _ in range(40):  # a thing between the fingers keeps it at 0.6 rad
        grip.command(slot, np.ones((1, 1)), np.array([[0.6]]), np.zeros((1, 1)), np.array([25]))
        target = grip.targets(slot, 25)[0, -1, 0]
    assert 0.6 - 0.3 - 3.0 * 0.05 <= target <= 0.3
    assert grip.version == 2 and Bench("lift").world.controllers["panda", "gripper"].version == 1
