"""The Panda against its published numbers, and the physics a world may believe of it."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from foretell.robots import Panda, RobotPhysics

# Franka Control Interface documentation, "Robot and interface specifications" (Panda).
Q_MAX = [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]
Q_MIN = [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]
DQ_MAX = [2.1750, 2.1750, 2.1750, 2.1750, 2.6100, 2.6100, 2.6100]
TAU_MAX = [87, 87, 87, 87, 12, 12, 12]
ARM = Panda.groups["arm"]


def scene(physics: RobotPhysics = RobotPhysics(), cube: bool = False, visuals: bool = False) -> mujoco.MjModel:  # noqa: B008
    """The arm as `p/`, with a 4 cm, 100 g cube between the open pads if asked."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    spec.attach(Panda(physics).spec(visuals), frame=spec.worldbody.add_frame(), prefix="p/")
    if cube:
        body = spec.worldbody.add_body(name="cube")
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.02] * 3, mass=0.1, condim=4, solref=[0.005, 1])
    return spec.compile()


def start(model: mujoco.MjModel) -> mujoco.MjData:
    """Home pose, gripper open, cube (if any) held by nothing at the ee site."""
    data = mujoco.MjData(model)
    for joint, q in zip(ARM.joints, ARM.home, strict=True):
        data.joint(f"p/{joint}").qpos = q
        data.actuator(f"p/{joint}").ctrl = q
    for finger in Panda.groups["gripper"].joints:
        data.joint(f"p/{finger}").qpos = 0.04
    data.actuator("p/gripper").ctrl = 0.04
    mujoco.mj_forward(model, data)
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "cube") >= 0:
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, data.site("p/ee").xmat)
        data.qpos[-7:] = [*data.site("p/ee").xpos, *quat]
        mujoco.mj_forward(model, data)
    return data


def run(model: mujoco.MjModel, data: mujoco.MjData, seconds: float) -> None:
    mujoco.mj_step(model, data, round(seconds / model.opt.timestep))


def in_hand(data: mujoco.MjData) -> np.ndarray:
    site = data.site("p/ee")
    return site.xmat.reshape(3, 3).T @ (data.body("cube").xpos - site.xpos)


def pad_forces(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, float]:
    """Normal force in N on the cube per finger."""
    total = {"p/finger1": 0.0, "p/finger2": 0.0}
    wrench = np.zeros(6)
    for k, contact in enumerate(data.contact):
        bodies = {model.body(model.geom_bodyid[g]).name for g in contact.geom}
        for finger in total:
            if bodies == {finger, "cube"}:
                mujoco.mj_contactForce(model, data, k, wrench)
                total[finger] += wrench[0]
    return total


def grasp_and_lift(model: mujoco.MjModel) -> tuple[mujoco.MjData, float]:
    """Closes on the cube in zero gravity, lifts with gravity; returns the slip in metres."""
    data = start(model)
    gravity = model.opt.gravity.copy()
    model.opt.gravity[:] = 0  # there is no table: nothing else would hold the cube while the hand closes
    data.actuator("p/gripper").ctrl = 0
    run(model, data, 1.0)
    model.opt.gravity[:] = gravity
    held = in_hand(data)
    height = data.body("cube").xpos[2]
    for lift in np.linspace(0, 0.35, 250):  # joint 2 back: raises the hand by more than 15 cm in 1 s
        data.actuator("p/joint2").ctrl = ARM.home[1] - lift
        run(model, data, 0.004)
    run(model, data, 1.0)
    assert data.body("cube").xpos[2] > height + 0.1
    return data, float(np.linalg.norm(in_hand(data) - held))


def dh_chain(q: np.ndarray) -> np.ndarray:
    """Independent of the code under test: Rot_x(alpha) Trans_x(a) Rot_z(theta) Trans_z(d), row by row."""
    rows = [
        (0, 0, 0.333),
        (-90, 0, 0),
        (90, 0, 0.316),
        (90, 0.0825, 0),
        (-90, -0.0825, 0.384),
        (90, 0, 0),
        (90, 0.088, 0),
        (0, 0, 0.107),
    ]
    pose = np.eye(4)
    for (alpha, a, d), theta in zip(rows, [*q, 0.0], strict=True):
        x, z = np.eye(4), np.eye(4)
        x[:3, :3], x[0, 3] = Rotation.from_euler("x", alpha, degrees=True).as_matrix(), a
        z[:3, :3], z[2, 3] = Rotation.from_euler("z", theta).as_matrix(), d
        pose = pose @ x @ z
    return pose


