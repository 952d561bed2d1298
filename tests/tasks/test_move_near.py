"""SIMPLER's google_robot_move_near: layouts, rule, picture and expert against the original engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from original import original_resets, to_task
from rollouts import episodes

from foretell.errors import UsageError
from foretell.factors import draw
from foretell.policies.expert import Expert
from foretell.rotation import conjugate, multiply, to_axis_angle
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task
from foretell.tasks.bridge import TURNED
from foretell.tasks.groceries import GROCERIES
from foretell.tasks.move_near import OTHER, PARTS, SOURCE, TARGET, MoveNear, half_box
from foretell.world import slot_array

SLOT = slot_array([0])
V0, V1 = "MoveNearGoogleBakedTexInScene-v0", "MoveNearGoogleBakedTexInScene-v1"


@pytest.fixture(scope="module")
def world() -> MujocoWorld:
    return MujocoWorld(MoveNear(), slots=1)


def parts_of(reset: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Part -> the object of the original's episode that plays it."""
    by_name = {thing["name"]: thing for thing in reset["objects"]}
    source, target = by_name.pop(reset["source_obj"]), by_name.pop(reset["target_obj"])
    return {SOURCE: source, TARGET: target, OTHER: next(iter(by_name.values()))}


@pytest.mark.parametrize("version", [V0, V1])
def test_layouts_are_the_settled_poses_of_the_original(version: str) -> None:
    layouts, resets = MoveNear().layouts(), original_resets("resets_movenear.json")[version]
    assert len(layouts) == len(resets) == 60
    for layout, reset in zip(layouts, resets, strict=True):
        assert layout.instruction == reset["instruction"]
        for part, there in parts_of(reset).items():
            placement = layout.placements[part]
            assert placement.pos == pytest.approx(to_task(there["p"]), abs=4e-4), (layout.seed, part)
            quat = multiply(TURNED, np.array(there["q_wxyz"]))
            turn = to_axis_angle(multiply(quat, conjugate(np.array(placement.quat))))
            assert np.linalg.norm(turn) < np.radians(0.8), (layout.seed, part)


@pytest.mark.parametrize("name", ["google_robot_move_near", "google_robot_move_near_v0", "google_robot_move_near_v1"])
def test_published_names_have_the_same_layouts(name: str) -> None:
    task = make_task(name)
    assert [layout.placements for layout in task.layouts()] == [layout.placements for layout in MoveNear().layouts()]
    assert {layout.task for layout in task.layouts()} == {name}


def test_things_have_the_mass_of_the_original_and_rest_where_they_are_put(world: MujocoWorld) -> None:
    resets = original_resets("resets_movenear.json")[V0]
    for index in (12, 30, 54):  # every thing but the bottle, which still rocks in most layouts of the original
        world.reset(SLOT, [world.task.layouts()[index]], [0])
        layout = Bench.on(world).layout
        state = Bench.on(world).state
        for part, there in parts_of(resets[index]).items():
            body = layout.models[0].body(part)
            assert body.mass[0] == pytest.approx(there["mass"], rel=1e-4)
            assert np.sort(body.inertia) == pytest.approx(np.sort(there["inertia"]), rel=1e-3)
            assert GROCERIES[state.asset(part)[0]].com == pytest.approx(there["cmass_local"][:3], abs=1e-6)
        world.advance(SLOT, np.array([513]))
        for part in PARTS:
            assert np.linalg.norm(state.pos(part) - state.start_pos(part)) < 5e-4, part


def test_rule_at_the_start_is_the_originals(world: MujocoWorld) -> None:
    for reset in original_resets("resets_movenear.json")[V0][::5]:
        world.reset(SLOT, [world.task.layouts()[reset["episode_id"]]], [0])
        (verdict,) = world.verdict(SLOT)
        expected = {name: float(value) for name, value in reset["info0"].items() if name in verdict.metrics}
        assert len(expected) == 5
        assert {name: verdict.metrics[name] for name in expected} == expected
        half = np.linalg.norm(reset["source_bbox_world"][:2]) / 2 + np.linalg.norm(reset["target_bbox_world"][:2]) / 2
        state = Bench.on(world).state
        assert (half_box(state, SOURCE) + half_box(state, TARGET))[0] == pytest.approx(half, abs=1e-3)


def judged(world: MujocoWorld, **moves: tuple[float, float, float]) -> tuple[bool, dict[str, float]]:
    """Success and metrics after parts of layout 12 were moved, m: the 7up can towards the apple, with the sponge."""
    world.reset(SLOT, [world.task.layouts()[12]], [0])
    layout = Bench.on(world).layout
    qpos = layout.qpos[0].copy()
    for part, by in moves.items():
        qpos[layout.free[part] : layout.free[part] + 3] += by
    world.restore(0, np.concatenate([qpos, 0 * layout.qvel[0], np.zeros(world.action.size), [0]]), 171)
    (verdict,) = world.verdict(SLOT)
    return bool(verdict.success), dict(verdict.metrics)


def test_success_needs_every_part_of_the_rule(world: MujocoWorld) -> None:
    # the can at y -0.04 and the apple at y -0.34 may be 0.20 m apart
    near = (0.0, -0.15, 0.0)
    assert judged(world, source=near)[0]
    assert judged(world, source=(0.0, -0.05, 0.0))[1]["near_tgt_obj"] == 0
    success, metrics = judged(world, target=(0.0, 0.15, 0.0))
    assert (success, metrics["moved_wrong_obj"], metrics["moved_correct_obj"]) == (False, 1, 0)
    success, metrics = judged(world, source=near, other=(0.0, 0.0, -0.03))
    assert (success, metrics["all_obj_keep_height"]) == (False, 0)
    success, metrics = judged(world, source=(-0.05, -0.12, 0.0), other=(0.05, 0.04, 0.0))
    assert (success, metrics["near_tgt_obj"], metrics["is_closest_to_tgt"]) == (False, 1, 0)


def test_drawn_scenarios_and_paraphrases_name_their_things() -> None:
    task = MoveNear()
    for seed in range(5):
        scenario = task.scenario(seed)
        names = [GROCERIES[scenario.placements[part].asset].name for part in (SOURCE, TARGET)]
        assert scenario.instruction == f"move {names[0]} near {names[1]}"
        said = draw("Instruction", scenario, task)
        assert said != scenario.instruction and all(name in said for name in names)


@pytest.mark.daily
def test_expert_solves_a_layout_of_each_triplet() -> None:
    task = MoveNear()
    outcomes = episodes(task, Expert(), task.layouts()[2::13], slots=5)
    assert [o.success for o in outcomes] == [True] * 5
    assert all(set(o.stages) == {stage.name for stage in task.stages} for o in outcomes)


def test_expert_says_what_it_cannot_find_in_an_instruction() -> None:
    task = MoveNear()
    policy = Expert()
    policy.bind(task, MujocoWorld(task, slots=1).action)
    with pytest.raises(UsageError, match=r"'tidy up' names none of the objects.*: blue plastic bottle, pepsi can"):
        policy.reset(SLOT, ["tidy up"], [0])


@pytest.mark.daily
@pytest.mark.slow
def test_expert_solves_nine_of_ten_layouts() -> None:
    task = MoveNear()
    outcomes = episodes(task, Expert(), task.layouts(), slots=20)
    assert sum(bool(o.success) for o in outcomes) >= 54
