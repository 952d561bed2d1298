"""Through the Google robot's camera every object is seen where the original's camera sees it, in all published layouts.
`test_bridge.py` does the same for the WidowX."""

from __future__ import annotations

import numpy as np
import pytest
from original import original_resets, project

from foretell.rotation import rotate
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task
from foretell.tasks.move_near import PARTS
from foretell.world import slot_array

CAMERA, SLOT = "google_robot/overhead", slot_array([0])
APART = 0.5
"""Pixels; the aim is 3."""
POINTS = 0.03 * np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
"""(7, 3) middle of an object and points about it along its own axes, m."""
CANS = [f"google_robot_pick_{how}_coke_can" for how in ("horizontal", "vertical", "standing")]
TASKS = (
    *((name, "resets_coke.json", name) for name in CANS),
    ("google_robot_move_near", "resets_movenear.json", "MoveNearGoogleBakedTexInScene-v0"),
    (
        "google_robot_place_apple_in_closed_top_drawer",
        "resets_drawer.json",
        "PlaceIntoClosedTopDrawerCustomInScene-v0",
    ),
)
"""Task, and where the original's episodes of it are."""


@pytest.mark.parametrize(("name", "file", "key"), TASKS)
def test_points_of_the_objects_are_seen_at_the_originals_pixels(name: str, file: str, key: str) -> None:
    task = make_task(name)
    world, layouts, resets = MujocoWorld(task, slots=1), task.layouts(), original_resets(file)[key]
    world.reset(SLOT, [layouts[0]], [0])
    own, lens = Bench.on(world).layout, world.intrinsics(CAMERA, 512, 640)
    eye, axes = own.cam_xpos[0, own.cameras[CAMERA]], own.cam_xmat[0, own.cameras[CAMERA]].reshape(3, 3)
    farthest = 0.0
    for layout, reset in zip(layouts, resets, strict=True):
        for there in reset["objects"]:
            theirs = project(
                reset["cameras"]["overhead_camera"], np.array(there["p"]) + rotate(np.array(there["q_wxyz"]), POINTS)
            )
            gaps = []
            for part in (p for p in (*PARTS, "can", "object") if p in layout.placements):
                placement = layout.placements[part]
                x, y, z = ((np.array(placement.pos) + rotate(np.array(placement.quat), POINTS) - eye) @ axes).T
                ours = np.column_stack([lens.cx - lens.fx * x / z, lens.cy + lens.fy * y / z])
                gaps.append(float(np.linalg.norm(ours - theirs, axis=1).max()))
            farthest = max(farthest, min(gaps))
    print(f"{name}: {farthest:.2f} pixels")
    assert farthest < APART
