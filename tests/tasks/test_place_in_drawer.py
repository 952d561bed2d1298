"""SIMPLER's placing of an apple in a drawer: layouts, apple, subtasks, rule and expert, by the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from original import original_resets
from rollouts import episodes

from foretell.policies.expert import Expert
from foretell.policy import Chunk, Policy, PolicySpec
from foretell.rotation import conjugate, multiply, rotate, to_axis_angle
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.spec import ActionSpec
from foretell.study.plan import make_task
from foretell.tasks.drawers import BASE, CABINET, FEET
from foretell.tasks.place_in_drawer import HALF_WAY, OBJECT, RESTS, PlaceInDrawer
from foretell.world import slot_array

NAME = "google_robot_place_apple_in_closed_top_drawer"
SLOT = slot_array([0])
FLOOR = f"{CABINET}/top_floor"


def placing(name: str = NAME) -> PlaceInDrawer:
    task: PlaceInDrawer = make_task(name)
    return task


def world_of(task: PlaceInDrawer, layout: int = 0) -> MujocoWorld:
    world = MujocoWorld(task, slots=1)
    world.reset(SLOT, [task.layouts()[layout]], [0])
    return world


def put(world: MujocoWorld, opening: float, *, inside: bool) -> None:
    """Open the top drawer by so much, and put the apple on its floor, or far above the cabinet."""
    layout = Bench.on(world).layout
    layout.qpos[0, layout.address[f"{CABINET}/top"]] = opening
    world.advance(SLOT, np.array([1]))
    floor = Bench.on(world).state.pos(FLOOR)[0]
    at = layout.model.jnt_qposadr[layout.model.body(OBJECT).jntadr[0]]
    layout.qpos[0, at : at + 3] = floor + ([0.0, 0.0, -0.05 + 0.0355] if inside else [0.0, 0.0, 1.0])
    world.advance(SLOT, np.array([2]))


def look(world: MujocoWorld) -> tuple[bool, str]:
    """Whether it is solved after an action, and what is asked for then."""
    return bool(world.progress(SLOT)[0]), world.observe(SLOT, {})["instruction"][0]


class Done(Policy):
    """Does nothing, and says at one of its actions that it is done."""

    def __init__(self, at: int):
        self.at, self.texts = at, list[str]()

    def bind(self, task: Any, action: ActionSpec) -> None:
        self.spec = PolicySpec(action=action, action_rate=task.action_rate)

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        self.texts.clear()

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        self.texts += observations["instruction"]
        over = np.full((len(slots), 1), len(self.texts) == self.at)
        return Chunk(np.zeros((len(slots), 1, self.spec.action.size)), over)


def test_cabinet_and_apple_stand_before_the_robot_as_in_the_original() -> None:
    layouts = placing().layouts()
    original = original_resets("resets_drawer.json")["PlaceIntoClosedTopDrawerCustomInScene-v0"]
    assert len(layouts) == len(original) == 27
    for layout, reset in zip(layouts, original, strict=True):
        base, (apple,) = np.array(reset["robot_base_pose"]), reset["objects"]
        back = conjugate(base[3:])
        for name, pose in ((CABINET, reset["cabinet"]["pose"]), (OBJECT, [*apple["p"], *apple["q_wxyz"]])):
            pos, quat = rotate(back, np.array(pose[:3]) - base[:3]), multiply(back, np.array(pose[3:]))
            placement = layout.placements[name]
            assert np.linalg.norm(np.array(placement.pos) - [*FEET, BASE] - pos) < 1e-4
            turn = to_axis_angle(multiply(quat, conjugate(np.array(placement.quat))))
            assert np.linalg.norm(turn) < np.radians(0.2)
        assert layout.start[CABINET] == pytest.approx(reset["cabinet"]["qpos"])
        assert layout.instruction == reset["instruction"]


def test_apple_weighs_what_it_should_and_lies_still() -> None:
    task = placing()
    world, slots = MujocoWorld(task, slots=3), slot_array(range(3))
    world.reset(slots, task.layouts()[4::9], [0] * 3)
    (apple,) = original_resets("resets_drawer.json")["PlaceIntoClosedTopDrawerCustomInScene-v0"][0]["objects"]
    body = Bench.on(world).layout.model.body(OBJECT)
    assert body.mass[0] == pytest.approx(apple["mass"], rel=1e-6)
    assert body.inertia == pytest.approx(apple["inertia"], rel=1e-5)
    benches = [Bench.on(world, slot) for slot in range(3)]
    start = np.concatenate([bench.state.pos(OBJECT) for bench in benches])
    world.advance(slots, np.full(3, 2 * 513))
    end = np.concatenate([bench.state.pos(OBJECT) for bench in benches])
    assert np.linalg.norm(end - start, axis=1).max() < 5e-5


@pytest.mark.parametrize(
    ("opening", "inside", "solved"), [(0.06, True, True), (0.04, True, False), (0.06, False, False)]
)
def test_the_rule_asks_for_an_open_drawer_and_an_apple_that_was_inside(
    opening: float, inside: bool, solved: bool
) -> None:
    world = world_of(placing())
    put(world, opening, inside=inside)
    assert look(world) == (False, "open top drawer")
    assert not world.terminate(SLOT)[0]  # it goes on with the second subtask
    assert look(world) == (solved, "place apple into top drawer")
    assert world.terminate(SLOT)[0]


def test_an_apple_that_was_inside_counts_for_good() -> None:
    world = world_of(placing())
    put(world, 0.2, inside=True)
    world.terminate(SLOT)
    assert look(world)[0]
    put(world, 0.2, inside=False)
    assert look(world)[0]
    assert "left_scene" not in world.verdict(SLOT)[0].events


def test_the_second_instruction_comes_after_101_actions() -> None:
    task = placing()
    policy = Done(at=10_000)
    task.time_limit = (HALF_WAY + 4) / task.action_rate
    episodes(task, policy, [task.layouts()[0]], slots=1)
    assert policy.texts == ["open top drawer"] * (HALF_WAY + 1) + ["place apple into top drawer"] * 3


def test_the_second_instruction_comes_when_the_policy_is_done() -> None:
    task = placing("google_robot_place_in_closed_drawer")
    policy = Done(at=3)
    task.time_limit = 6 / task.action_rate
    (outcome,) = episodes(task, policy, [task.layouts()[27 + 5]], slots=1)
    assert policy.texts == ["open middle drawer"] * 3 + ["place apple into middle drawer"] * 3
    assert outcome.end == "time_limit"


def test_scenarios_draw_every_thing_and_the_second_instruction_names_it() -> None:
    task = placing("google_robot_place_in_closed_middle_drawer")
    scenarios = {}
    for seed in range(60):
        scenario = task.scenario(seed)
        scenarios[scenario.placements[OBJECT].asset] = scenario
    assert set(scenarios) == set(RESTS)
    slots = slot_array(range(len(RESTS)))
    world = MujocoWorld(task, slots=len(RESTS))
    world.reset(slots, [scenarios[asset] for asset in RESTS], [0] * len(RESTS))
    assert set(world.observe(slots, {})["instruction"]) == {"open middle drawer"}
    assert not world.terminate(slots).any()
    names = ["pepsi can", "coke can", "sprite can", "fanta can", "redbull can", "apple", "orange"]
    assert list(world.observe(slots, {})["instruction"]) == [f"place {name} into middle drawer" for name in names]
    before = [Bench.on(world, slot).state.pos(OBJECT)[0].copy() for slot in slots.tolist()]
    world.advance(slots, np.full(len(slots), 256))
    after = [Bench.on(world, slot).state.pos(OBJECT)[0] for slot in slots.tolist()]
    assert np.linalg.norm(np.array(after) - before, axis=1).max() < 1e-3  # they lie still


def test_the_apple_task_has_no_other_thing() -> None:
    assert {placing().scenario(seed).placements[OBJECT].asset for seed in range(20)} == {"ripe-apple"}


@pytest.mark.daily
def test_expert_places_nine_of_ten_things_that_are_drawn() -> None:
    task = placing("google_robot_place_in_closed_drawer")
    outcomes = episodes(task, Expert(), [task.scenario(seed) for seed in range(20)], slots=20)
    assert sum(bool(o.success) for o in outcomes) >= 18


def test_expert_puts_the_apple_into_the_drawer() -> None:
    task = placing()
    (outcome,) = episodes(task, Expert(), [task.layouts()[13]], slots=1)
    assert outcome.success
    assert set(outcome.stages) == {stage.name for stage in task.stages}


@pytest.mark.daily
@pytest.mark.parametrize("drawer", ["top", "middle", "bottom"])
def test_expert_solves_nine_of_ten_layouts(drawer: str) -> None:
    task = placing(f"google_robot_place_in_closed_{drawer}_drawer")
    outcomes = episodes(task, Expert(), task.layouts(), slots=27)
    assert sum(bool(o.success) for o in outcomes) >= 25