def test_flange_matches_the_published_chain() -> None:
    model = scene()
    data = mujoco.MjData(model)
    q = np.random.default_rng(0).uniform(Q_MIN, Q_MAX, (1000, 7))
    pos, mat = Panda.flange_pose(q)
    for i in range(len(q)):
        truth = dh_chain(q[i])
        data.qpos[:7] = q[i]
        mujoco.mj_kinematics(model, data)
        site = data.site("p/flange")
        for p, r in ((site.xpos, site.xmat.reshape(3, 3)), (pos[i], mat[i])):
            assert np.linalg.norm(p - truth[:3, 3]) < 1e-4
            assert Rotation.from_matrix(truth[:3, :3].T @ r).magnitude() < 1e-4


def test_flange_pose_takes_one_configuration() -> None:
    pos, mat = Panda.flange_pose(ARM.home)
    assert pos.shape == (1, 3)
    assert mat.shape == (1, 3, 3)


def test_tool_frame() -> None:
    data = start(scene())
    flange, ee = data.site("p/flange"), data.site("p/ee")
    turn = flange.xmat.reshape(3, 3).T @ ee.xmat.reshape(3, 3)
    np.testing.assert_allclose(Rotation.from_matrix(turn).as_rotvec(), [0, 0, -np.pi / 4], atol=1e-9)
    offset = flange.xmat.reshape(3, 3).T @ (ee.xpos - flange.xpos)
    np.testing.assert_allclose(offset, [0, 0, 0.1034], atol=1e-9)


def test_limits_equal_the_table() -> None:
    model = scene()
    np.testing.assert_array_equal(Panda.joint_range, np.stack([Q_MIN, Q_MAX], axis=1))
    np.testing.assert_array_equal(ARM.speed, DQ_MAX)
    np.testing.assert_array_equal(Panda.torque_limit, TAU_MAX)
    for i, joint in enumerate(ARM.joints):
        motor = model.actuator(f"p/{joint}")
        np.testing.assert_array_equal(model.joint(f"p/{joint}").range, [Q_MIN[i], Q_MAX[i]])
        np.testing.assert_array_equal(motor.ctrlrange, [Q_MIN[i], Q_MAX[i]])
        np.testing.assert_array_equal(motor.forcerange, [-TAU_MAX[i], TAU_MAX[i]])
        kp = (4500, 4500, 3500, 3500, 2000, 2000, 2000)[i]
        np.testing.assert_allclose(motor.biasprm[:3], [0, -kp, -kp / 20])
    for finger in Panda.groups["gripper"].joints:
        np.testing.assert_array_equal(model.joint(f"p/{finger}").range, [0, 0.04])


def test_physics_scales_what_it_says() -> None:
    model = scene(RobotPhysics(kp_scale=0.5, kv_scale=2, damping_scale=3, joint_friction=0.87))
    np.testing.assert_allclose(model.actuator("p/joint1").biasprm[1:3], [-2250, -450])
    np.testing.assert_allclose([model.joint(f"p/{j}").damping.flat[0] for j in ARM.joints], 3)
    np.testing.assert_allclose(model.dof_frictionloss[:7], [0.87] * 4 + [0.12] * 3)


def test_mass_is_plausible() -> None:
    # Franka gives about 18 kg for the arm and 0.7 kg for the hand.
    assert 17 < scene().body_mass.sum() < 20
    assert scene(visuals=True).body_mass.sum() == scene().body_mass.sum()


def test_arm_never_touches_itself_but_touches_the_world() -> None:
    model = scene(visuals=True)
    shapes = np.flatnonzero(model.geom_group == 3)
    assert 10 <= len(shapes) <= 16
    assert not (model.geom_contype[shapes] & model.geom_conaffinity[shapes][:, None]).any()
    assert (model.geom_conaffinity[shapes] & 1).all()
    looks = np.flatnonzero(model.geom_group == 2)
    assert len(looks) > 20
    assert not (model.geom_contype[looks] | model.geom_conaffinity[looks]).any()


