"""SIMPLER's variants: arms with published names, made of factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.factors import draw
from foretell.factors.arms import expand, looks_only, parse, severity_of
from foretell.policies.expert import Expert
from foretell.rollout import Job, run_sync
from foretell.rotation import rotate
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task
from foretell.tasks.variants import VARIANTS, published
from foretell.world import slot_array

CAN, DRAWER = "google_robot_pick_coke_can", "google_robot_open_top_drawer"


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_an_arm_of_its_own_name(name: str) -> None:
    arm = parse(name)
    assert arm.name == name and [use.factor for use in arm.uses] == list(VARIANTS[name])
    assert severity_of(name) is None
    assert looks_only(name) == ({"Distractor", "Fewer_Objects", "Head_Tilt"}.isdisjoint(VARIANTS[name]))


def test_each_task_has_the_variants_that_simpler_publishes() -> None:
    can, drawer = (expand(["none", "simpler:each"], make_task(name)) for name in (CAN, DRAWER))
    assert [arm.name for arm in can] == ["none", *published(make_task(CAN))] and len(can) == 1 + 10 + 3
    assert [arm.name for arm in drawer] == ["none", *published(make_task(DRAWER))] and len(drawer) == 1 + 7 + 3
    mine = type("Mine", (type(make_task(CAN)),), {"name": "mine"})()
    assert published(mine) == published(make_task(CAN)), "a task has its variants whatever its name"
    assert str(parse("simpler:each").applies(make_task("lift"))) == (
        "simpler:each does not apply to 'lift': SIMPLER has no variants of it"
    )


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("mk_station2@0.5", "arm 'mk_station2' is a variant of SIMPLER: it has no severity"),
        ("mk_station2+Light_Color", "arm 'mk_station2' is a variant of SIMPLER: it stands alone"),
        ("simpler:each@0.5", "arm 'simpler:each@0.5': SIMPLER's variants have no severity"),
        ("mk_station4", "did you mean 'mk_station"),
        ({"Distractor": [["apple", "no-such-can"]]}, "Distractor: 'no-such-can' is not known"),
    ],
)
def test_what_is_no_variant_is_refused(item: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("+", r"\+")):
        parse(item)


@pytest.mark.parametrize(("name", "things"), [("less_distractor", 4), ("more_distractor", 6)])
def test_all_distractors_of_a_list_stand_beside_the_can_in_every_layout(name: str, things: int) -> None:
    task = make_task(CAN)
    (use,) = parse(name).uses
    for scenario in task.layouts():
        value = draw(use.factor, scenario, task, given=use.given)
        assert sorted(v["asset"] for v in value) == sorted(VARIANTS[name]["Distractor"][0]) and len(value) == things
        spots = np.array([v["pos"] for v in value])
        gaps = np.linalg.norm(spots - scenario.placements["can"].pos[:2], axis=1)
        assert gaps.min() > task.clutter.clearance


@pytest.mark.parametrize("name", ["less_distractor", "more_distractor"])
def test_distractors_stand_still_and_cans_upright(name: str) -> None:
    task = make_task(CAN)
    world = MujocoWorld(task, slots=1, threads=1)
    scenario = parse(name).on(task.layouts()[12], task)
    slot = slot_array([0])
    world.reset(slot, [scenario], [0])
    state = Bench.on(world).state
    before = state.object_pos().copy()
    world.advance(slot, np.array([round(1 / world.tick)]))
    assert np.linalg.norm(state.object_pos() - before, axis=2).max() < 0.004
    for index, thing in enumerate(scenario.factors["Distractor"]):
        if thing["asset"].endswith("-can"):
            up = rotate(state.quat(f"distractor{index}")[0], np.array([0.0, 1.0, 0.0]))
            assert up[2] > 0.99
    world.close()


def test_move_near_has_no_distractors_to_add() -> None:
    names = published(make_task("google_robot_move_near"))
    assert "slightly_darker_lighting" in names and {"less_distractor", "more_distractor"}.isdisjoint(names)


def test_the_head_starts_tilted() -> None:
    task = make_task(CAN)
    world = MujocoWorld(task, slots=2, threads=1)
    base = task.scenario(0)
    arms = [parse(name).on(base, task) for name in ("AltGoogleCamera", "AltGoogleCamera2")]
    starts = [world.scene.start(scenario)["google_robot/head"] for scenario in (base, *arms)]
    assert starts[1] - starts[0] == pytest.approx([0.0, 0.15]) and starts[2] - starts[0] == pytest.approx([0.0, -0.12])
    world.close()


@pytest.mark.gl
@pytest.mark.parametrize("name", [CAN, DRAWER])
def test_every_variant_changes_the_picture(name: str) -> None:
    task = make_task(name)
    world = MujocoWorld(task, slots=1, threads=1)
    pictures = {}
    for arm in expand(["none", "simpler:each"], task):
        world.reset(np.array([0]), [arm.on(task.scenario(0), task)], [0])
        pictures[arm.name] = world.picture(0, "google_robot/overhead", 128, 160).astype(int)
    world.close()
    clean = pictures.pop("none")
    changed = {arm: np.abs(picture - clean).mean() for arm, picture in pictures.items()}
    assert min(changed.values()) > 0.3, changed


def test_no_distractor_takes_the_third_thing_away_and_the_expert_solves_the_rest() -> None:
    task = make_task("google_robot_move_near")
    assert "no_distractor" in published(task)
    arm = parse("no_distractor")
    scenarios = [arm.on(scenario, task) for scenario in task.layouts()[:2]]
    world = MujocoWorld(task, slots=2)
    slots = slot_array([0, 1])
    world.reset(slots, scenarios, [0, 0])
    other = world.observe(slots, {"other/pos": Stream((3,))})["other/pos"]
    assert (np.abs(other[:, :2] - [-1.2, 1.2]) < 1e-6).all() and (other[:, 2] < -0.7).all()
    expert = Expert()
    expert.bind(task, world.action)
    jobs = iter([Job(policy="expert", scenario=scenario) for scenario in scenarios])
    outcomes = [outcome for _, outcome in run_sync(world, {"expert": expert}, lambda: next(jobs, None))]
    assert all(outcome.success for outcome in outcomes)
    assert not any("left_scene" in outcome.events for outcome in outcomes)
    assert "all its objects are of use" in str(parse("no_distractor").applies(make_task(CAN)))
