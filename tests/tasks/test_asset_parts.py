"""Proof of the contract: a drawer, two arms and a head are files of a user's own, and need no edit to foretell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from rollouts import episodes, reproducible

import foretell
from foretell.errors import UsageError
from foretell.factors import draw, perturb
from foretell.policies.expert import Expert
from foretell.policies.make import bind
from foretell.registry import load
from foretell.robots import Panda
from foretell.scenario import Scenario
from foretell.sim.bench import SLOT, Bench
from foretell.sim.world import MujocoWorld
from foretell.tasks.lift import Lift
from foretell.tasks.waypoints import Leg, To, Waypoints

EXAMPLES = Path(__file__).parents[2] / "examples"
Drawer: Any = load(f"{EXAMPLES}/09_drawer.py:Drawer")
HandOver: Any = load(f"{EXAMPLES}/10_two_arms.py:HandOver")
LiftSeen: Any = load(f"{EXAMPLES}/11_head.py:LiftSeen")
Watch: Any = load(f"{EXAMPLES}/11_head.py:Watch")
UNSEEN = 500_000


class SameLift(LiftSeen):
    """The scenarios of lift, with a head beside the arm."""

    name = "lift"


# -- a drawer ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_drawer_is_opened_from_any_start() -> None:
    task = Drawer()
    outcomes = episodes(task, Expert(), [task.scenario(UNSEEN + i) for i in range(40)], slots=20)
    assert sum(bool(o.success) for o in outcomes) >= 38
    assert all(set(o.stages) == {"reach", "grasp", "open"} for o in outcomes if o.success), "by a real grasp"


def test_a_drawer_starts_as_the_scenario_says() -> None:
    task = Drawer()
    starts = {task.scenario(i).start["cabinet"] for i in range(20)}
    assert (0.0,) in starts and len(starts) > 5
    ajar = task.scenario(0).model_copy(update={"start": {**task.scenario(0).start, "cabinet": (0.05,)}})
    bench = Bench(task, scenario=ajar)
    assert bench.see("cabinet/drawer")["cabinet/drawer"] == pytest.approx([0.05])
    assert Scenario.model_validate_json(ajar.model_dump_json()).id == ajar.id != task.scenario(0).id
    closed = Bench(task, scenario=task.scenario(0).model_copy(update={"start": {"panda": ajar.start["panda"]}}))
    assert closed.state.joint("cabinet/drawer") == pytest.approx(0.0), "home, where the scenario says nothing"
    apart = bench.state.pos("cabinet/handle") - closed.state.pos("cabinet/handle")
    assert np.linalg.norm(apart) == pytest.approx(0.05)
    with pytest.raises(UsageError, match=r"cabinet: 2 values given, but it has 1 joint \(cabinet/drawer\)"):
        Bench(task, scenario=ajar.model_copy(update={"start": {"cabinet": (0.0, 0.1)}}))
    with pytest.raises(UsageError, match="the scene has no 'cabinett'; did you mean 'cabinet'"):
        Bench(task, scenario=ajar.model_copy(update={"start": {"cabinett": (0.0,)}}))


def test_a_drawer_is_judged_by_its_joint_and_grows_with_its_cabinet() -> None:
    for size in (0.9, 1.0, 1.1):
        bench = Bench(Drawer(), factors={"MO_Size": size})
        for share, is_open in ((0.99, False), (1.01, True)):
            bench.set(cabinet=0.12 * size * share)
            assert bench.solved() is is_open
    width = {s: Bench(Drawer(), factors={"MO_Size": s}).model.geom("cabinet/front").size[1] for s in (1.0, 1.1)}
    assert width[1.1] == pytest.approx(1.1 * width[1.0])


def test_the_expert_opens_a_resized_drawer() -> None:
    task = Drawer()
    clean = [task.scenario(UNSEEN + i) for i in range(4)]
    outcomes = episodes(task, Expert(), [perturb(s, {"MO_Size": v}) for s in clean for v in (0.85, 1.1)])
    assert [o.success for o in outcomes] == [True] * 8


def test_a_colour_paints_every_board_and_the_drawer() -> None:
    task = Drawer()
    clean = task.scenario(0)
    scene = MujocoWorld(task, slots=1).scene
    red = scene.dress(perturb(clean, {"MO_Color": {"name": "red", "rgb": [1, 0, 0], "mix": 1.0}}), 0)
    for name in ("top", "front", "bar"):
        assert red.geom(f"cabinet/{name}").rgba[:3] == pytest.approx([1, 0, 0])
    assert red.geom("table/top").rgba[:3] != pytest.approx([1, 0, 0])
    assert draw("MO_Size", clean, task) != 1.0


def test_a_colour_of_the_table_leaves_its_legs() -> None:
    task = Drawer()
    scene = MujocoWorld(task, slots=1).scene
    clean = scene.dress(task.scenario(0), 0)
    red = scene.dress(perturb(task.scenario(0), {"Table_Color": {"rgb": [1, 0, 0], "mix": 1.0}}), 0)
    legs = [i for i in range(red.ngeom) if int(red.geom_bodyid[i]) == red.body("table/legs").id]
    assert red.geom("table/top").rgba[:3] == pytest.approx([1, 0, 0]) and len(legs) == 4
    assert (red.geom_rgba[legs] == clean.geom_rgba[legs]).all()


def test_only_fingers_on_the_handle_hold_it() -> None:
    bench = Bench(Drawer())
    assert not bench.state.holding("panda", "cabinet/handle")[0]
    with pytest.raises(UsageError, match="'panda' cannot hold 'cabinet/handel'; did you mean 'cabinet/handle'"):
        bench.state.holding("panda", "cabinet/handel")


def test_a_card_says_how_far_to_open_the_drawer(tmp_path: Path) -> None:
    study = {
        "name": "drawer",
        "tasks": [f"{EXAMPLES}/09_drawer.py:Drawer"],
        "policies": ["expert"],
        "scenarios": {"count": 2, "seed": 0},
        "arms": ["none", "MO_Size"],
    }
    run = foretell.run(study, out=tmp_path / "run")
    task, found = Drawer(), foretell.cards(run.path)
    for card in found[:2]:
        drawer = next(s for s in map(task.scenario, range(2)) if s.id == card["id"]).start["cabinet"][0]
        assert f"cabinet: set drawer to {drawer:+.3f} m" in card["card"]
        assert "cabinet from the base of panda" in card["card"]
    printed = foretell.cards(run.path, stl=tmp_path / "stl", trust=True)[0]["print"]
    assert printed[0]["size"][1] == pytest.approx(260, rel=0.2) and printed[0]["grams"] is None


def test_late_sensors_show_the_handle_as_it_was() -> None:
    task = Drawer()
    late = MujocoWorld(task, {"name": "late", "theta": {"sensor_delay": 0.02}}, slots=1)
    prompt = MujocoWorld(task, slots=1)
    streams = {n: foretell.Stream() for n in ("cabinet/handle/pos", "cabinet/handle/quat", "cabinet/drawer")}
    for world in (late, prompt):
        world.reset(SLOT, [task.scenario(0)], [0])
        layout = Bench.on(world).layout
        layout.qvel[0, layout.speed["cabinet/drawer"]] = 1.0
    late.advance(SLOT, np.array([30]))
    prompt.advance(SLOT, np.array([20]))
    then, now = prompt.observe(SLOT, streams), late.observe(SLOT, streams)
    for name in streams:
        assert now[name] == pytest.approx(then[name], abs=1e-9), name
    prompt.advance(SLOT, np.array([10]))
    moved = prompt.observe(SLOT, streams)["cabinet/handle/pos"] - now["cabinet/handle/pos"]
    assert np.linalg.norm(moved) > 0.003


# -- two arms ---------------------------------------------------------------------------------------------------------


@pytest.mark.daily
@pytest.mark.slow
def test_a_block_is_handed_over() -> None:
    task = HandOver()
    outcomes = episodes(task, Expert(), [task.scenario(UNSEEN + i) for i in range(20)], slots=10, threads=2)
    assert sum(bool(o.success) for o in outcomes) >= 18
    for outcome in outcomes:
        if outcome.success:
            assert list(outcome.stages) == ["grasp", "lift", "both", "over"]


def test_arms_that_are_sent_to_the_same_place_collide() -> None:
    bench = Bench(HandOver())
    meet = To(None, (0.0, 0.0, 0.3))
    policy = bind(
        Waypoints({"left": (Leg(name="in", way=meet),), "right": (Leg(name="in", way=meet),)}), bench.world, "policy"
    )
    policy.reset(SLOT, [""], [0])
    assert not bench.state.touching("left", "right")[0]
    touched = False
    for _ in range(40):
        bench.run(0.05, policy.act(SLOT, bench.world.observe(SLOT, dict(policy.spec.reads)))[0])
        touched |= bool(bench.state.touching("right", "left")[0])
    assert touched and bench.world.faults(SLOT) == {}
    assert any({a.split("/")[0], b.split("/")[0]} == {"left", "right"} for a, b in bench.contacts())
    gap = bench.state.ee_pos("left") - bench.state.ee_pos("right")
    assert np.linalg.norm(gap) > 0.03, "they cannot both be there"


def test_a_second_arm_touches_table_and_objects_but_never_itself() -> None:
    model = Bench(HandOver()).model
    geoms = {
        name: [g for g in range(model.ngeom) if model.geom(g).name.startswith(f"{name}/")] for name in HandOver.robots
    }
    block, top = model.geom("block/body").id, model.geom("table/top").id

    def touch(a: int, b: int) -> bool:
        one, other = (
            model.geom_contype[a] & model.geom_conaffinity[b],
            model.geom_contype[b] & model.geom_conaffinity[a],
        )
        return bool(one or other)

    for mine, others in (("left", "right"), ("right", "left")):
        solid = [g for g in geoms[mine] if model.geom_contype[g]]
        assert len(solid) > 8
        assert all(touch(a, block) and touch(a, top) for a in solid)
        assert not any(touch(a, b) for a in solid for b in solid)
        assert all(touch(a, b) for a in solid for b in geoms[others] if model.geom_contype[b])


def test_one_robot_alone_has_the_bits_it_always_had() -> None:
    model = Bench("lift").model
    arm = [g for g in range(model.ngeom) if model.geom(g).name.startswith("panda/") and model.geom_contype[g]]
    assert {(int(model.geom_contype[g]), int(model.geom_conaffinity[g])) for g in arm} == {(2, 1)}
    table = model.geom("table/top")
    assert (int(table.contype[0]), int(table.conaffinity[0])) == (4, 3)


# -- a head -----------------------------------------------------------------------------------------------------------


def test_a_head_that_no_action_commands_holds_its_start() -> None:
    task = LiftSeen()
    asked = task.scenario(0).model_copy(update={"start": {**task.scenario(0).start, "panda/head": (0.7, 0.2)}})
    bench = Bench(task, scenario=asked)
    assert bench.world.action.size == 7
    for _ in range(20):
        bench.run(0.05, [0.5, 0.5, -0.2, 0, 0, 0, 1])
    assert bench.see("panda/head/joint_pos")["panda/head/joint_pos"] == pytest.approx([0.7, 0.2], abs=1e-3)
    assert bench.world.faults(SLOT) == {}
    home = Bench(task)
    assert home.see("panda/head/joint_pos")["panda/head/joint_pos"] == pytest.approx([-0.4, 0.6])


def test_an_action_commands_the_head_where_a_controller_is_named() -> None:
    bench = Bench(LiftSeen(), controller="ee_delta+head:joint")
    named = [(d.robot, d.group, d.size) for d in bench.world.action.dims]
    assert named == [("panda", "arm", 3), ("panda", "arm", 3), ("panda", "gripper", 1), ("panda", "head", 2)]
    for _ in range(20):
        bench.run(0.05, [0, 0, 0, 0, 0, 0, -1, 0.5, 0.1])
    assert bench.see("panda/head/joint_pos")["panda/head/joint_pos"] == pytest.approx([0.5, 0.1], abs=5e-3)
    with pytest.raises(UsageError, match="no robot has a group 'haed'; did you mean 'head'"):
        Bench(LiftSeen(), controller="ee_delta+haed:joint")
    with pytest.raises(UsageError, match="group 'head' of panda-head has no tool"):
        Bench(LiftSeen(), controller="ee_delta+head:ee_delta")


def test_a_head_changes_no_row_of_lift() -> None:
    scenarios = [Lift().scenario(i) for i in range(4)]
    with_head, without = (episodes(t, Expert(), scenarios, slots=4) for t in (SameLift(), Lift()))
    assert all(o.success for o in without)
    assert [reproducible(o) for o in with_head] == [reproducible(o) for o in without]


def test_a_policy_watches_the_cube_with_the_head() -> None:
    task = LiftSeen()
    task.controller = "ee_delta+head:joint"
    outcomes = episodes(task, Watch(), [task.scenario(i) for i in range(3)], slots=3)
    assert [o.success for o in outcomes] == [True] * 3


@pytest.mark.gl
def test_the_camera_of_the_head_is_a_stream() -> None:
    bench = Bench(LiftSeen(), controller="ee_delta+head:joint")
    aside, watching = np.array([0, 0, 0, 0, 0, 0, -1, 1.5, 0.0]), np.array([0, 0, 0, 0, 0, 0, -1, -0.47, 0.81])
    red = []
    for action in (aside, watching):
        for _ in range(20):
            bench.run(0.05, action)
        picture = bench.see("panda/head/rgb")["panda/head/rgb"].astype(int)
        red.append(int((picture[:, :, 0] > 2 * picture[:, :, 1] + 30).sum()))
    assert red[0] == 0 and red[1] > 50


def test_numbers_of_its_own_are_multiplied_by_the_world() -> None:
    robot = load(f"{EXAMPLES}/11_head.py:PandaWithHead")
    assert robot.numbers == {**Panda.numbers, "head_gain": 60.0}
    theta = {"robots": {"panda-head": {"head_gain": 0.5, "kp_scale": 2.0}, "panda": {"kp_scale": 9.0}}}
    model = Bench(LiftSeen(), world={"name": "soft", "theta": {**theta, "kp_scale": 0.5}}).model
    assert model.actuator("panda/pan").gainprm[0] == pytest.approx(30.0)
    assert model.actuator("panda/joint1").gainprm[0] == pytest.approx(4500.0)  # 0.5 for all, 2 for this one
    assert robot().own("head_gain") == 60.0 and isinstance(robot(), Panda)
    assert isinstance(model, mujoco.MjModel)
