"""Maps and meshes of users as rooms."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from PIL import Image
from studies import cli

import foretell
from foretell.errors import UsageError
from foretell.rooms import Geodesic, Room
from foretell.rooms.floor import shape_of
from foretell.rooms.lab import box

MAP = {"image": "map.pgm", "resolution": 0.05, "origin": [-1.0, 2.0, 0.0], "negate": 0, "occupied_thresh": 0.65}
FREE, WALL, UNKNOWN = 254, 0, 205


def hall() -> np.ndarray:
    """(80, 120) a hall of 5 x 3 m in the middle of a map of 6 x 4 m, with a pillar of 0.5 m; row 0 is the top."""
    cells = np.full((80, 120), UNKNOWN, dtype=np.uint8)
    cells[8:72, 8:112] = WALL
    cells[10:70, 10:110] = FREE
    cells[20:30, 40:50] = WALL
    return cells


def write_map(folder: Path, cells: np.ndarray, image: str = "map.pgm", **changes: Any) -> Path:
    Image.fromarray(cells).save(folder / image)
    about = {**MAP, "free_thresh": 0.196, "image": image, **changes}
    lines = [f"{key}: {json.dumps(value)}" for key, value in about.items() if value is not None]
    (folder / "map.yaml").write_text("\n".join(lines) + "\n")
    return folder / "map.yaml"


def imported(source: Path, **options: Any) -> Room:
    return Room.load(foretell.import_room(source, out=source.parent / "room.json", **options).file)


@pytest.mark.parametrize("image", ["map.pgm", "map.png"])
def test_a_map_becomes_its_walls(tmp_path: Path, image: str) -> None:
    room = imported(write_map(tmp_path, hall(), image))
    # 10 cells from the left and 10 from the bottom; the origin is the lower left corner
    assert room.bounds == pytest.approx((-1 + 0.5, 2 + 0.5, -1 + 5.5, 2 + 3.5))
    assert len(room.outline) == 4
    (pillar,) = room.obstacles
    np.testing.assert_allclose([pillar.min(axis=0), pillar.max(axis=0)], [[1.0, 4.5], [1.5, 5.0]], atol=1e-9)
    assert room.heights == (2.5,)


def test_a_map_may_be_turned(tmp_path: Path) -> None:
    plain = imported(write_map(tmp_path, hall(), origin=[0, 0, 0]))
    turned = imported(write_map(tmp_path, hall(), origin=[3, 0, math.pi / 2]))
    np.testing.assert_allclose(
        sorted(turned.outline.tolist()),
        sorted((plain.outline @ [[0, 1], [-1, 0]] + [3, 0]).tolist()),
        atol=1e-4,
    )


def test_dark_may_be_free(tmp_path: Path) -> None:
    cells = hall()
    room = imported(write_map(tmp_path, cells))
    inverted = np.where(cells == UNKNOWN, 50, 255 - cells).astype(np.uint8)
    assert imported(write_map(tmp_path, inverted, negate=1)) == room


def test_unknown_cells_are_as_asked(tmp_path: Path) -> None:
    cells = hall()
    cells[40:60, 60:80] = UNKNOWN
    path = write_map(tmp_path, cells)
    made = foretell.import_room(path, out=tmp_path / "room.json")
    assert made.obstacles == 2
    assert any("of the cells are unknown: they count as wall" in note for note in made.notes)
    assert len(imported(path, unknown="floor", inside=(2, 4)).obstacles) == 1


def test_slanted_walls_are_straight(tmp_path: Path) -> None:
    """A turned box, drawn as cells and read again: few corners, walls within 1.5 cells, distances within 2 %."""
    room = Room(name="slant", outline=box(2.5, 2, 5, 4), obstacles=(box(2.5, 2.0, 2.0, 0.6, 0.4),))
    x, y = np.meshgrid(np.arange(-10, 110) * 0.05 + 0.025, np.arange(-10, 90) * 0.05 + 0.025)
    free = room.open(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(x.shape)
    again = imported(write_map(tmp_path, np.where(free, FREE, WALL).astype(np.uint8)[::-1], origin=[-0.5, -0.5, 0]))
    assert len(again.obstacles) == 1 and len(again.obstacles[0]) <= 12
    assert shape_of(again).boundary.hausdorff_distance(shape_of(room).boundary) < 0.075
    ways, others = Geodesic(room, 0.175), Geodesic(again, 0.175)
    start, goal = ways.floor.sample(40, np.random.default_rng(0)).reshape(2, 20, 2)
    np.testing.assert_allclose(others.distance(start, goal), ways.distance(start, goal), rtol=0.02)


def test_of_several_floors_the_largest_or_the_one_asked_for(tmp_path: Path) -> None:
    cells = hall()
    cells[:, 80:82] = WALL
    path = write_map(tmp_path, cells)
    assert imported(path).bounds[2] == pytest.approx(-1 + 4.0)
    assert imported(path, inside=(4.0, 4.0)).bounds[0] == pytest.approx(-1 + 4.1)
    with pytest.raises(UsageError, match=r"inside: 40 4 is not on the floor of the map"):
        imported(path, inside=(40.0, 4.0))


def test_a_map_without_walls_says_so(tmp_path: Path) -> None:
    made = foretell.import_room(
        write_map(tmp_path, np.full((40, 40), FREE, dtype=np.uint8)), out=tmp_path / "room.json"
    )
    assert any("the floor reaches the edge of the image: 8 m of the outline are no wall" in note for note in made.notes)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"resolution": None}, r"resolution is missing: a map says, for example, `resolution: 0.05`"),
    ({"resolution": -1}, r"resolution: should be a number from 0.001 to 10 \(given: -1\)"),
    ({"resolution": "fine"}, r"resolution: should be a number .* \(given: 'fine'\)"),
    ({"origin": None}, r"origin is missing"),
    ({"origin": 3}, r"origin: should be \[x, y, yaw\], in metres and radians \(given: 3\)"),
    ({"origin": [0, "a", 0]}, r"origin\[1\]: should be a number"),
    ({"mode": "trinar"}, r"mode: 'trinar' is not known; did you mean 'trinary'\?"),
    ({"negate": 2}, r"negate: should be 0 or 1 \(given: 2\)"),
    ({"free_thresh": 0.9}, r"free_thresh 0.9 should be at most occupied_thresh 0.65"),
    ({"negate": 1}, r"the map has no floor: 9600 cells are walls and 0 unknown; negate is 1"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG, ids=lambda value: "")
def test_what_is_wrong_with_a_map_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    cells = np.where(hall() == FREE, FREE, UNKNOWN).astype(np.uint8)
    path = write_map(tmp_path, cells, **changes)
    with pytest.raises(UsageError, match=f"map.yaml: .*{words}"):
        imported(path)


def test_files_that_are_no_map(tmp_path: Path) -> None:
    path = write_map(tmp_path, hall())
    (tmp_path / "map.pgm").unlink()
    with pytest.raises(UsageError, match=r"map.yaml: image: .*map.pgm cannot be read: No such file"):
        imported(path)
    for text, more in (("P5 nothing", ": invalid"), ("nothing", "$")):
        (tmp_path / "map.pgm").write_text(text)
        with pytest.raises(UsageError, match=rf"map.yaml: image: .*map.pgm is no PGM, PNG or BMP picture{more}"):
            imported(path)
    path.write_text("- 1\n")
    with pytest.raises(UsageError, match=r"map.yaml is not a map: it should have image, resolution and origin"):
        imported(path)
    with pytest.raises(UsageError, match=r"map.pgm is a picture: give the map that names it, such as .*map.yaml"):
        imported(tmp_path / "map.pgm")
    with pytest.raises(UsageError, match=r"room.txt: a room comes from a map \(.yaml\) or a mesh"):
        imported(tmp_path / "room.txt")


def test_spots_must_be_reachable(tmp_path: Path) -> None:
    cells = hall()
    cells[10:66, 80:82] = WALL  # a gap of 0.2 m is left
    path = write_map(tmp_path, cells)
    room = imported(path, spots=("A=0,4", "B=1,3,90"))
    assert room.spots == {"A": (0.0, 4.0, 0.0), "B": (1.0, 3.0, pytest.approx(math.pi / 2))}
    with pytest.raises(UsageError, match=r"spots: 'A' is given twice"):
        imported(path, spots=("A=0,4", "A=1,3"))
    with pytest.raises(UsageError, match=r"spots.B: no way leads there from A for a robot of .* \(given: \[4.0"):
        imported(path, spots=("A=0,4", "B=4,4"))
    assert imported(path, spots=("A=0,4", "B=4,4"), radius=0.05).spots.keys() == {"A", "B"}
    with pytest.raises(UsageError, match=r"spots.A: lies inside obstacles\[0\] \(given: \[1.2, 4.7\]\)"):
        imported(path, spots=("A=1.2,4.7",))
    with pytest.raises(UsageError, match=r"spots: 'A:1,2' should be NAME=X,Y or NAME=X,Y,YAW, in metres and degrees"):
        imported(path, spots=("A:1,2",))


def write_mesh(path: Path, rings: list[np.ndarray], heights: list[float], scale: float = 1.0, up: str = "z") -> Path:
    """Upright walls along rings, from the floor up, as an OBJ file."""
    lines, start = [], 1
    for ring, height in zip(rings, heights, strict=True):
        for z in (0.0, height):
            for x, y in ring * scale:
                lines.append(f"v {x} {y} {z * scale}" if up == "z" else f"v {x} {z * scale} {-y}")
        k = len(ring)
        for i in range(k):
            a, b = start + i, start + (i + 1) % k
            lines += [f"f {a} {b} {b + k}", f"f {a} {b + k} {a + k}"]
        start += 2 * k
    path.write_text("\n".join(lines) + "\n")
    return path


FLAT = box(3, 2, 6, 4)
RINGS, HEIGHTS = [box(3, 2, 6.4, 4.4), FLAT, box(2, 2, 1, 0.5), box(4.5, 1, 0.6, 0.6, 0.5)], [2.5, 2.5, 0.8, 0.3]


@pytest.mark.parametrize("up", ["y", "z"])
def test_a_mesh_becomes_what_its_walls_enclose(tmp_path: Path, up: str) -> None:
    room = imported(write_mesh(tmp_path / "flat.obj", RINGS, HEIGHTS, up=up), up=up)
    truth = Room(name="flat", outline=FLAT, obstacles=tuple(RINGS[2:]), heights=tuple(HEIGHTS[2:]))
    assert shape_of(room).symmetric_difference(shape_of(truth)).area < 0.01
    assert sorted(room.heights) == pytest.approx([0.3, 0.8])
    assert room.wall_height == pytest.approx(2.5)


def test_a_mesh_is_cut_where_asked(tmp_path: Path) -> None:
    path = write_mesh(tmp_path / "flat.obj", RINGS, HEIGHTS)
    assert len(imported(path, at=(0.1,)).obstacles) == 2
    assert len(imported(path, at=(0.5,)).obstacles) == 1


def test_small_holes_in_walls_are_closed(tmp_path: Path) -> None:
    path = write_mesh(tmp_path / "flat.obj", [FLAT], [2.5])
    text = path.read_text().replace("f 1 2 6\nf 1 6 5\n", "")
    path.write_text(text)
    with pytest.raises(UsageError, match=r"at 0.1 0.35 0.6 m .* walls enclose no floor .* this mesh is no room"):
        imported(path)
    edges = np.array([[0.0, 0.0], [5.97, 0.0], [6.0, 4.0], [0.0, 4.0]])
    nearly = write_mesh(tmp_path / "nearly.obj", [edges], [2.5])
    nearly.write_text(
        nearly.read_text().replace("f 1 2 6\nf 1 6 5\n", "v 5.96 0 0\nv 5.96 0 2.5\nf 1 9 10\nf 1 10 5\n")
    )
    assert len(imported(nearly, gap=0.04).outline) <= 6


def test_meshes_that_are_no_room(tmp_path: Path) -> None:
    large = write_mesh(tmp_path / "mm.obj", RINGS, HEIGHTS, scale=1000)
    with pytest.raises(UsageError, match=r"mm.obj: the mesh is 6400 m long, .* in millimetres\? use --scale 0.001"):
        imported(large)
    assert imported(large, scale=0.001).bounds == pytest.approx((0, 0, 6, 4), abs=1e-6)
    low = write_mesh(tmp_path / "low.obj", [FLAT], [0.05])
    with pytest.raises(UsageError, match=r"low.obj: at 0.1 0.35 0.6 m .* there is nothing: the mesh is 0.05 m high"):
        imported(low)
    ball = trimesh.creation.icosphere(radius=5.0)
    ball.export(tmp_path / "ball.stl")
    with pytest.raises(
        UsageError, match=r"ball.stl: its walls enclose 2.6 m2 at 0.1 m .* and 17 m2 at 0.6 m, .* no room"
    ):
        imported(tmp_path / "ball.stl")
    with pytest.raises(UsageError, match=r"do not enclose inside: 30 30"):
        imported(write_mesh(tmp_path / "flat.obj", RINGS, HEIGHTS), inside=(30.0, 30.0))


def test_numbers_out_of_range(tmp_path: Path) -> None:
    path = write_map(tmp_path, hall())
    for options, words in (
        ({"radius": -1.0}, "radius is -1.0, it must be above 0"),
        ({"at": ()}, r"at should be heights above 0 m \(given: none\)"),
        ({"inside": (1.0,)}, r"inside should be x and y, in metres \(given: 1.0\)"),
        ({"unknown": "maybe"}, "unknown is 'maybe', it must be wall or floor"),
        ({"up": "w"}, "up is 'w', it must be x, y or z"),
        ({"radius": 3.0}, r"a robot of radius 3 m fits nowhere: the room is 5 x 3 m"),
    ):
        with pytest.raises(UsageError, match=words):
            imported(path, **options)


def test_files_of_others_stay(tmp_path: Path) -> None:
    path = write_map(tmp_path, hall())
    (tmp_path / "notes.json").write_text("{}")
    with pytest.raises(UsageError, match=r"out: .*notes.json exists and is no room"):
        foretell.import_room(path, out=tmp_path / "notes.json")
    with pytest.raises(UsageError, match=r"out: .*room.yaml should end in .json"):
        foretell.import_room(path, out=tmp_path / "room.yaml")
    with pytest.raises(UsageError, match=r"out: there is no folder"):
        foretell.import_room(path, out=tmp_path / "none" / "room.json")


def test_the_command(tmp_path: Path) -> None:
    path = write_map(tmp_path, hall())
    arguments = ["import-room", str(path), "-o", str(tmp_path / "hall.json"), "--spots", "A=0,4", "B=4,4,90"]
    text = cli(*arguments, cwd=tmp_path).stdout
    assert "map: 5.00 x 3.00 m, 14.8 m2 of floor, 1 obstacle, 8 corners" in text
    assert "spots: A, B; a way leads from each to every other" in text
    assert (tmp_path / "hall.svg").read_text().startswith("<svg")
    about = json.loads(cli(*arguments, "--json", cwd=tmp_path).stdout)
    assert about["spots"] == ["A", "B"] and about["area"] == pytest.approx(14.75)
