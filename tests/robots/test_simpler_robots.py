"""The WidowX and the Google robot against their published numbers."""

from __future__ import annotations

import json
from itertools import pairwise

import mujoco
import numpy as np
import pytest
from reference import menagerie, simpler
from scipy.spatial.transform import Rotation

import foretell
from foretell.errors import UsageError
from foretell.registry import resolve
from foretell.robots import Robot, RobotPhysics, Steps, widowx_looks
from foretell.robots.google_robot import GoogleRobot
from foretell.robots.widowx import WidowX

ROBOTS = (WidowX, GoogleRobot)

# URDF of SIMPLER: offset of each joint in the link before, and its axis.
WIDOWX = (
    ((0, 0, 0.072), "z"),
    ((0, 0, 0.03865), "y"),
    ((0.04975, 0, 0.25), "y"),
    ((0.175, 0, 0), "x"),
    ((0.075, 0, 0), "y"),
    ((0.065, 0, 0), "x"),
)
WIDOWX_TOOL = (0.043 + 0.023 + 0.027575, 0, 0)
GOOGLE = (
    ((0, 0, 0.5945), "z"),
    ((0, -0.16728852885, 0.113), "y"),
    ((0, 0.002289, 0.21502852885), "z"),
    ((0, -0.064, 0.1849715), "y"),
    ((0, -0.101, 0.0915), "z"),
    ((0, -0.00604, 0.2735), "y"),
    ((0, 0.0060384, 0.10911), "z"),
)
GOOGLE_TOOL = (4.3374896e-3, 1.8852949e-3, 1.6353297e-1)
GOOGLE_TURN = (-0.001328879239766479, -0.00443973089771006, -0.0008686511567993004)  # roll, pitch, yaw
CHAINS = {
    WidowX: (WIDOWX, WIDOWX_TOOL, (0, 0, 0), "ee_gripper_link"),
    GoogleRobot: (GOOGLE, GOOGLE_TOOL, GOOGLE_TURN, "ee"),
}


def start(model: mujoco.MjModel, robot: type[Robot]) -> mujoco.MjData:
    data = mujoco.MjData(model)
    for group in robot.groups.values():
        for joint, q in zip(group.joints, group.home, strict=True):
            data.joint(joint).qpos = q
            data.actuator(joint).ctrl = q
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_tool_is_where_the_published_chain_has_it(robot: type[Robot]) -> None:
    chain, tool, turn, site = CHAINS[robot]
    model = robot().spec(visuals=False).compile()
    data, arm, rng = mujoco.MjData(model), robot.groups["arm"], np.random.default_rng(1)
    for _ in range(20):
        q = rng.uniform(arm.low, arm.high)
        at, facing = np.zeros(3), Rotation.identity()
        for joint, angle, (offset, axis) in zip(arm.joints, q, chain, strict=True):
            data.joint(joint).qpos = angle
            at, facing = at + facing.apply(offset), facing * Rotation.from_euler(axis, angle)
        at, facing = at + facing.apply(tool), facing * Rotation.from_euler("xyz", turn)
        mujoco.mj_kinematics(model, data)
        assert data.site(site).xpos == pytest.approx(at, abs=1e-9)
        assert data.site(site).xmat.reshape(3, 3) == pytest.approx(facing.as_matrix(), abs=1e-7)


@pytest.mark.parametrize("robot", ROBOTS)
def test_fingers_meet_in_the_middle_of_the_hand(robot: type[Robot]) -> None:
    """The tool opens along its y, and both fingers are at the same distance from it."""
    model = robot().spec(visuals=False).compile()
    data = start(model, robot)
    tool = data.site("ee")
    left, right = ((data.body(pad).xpos - tool.xpos) @ tool.xmat.reshape(3, 3) for pad in robot.groups["gripper"].pads)
    assert left[1] * right[1] < 0
    assert abs(left[1] + right[1]) < 0.004
    assert abs(left[1]) > 0.02


@pytest.mark.parametrize("robot", ROBOTS)
def test_shells_change_no_physics(robot: type[Robot]) -> None:
    bare, dressed = (robot().spec(visuals=visuals).compile() for visuals in (False, True))
    assert dressed.ngeom > bare.ngeom
    for field in ("body_mass", "body_inertia", "body_ipos", "dof_armature", "actuator_gainprm", "jnt_range"):
        assert np.array_equal(getattr(bare, field), getattr(dressed, field)), field
    touching = (dressed.geom_contype != 0) | (dressed.geom_conaffinity != 0)
    assert touching.sum() == ((bare.geom_contype != 0) | (bare.geom_conaffinity != 0)).sum()


@pytest.mark.parametrize("robot", ROBOTS)
def test_home_holds_still(robot: type[Robot]) -> None:
    """Gravity is compensated, and targets are where the joints are."""
    spec = robot().spec(visuals=False)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model = spec.compile()
    data = start(model, robot)
    before = data.qpos.copy()
    mujoco.mj_step(model, data, 500)
    assert data.qpos == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("integrator", ["euler", "implicitfast"])
