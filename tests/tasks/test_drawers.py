"""The drawer tasks of SIMPLER's Google Robot: layouts, cabinet, rule, camera, replay and expert, by the original."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from original import original_resets, project, replayed
from reference import simpler
from rollouts import episodes

from foretell.errors import UsageError
from foretell.policies.expert import Expert
from foretell.registry import resolve
from foretell.rotation import conjugate, multiply, rotate, to_axis_angle
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task
from foretell.tasks.drawers import BASE, CABINET, FEET, ROBOT, DrawerTask
from foretell.world import slot_array

DRAWERS = ("top", "middle", "bottom")
VERBS = ("open", "close", "place_in_closed")
NAMES = [
    *(f"google_robot_{verb}_{drawer}drawer" for verb in VERBS for drawer in ("", "top_", "middle_", "bottom_")),
    "google_robot_place_apple_in_closed_top_drawer",
]
"""SIMPLER's public names with drawers."""
TASKS = [(verb, drawer) for verb in ("open", "close") for drawer in DRAWERS]


def drawer_task(verb: str, drawer: str) -> DrawerTask:
    task: DrawerTask = make_task(f"google_robot_{verb}_{drawer}_drawer")
    return task


def resets(verb: str, drawer: str) -> list[dict[str, Any]]:
    name = f"{verb.capitalize()}{drawer.capitalize()}DrawerCustomInScene-v0"
    episodes_: list[dict[str, Any]] = original_resets("resets_drawer.json")[name]
    return episodes_


@pytest.mark.parametrize(("verb", "drawer"), TASKS)
def test_cabinet_stands_before_the_robot_as_in_the_original(verb: str, drawer: str) -> None:
    task = drawer_task(verb, drawer)
    layouts, original = task.layouts(), resets(verb, drawer)
    assert len(layouts) == len(original) == 9
    for layout, reset in zip(layouts, original, strict=True):
        base, cabinet = np.array(reset["robot_base_pose"]), np.array(reset["cabinet"]["pose"])
        back = conjugate(base[3:])
        pos, quat = rotate(back, cabinet[:3] - base[:3]), multiply(back, cabinet[3:])
        placement = layout.placements[CABINET]
        assert np.array(placement.pos) - [*FEET, BASE] == pytest.approx(pos, abs=1e-5)
        assert np.linalg.norm(to_axis_angle(multiply(quat, conjugate(np.array(placement.quat))))) < 1e-4
        assert layout.start[CABINET] == pytest.approx(reset["cabinet"]["qpos"])
        assert layout.start[ROBOT] == pytest.approx(reset["robot_qpos"][:7], abs=1e-6)
        assert layout.instruction == reset["instruction"]


def test_camera_sees_the_drawers_where_the_original_does() -> None:
    task = drawer_task("open", "top")
    world, slot = MujocoWorld(task, slots=1), slot_array([0])
    for layout, reset in zip(task.layouts(), resets("open", "top"), strict=True):
        world.reset(slot, [layout], [0])
        own, lens = Bench.on(world).layout, world.intrinsics("google_robot/overhead", 512, 640)
        eye, axes = own.cam_xpos[0, 0], own.cam_xmat[0, 0].reshape(3, 3)
        state = Bench.on(world).state
        for drawer in DRAWERS:
            corner = np.array([0.3125, 0.3075, 0.07])
            point = state.pos(f"{CABINET}/{drawer}_drawer")[0] + rotate(
                state.quat(f"{CABINET}/{drawer}_drawer")[0], corner
            )
            x, y, z = (point - eye) @ axes  # z points backwards, y up
            pixel = np.array([lens.cx - lens.fx * x / z, lens.cy + lens.fy * y / z])
            there = np.array(reset["cabinet"]["links"][f"{drawer}_drawer"][:3]) + corner
            assert np.linalg.norm(pixel - project(reset["cameras"]["overhead_camera"], there[None])[0]) < 1.0


def test_drawers_weigh_and_stay_as_they_should() -> None:
    task = drawer_task("close", "middle")
    world, slot = MujocoWorld(task, slots=1), slot_array([0])
    world.reset(slot, [task.layouts()[0]], [0])
    model = Bench.on(world).layout.model
    assert [model.body(f"{CABINET}/{drawer}_drawer").mass[0] for drawer in DRAWERS] == pytest.approx([11.3765] * 3)
    world.advance(slot, np.array([513]))
    state = Bench.on(world).state
    assert [state.joint(f"{CABINET}/{drawer}")[0] for drawer in DRAWERS] == pytest.approx([0, 0.2, 0], abs=1e-4)


@pytest.mark.parametrize(("verb", "out", "solved"), [("open", (0.149, 0.151), True), ("close", (0.051, 0.049), True)])
def test_the_rule_is_the_published_threshold(verb: str, out: tuple[float, float], solved: bool) -> None:
    task = drawer_task(verb, "bottom")
    world, slot = MujocoWorld(task, slots=1), slot_array([0])
    world.reset(slot, [task.layouts()[0]], [0])
    layout = Bench.on(world).layout
    for opening, expected in zip(out, (not solved, solved), strict=True):
        layout.qpos[0, layout.address[f"{CABINET}/bottom"]] = opening
        assert bool(world.progress(slot)[0]) == expected


