"""The bench, and the true state that tasks are judged by: every declared part has a place, a pose and a speed."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.rotation import from_yaw
from foretell.sim.bench import SLOT, Bench
from foretell.sim.world import MujocoWorld
from foretell.tasks import Volume
from foretell.tasks.lift import Lift


class Watched(Lift):
    """Lift, asked what touches."""

    name = "watched"
    touch = (("panda", "table"), ("cube", "table"), ("panda", "cube"))


class WithBall(Lift):
    """Lift, beside a ball of the task's own, whose joint has any name."""

    name = "with-ball"

    def build(self, spec: mujoco.MjSpec) -> None:
        super().build(spec)
        ball = spec.worldbody.add_body(name="ball", pos=[0.3, 0.3, 0.02])
        ball.add_freejoint(name="rolls")
        ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], mass=0.05)


@pytest.fixture
def bench() -> Bench:
    made = Bench(Watched())
    made.run(0.1)  # the cube settles
    return made


def test_every_declared_part_has_a_pose_and_a_speed(bench: Bench) -> None:
    for part in bench.world.scene.parts:
        assert bench.state.pos(part).shape == (1, 3) and bench.state.speed(part).shape == (1,)
        assert np.linalg.norm(bench.state.quat(part)) == pytest.approx(1)
    assert bench.state.pos("panda")[0] == pytest.approx([-0.56, 0, 0.112])
    assert bench.state.pos("front")[0] == pytest.approx(Lift.cameras["front"].pos)
    assert bench.state.pos("panda/ee")[0] == pytest.approx(bench.state.ee_pos("panda")[0])
    with pytest.raises(UsageError, match="the scene has no part 'cubee'; did you mean 'cube'"):
        bench.state.pos("cubee")
    with pytest.raises(UsageError, match="the scene has no joint 'panda/joint8'"):
        bench.state.joint("panda/joint8")


def test_what_moves_freely_is_known_by_its_body() -> None:
    made = Bench(WithBall())
    assert made.state.objects == ("ball", "cube")
    made.put("ball", (0.3, 0.3, 0.5))
    made.run(0.1)
    assert made.state.pos("ball")[0, 2] == pytest.approx(0.5 - 9.81 * 0.1**2 / 2, abs=2e-3)
    assert made.state.speed("ball")[0] == pytest.approx(0.981, abs=1e-2)


def test_speeds_are_those_of_differences(bench: Bench) -> None:
    """Of a hand that moves and turns, its site and its camera; and of a cube that falls."""
    bench.put("cube", (0.2, 0.2, 0.5))
    for _ in range(3):
        bench.run(0.05, [0.5, -0.3, -0.4, 0.3, 0.2, 0.5, 1])
    parts = ("panda/hand", "panda/ee", "panda/wrist", "cube", "panda")
    before = {part: bench.state.pos(part)[0].copy() for part in parts}
    speed = {part: float(bench.state.speed(part)[0]) for part in parts}
    bench.run(bench.world.tick)
    for part in parts:
        moved = float(np.linalg.norm(bench.state.pos(part)[0] - before[part])) / bench.world.tick
        assert speed[part] == pytest.approx(moved, rel=0.03, abs=0.012), part
    assert speed["cube"] > 1 and speed["panda"] == pytest.approx(0)
    assert abs(speed["panda/ee"] - speed["panda/hand"]) > 0.005, "the hand turns too"


def test_touching_needs_to_be_asked_for(bench: Bench) -> None:
    assert bench.state.touching("cube", "table")[0] and bench.state.touching("table", "cube")[0]
    assert not bench.state.touching("panda", "table")[0]
    bench.put("cube", (0.2, 0.2, 0.5))
    assert not bench.state.touching("cube", "table")[0]
    assert bench.state.touching("panda/finger1", "cube").shape == (1,)
    with pytest.raises(UsageError, match="nothing senses whether 'panda' touches 'front'"):
        bench.state.touching("panda", "front")

    class Typo(Lift):
        touch = (("cube", "tabel"),)

    with pytest.raises(UsageError, match="touch: the scene has no part 'tabel'; did you mean 'table'"):
        Bench(Typo())


