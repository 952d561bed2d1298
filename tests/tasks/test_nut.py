"""The nut's contacts: no more than a flat surface can make, and every bar feels what is not flat."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from foretell.objects.nut import BOXES, INNER
from foretell.sim.params import load_world
from foretell.sim.scene import Scene
from foretell.study.plan import make_task

TASK = make_task("square")


def touching(pos: tuple[float, float, float], steps: int = 0) -> tuple[set[frozenset[str]], int]:
    """Pairs of geoms in contact with the nut put at `pos`, and how many contacts there are."""
    model = Scene(TASK, load_world("mujoco")).compile(TASK.scenario(0), 0)
    data = mujoco.MjData(model)
    at = model.joint(model.body("nut").jntadr[0]).qposadr[0]
    data.qpos[at : at + 3], data.qpos[at + 3 : at + 7] = pos, (1, 0, 0, 0)
    for _ in range(steps):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    pairs = {frozenset(model.geom(g).name for g in c.geom) for c in data.contact}
    return {p for p in pairs if any(n.startswith("nut/") for n in p)}, data.ncon


def test_a_nut_at_rest_has_twelve_contacts_and_none_of_the_inner_bars() -> None:
    pairs, count = touching((0.0, 0.0, 0.0101), steps=250)
    assert count == 12
    assert pairs == {frozenset({"table/top", f"nut/{name}"}) for name in BOXES if name not in INNER}


@pytest.mark.parametrize("bar", BOXES)
def test_every_bar_feels_the_peg(bar: str) -> None:
    x, y = BOXES[bar][1]
    pairs, _ = touching((0.23 - x, 0.10 - y, 0.05))
    assert frozenset({"peg/body", f"nut/{bar}"}) in pairs


def test_the_inner_bars_end_within_the_hull_of_the_others() -> None:
    corners = {
        name: np.array([[cx + sx * hx, cy + sy * hy] for sx in (-1, 1) for sy in (-1, 1)])
        for name, ((hx, hy, _), (cx, cy)) in BOXES.items()
    }
    outer = np.concatenate([corners[n] for n in BOXES if n not in INNER])
    for name in INNER:
        assert (corners[name] >= outer.min(axis=0) - 1e-12).all() and (corners[name] <= outer.max(axis=0) + 1e-12).all()
