"""Pictures: upright, of the asked size, of the slot that was asked for, and without a trace in the rows."""

from __future__ import annotations

import numpy as np
import pytest
from rollouts import episodes, reproducible

from foretell.policies.expert import Expert
from foretell.rollout import Job, run_sync
from foretell.sim.render import Camera
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task

pytestmark = pytest.mark.gl


def start(slots: int, name: str = "lift") -> tuple[MujocoWorld, np.ndarray]:
    task = make_task(name)
    world = MujocoWorld(task, slots=slots)
    ids = np.arange(slots, dtype=np.int32)
    world.reset(ids, [task.scenario(i) for i in range(slots)], [0] * slots)
    return world, ids


def red(image: np.ndarray) -> np.ndarray:
    """Where the cube or the can is."""
    r, g, b = np.moveaxis(image.astype(int), -1, 0)
    return (r > 90) & (r > 2 * g) & (r > 2 * b)


def test_images_are_upright_uint8_of_the_asked_size() -> None:
    world, ids = start(3)
    seen = world.observe(ids, {"front/rgb": Stream((84, 96, 3)), "panda/wrist/rgb": Stream((64, 64, 3))})
    assert seen["front/rgb"].shape == (3, 84, 96, 3) and seen["front/rgb"].dtype == np.uint8
    assert seen["panda/wrist/rgb"].shape == (3, 64, 64, 3)
    # the arm comes from above and far: the front image is busier at its top than at its bottom
    detail = np.abs(np.diff(seen["front/rgb"][0].astype(int), axis=1)).sum(axis=(1, 2))
    assert detail[:40].sum() > 3 * detail[-40:].sum()


def test_the_cube_is_drawn_where_it_is() -> None:
    world, ids = start(1)
    layout = world._where[0]
    assert layout is not None
    address = layout.model.joint("cube/free").qposadr[0]
    columns = []
    for y in (-0.15, 0.0, 0.15):  # the camera faces the robot: the robot's left (+y) is on its right
        layout.qpos[0, address : address + 3] = [0.1, y, 0.02]
        image = world.observe(ids, {"front/rgb": Stream((120, 120, 3))})["front/rgb"][0]
        columns.append(np.argwhere(red(image))[:, 1].mean())
    assert columns[0] + 10 < columns[1] < columns[2] - 10


def test_a_picture_does_not_depend_on_the_other_slots() -> None:
    world, ids = start(4)
    together = world.observe(ids, {"front/rgb": Stream((64, 64, 3))})["front/rgb"]
    for slot in (2, 0):
        alone = world.observe(ids[slot : slot + 1], {"front/rgb": Stream((64, 64, 3))})["front/rgb"][0]
        assert (alone == together[slot]).all()
    assert (together[0] != together[1]).any()


def test_a_video_changes_no_row_and_plays(tmp_path) -> None:
    av = pytest.importorskip("av", reason="videos need PyAV")
    task = make_task("lift")
    scenarios = [task.scenario(i) for i in range(2)]
    plain = [reproducible(o) for o in episodes(task, Expert(), scenarios, slots=2)]
    world, policy = MujocoWorld(task, slots=2), Expert()
    policy.bind(task, world.action)
    paths = [tmp_path / "a.mp4", tmp_path / "deep" / "b.mp4"]
    jobs = iter([Job("p", s, 0, str(i), path) for i, (s, path) in enumerate(zip(scenarios, paths, strict=True))])
    done = {job.key: outcome for job, outcome in run_sync(world, {"p": policy}, lambda: next(jobs, None))}
    assert [reproducible(done[k]) for k in ("0", "1")] == plain
    for path, row in zip(paths, plain, strict=True):
        with av.open(str(path)) as film:
            frames = [f.to_ndarray(format="rgb24") for f in film.decode(video=0)]
        assert len(frames) == row["steps"] + 1
        assert frames[0].shape == (480, 640, 3)
        assert np.abs(frames[0].astype(int) - frames[-1]).mean() > 1
    assert not list(tmp_path.rglob("*.part.mp4"))


def test_quality_is_a_parameter_of_the_world() -> None:
    task = make_task("lift")
    images = []
    for theta in ({}, {"shadows": 1024}, {"samples": 4}):
        world = MujocoWorld(task, {"name": "w", "theta": theta}, slots=1)
        ids = np.zeros(1, dtype=np.int32)
        world.reset(ids, [task.scenario(0)], [0])
        images.append(world.observe(ids, {"front/rgb": Stream((84, 84, 3))})["front/rgb"][0])
    assert (images[0] != images[1]).any() and (images[0] != images[2]).any()


def test_overview_shows_robot_and_table() -> None:
    for name in ("lift", "can", "square"):
        world, _ = start(1, name)
        image = world.picture(0, Camera("overview", 240, 320, fine=True))
        assert image.std() > 25
