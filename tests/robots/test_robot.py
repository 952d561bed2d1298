"""What any robot may rely on: mounts, groups, controllers, actuators that nobody commands, and numbers of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.objects import arena
from foretell.registry import resolve
from foretell.robots import Group, Panda, Robot, RobotPhysics
from foretell.robots.controller import EndEffectorDelta, scheme
from foretell.sim.bench import SLOT, Bench
from foretell.sim.params import load_world
from foretell.tasks import Mount
from foretell.tasks.events import EVENTS
from foretell.tasks.lift import Lift


class Wheels(Panda):
    """A Panda with motors that belong to no group: a fan, turned by speed, and a geared flap."""

    name = "wheels"

    def spec(self, visuals: bool = True) -> mujoco.MjSpec:
        spec = super().spec(visuals)
        inertia: dict[str, Any] = {"mass": 0.1, "inertia": [1e-4] * 3, "explicitinertial": True, "gravcomp": 1}
        for name in ("fan", "flap"):
            body = spec.body("link0").add_body(name=name, pos=[-0.3, 0, 0.3], **inertia)
            body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, ref=0.0, damping=[0.01, 0, 0])
            motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            if name == "fan":
                motor.set_to_velocity(kv=0.5)
            else:
                motor.set_to_position(kp=2.0, kv=0.1)
                motor.gear = [3.0, 0, 0, 0, 0, 0]
        return spec


def lift(**more: Any) -> Any:
    """Lift with other attributes."""
    return type("Changed", (Lift,), more)()


@pytest.mark.parametrize("mount", [{"pos": (-0.56, 0.0, arena.FLOOR)}, {"pos": (-0.56, 0.0, 0.112), "stand": False}])
def test_a_robot_may_stand_on_the_floor_or_on_nothing(mount: dict[str, Any]) -> None:
    bench = Bench(lift(robots={"panda": Mount("panda", **mount)}))
    geoms = {bench.model.geom(g).name for g in range(bench.model.ngeom)}
    assert "panda/pedestal" not in geoms and "panda/pedestal" in {g.name for g in Bench("lift").world.scene._spec.geoms}
    assert bench.state.pos("panda")[0] == pytest.approx(mount["pos"])


def test_a_pedestal_is_turned_with_its_robot() -> None:
    turned = Mount("panda", (0.5, 0.0, 0.112), (0.0, 0.0, 0.0, 1.0))
    model = Bench(lift(robots={"panda": turned})).model
    assert model.geom("panda/pedestal").pos[0] == pytest.approx(0.53)
    assert Bench("lift").model.geom("panda/pedestal").pos[0] == pytest.approx(-0.59)


def test_actuators_that_nobody_commands_hold_or_rest() -> None:
    """A position servo holds its joint where it starts, whatever its gear; a motor turned by speed stands still."""
    bench = Bench(lift(robots={"panda": Mount(f"{__name__}:Wheels", (-0.56, 0.0, 0.112))}))
    layout = bench.layout
    for joint, at in (("panda/fan", 1.0), ("panda/flap", 0.4)):
        layout.start(SLOT, [joint], np.array([[at]]))
    layout.settle(SLOT)
    for _ in range(10):
        bench.run(0.05, [0.2, 0, 0, 0, 0, 0, 1])
    assert bench.state.joint("panda/fan") == pytest.approx(1.0, abs=1e-3)
    assert bench.state.joint("panda/flap") == pytest.approx(0.4, abs=1e-3)
    assert bench.world.faults(SLOT) == {}


class Arms(Robot):
    """Two grippers, a head and no model: for names only."""

    name = "arms"
    finger: dict[str, Any] = {"home": (0.0,), "low": (0.0,), "high": (0.05,), "speed": (0.1,), "unit": "m"}
    groups = {
        "torso": Group(joints=("lift",), home=(0.1,), low=(0.0,), high=(0.4,), speed=(0.1,), unit="m"),
        "left_hand": Group(joints=("l",), pads=("l",), **finger),
        "right_hand": Group(joints=("r",), pads=("r",), **finger),
        "head": Group(joints=("pan", "tilt"), home=(0, 0), low=(-1, -1), high=(1, 1), speed=(1, 1)),
    }


def test_features_of_a_robot_follow_from_its_groups() -> None:
    found = Arms().features
    assert list(found) == [
        "joint_pos",
        "joint_vel",
        "left_hand",
        "right_hand",
        "head/joint_pos",
        "head/joint_vel",
    ]
    assert found["joint_pos"].unit == "m" and found["head/joint_vel"].unit == "rad/s"
    assert found["left_hand"].low == (0.0,) and found["left_hand"].high == (0.05,)
    assert found["joint_vel"].low is None, "a scenario cannot start a joint at a speed"
    assert {f.group for f in found.values()} == set(Arms.groups)


def test_what_has_pads_grips_and_a_group_may_be_named_with_its_robot() -> None:
    robots = {"a": Arms(), "b": Panda()}
    grips = {("a", "left_hand"): "grip", ("a", "right_hand"): "grip", ("b", "gripper"): "grip"}
    assert scheme("joint", robots) == {("a", "torso"): "joint", ("b", "arm"): "joint", **grips}
    assert list(scheme("joint+head:joint", robots)) == [
        ("a", "torso"),
        ("a", "left_hand"),
        ("a", "right_hand"),
        ("a", "head"),
        ("b", "arm"),
        ("b", "gripper"),
    ]
    assert scheme("joint+b/arm:ee_delta", robots)["b", "arm"] == "ee_delta"
    assert scheme("joint+b/arm:ee_delta", robots)["a", "torso"] == "joint"
    assert ("b", "arm") not in scheme("head:joint", robots)
    for wrong, words in (
        ("joint+head", r"'head' in 'joint\+head' should be written group:controller"),
        ("joint+haed:joint", "no robot has a group 'haed'; did you mean 'head'"),
        ("jiont", "'jiont' is not known; did you mean 'joint'"),
    ):
        with pytest.raises(UsageError, match=words):
            scheme(wrong, robots)


def test_a_controller_of_ones_own_reads_its_scale_from_its_action() -> None:
    bench = Bench("lift", controller=f"arm:{__name__}:Small")
    assert bench.world.action.dims[0].scale == 0.01
    before = bench.state.ee_pos("panda")[0].copy()
    for _ in range(10):
        bench.run(0.05, [1, 0, 0, 0, 0, 0, -1])
    moved = float((bench.state.ee_pos("panda")[0] - before)[0])
    assert 0.02 < moved < 0.11, "ten actions of 1 cm"


class Small(EndEffectorDelta):
    """A fifth of the usual steps."""

    from dataclasses import replace as _replace

    dims = (_replace(EndEffectorDelta.dims[0], scale=0.01), _replace(EndEffectorDelta.dims[1], scale=0.1))


def test_multipliers_of_a_robot_are_its_own() -> None:
    world = load_world({"name": "w", "theta": {"finger_force": 0.5, "robots": {"panda": {"finger_force": 0.5}}}})
    assert world.robot(Panda).finger_force == 0.25 and world.robot(Arms).finger_force == 0.5
    assert Panda(world.robot(Panda)).finger_force == pytest.approx(17.5)
    with pytest.raises(UsageError, match=r"theta\.robots\.panda\.finger_forc is not a field; did you mean 'finger_for"):
        load_world({"name": "w", "theta": {"robots": {"panda": {"finger_forc": 1}}}}).robot(Panda)
    with pytest.raises(UsageError, match=r"theta\.robots\.pandaa: there is no such robot; did you mean 'panda'"):
        Bench("lift", world={"name": "w", "theta": {"robots": {"pandaa": {"finger_force": 1}}}})
    with pytest.raises(UsageError, match=r"theta\.robots\.panda\.finger_force: .*greater than or equal to 0"):
        load_world({"name": "w", "theta": {"robots": {"panda": {"finger_force": -1}}}})


def test_a_force_in_newtons_is_refused_in_words() -> None:
    """`finger_force` was in N: 70 would now be 4,900 N."""
    words = r"theta\.finger_force: it is a multiplier .* at most 4; 70 N of the Panda's 70 N are 1 \(given: 70\)"
    with pytest.raises(UsageError, match=words):
        load_world({"name": "old", "theta": {"finger_force": 70}})
    assert load_world("standin").robot(Panda).finger_force * 70 == pytest.approx(40)


def test_physics_is_what_the_robot_is_published_with_unless_told() -> None:
    assert Panda().physics == RobotPhysics() and Panda().finger_force == 70.0


@pytest.mark.parametrize("field", ["home", "low", "high", "speed"])
def test_a_group_with_a_value_too_few_is_refused_by_name(field: str) -> None:
    arm = Panda.groups["arm"]
    short = replace(arm, **{field: getattr(arm, field)[:-1]})
    kind = type("Short", (Panda,), {"name": "short", "groups": {**Panda.groups, "arm": short}})
    with pytest.raises(UsageError, match=f"'short': group 'arm': {field} has 6 values, and the group has 7 joints"):
        kind()


@pytest.mark.parametrize("name", ["panda", "widowx", "google_robot"])
def test_a_world_gives_joint_friction_to_the_arm_of_every_robot(name: str) -> None:
    """In N m, whatever the robot: the strongest joints have it whole, the others in proportion to their torque."""
    kind = resolve("robots", name)
    world = load_world({"name": "stiff", "physics": {"joint_friction": 1.5}})
    rubbing, smooth = (kind(w.robot(kind)).spec(visuals=False).compile() for w in (world, load_world("mujoco")))
    arm = kind.groups["arm"]
    losses = np.array([rubbing.joint(joint).frictionloss[0] for joint in arm.joints])
    assert losses.max() == pytest.approx(1.5) and (losses > 0).all()
    limits = np.array([smooth.actuator(motor).forcerange[1] for motor in arm.motors])
    assert losses == pytest.approx(1.5 * limits / limits.max())
    fingers = kind.groups["gripper"].joints
    assert not any(rubbing.joint(joint).frictionloss[0] for joint in fingers)


@pytest.mark.parametrize("name", ["panda", "widowx", "google_robot"])
def test_links_of_our_robots_pass_through_each_other(name: str) -> None:
    """As docs/events.md says of the event `self_collision`: it needs another robot."""
    model = resolve("robots", name)().spec(visuals=False).compile()
    assert (model.geom_contype > 0).any() and "own links pass through each other" in EVENTS["self_collision"].definition
    assert not (model.geom_contype[:, None] & model.geom_conaffinity[None, :]).any()
