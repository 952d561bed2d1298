"""Colours, textures and distractors."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.factors import draw, perturb
from foretell.factors.colour import COLOURS
from foretell.factors.patterns import TEXTURES, texture
from foretell.objects import ASSETS, DISTRACTORS, ObjectPhysics
from foretell.objects.cube import HALF
from foretell.sim.bench import Bench
from foretell.sim.scene import signature
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task


def test_twenty_colours_none_of_them_mujocos_word_for_no_colour() -> None:
    assert len(COLOURS) == 20 == len(set(COLOURS.values()))
    assert (0.5, 0.5, 0.5) not in COLOURS.values()


def test_two_hundred_textures_all_different_none_plain() -> None:
    assert len(TEXTURES) >= 200 == 200 * (len(TEXTURES) == len(set(TEXTURES)))
    small = {name: texture(name, 64) for name in TEXTURES}
    assert len({image.tobytes() for image in small.values()}) == len(TEXTURES)
    assert min(float(image.std(axis=(0, 1)).max()) for image in small.values()) > 6
    texture.cache_clear()
    assert np.array_equal(texture("wood-03", 64), small["wood-03"])
    with pytest.raises(UsageError, match="did you mean 'wood-0"):
        texture("wod-01")


def test_distractors_are_many_and_stand() -> None:
    """Each rests where it is put, within the circle and height it claims, and all give one layout of MjData."""
    assert len(DISTRACTORS) >= 30
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    for i, name in enumerate(DISTRACTORS):
        body = spec.worldbody.add_body(name=name, pos=[0.3 * (i % 6), 0.3 * (i // 6), ASSETS[name].rest])
        body.add_freejoint()
        ASSETS[name].add(spec, body, np.ones(3), ObjectPhysics())
    model = spec.compile()
    data = mujoco.MjData(model)
    start = data.qpos.reshape(-1, 7).copy()
    mujoco.mj_step(model, data, 500)
    moved = np.abs(data.qpos.reshape(-1, 7) - start)
    for i, name in enumerate(DISTRACTORS):
        assert moved[i].max() < 0.01, name
        thing = DISTRACTORS[name]
        assert 0.01 < thing.radius < 0.06 and thing.height < 0.075
        assert model.body_geomnum[i + 1] == 3
    layouts = set()
    task = make_task("lift")
    world = MujocoWorld(task, slots=1)
    for name in DISTRACTORS:
        value = [{"asset": name, "pos": [0.1, 0.2], "yaw": 0.3}]
        layouts.add(signature(world.scene.compile(perturb(task.scenario(0), {"Distractor": value}), 0)))
    assert len(layouts) == 1


@pytest.mark.parametrize("task", ["lift", "can", "square"])
def test_distractors_touch_nothing_at_the_start(task: str) -> None:
    made = make_task(task)
    area = made.clutter
    assert area is not None
    for seed in range(40):
        clean = made.scenario(seed)
        value = draw("Distractor", clean, made, 2.0)
        assert len(value) == 4 and value[:2] == draw("Distractor", clean, made, 1.0)
        for i, thing in enumerate(value):
            radius = DISTRACTORS[thing["asset"]].radius
            x, y = thing["pos"]
            assert area.x[0] <= x - radius and x + radius <= area.x[1]
            assert area.y[0] <= y - radius and y + radius <= area.y[1]
            for placement in clean.placements.values():
                assert math.dist((x, y), placement.pos[:2]) > radius + area.clearance > radius + HALF
            for other in value[:i]:
                assert math.dist((x, y), other["pos"]) > radius + DISTRACTORS[other["asset"]].radius
    values = {"Distractor": value, "MO_Size": 1.25, "Object_Pose": draw("Object_Pose", clean, made, 1.5)}
    for seed in range(3):
        clean = made.scenario(seed)
        values["Distractor"] = draw("Distractor", clean, made, 2.0)
        bench = Bench(made, scenario=perturb(clean, values))
        ours = {f"distractor{i}" for i in range(4)}
        for pair in bench.contacts():
            assert not ours & set(pair) or any(bench.model.body(name).dofnum[0] == 0 for name in pair)


def test_more_severity_is_more_distractors_and_never_none() -> None:
    made = make_task("lift")
    counts = {
        s: len(draw("Distractor", made.scenario(0), made, s)) for s in (0, 0.01, 0.125, 0.25, 0.5, 0.75, 1, 1.5, 2)
    }
    assert counts == {0: 0, 0.01: 1, 0.125: 1, 0.25: 1, 0.5: 1, 0.75: 2, 1: 2, 1.5: 3, 2: 4}


def test_no_room_is_an_error_not_a_silence() -> None:
    made = make_task("lift")

    class Narrow(type(made)):  # type: ignore[misc]
        clutter = made.clutter.__class__(x=(-0.07, 0.07), y=(-0.07, 0.07))

    with pytest.raises(UsageError, match="no room for 2 things"):
        draw("Distractor", made.scenario(0), Narrow())
