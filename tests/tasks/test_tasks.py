"""The three tasks mean what robosuite's do: sizes, masses, ranges, rules; and each stage latches on its own."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from foretell.scenario import Placement
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task
from foretell.tasks import can, square


@pytest.mark.parametrize("size", [1.0, 1.25, 1.375])
def test_a_cube_on_its_corner_is_not_lifted(size: float) -> None:
    """However large it is."""
    bench = Bench("lift", factors={"MO_Size": size})
    half = bench.model.geom("cube/body").size
    corner = (0.8804762, -0.2798481, 0.3647052, 0.1159169)  # a diagonal of the cube upright
    bench.put("cube", (0, 0, float(np.linalg.norm(half))), corner)
    assert not bench.solved() and "lift" not in bench.reached()
    bench.put("cube", (0, 0, 0.0401 * size))
    assert bench.solved() and "lift" in bench.reached()


def test_a_large_can_is_lifted_from_where_it_stands() -> None:
    for size in (0.75, 1.0, 1.25):
        bench = Bench("can", factors={"MO_Size": size})
        stands = float(bench.state.pos("can")[0, 2])
        for above, lifted in ((0.039, False), (0.041, True)):
            bench.put("can", (0.1, -0.25, stands + above))
            assert ("lift" in bench.reached()) is lifted


@pytest.mark.parametrize(
    ("name", "obj", "mass", "tolerance"),
    [("lift", "cube", 0.0741, 0.012), ("can", "can", 0.016, 1e-6), ("square", "nut", 0.0158068, 1e-9)],
)
def test_masses_are_robosuites(name: str, obj: str, mass: float, tolerance: float) -> None:
    bench = Bench(name)
    assert bench.model.body(obj).mass[0] == pytest.approx(mass, abs=tolerance)


def test_cube_sizes_span_4_to_4_4_centimetres() -> None:
    task = make_task("lift")
    sides = np.array([np.array(task.scenario(i).placements["cube"].scale) * 0.042 for i in range(300)])
    assert 0.0400 <= sides.min() < 0.0402 and 0.0438 < sides.max() <= 0.0440


@pytest.mark.parametrize(
    ("name", "obj", "x", "y"),
    [
        ("lift", "cube", (-0.03, 0.03), (-0.03, 0.03)),
        ("can", "can", (-0.02, 0.22), (-0.42, -0.08)),
        ("square", "nut", (-0.115, -0.11), (0.11, 0.225)),
    ],
)
def test_placements_fill_robosuites_ranges(name: str, obj: str, x: tuple, y: tuple) -> None:
    task = make_task(name)
    placed = [task.scenario(i).placements[obj] for i in range(300)]
    at = np.array([p.pos for p in placed])
    for column, (low, high) in enumerate((x, y)):
        assert low <= at[:, column].min() and at[:, column].max() <= high
        assert np.ptp(at[:, column]) > 0.95 * (high - low)
    assert np.ptp([p.yaw for p in placed]) > 6.0, "any turn about the vertical"


@pytest.mark.parametrize("name", ["lift", "can", "square"])
def test_rates_and_time_limit(name: str) -> None:
    task = make_task(name)
    world = MujocoWorld(task, slots=1)
    assert task.action_rate == 20 and 1 / world.tick == pytest.approx(500)
    assert task.time_limit * task.action_rate == 400


def test_square_hole_leaves_the_peg_6_75_millimetres_on_each_side() -> None:
    model = Bench("square").model
    inner = -model.geom("nut/left").size[1] + model.geom("nut/left").pos[1]
    assert inner - model.geom("peg/body").size[0] == pytest.approx(0.00675)


@pytest.mark.parametrize("name", ["lift", "can", "square"])
def test_nothing_is_reached_at_the_start(name: str) -> None:
    bench = Bench(name)
    assert bench.reached() == set() and not bench.solved()


@pytest.mark.parametrize(("name", "obj"), [("lift", "cube"), ("can", "can"), ("square", "nut")])
def test_reach_alone(name: str, obj: str) -> None:
    bench = Bench(name)
    # the hand hangs in the air at the start: bring the object to just under it, where no finger touches
    x, y, z = bench.state.ee_pos("panda")[0]
    offset = 0.054 if obj == "nut" else 0.0
    for below, inside in ((0.029, True), (0.031, False)):
        bench.put(obj, (x - offset, y, z - below))
        now = bench.reached() - {"lift"}  # held in the air, it is also lifted
        assert ("reach" in now) == inside
        assert "grasp" not in now


@pytest.mark.parametrize(
    ("name", "obj", "width"), [("lift", "cube", 0.0385), ("can", "can", 0.0495), ("square", "nut", 0.031)]
)
def test_grasp_needs_both_fingers(name: str, obj: str, width: float) -> None:
    bench = Bench(name)
    quat = bench.state.quat("panda/hand")[0]
    tips = bench.state.ee_pos("panda")[0]
    hand = np.array(quat)
    if obj == "nut":  # the handle lies along the hand's x; near its end, the fingers are clear of the nut's bars
        forward = np.zeros(3)
        mujoco.mju_rotVecQuat(forward, np.array([0.068, 0.0, 0.0]), hand)
        tips = tips - forward
    bench.set(**{"panda/gripper": width / 2})
    bench.put(obj, tuple(tips), tuple(hand))
    assert "grasp" in bench.reached()
    sideways = np.zeros(3)
    mujoco.mju_rotVecQuat(sideways, np.array([0.0, 0.012, 0.0]), hand)
    bench.set(**{"panda/gripper": (width + 0.02) / 2})
    bench.put(obj, tuple(tips + sideways), tuple(hand))
    assert "grasp" not in bench.reached(), "one finger alone is a push"


@pytest.mark.parametrize(
    ("name", "obj", "height"), [("lift", "cube", 0.04), ("can", "can", 0.02 + 0.0403 + 0.04), ("square", "nut", 0.05)]
)
def test_lift_alone(name: str, obj: str, height: float) -> None:
    bench = Bench(name)
    at = bench.task.scenario(0).placements[obj].pos
    for z, up in ((height + 1e-4, True), (height - 1e-4, False)):
        bench.put(obj, (at[0], at[1], z))
        assert bench.reached() == ({"lift"} if up else set())


def test_lift_is_solved_above_4_centimetres() -> None:
    bench = Bench("lift")
    for z, solved in ((0.0401, True), (0.0399, False)):
        bench.put("cube", (0, 0, z))
        assert bench.solved() == solved


@pytest.mark.parametrize(
    ("pos", "solved"),
    [
        ((0.15, 0.33, 0.06), True),
        ((0.11, 0.30, 0.06), True),
        ((0.09, 0.33, 0.06), False),
        ((0.15, 0.27, 0.06), False),
        ((0.30, 0.33, 0.06), False),
        ((0.15, 0.33, 0.11), False),
    ],
)
def test_can_is_solved_in_its_quarter_below_the_rim(pos: tuple[float, float, float], solved: bool) -> None:
    bench = Bench("can")
    bench.put("can", pos)
    assert bench.solved() == solved
    assert ("place" in bench.reached()) == solved


@pytest.mark.parametrize(
    ("pos", "solved"),
    [
        ((0.23, 0.10, 0.01), True),
        ((0.259, 0.10, 0.01), True),
        ((0.261, 0.10, 0.01), False),
        ((0.23, 0.131, 0.01), False),
        ((0.23, 0.10, 0.051), False),
    ],
)
def test_square_is_solved_on_the_peg(pos: tuple[float, float, float], solved: bool) -> None:
    bench = Bench("square")
    bench.put("nut", pos)
    assert bench.solved() == solved
    assert ("place" in bench.reached()) == solved


@pytest.mark.parametrize("module", [can, square])
def test_the_gripper_must_have_let_go(module: object) -> None:
    """robosuite: 1 - tanh(10 d) < 0.6."""
    assert 1 - np.tanh(10 * module.AWAY) == pytest.approx(0.6)  # type: ignore[attr-defined]


def test_scenarios_are_determined_by_their_seed() -> None:
    task = make_task("can")
    assert task.scenario(7) == task.scenario(7)
    assert task.scenario(7).id != task.scenario(8).id
    assert isinstance(task.scenario(7).placements["can"], Placement)
