"""Factors: drawn from their own streams, kept in the scenario, applied to what was meant and to nothing else."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest
from rollouts import episodes, reproducible

from foretell.factors import draw, factor, perturb
from foretell.factors.arms import expand
from foretell.policies.expert import Expert, NoisyExpert
from foretell.registry import names
from foretell.scenario import Scenario
from foretell.sim.bench import Bench
from foretell.sim.params import load_world
from foretell.sim.scene import Scene
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task
from foretell.tasks import Task

TASKS = ("lift", "can", "square")
FACTORS = names("factors")
PAIRS = [(t, f) for t in TASKS for f in FACTORS if factor(f).applies(make_task(t)) is None]
SLOT = np.zeros(1, dtype=np.int32)


@cache
def scene(task: str) -> Scene:
    return Scene(make_task(task), load_world("mujoco"))


def under(task: str, *factors: str, seed: int = 1, severity: float = 1.0) -> Scenario:
    made = make_task(task)
    clean = made.scenario(seed)
    return perturb(clean, {f: draw(f, clean, made, severity) for f in factors})


def state(task: str, scenario: Scenario, ticks: int = 100) -> dict[str, np.ndarray]:
    """What physics did with a scenario under one action, and what was told of it."""
    bench = Bench(make_task(task), scenario=scenario)
    bench.world.command(SLOT, np.array([[0.3, -0.2, -0.5, 0.1, 0.2, 0.3, 1.0]]), np.array([25]))
    bench.world.advance(SLOT, np.array([ticks]))
    streams = {n: Stream() for n, f in bench.world.features.items() if not f.image}
    return {**bench.world.observe(SLOT, streams), "qpos": bench.world.snapshot(0)}


def fields(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    found = {n: getattr(model, n) for n in dir(model) if isinstance(getattr(model, n, None), np.ndarray)}
    return {n: np.array(v) for n, v in found.items() if not n.startswith(("name", "paths"))}


def test_every_factor_of_the_paper_and_eleven_more() -> None:
    assert len(FACTORS) == 25
    reasons = {(t, f): str(w) for t in TASKS for f in FACTORS if (w := factor(f).applies(make_task(t)))}
    assert {reasons.pop((t, "Head_Tilt")) for t in TASKS} == {
        f"Head_Tilt does not apply to {t!r}: its robot has no head that tilts" for t in TASKS
    }
    assert {reasons.pop((t, "Joint_Friction")) for t in TASKS} == {
        f"Joint_Friction does not apply to {t!r}: it has no furniture with joints" for t in TASKS
    }
    assert {reasons.pop((t, "Fewer_Objects")) for t in TASKS} == {
        f"Fewer_Objects does not apply to {t!r}: all its objects are of use" for t in TASKS
    }
    assert set(reasons) == {("lift", "RO_Color"), ("lift", "RO_Texture"), ("lift", "RO_Size"), ("can", "RO_Size")}
    assert reasons["lift", "RO_Color"] == "RO_Color does not apply to 'lift': it has no object with role RO"
    assert "quarters of the bin" in reasons["can", "RO_Size"]


def test_a_bare_scene_has_reasons_for_all_it_lacks() -> None:
    class Bare(type(make_task("lift"))):  # type: ignore[misc]
        roles, cameras, clutter, paraphrases = {}, {}, None, ()

        def build(self, spec: mujoco.MjSpec) -> None:
            spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])

    applying = {f for f in FACTORS if factor(f).applies(Bare()) is None}
    assert applying == {"Robot_Texture", "Sensor_Noise", "Action_Noise", "Robot_Init"}


def test_nothing_applies_to_a_task_of_another_simulator() -> None:
    class Foreign(Task):
        name = "foreign"

    assert all(factor(f).applies(Foreign()) is not None for f in FACTORS)


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_values_are_json_and_name_the_scenario(task: str, name: str) -> None:
    clean, changed = make_task(task).scenario(1), under(task, name)
    value = changed.factors[name]
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert Scenario.model_validate_json(changed.model_dump_json()) == changed
    assert changed.base == clean.base and changed.id != clean.id
    assert under(task, name).id == changed.id and under(task, name, seed=2).factors != {}
    said = factor(name).card(value)
    assert len(said) > 8 and name not in said
    assert f"  {name}: {said}" in changed.card()


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_a_factor_reaches_physics_only_where_it_is_meant_to(task: str, name: str) -> None:
    """Purely visual ones leave the very model that physics runs on as it was, and so every bit of every episode."""
    clean = fields(scene(task).compile(make_task(task).scenario(1), 0))
    changed = fields(scene(task).compile(under(task, name), 0))
    different = {n for n in clean if clean[n].shape != changed[n].shape or not np.array_equal(clean[n], changed[n])}
    looks = factor(name).changes == "look"
    if looks or factor(name).changes == "sensing" or name == "Robot_Init":
        assert different == set()
    else:
        assert different
    if name == "Object_Friction":
        assert different == {"geom_friction"}
    if name == "Object_Pose":
        assert not any(n.startswith(("geom_", "body_mass", "body_inertia")) for n in different)
    if name == "Object_Mass":
        assert {"body_mass", "body_inertia", "body_subtreemass", "body_invweight0"} <= different
        assert not any(n.startswith(("geom_size", "geom_friction", "geom_pos", "qpos0")) for n in different)


@pytest.mark.parametrize("task", TASKS)
def test_a_state_policy_has_the_same_rows_under_every_visual_factor(task: str) -> None:
    made = make_task(task)
    made.time_limit = 5.0
    visual = [f for t, f in PAIRS if t == task and factor(f).changes == "look"]
    assert len(visual) >= 7
    clean, *rows = episodes(made, NoisyExpert(0.2), [made.scenario(1), under(task, *visual)], slots=2)
    assert [reproducible(row) for row in rows] == [reproducible(clean)]


@pytest.mark.parametrize("task", TASKS)
def test_physical_factors_change_what_happens(task: str) -> None:
    clean = state(task, make_task(task).scenario(1))
    for name in ("MO_Size", "Object_Pose", "Robot_Init", "Action_Noise", "Sensor_Noise"):
        changed = state(task, under(task, name))
        assert not all(np.array_equal(clean[n], changed[n]) for n in clean if n != "instruction"), name
        assert np.array_equal(clean["qpos"], changed["qpos"]) == (name == "Sensor_Noise"), name
    told = state(task, under(task, "Instruction"))
    assert told["instruction"] != clean["instruction"] and told["instruction"][0] in make_task(task).paraphrases


@pytest.mark.parametrize(("task", "name"), [(t, f) for t, f in PAIRS if f != "Instruction"])
def test_severity_0_is_nominal_and_half_lies_between(task: str, name: str) -> None:
    clean = make_task(task).scenario(1)
    nothing = under(task, name, severity=0.0)
    for model in ("compile", "dress") if name in ("MO_Size", "MO_Texture", "Camera_Pose") else ("compile",):
        before = fields(getattr(scene(task), model)(clean, 0))
        after = fields(getattr(scene(task), model)(nothing, 0))
        for field, value in before.items():
            assert np.allclose(value, after[field], rtol=0, atol=1e-12), field
    assert under(task, name, severity=0.5).factors != nothing.factors


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_the_mildest_severity_of_a_search_changes_something(task: str, name: str) -> None:
    """`redteam` goes down to an eighth: a finding there must not be the clean control under another name."""
    clean, mild = make_task(task).scenario(1), under(task, name, severity=0.125)
    if factor(name).changes == "sensing" or name == "Robot_Init":
        before, after = state(task, clean), state(task, mild)
    else:
        model = "dress" if factor(name).changes == "look" else "compile"
        before, after = (fields(getattr(scene(task), model)(s, 0)) for s in (clean, mild))
    assert not all(np.array_equal(before[n], after[n]) for n in before)


def test_draws_are_independent() -> None:
    """Adding a factor changes no other draw, and no two factors draw alike."""
    for task in TASKS:
        applying = [f for t, f in PAIRS if t == task]
        together = under(task, *applying).factors
        assert all(under(task, f).factors[f] == together[f] for f in applying)
    colours = [(under("can", "MO_Color", "RO_Color", seed=i).factors) for i in range(40)]
    pairs = [(c["MO_Color"]["name"], c["RO_Color"]["name"]) for c in colours]
    assert len({a for a, _ in pairs}) > 12 and sum(a == b for a, b in pairs) < 8


def test_values_stay_within_the_published_ranges() -> None:
    many = [under("square", "MO_Size", "RO_Size", "Object_Friction", "Camera_Pose", seed=i).factors for i in range(200)]
    for name, (low, high) in {"MO_Size": (1.0, 1.5), "RO_Size": (0.85, 1.15), "Object_Friction": (0.75, 1.0)}.items():
        values = np.array([f[name] for f in many])
        assert values.min() >= low and values.max() <= high and np.ptp(values) > 0.9 * (high - low)
    poses = np.array([f["Camera_Pose"]["front"]["pos"] + f["Camera_Pose"]["front"]["turn"] for f in many])
    assert (np.abs(poses) <= [0.1] * 3 + [0.05] * 3).all()


def test_friction_decides_on_the_table_and_between_the_fingers() -> None:
    """In MuJoCo the geom with the higher priority decides alone: pads before objects before the table."""
    for task, half in (("lift", 0.5), ("square", 0.25)):
        made, ratio = make_task(task), 1 - 2 * half * 0.5
        scenario = perturb(made.scenario(1), {"Object_Friction": ratio})
        before, after = scene(task).compile(made.scenario(1), 0), scene(task).compile(scenario, 0)
        moved = [i for i in range(before.ngeom) if before.geom_friction[i, 0] != after.geom_friction[i, 0]]
        assert {int(p) for p in before.geom_priority[moved]} == {1, 2}
        assert np.allclose(after.geom_friction[moved, 0], ratio * before.geom_friction[moved, 0])
        assert all(i in moved for i in range(before.ngeom) if before.geom_priority[i] == 2)


def test_a_heavy_object_has_the_inertia_of_a_heavy_object() -> None:
    scenario = perturb(make_task("lift").scenario(1), {"Object_Mass": 2.5})
    before, after = (scene("lift").compile(s, 0).body("cube") for s in (make_task("lift").scenario(1), scenario))
    assert after.mass[0] == pytest.approx(2.5 * before.mass[0])
    assert after.inertia == pytest.approx(2.5 * before.inertia)
    assert after.subtreemass[0] == pytest.approx(2.5 * before.subtreemass[0])


@pytest.mark.parametrize(("task", "name"), [("lift", "cube"), ("can", "can"), ("square", "nut")])
def test_a_resized_object_still_stands_on_its_surface(task: str, name: str) -> None:
    for ratio in (0.75, 1.25):
        scenario = perturb(make_task(task).scenario(1), {"MO_Size": ratio})
        world = MujocoWorld(make_task(task), slots=1)
        world.reset(SLOT, [scenario], [0])
        start = world.observe(SLOT, {f"{name}/pos": Stream()})[f"{name}/pos"][0]
        world.advance(SLOT, np.array([200]))
        assert np.abs(world.observe(SLOT, {f"{name}/pos": Stream()})[f"{name}/pos"][0] - start).max() < 2e-3


@pytest.mark.parametrize("task", TASKS)
def test_the_expert_solves_what_can_be_solved(task: str) -> None:
    """Not a certificate, only a sign that factors leave the tasks possible."""
    made = make_task(task)
    arms = expand(
        ["none", "MO_Size", "Object_Friction", "Object_Mass", "Distractor", "Object_Pose", "Robot_Init"], made
    )
    scenarios = [arm.on(made.scenario(i), made) for arm in arms for i in range(2)]
    solved = [o.success for o in episodes(made, Expert(), scenarios, slots=len(scenarios))]
    assert all(solved[:2]) and sum(map(bool, solved)) >= 0.8 * len(solved)


QPOS = {
    "lift": [-0.021351, 0.21716, 0.067437, -2.566863, 0.059584, 2.893696, 0.696941, 0.037572, 0.037571, -0.006251,
             -0.012258, 0.02121, -0.360134, -0.0, 0.0, 0.932901],
    "can": [-0.041982, 0.245674, 0.040476, -2.571034, 0.035595, 2.883394, 0.67678, 0.037572, 0.037571, 0.059315,
            -0.105067, 0.059993, -0.998988, -1.6e-05, 8e-06, 0.044986],
    "square": [-0.053353, 0.251675, 0.051605, -2.562195, 0.030097, 2.87438, 0.667824, 0.037572, 0.037571, -0.111671,
               0.130408, 0.009998, -0.087148, 5e-06, 0.0, 0.996195],
}  # fmt: skip
"""Joint positions after 100 ticks, as they were before there were factors."""


IDS = {"lift": "733020ef1a8f52fb", "can": "a6a921f5982a04de", "square": "14881b49a8dd4656"}


@pytest.mark.parametrize("task", TASKS)
def test_clean_scenarios_are_what_they_were_before_there_were_factors(task: str) -> None:
    assert state(task, make_task(task).scenario(0))["qpos"] == pytest.approx(QPOS[task], abs=2e-6)
    assert make_task(task).scenario(0).id == IDS[task]


def test_a_perturbed_neighbour_changes_nothing_for_a_clean_episode() -> None:
    made = make_task("lift")
    made.time_limit = 4.0
    alone = [reproducible(o) for o in episodes(made, NoisyExpert(0.2), [made.scenario(i) for i in range(2)], slots=1)]
    noisy = [under("lift", "Sensor_Noise", "Action_Noise", "Distractor", "Robot_Init", seed=i) for i in range(2)]
    mixed: list[Any] = [made.scenario(0), noisy[0], made.scenario(1), noisy[1]]
    together = [reproducible(o) for o in episodes(made, NoisyExpert(0.2), mixed, slots=4)]
    assert [together[0], together[2]] == alone
    again = [reproducible(o) for o in episodes(made, NoisyExpert(0.2), noisy, slots=1)]
    assert [together[1], together[3]] == again


@pytest.mark.parametrize("task", TASKS)
def test_factors_hold_in_another_world(task: str) -> None:
    """Relative to what that world believes: the stand-in has meshes, other friction and other mass."""
    made = make_task(task)
    (arm,) = expand(["all"], made)
    other = Scene(made, load_world("standin"))
    name = next(n for n, role in made.roles.items() if role == "MO")
    scenario = perturb(made.scenario(1), {"Object_Mass": 2.0, "Object_Friction": 0.5})
    before, after = other.compile(made.scenario(1), 0), other.compile(scenario, 0)
    assert after.body(name).mass[0] == pytest.approx(2 * before.body(name).mass[0])
    of = before.geom_bodyid == before.body(name).id
    assert np.allclose(after.geom_friction[of, 0], 0.5 * before.geom_friction[of, 0])
    world = MujocoWorld(made, "standin", slots=1)
    world.reset(SLOT, [arm.on(made.scenario(1), made)], [0])
    world.advance(SLOT, np.array([100]))
    assert world.faults(SLOT) == {}
