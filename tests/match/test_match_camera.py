"""Cameras from pictures: points, boards and lines give back a known camera, and the stated spread covers the error."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import cv2
import mujoco
import numpy as np
import pytest
from PIL import Image
from studies import cli, refused

from foretell.camera import Camera, Intrinsics
from foretell.errors import UsageError
from foretell.match.camera import MatchedView, camera, draw_residuals, solve
from foretell.match.pinhole import FLIP, Pinhole, project
from foretell.match.points import NO_LINES, Lines, Point, read_points
from foretell.objects.label import material
from foretell.rotation import rotate
from foretell.sim.bench import Bench
from foretell.sim.params import load_world
from foretell.sim.render import View, shared_renderer
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task
from foretell.tasks.lift import Lift

SIZE = (480, 640)
EYE = Camera(pos=(0.45, -0.32, 0.5), target=(0.02, 0.03, 0.02), fovy=42.0)
BLANK = np.zeros((*SIZE, 3), dtype=np.uint8)


def pinhole(eye: Camera) -> Pinhole:
    axes = np.stack([rotate(eye.orientation, axis) for axis in np.eye(3)], axis=1)
    return Pinhole(FLIP @ axes.T, np.array(eye.pos, dtype=float), eye.lens(*SIZE))


TRUTH = pinhole(EYE)
LENS = (TRUTH.lens.fx, TRUTH.lens.fy, TRUTH.lens.cx, TRUTH.lens.cy)


def points(xyz: np.ndarray, noise: float = 0.0, seed: int = 0) -> list[Point]:
    uv = project(TRUTH, xyz) + np.random.default_rng(seed).normal(0, noise, (len(xyz), 2))
    return [
        Point(name=f"p{i}", xyz=tuple(p), uv=tuple(q))
        for i, (p, q) in enumerate(zip(xyz.tolist(), uv.tolist(), strict=True))
    ]


SPREAD = np.array(
    [[-0.2, -0.2, 0], [0.2, -0.2, 0.1], [0.2, 0.2, 0], [-0.2, 0.2, 0.12], [0, 0, 0.15], [0.1, 0, 0], [-0.1, 0.1, 0.05]]
)


def errors(match: MatchedView, truth: Pinhole = TRUTH) -> tuple[float, float, float]:
    """Of position (m), angle (rad) and focal length (relative)."""
    cosine = (np.trace(match.camera.turn @ truth.turn.T) - 1) / 2
    far = float(np.linalg.norm(match.camera.pos - truth.pos))
    return far, float(np.arccos(np.clip(cosine, -1, 1))), abs(match.camera.lens.fx / truth.lens.fx - 1)


# -- points ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit", ["pose", "focal"])
@pytest.mark.parametrize("flat", [False, True])
def test_exact_points_give_the_exact_camera(fit: str, flat: bool) -> None:
    xyz = SPREAD * [1, 1, 0] if flat else SPREAD
    match = solve(BLANK, points(xyz), lens=LENS if fit == "pose" else (), fit=fit)
    assert max(errors(match)) < 1e-5 and match.rms < 1e-4 and match.doubted is None
    assert np.allclose(match.camera.quat, EYE.orientation, atol=1e-6)


def test_a_whole_lens_is_fitted() -> None:
    odd = Pinhole(TRUTH.turn, TRUTH.pos, Intrinsics(fx=700, fy=660, cx=300, cy=260, width=640, height=480))
    more = 0.7 * np.vstack([SPREAD, SPREAD * [-1, 1, 1] + [0, 0, 0.02]])
    uv = project(odd, more)
    given = [Point(name=str(i), xyz=tuple(p), uv=tuple(q)) for i, (p, q) in enumerate(zip(more, uv, strict=True))]
    lens = solve(BLANK, given, fit="lens").camera.lens
    assert (lens.fx, lens.fy, lens.cx, lens.cy) == pytest.approx((700, 660, 300, 260), rel=1e-4)


def test_the_stated_spread_covers_the_error() -> None:
    """In 19 of 20 draws or more: the stated number is the largest semi-axis of the region."""
    inside = []
    for seed in range(120):
        match = solve(BLANK, points(SPREAD, 0.7, seed), lens=LENS)
        far, angle, _ = errors(match)
        assert match.spread is not None
        inside.append((far <= match.spread.position, angle <= match.spread.angle))
    assert np.mean(inside, axis=0).min() >= 0.93
    wide = [solve(BLANK, points(SPREAD, 0.7, seed), lens=LENS).spread for seed in range(20)]
    assert np.mean([s.pixel for s in wide if s]) == pytest.approx(0.7, rel=0.25)
    assert np.mean([s.position for s in wide if s]) < 0.02  # and it says something


def test_a_wrong_point_is_called_out() -> None:
    given = points(SPREAD, 0.3)
    given[3] = Point(name="p3", xyz=given[3].xyz, uv=(given[3].uv[0] + 40, given[3].uv[1]))  # type: ignore[index]
    match = solve(BLANK, given, lens=LENS)
    assert match.doubted == "p3" and "is it the right point?" in match.text()


def test_residuals_are_drawn() -> None:
    match = solve(BLANK, points(SPREAD, 2.0), lens=LENS)
    drawn = draw_residuals(BLANK, match)
    for point in match.points:
        u, v = point.uv or (0, 0)
        assert drawn[round(v) - 8 : round(v) + 8, round(u) - 8 : round(u) + 8].any(), point.name
    assert not BLANK.any()


# -- boards ---------------------------------------------------------------------------------------------------


def printed(picture: np.ndarray, half: tuple[float, float], pos: tuple[float, float, float], yaw: float) -> np.ndarray:
    """What the camera sees of a picture (height, width, 3) that lies on a table."""
    spec = mujoco.MjSpec()
    spec.visual.headlight.ambient = [0.9, 0.9, 0.9]
    spec.visual.headlight.diffuse = [0.1, 0.1, 0.1]
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    body = spec.worldbody.add_body(name="paper", pos=pos, quat=[np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)])
    flat = np.vstack([np.column_stack([corners, np.zeros(4)]), np.column_stack([corners, np.full(4, -0.002)])])
    faces = [[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]]
    mesh = spec.add_mesh(name="paper", uservert=flat.ravel(), userface=np.ravel(faces))
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    mesh.usertexcoord = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 2, dtype=float).ravel()
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_MESH, meshname="paper", material=material(spec, "paper", picture), contype=0
    )
    spec.worldbody.add_camera(name="eye", pos=EYE.pos, quat=EYE.orientation, fovy=EYE.fovy)
    spec.visual.quality.offsamples = 8
    return shared_renderer().render(spec.compile(), np.zeros(0), View(name="eye", height=SIZE[0], width=SIZE[1]))


def padded(picture: np.ndarray, share: float) -> np.ndarray:
    rim = round(share * picture.shape[0])
    return np.pad(picture, rim, constant_values=255)


def coloured(grey: np.ndarray) -> np.ndarray:
    return np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)


YAW, AT = 0.3, (-0.05, 0.02, 0.01)


def origin(own: tuple[float, float]) -> list[float]:
    """Where a point of the paper, from its middle, is in the task frame; and how the paper is turned."""
    x, y = own
    cos, sin = np.cos(YAW), np.sin(YAW)
    return [AT[0] + cos * x - sin * y, AT[1] + sin * x + cos * y, AT[2], YAW]


@pytest.fixture
def boards(tmp_path: Path) -> dict[str, tuple[str, Path, list[float]]]:
    """Kind of board -> what it is called, a rendered picture of it, and where its origin lies."""
    made = {}
    aruco = cv2.aruco
    dictionary = aruco.getPredefinedDictionary(aruco.DICT_4X4_50)
    marker = coloured(padded(aruco.generateImageMarker(dictionary, 7, 400), 0.25))  # 10 cm, and a rim of 2.5 cm
    made["aruco"] = ("aruco:0.1", printed(marker, (0.075, 0.075), AT, YAW), origin((0.0, 0.0)))
    charuco = aruco.CharucoBoard((5, 7), 0.04, 0.03, dictionary)
    drawn = coloured(padded(charuco.generateImage((500, 700)), 50 / 700))  # 20 x 28 cm, and a rim of 2 cm
    made["charuco"] = ("charuco:5x7:0.04:0.03", printed(drawn, (0.12, 0.16), AT, YAW), origin((-0.10, 0.14)))
    squares = coloured(padded(255 * (np.indices((700, 1000)).sum(axis=0) * 0 + 1), 0))
    rows, columns = np.indices((700, 1000)) // 100
    squares[(rows + columns) % 2 == 0] = 0
    checker = np.pad(squares, ((100, 100), (100, 100), (0, 0)), constant_values=255)  # 25 mm squares
    made["checkerboard"] = ("checkerboard:9x6:0.025", printed(checker, (0.15, 0.1125), AT, YAW), None)
    files = {}
    for kind, (name, picture, at) in made.items():
        Image.fromarray(picture).save(tmp_path / f"{kind}.png")
        files[kind] = (name, tmp_path / f"{kind}.png", at)
    return files  # type: ignore[return-value]


@pytest.mark.gl
@pytest.mark.parametrize(("kind", "far", "angle"), [("aruco", 0.012, 0.02), ("charuco", 0.003, 0.005)])
def test_a_rendered_board_gives_the_camera(boards: Any, kind: str, far: float, angle: float) -> None:
    board, path, at = boards[kind]
    match = camera(path, board=board, at=at, lens=LENS)
    wrong = errors(match)
    assert wrong[0] < far and wrong[1] < angle and match.rms < 0.5, wrong


@pytest.mark.gl
def test_a_rendered_checkerboard_gives_the_camera(boards: Any) -> None:
    """It may be read from its other end, so its origin is one of two."""
    board, path, _ = boards["checkerboard"]
    ends = [origin((-0.1, 0.0625)), [*origin((0.1, -0.0625))[:3], YAW + np.pi]]
    wrong = min(errors(camera(path, board=board, at=at, lens=LENS)) for at in ends)
    assert wrong[0] < 0.003 and wrong[1] < 0.005, wrong
    free = min(errors(camera(path, board=board, at=at)) for at in ends)  # the focal length too
    assert free[2] < 0.03, free


@pytest.mark.gl
def test_boards_that_are_not_there(boards: Any) -> None:
    _, path, _ = boards["aruco"]
    for board, told in (
        ("charuco:5x7:0.04:0.03", "the picture shows 0 corners of charuco:5x7"),
        ("checkerboard:9x6:0.025", "there is no checkerboard:9x6:0.025 in the picture"),
        ("aruco:0.1:5X5_50", "the picture shows no ArUco marker of this dictionary"),
        ("aruco:0.1:4X4_55", "dictionary '4X4_55' is not known; did you mean '4X4_50'"),
        ("aruco:10cm", "'10cm' should be a length in metres"),
        ("charuco:5x7:0.03:0.04", "a marker is smaller than the square"),
        ("chess:5x7", "should be checkerboard:COLUMNSxROWS:SQUARE"),
    ):
        with pytest.raises(UsageError, match=told):
            camera(path, board=board)
    markers = path.parent / "markers.csv"
    markers.write_text("name,x,y,z,yaw\n3,0,0,0,0\n")
    with pytest.raises(UsageError, match="the picture shows the markers 7, and the points name 3"):
        camera(path, board="aruco:0.1", points=markers)
    markers.write_text(f"name,x,y,z,yaw\n7,{AT[0]},{AT[1]},{AT[2]},{YAW}\n")
    assert errors(camera(path, board="aruco:0.1", points=markers, lens=LENS))[0] < 0.012


# -- lines ----------------------------------------------------------------------------------------------------


def grid(noise: float) -> Lines:
    """Lines of a table along x and y."""
    at = (-0.2, -0.05, 0.1, 0.2)
    ends = [[[-0.25, y, 0], [0.25, y, 0]] for y in at] + [[[x, -0.25, 0], [x, 0.25, 0]] for x in at]
    drawn = project(TRUTH, np.array(ends).reshape(-1, 3)).reshape(-1, 2, 2)
    return Lines(np.repeat([0, 1], 4), drawn + np.random.default_rng(0).normal(0, noise, drawn.shape))


@pytest.mark.daily
def test_vanishing_points_give_lens_and_pose_without_calibration() -> None:
    two = points(np.array([[0.0, 0, 0], [0.2, 0.1, 0]]))
    assert max(errors(solve(BLANK, two, grid(0.0)))) < 1e-4
    rough = solve(BLANK, two, grid(0.5))
    far, angle, focal = errors(rough)
    assert far < 0.03 and angle < 0.02 and focal < 0.03
    assert rough.spread is not None and far < rough.spread.position


SINK = {
    # lines of the counter in SIMPLER's photograph bridge_real_1, as a line detector gives them: u1, v1, u2, v2
    "x": [(275.0, 0.5, 588.7, 64.4), (133.5, 325.1, 416.5, 452.7), (328.3, 292.0, 522.5, 367.1),
          (372.3, 135.3, 503.5, 170.4), (548.5, 302.7, 429.5, 262.3), (458.6, 215.0, 569.9, 246.0),
          (55.6, 255.8, 165.8, 303.1)],
    "y": [(190.2, 91.5, 26.2, 231.4), (186.0, 69.8, 124.4, 118.0), (508.7, 454.5, 542.2, 351.5)],
    "z": [(92.5, 307.3, 172.3, 478.7), (198.1, 131.2, 177.6, 0.9), (217.0, 1.0, 230.7, 98.7),
          (578.9, 163.7, 596.2, 109.5)],
}  # fmt: skip


@pytest.mark.parametrize("axes", ["xy", "xyz"])
def test_a_real_photograph_without_calibration(axes: str) -> None:
    """The lens of a Logitech C920, as SIMPLER publishes it, within 1 %. How far away the counter is, nobody measured:
    its left edge is taken to be half a metre, and the camera looks down."""
    ends = np.array([line for axis in axes for line in SINK[axis]]).reshape(-1, 2, 2)
    lines = Lines(np.array(["xyz".index(axis) for axis in axes for _ in SINK[axis]]), ends)
    edge = [Point(name="near", xyz=(0, 0, 0), uv=(26.2, 231.4)), Point(name="far", xyz=(0, 0.5, 0), uv=(190.2, 91.5))]
    match = solve(BLANK, edge, lines)
    assert match.camera.lens.fx == pytest.approx(623.588, rel=0.01)
    assert match.spread is not None and match.spread.focal is not None and match.spread.focal < 0.08
    assert 40 < np.degrees(np.arcsin(-match.camera.turn[2, 2])) < 50 and match.camera.pos[2] > 0.3


def test_too_little_to_go_by() -> None:
    with pytest.raises(UsageError, match=r"points: 3; to fit focal takes 4 or more"):
        solve(BLANK, points(SPREAD[:3]))
    with pytest.raises(UsageError, match=r"lines: 8 lines and 1 points; it takes two lines along each of two axes"):
        solve(BLANK, points(SPREAD[:1]), grid(0.0))
    with pytest.raises(UsageError, match="no camera shows the points like this: are they all in one line"):
        solve(BLANK, [Point(name=str(i), xyz=(0, 0, i / 10), uv=(5 * i, 7)) for i in range(5)], lens=LENS)
    match = solve(BLANK, points(SPREAD[:4]), NO_LINES)
    assert match.spread is not None  # one number more than unknowns


# -- files, worlds and the verb -------------------------------------------------------------------------------


def write(path: Path, given: list[Point]) -> Path:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["name", "x", "y", "z", "u", "v"])
        table.writerows([p.name, *p.xyz, *(p.uv or ("", ""))] for p in given)
    return path


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    Image.fromarray(BLANK).save(tmp_path / "table.png")
    write(tmp_path / "points.csv", points(SPREAD, 0.2))
    return tmp_path


@pytest.mark.gl
def test_a_matched_world_shows_what_the_real_camera_does(lab: Path) -> None:
    """The camera `front` of lift, matched to the points, shows the corners of the cube where the true camera does."""
    done = cli(
        "match", "camera", "table.png", "--points", "points.csv", "-o", "off.png", "--world", "lab.yaml", "--camera",
        "front", "--json", cwd=lab,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["rms_px"] < 0.5 and told["position_95_m"] < 0.05 and len(told["points"]) == len(SPREAD)
    assert (lab / "off.png").exists()

    class Seen(Lift):
        cameras = {**Lift.cameras, "true": EYE}

    world = MujocoWorld(Seen(), lab / "lab.yaml", slots=1)
    slot = np.zeros(1, dtype=np.int32)
    world.reset(slot, [world.task.scenario(0)], [0])
    streams = {f"{name}/segmentation": Stream((*SIZE, 1)) for name in ("front", "true")}
    shown = world.observe(slot, streams)
    seen = [shown[stream][0, ..., 0] == world.legend["cube"] for stream in streams]
    overlap = (seen[0] & seen[1]).sum() / (seen[0] | seen[1]).sum()
    assert seen[1].sum() > 500 and overlap > 0.95
    lens = world.intrinsics("front", *SIZE)
    assert lens.fx == pytest.approx(told["fx"], rel=1e-4)
    assert MujocoWorld(make_task("lift")).hash != world.hash


@pytest.mark.gl
def test_a_camera_on_a_robot_is_said_on_its_body(lab: Path) -> None:
    with pytest.raises(UsageError, match="'panda/wrist' is on a robot: give the task"):
        camera(lab / "table.png", points=lab / "points.csv", camera="panda/wrist", world=lab / "lab.yaml")
    camera(lab / "table.png", points=lab / "points.csv", camera="panda/wrist", world=lab / "lab.yaml", task="lift")
    head: dict[str, Any] = {"camera": "google_robot/overhead", "task": "google_robot_pick_coke_can"}
    odd = camera(lab / "table.png", points=lab / "points.csv", world=lab / "other.yaml", **head)
    assert (
        "640x480 pixels, and camera 'google_robot/overhead' takes 640x512: another shape" in odd.to_dict()["notes"][-1]
    )
    bench = Bench("lift", world=lab / "lab.yaml")
    data = mujoco.MjData(bench.drawn)
    data.qpos[:] = bench.world.snapshot(0)
    mujoco.mj_forward(bench.drawn, data)
    assert np.linalg.norm(data.camera("panda/wrist").xpos - EYE.pos) < 0.03
    with pytest.raises(UsageError, match="'frnt' is not in task 'lift'; did you mean 'front'"):
        camera(lab / "table.png", points=lab / "points.csv", camera="frnt", world=lab / "x.yaml", task="lift")


@pytest.mark.parametrize(
    ("transform", "told"),
    [
        ("{use: camera, pos: [0, 0, 1]}", "name the one camera of the scene"),
        ("{use: camera, cameras: [front, overview], pos: [0, 0, 1]}", "name the one camera of the scene"),
        ("{use: camera, cameras: [front]}", "give a pose"),
        ("{use: camera, cameras: [front], fx: 600}", "a lens needs fx, fy, cx, cy, width, height"),
        ("{use: camera, cameras: [front], quat: [1, 1, 0, 0]}", "a quaternion has length 1, and this one 1.414"),
        ("{use: camera, cameras: [font], pos: [0, 0, 1]}", "'font' is not in this world; did you mean 'front'"),
    ],
)
def test_a_camera_of_a_world_file_that_cannot_be(tmp_path: Path, transform: str, told: str) -> None:
    (tmp_path / "lab.yaml").write_text(f"transforms:\n  - {transform}\n")
    with pytest.raises(UsageError, match=told):
        MujocoWorld(make_task("lift"), tmp_path / "lab.yaml")


def test_what_is_left_out_stays_and_does_not_enter_the_hash(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("transforms: [{use: camera, cameras: [front], pos: [0.5, 0, 0.5]}]\n")
    (transform,) = load_world(tmp_path / "lab.yaml").transforms
    assert transform.decides() == {"use": "camera", "cameras": ["front"], "pos": [0.5, 0.0, 0.5]}
    world = MujocoWorld(make_task("lift"), tmp_path / "lab.yaml")
    assert world.intrinsics("front", *SIZE) == MujocoWorld(make_task("lift")).intrinsics("front", *SIZE)


@pytest.mark.parametrize(
    ("files", "arguments", "told"),
    [
        ({}, [], "give points, a board or lines"),
        ({"p.csv": "name,x,y\na,1,2\n"}, ["--points", "p.csv"], "points: p.csv: point 1 has no z"),
        ({"p.csv": "x,y,z,u,v\n1,2,far,3,4\n"}, ["--points", "p.csv"], "z is 'far', it should be a number"),
        ({"p.csv": "x,y,z\n300,200,0\n"}, ["--points", "p.csv"], "points are in metres; are these millimetres?"),
        ({"p.csv": "x,y,z,u\n0,0,0,5\n"}, ["--points", "p.csv"], "has u alone: give u and v"),
        ({"p.csv": "name,x,y,z\na,0,0,0\nb,0,0,1\n"}, ["--points", "p.csv"], "points: a, b: no u, v: click them"),
        ({"p.csv": "x,y,z,u,v\n0,0,0,900,4\n"}, ["--points", "p.csv"], "outside the picture of 640x480 pixels"),
        ({"p.csv": "name,x,y,z\na,0,0,0\na,0,0,1\n"}, ["--points", "p.csv"], "two points are called 'a'"),
        ({"p.json": "{"}, ["--points", "p.json"], "p.json is not valid JSON"),
        ({"l.csv": "axis,u1,v1,u2,v2\nw,1,2,3,4\n"}, ["--lines", "l.csv"], "axis is 'w', it should be x, y or z"),
        ({}, ["--points", "points.csv", "--lens", "600", "600", "900", "240"], "lens: 600 600 900 240 should be fx"),
        ({}, ["--points", "points.csv", "--fit", "pose"], "fit: pose needs a lens"),
        ({}, ["--points", "points.csv", "--fit", "focl"], "fit: 'focl' is not known; did you mean 'focal'"),
        ({}, ["--points", "points.csv", "--world", "lab.yaml"], "camera and world: give both"),
        ({}, ["--points", "points.csv", "--at", "1", "2"], "at: 2 numbers"),
        ({}, ["--click"], "click: give the points to click"),
    ],
)
def test_what_is_wrong_is_said(lab: Path, files: dict[str, str], arguments: list[str], told: str) -> None:
    for name, text in files.items():
        (lab / name).write_text(text)
    assert told in refused("match", "camera", "table.png", *arguments, cwd=lab)


def test_points_as_json(lab: Path) -> None:
    (lab / "p.json").write_text('[{"name": "a", "x": 0, "y": 0.1, "z": 0, "u": 3, "v": 4}, {"x": 1, "y": 2, "z": 3}]')
    first, second = read_points(lab / "p.json")
    assert first == Point(name="a", xyz=(0.0, 0.1, 0.0), uv=(3.0, 4.0)) and (second.name, second.uv) == ("2", None)
