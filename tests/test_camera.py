"""Cameras: a lens in pixels, the same numbers in MuJoCo, and points from depth."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from foretell.camera import Camera, Intrinsics, camera_features, framing, point_cloud
from foretell.rotation import conjugate, rotate
from foretell.sim.render import View, shared_renderer
from foretell.sim.scene import lens_of, set_lens
from foretell.tasks.can import Can

LENS = Intrinsics(fx=500, fy=420, cx=250, cy=300, width=640, height=480)  # its axis is left of the middle, and below it
OFF = Camera(pos=(1.0, 0.3, 0.8), target=(0.0, 0.0, 0.0), intrinsics=LENS)
BALLS = np.array([[0, 0, 0], [0.2, 0.1, 0.1], [-0.2, 0.2, -0.1], [0.1, -0.2, 0.2]])
RADIUS = 0.01


def balls(camera: Camera) -> mujoco.MjModel:
    """Small balls at known places, seen by a camera."""
    spec = mujoco.MjSpec()
    spec.stat.extent = 1.3
    made = spec.worldbody.add_camera(name="eye", pos=camera.pos, quat=camera.orientation, fovy=camera.fovy)
    if camera.intrinsics is not None:
        set_lens(made, camera.intrinsics)
    for place in BALLS:
        body = spec.worldbody.add_body(pos=place)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0])
    return spec.compile()


def projected(camera: Camera, lens: Intrinsics, point: np.ndarray) -> tuple[float, float]:
    """Column and row, as OpenCV has it: x right, y down, z ahead."""
    x, y, z = rotate(conjugate(camera.orientation), point - np.asarray(camera.pos)) * [1, -1, -1]
    return lens.fx * x / z + lens.cx, lens.fy * y / z + lens.cy


@pytest.mark.gl
@pytest.mark.parametrize("stand", [False, True], ids=["in the model", "for a film"])
@pytest.mark.parametrize("size", [(480, 640), (240, 320), (200, 200)])
@pytest.mark.parametrize(
    "camera",
    [
        OFF,
        Camera(pos=OFF.pos, target=OFF.target, fovy=50.0),
        Camera(pos=(0.1, 0.0, 1.0), target=(0, 0, 0), fovy=40.0, quat=(0.96, 0.0, 0.0, 0.28)),
    ],
    ids=["intrinsics", "fovy", "quat"],
)
def test_points_are_seen_where_the_lens_says(camera: Camera, size: tuple[int, int], stand: bool) -> None:
    model, at = balls(camera), camera if stand else None
    lens = camera.lens(*size)
    if not stand:
        ours = lens_of(model, "eye", *size)
        assert np.allclose([ours.fx, ours.fy, ours.cx, ours.cy], [lens.fx, lens.fy, lens.cx, lens.cy])
    draw = shared_renderer().render
    things = draw(model, np.zeros(0), View(name="eye", height=size[0], width=size[1], kind="segmentation", stand=at))
    depth = draw(model, np.zeros(0), View(name="eye", height=size[0], width=size[1], kind="depth", stand=at))
    cloud = camera.in_task_frame(point_cloud(depth, lens))
    for number, ball in enumerate(BALLS):
        rows, columns = np.nonzero(things[..., 0] == number)
        column, row = projected(camera, lens, ball)
        assert columns.mean() + 0.5 == pytest.approx(column, abs=0.6)
        assert rows.mean() + 0.5 == pytest.approx(row, abs=0.6)
        away = np.linalg.norm(cloud[rows, columns] - ball, axis=1)
        assert np.abs(away - RADIUS).max() < 2e-4, "the points lie on the ball"
    assert (depth[things[..., 0] < 0] == 0).all() and depth.dtype == np.float32


@pytest.mark.parametrize("point", [(-0.5, -0.1, 1.2), (0.3, 0.9, 0.4), (-0.2, -0.9, 0.9)])
def test_a_film_keeps_a_point_in_its_picture_and_all_it_saw(point: tuple[float, float, float]) -> None:
    film, size = Can.film, (480, 640)
    before = projected(film, film.lens(*size), np.array(point))
    assert not (0 < before[0] < 640 and 0 < before[1] < 480), "it is outside"
    turned = framing(film, np.array(point), *size, margin=0.15)
    assert turned.pos == film.pos
    table = [(x, y, 0.1) for x in (-0.1, 0.3) for y in (-0.5, 0.5)]
    for place in (point, *table):
        column, row = projected(turned, turned.lens(*size), np.array(place))
        assert 0 < column < 640 and 0 < row < 480, place


def test_a_film_does_not_move_for_what_it_sees() -> None:
    assert framing(Can.film, np.array([0.1, -0.25, 0.2]), 480, 640, margin=0.15) is Can.film
    assert framing(Can.film, np.array([2.0, -0.8, 1.0]), 480, 640, margin=0.15) is Can.film, "behind it"


@pytest.mark.gl
def test_films_of_a_raised_hand_show_it() -> None:
    from foretell.sim.bench import Bench

    bench = Bench(Can())
    world = bench.world
    seen = world.snapshot(0)
    low = world.picture(0, Can.film, 120, 160, seen)
    raised = seen.copy()
    raised[1], raised[3] = -0.6, -1.2  # the hand is straight above the base
    hidden = world.picture(0, Can.film, 120, 160, raised)
    still = shared_renderer().render(
        bench.drawn, raised, View(name="film", height=120, width=160, fine=True, stand=Can.film)
    )
    assert (hidden != still).any() and (hidden != low).any()


def test_a_lens_for_another_size_is_the_same_lens() -> None:
    half = LENS.resized(240, 320)
    assert (half.fx, half.fy, half.cx, half.cy) == (250, 210, 125, 150)
    assert half.fovy == pytest.approx(LENS.fovy)
    assert Intrinsics.of_fovy(50.0, 100, 200).fovy == pytest.approx(50.0)
    assert Camera(pos=(0, 0, 1), target=(0, 0, 0), fovy=50.0).lens(100, 200) == Intrinsics.of_fovy(50.0, 100, 200)


def test_a_point_cloud_has_x_right_y_down_z_ahead() -> None:
    lens = Intrinsics(fx=10, fy=10, cx=2, cy=1, width=4, height=2)
    points = point_cloud(np.full((2, 4, 1), 2.0, dtype=np.float32), lens)
    assert points.shape == (2, 4, 3)
    assert np.allclose(points[0, 0], [-0.3, -0.1, 2.0]) and np.allclose(points[1, 3], [0.3, 0.1, 2.0])
    assert (point_cloud(np.zeros((2, 4)), lens) == 0).all()


def test_a_camera_says_what_it_gives() -> None:
    given = camera_features("eye", legend=("robot", "cube"))
    assert {name: (f.kind, f.dtype, f.shape[2], f.unit) for name, f in given.items()} == {
        "rgb": ("rgb", "uint8", 3, "1"),
        "depth": ("depth", "float32", 1, "m"),
        "segmentation": ("segmentation", "int32", 1, "part"),
    }
    assert given["segmentation"].legend == ("robot", "cube") and given["rgb"].legend == ()