def test_contacts_name_the_bodies(bench: Bench) -> None:
    assert bench.contacts() == {("cube", "table")}
    bench.put("cube", (0.2, 0.2, 0.5))
    assert bench.contacts() == set()


def test_inside_a_volume_that_stands_or_moves(bench: Bench) -> None:
    bench.put("cube", (0.1, 0.0, 0.05))
    assert bench.state.inside("cube", Volume((0.02, 0.02, 0.02), (0.11, 0.0, 0.05)))[0]
    assert not bench.state.inside("cube", Volume((0.02, 0.02, 0.02), (0.13, 0.0, 0.05)))[0]
    bench.put("cube", (0.1, 0.0, 0.05), tuple(from_yaw(np.pi / 2).tolist()))
    before = bench.state.pos("cube")[0] - bench.state.pos("panda")[0]
    turned = Volume((0.01,) * 3, (-before[0], 0.0, 0.0), part="cube")  # along the cube's x, which is the task's y
    assert not bench.state.inside("panda", turned)[0]
    aside = Volume((0.01,) * 3, (0.0, before[0], -before[2]), part="cube")
    assert bench.state.inside("panda", aside)[0]


def test_what_is_set_stays_at_rest_and_is_held(bench: Bench) -> None:
    bench.run(0.05, [1, 1, 1, 0, 0, 0, 1])
    home = np.array(bench.scenario.start["panda"]) + 0.1
    bench.set(panda=home, **{"panda/gripper": 0.01})
    assert bench.state.speed("panda/hand") == pytest.approx(0)
    bench.run(0.5)
    assert bench.see("panda/joint_pos")["panda/joint_pos"] == pytest.approx(home, abs=5e-3)
    assert bench.see("panda/gripper")["panda/gripper"] == pytest.approx([0.02], abs=2e-3)
    with pytest.raises(UsageError, match="'pandda' has no joints; did you mean 'panda'"):
        bench.set(pandda=0.0)
    with pytest.raises(UsageError, match="'table' does not move freely"):
        bench.put("table", (0, 0, 0))


def test_a_robot_cannot_hold_what_is_not_there(bench: Bench) -> None:
    with pytest.raises(UsageError, match="'panda' cannot hold 'cubee'; did you mean 'cube'"):
        bench.state.holding("panda", "cubee")
    assert not bench.state.holding("panda", "cube")[0]


def test_the_bench_sees_what_policies_see(bench: Bench) -> None:
    seen = bench.see()
    assert set(seen) == {n for n, f in bench.world.features.items() if not f.image}
    assert seen["cube/pos"] == pytest.approx(bench.state.pos("cube")[0])
    assert bench.world.faults(SLOT) == {}


def test_a_bench_on_one_slot_of_a_world_moves_nothing_in_the_others() -> None:
    task, slots = Lift(), np.arange(3, dtype=np.int32)
    world = MujocoWorld(task, slots=3)
    world.reset(slots, [task.scenario(seed) for seed in range(3)], [0] * 3)
    before = [world.state(slot) for slot in range(3)]
    bench = Bench.on(world, 1)
    assert bench.scenario == task.scenario(1) and not bench.solved()
    bench.put("cube", (0, 0, 0.2))
    bench.set(**{"panda/gripper": (0.01, 0.01)})
    assert bench.solved() and world.progress(slots).tolist() == [False, True, False]
    assert bench.state.pos("cube")[0] == pytest.approx([0, 0, 0.2])
    assert bench.see("panda/gripper")["panda/gripper"] == pytest.approx([0.02], abs=1e-3)
    for slot in (0, 2):
        assert np.array_equal(world.state(slot), before[slot])