def test_a_servo_is_solved_within_the_tick(robot: type[Robot], integrator: str) -> None:
    """One joint alone against PhysX's implicit drive, worked out by hand."""
    tick, joint = 0.002, robot.groups["arm"].joints[0]
    own = robot(RobotPhysics(own=robot.numbers, steps=Steps(tick, integrator)))
    spec = own.spec(visuals=False)
    spec.option.timestep = tick
    spec.option.integrator = {"euler": 0, "implicitfast": 3}[integrator]
    for other in [j.name for j in spec.joints if j.name != joint]:
        spec.delete(spec.joint(other))
    for geom in list(spec.geoms):
        spec.delete(geom)
    for actuator in [a.name for a in spec.actuators if a.name != joint]:
        spec.delete(spec.actuator(actuator))
    for pair in list(spec.pairs):
        spec.delete(pair)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.ctrl[0] = target = 0.05
    inertia = model.dof_M0[0] - model.dof_armature[0]
    k, d = robot.drives[joint].stiffness, robot.drives[joint].damping
    q = v = 0.0
    for _ in range(200):
        v = (inertia * v + tick * k * (target - q)) / (inertia + tick * (d + tick * k))
        q += tick * v
        mujoco.mj_step(model, data)
        lag = 0.0 if integrator == "euler" else 3 * tick * k * target / d
        assert data.qpos[0] == pytest.approx(q, abs=1e-9 + lag)


@pytest.mark.parametrize("robot", ROBOTS)
def test_worlds_scale_each_gain(robot: type[Robot]) -> None:
    joint = robot.groups["arm"].joints[2]
    numbers = dict(robot.numbers)
    stiff = robot(RobotPhysics(own=numbers | {f"kp_{joint}": 2 * numbers[f"kp_{joint}"]}, kp_scale=1.5)).spec(False)
    model, plain = stiff.compile(), robot().spec(False).compile()
    ratio = model.actuator(joint).gainprm[0] / plain.actuator(joint).gainprm[0]
    assert ratio == pytest.approx(3.0)
    other = robot.groups["arm"].joints[1]
    assert model.actuator(other).gainprm[0] / plain.actuator(other).gainprm[0] == pytest.approx(1.5)


def test_the_tips_of_the_google_robot_touch_where_the_original_ones_do() -> None:
    """Its fingers stop at 1.073 rad, with a target beyond."""
    spec = GoogleRobot().spec(visuals=False)
    spec.option.integrator, spec.option.timestep = mujoco.mjtIntegrator.mjINT_EULER, 1 / 513
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model = spec.compile()
    data = start(model, GoogleRobot)
    for step in range(900):
        for finger in GoogleRobot.groups["gripper"].joints:
            data.actuator(finger).ctrl = min(1.3, step / 513)
        mujoco.mj_step(model, data)
    fingers = [float(data.joint(finger).qpos[0]) for finger in GoogleRobot.groups["gripper"].joints]
    assert fingers == pytest.approx([1.073, 1.073], abs=0.01)


@pytest.mark.parametrize("robot", ROBOTS)
def test_masses_and_inertias_are_those_of_the_original_engine(robot: type[Robot]) -> None:
    meta = json.loads(simpler(f"openloop_{robot.name}_meta.json").read_text())
    model = robot().spec(visuals=False).compile()
    ours = {model.body(i).name: float(model.body_mass[i]) for i in range(1, model.nbody)}
    theirs = dict(zip(meta["links"], meta["link_mass"], strict=True))
    for name in set(ours) & set(theirs) - {
        "gripper_link",
        "link_base",
        "link_finger_tip_right",
        "link_finger_tip_left",
    }:
        assert ours[name] == pytest.approx(theirs[name], rel=1e-4, abs=1e-5), name
        at = meta["links"].index(name)
        body = model.body(name)
        if name.startswith("link_gripper_tcp"):
            continue
        assert body.ipos == pytest.approx(meta["link_cmass_local"][at][:3], abs=1e-5), name
        assert sorted(body.inertia) == pytest.approx(sorted(meta["link_inertia"][at]), rel=5e-3, abs=2e-9), name
    if robot is WidowX:
        hand = (
            "gripper_link",
            "ee_arm_link",
            "gripper_prop_link",
            "gripper_bar_link",
            "fingers_link",
            "ee_gripper_link",
        )
        assert ours["gripper_link"] == pytest.approx(sum(theirs[name] for name in hand), rel=1e-5)
    for name, (low, high) in zip(meta["active_joints"], meta["qlimits"], strict=True):
        assert model.joint(name).range == pytest.approx([low, high], abs=1e-6), name
    for joint in meta["joint_dof_info"]:
        drive = robot.drives[joint["name"]]
        assert (drive.stiffness, drive.damping) == pytest.approx((joint["stiffness"], joint["damping"]), rel=1e-6)
        assert drive.force == joint["force_limit"]