@pytest.mark.parametrize("drawer", ["top", "middle"])
def test_scripted_episode_of_the_original_ends_alike(drawer: str) -> None:
    name = f"Close{drawer.capitalize()}DrawerCustomInScene-v0/a0"
    recorded, task = np.load(simpler("scripted_drawer.npz")), drawer_task("close", drawer)
    ours = replayed(task, task.layouts()[0], recorded[f"{name}/actions"], {})
    success = recorded[f"{name}/info"][:, list(recorded[f"{name}/info_keys"]).index("success")]
    assert (ours.success_any, ours.success_end) == (bool(success.any()), bool(success[-1]))


@pytest.mark.parametrize("verb", ["open", "close"])
def test_expert_solves_a_layout_of_each_drawer(verb: str) -> None:
    task = any_drawer(verb)
    for outcome in episodes(task, Expert(), task.layouts()[3::9], slots=2):
        assert outcome.success
        assert set(outcome.stages) == {stage.name for stage in task.stages}


@pytest.mark.daily
@pytest.mark.parametrize("verb", ["open", "close"])
def test_expert_solves_nine_of_ten_layouts(verb: str) -> None:
    task = any_drawer(verb)
    outcomes = episodes(task, Expert(), task.layouts(), slots=9)
    assert sum(bool(o.success) for o in outcomes) >= 25


# -- any drawer -----------------------------------------------------------------------------------------------


def any_drawer(verb: str) -> DrawerTask:
    task: DrawerTask = make_task(f"google_robot_{verb}_drawer")
    return task


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_a_task_and_a_gymnasium_id(name: str) -> None:
    task = make_task(name)
    assert task.name == name
    assert f"foretell/{name}-v1" in gymnasium.registry
    assert [scenario.seed for scenario in task.layouts()] == list(range(len(task.layouts())))


@pytest.mark.parametrize("verb", ["open", "close"])
def test_layouts_of_any_drawer_are_those_of_each(verb: str) -> None:
    layouts = iter(any_drawer(verb).layouts())
    for drawer in DRAWERS:
        for own in drawer_task(verb, drawer).layouts():
            layout = next(layouts)
            same = (layout.placements, layout.start, layout.instruction)
            assert same == (own.placements, own.start, own.instruction)
    assert next(layouts, None) is None


@pytest.mark.parametrize("verb", ["open", "close"])
def test_drawn_scenarios_start_as_their_instruction_needs(verb: str) -> None:
    scenarios = [any_drawer(verb).scenario(seed) for seed in range(30)]
    assert {scenario.instruction for scenario in scenarios} == {f"{verb} {drawer} drawer" for drawer in DRAWERS}
    for scenario in scenarios:
        opened = [name for name, out in zip(DRAWERS, scenario.start[CABINET], strict=True) if out > 0]
        assert opened == ([scenario.instruction.split()[1]] if verb == "close" else [])


def test_only_the_drawer_that_is_asked_for_counts() -> None:
    task = any_drawer("open")
    world, slots = MujocoWorld(task, slots=3), slot_array(range(3))
    world.reset(slots, task.layouts()[::9], [0] * 3)
    layout = Bench.on(world).layout
    layout.qpos[:, layout.address[f"{CABINET}/middle"]] = 0.2
    assert world.progress(slots).tolist() == [False, True, False]


def test_an_instruction_without_a_drawer_is_refused() -> None:
    task = any_drawer("open")
    world = MujocoWorld(task, slots=1)
    world.reset(slot_array([0]), [task.layouts()[0].model_copy(update={"instruction": "open it"})], [0])
    with pytest.raises(UsageError, match="'open it' must name one drawer, top or middle or bottom"):
        world.progress(slot_array([0]))


def test_paraphrases_name_the_drawer() -> None:
    for verb, drawer in TASKS:
        task = drawer_task(verb, drawer)
        assert task.instruction == f"{verb} {drawer} drawer"
        assert len(task.paraphrases) == 3
        assert all(drawer in text.split() for text in task.paraphrases)
    reason = resolve("factors", "Instruction")().applies(any_drawer("open"))
    assert "each scenario asks for a drawer of its own" in str(reason)


def test_factors_that_do_not_apply_say_why() -> None:
    task = drawer_task("open", "top")
    reasons = {name: str(resolve("factors", name)().applies(task)) for name in ("Table_Color", "Distractor", "RO_Size")}
    assert "its table is the cabinet, which RO_Color and RO_Texture change" in reasons["Table_Color"]
    assert "it declares no space for other things" in reasons["Distractor"]
    assert "the drawers fit no cabinet of another size" in reasons["RO_Size"]