def test_wrist_camera_sees_both_pads_and_the_object() -> None:
    model = scene(cube=True)
    data = start(model)
    camera = data.camera("p/wrist")
    half = np.deg2rad(model.camera("p/wrist").fovy[0] / 2)
    points = [data.geom("p/finger1_pad").xpos, data.geom("p/finger2_pad").xpos, data.body("cube").xpos]
    for point in points:
        x, y, z = camera.xmat.reshape(3, 3).T @ (point - camera.xpos)
        assert z < 0
        assert max(abs(x), abs(y)) < -z * np.tan(half)


def test_holds_home_under_gravity() -> None:
    model = scene()
    data = start(model)
    run(model, data, 1.0)
    assert np.abs(data.qpos[:7] - ARM.home).max() < 1e-3


def test_gripper_travels_at_its_published_speed() -> None:
    model = scene()
    data = start(model)
    data.actuator("p/gripper").ctrl = 0
    run(model, data, 0.4)
    assert data.joint("p/finger1").qpos[0] == pytest.approx(0.02, abs=0.002)
    run(model, data, 1.0)
    assert data.joint("p/finger1").qpos[0] < 5e-4


@pytest.mark.parametrize("pads", ["box", "beads"])
@pytest.mark.parametrize("force", [70.0, 20.0])
def test_grasp_holds_the_cube_with_the_stated_force(pads: str, force: float) -> None:
    model = scene(RobotPhysics(pads=pads, finger_force=force / 70), cube=True)
    data, slip = grasp_and_lift(model)
    assert slip < 2e-3
    for normal in pad_forces(model, data).values():
        assert normal == pytest.approx(force, rel=0.05)


def test_weak_slippery_fingers_drop_the_cube() -> None:
    model = scene(RobotPhysics(finger_force=1.0 / 70, pad_friction=0.1), cube=True)
    model.geom_friction[-1, 0] = 0.1
    data = start(model)
    data.actuator("p/gripper").ctrl = 0
    run(model, data, 0.5)
    assert data.body("cube").xpos[2] < data.site("p/ee").xpos[2] - 0.1


def test_backlash_hides_the_link_from_the_encoder_within_its_bound() -> None:
    width = 0.01
    plain, loose = scene(), scene(RobotPhysics(backlash=width))
    assert loose.njnt == plain.njnt + 7
    assert loose.nu == plain.nu
    data = start(loose)
    play = np.array([loose.joint(f"p/{joint}_backlash").qposadr[0] for joint in ARM.joints])
    motors = np.array([loose.joint(f"p/{joint}").qposadr[0] for joint in ARM.joints])
    np.testing.assert_array_equal(play, motors + 1)
    drives = np.array([loose.actuator(f"p/{joint}").id for joint in ARM.joints])
    frequency = 2 * np.pi * np.linspace(0.6, 1.1, 7)  # up to 1 rad/s and 7 rad/s^2
    seen = []
    for tick in range(1000):
        data.ctrl[drives] = ARM.home + 0.15 * (1 - np.cos(frequency * tick * loose.opt.timestep))
        mujoco.mj_step(loose, data)
        seen.append(data.qpos[play].copy())
    worst = np.abs(seen).max(axis=0)
    assert (worst > 0.5 * width).all()
    # An impact may pass the stop for a tick or two (speed x 2 ms); at rest against it the link stays within.
    assert (worst < width + 2e-3).all(), worst
    assert (np.quantile(np.abs(seen), 0.98, axis=0) < width + 1e-3).all()
    link, _ = Panda.flange_pose(data.qpos[motors] + data.qpos[play])
    mujoco.mj_forward(loose, data)
    np.testing.assert_allclose(data.site("p/flange").xpos, link[0], atol=1e-6)


@pytest.mark.parametrize("base", [RobotPhysics(), RobotPhysics(backlash=0.01), RobotPhysics(pads="beads")])
def test_numbers_do_not_change_the_layout(base: RobotPhysics) -> None:
    other = replace(
        base,
        kp_scale=0.7,
        kv_scale=1.3,
        damping_scale=2,
        joint_friction=1.0,
        backlash=2 * base.backlash,
        pad_friction=0.5,
        finger_force=30,
    )
    one, two = scene(base, visuals=True), scene(other, visuals=True)
    for name in dir(one):
        if name.startswith("n") and isinstance(getattr(one, name), int):
            assert getattr(one, name) == getattr(two, name), name