CAMERAS = (
    ("resets_widowx.json", "widowx_spoon_on_towel", "3rd_view_camera", WidowX, "third_view"),
    ("resets_widowx.json", "widowx_put_eggplant_in_basket", "3rd_view_camera", WidowX, "sink_view"),
    ("resets_coke.json", "google_robot_pick_horizontal_coke_can", "overhead_camera", GoogleRobot, "overhead"),
)


@pytest.mark.parametrize(("file", "task", "theirs", "robot", "ours"), CAMERAS)
def test_cameras_see_what_the_original_ones_do(
    file: str, task: str, theirs: str, robot: type[Robot], ours: str
) -> None:
    """Points before the robot fall on the same pixels, to a tenth."""
    episode = json.loads(simpler(file).read_text())[task]["episodes"][0]
    camera, base = episode["cameras"][theirs], np.array(episode["robot_base_pose"])
    model = robot().spec(visuals=False).compile()
    data = start(model, robot)
    at, to_world = data.camera(ours), Rotation.from_quat(base[[4, 5, 6, 3]])
    points = np.random.default_rng(0).uniform([0.25, -0.3, 0.0], [0.6, 0.3, 0.9], (50, 3))
    own = (points - at.xpos) @ at.xmat.reshape(3, 3) * [1, -1, -1]
    lens = model.cam_intrinsic[at.id] / model.cam_sensorsize[at.id][[0, 1, 0, 1]]
    width, height = model.cam_resolution[at.id]
    u = width / 2 - lens[2] * width + lens[0] * width * own[:, 0] / own[:, 2]
    v = height / 2 - lens[3] * height + lens[1] * height * own[:, 1] / own[:, 2]
    seen = own[:, 2] > 0.1
    world = to_world.apply(points) + base[:3]
    extrinsic, intrinsic = np.array(camera["extrinsic_cv"]), np.array(camera["intrinsic_cv"])
    there = (world @ extrinsic[:3, :3].T + extrinsic[:3, 3]) @ intrinsic.T
    assert seen.sum() > 20
    assert np.abs(u - there[:, 0] / there[:, 2])[seen].max() < 0.1
    assert np.abs(v - there[:, 1] / there[:, 2])[seen].max() < 0.1
    assert (width, height) == (camera["width"], camera["height"])


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_menagerie_dresses_the_same_joints(robot: type[Robot], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie()))
    full = robot(RobotPhysics(looks="menagerie")).spec().compile()
    own = robot().spec().compile()
    assert full.nmeshvert > 5 * 1000
    assert np.array_equal(full.body_mass, own.body_mass)
    assert [full.joint(i).name for i in range(full.njnt)] == [own.joint(i).name for i in range(own.njnt)]


@pytest.mark.parametrize("robot", ROBOTS)
def test_a_missing_or_broken_menagerie_is_an_error_with_a_remedy(
    robot: type[Robot], monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    asked = robot(RobotPhysics(looks="menagerie"))
    monkeypatch.delenv("MENAGERIE_ROOT", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "mujoco_menagerie", None)
    with pytest.raises(UsageError, match="install the package mujoco-menagerie, or set MENAGERIE_ROOT"):
        asked.spec()
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    with pytest.raises(UsageError, match="has no folder"):
        asked.spec()
    name = "trossen_wx250s" if robot is WidowX else "google_robot"
    (tmp_path / name / "assets").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"is not complete: .* and \d+ files more"):
        asked.spec()
    assert asked.spec(visuals=False).compile().njnt > 0


def test_meshes_that_cannot_be_shown_are_refused_before_the_first_episode(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    assets = tmp_path / "trossen_wx250s" / "assets"
    assets.mkdir(parents=True)
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    study = {
        "world": {"name": "meshes", "kind": "mujoco", "looks": "menagerie"},
        "tasks": ["widowx_stack_cube"],
        "policies": ["expert"],
        "scenarios": {"layouts": [0]},
        "record": {"video": 1},
    }
    with pytest.raises(UsageError, match=r"looks: menagerie: trossen_wx250s is not complete"):
        foretell.run(study, out=tmp_path / "run", workers=0)
    for piece in widowx_looks._PIECES:
        (assets / piece.mesh).write_bytes(b"no mesh" * 50)
    with pytest.raises(UsageError, match=r"looks: menagerie: (?s:.*)STL file(?s:.*)wx250s_1_base.stl(?s:.*); install"):
        foretell.run(study, out=tmp_path / "run", workers=0)
    assert not list((tmp_path / "run").glob("journal/*")), "nothing has run"


def test_both_are_in_the_registry() -> None:
    assert resolve("robots", "widowx") is WidowX
    assert resolve("robots", "google_robot") is GoogleRobot
    for robot in ROBOTS:
        for group in robot.groups.values():
            assert all(low <= home <= high for low, home, high in zip(group.low, group.home, group.high, strict=True))
            assert all(a != b for a, b in pairwise(group.joints))
