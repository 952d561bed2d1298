"""Distractors: what is put down stands on the table, not in it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from foretell.objects import ASSETS, DISTRACTORS, ObjectPhysics


@pytest.mark.parametrize("name", list(DISTRACTORS))
def test_no_part_begins_below_the_table(name: str) -> None:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name=name, pos=[0, 0, ASSETS[name].rest])
    ASSETS[name].add(spec, body, np.ones(3), ObjectPhysics())
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    middle, half = model.geom_aabb[:, 2], model.geom_aabb[:, 5]
    ends = data.geom_xpos[:, 2] + middle - half, data.geom_xpos[:, 2] + middle + half
    assert ends[0].min() == pytest.approx(0.0, abs=1e-9)
    assert ends[1].max() == pytest.approx(DISTRACTORS[name].height)
