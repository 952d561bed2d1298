"""Meshes of users as objects: what is made of them, and what is said of those that are no sound mesh."""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshes import box
from reference import ASSETS
from studies import cli

import foretell
from foretell.cli import main
from foretell.errors import UsageError
from foretell.import_object import mesh as reading
from foretell.import_object.mesh import Piece
from foretell.import_object.parts import closed, convex_parts
from foretell.objects import asset
from foretell.objects.imported import FILE, describe, imported, read_obj
from foretell.objects.png import read_png, write_png
from foretell.scenario import Placement
from foretell.sim.bench import Bench
from foretell.tasks.lift import Lift

trimesh = pytest.importorskip("trimesh", reason="pip install 'foretell[meshes]'")
pytest.importorskip("coacd", reason="pip install 'foretell[meshes]'")


def ell() -> Any:
    """A thing that is not convex: two boxes, one upon the end of the other, 6 cm long and high."""
    corner = [(0, 0), (0.06, 0), (0.06, 0.02), (0.02, 0.02), (0.02, 0.06), (0, 0.06)]
    low, high = ([(x, y, z) for x, z in corner] for y in (0.0, 0.03))
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    sides = [(i, (i + 1) % 6) for i in range(6)]
    faces = [*caps, *((a + 6, c + 6, b + 6) for a, b, c in caps)]
    faces += [f for a, b in sides for f in ((b, a, a + 6), (b, a + 6, b + 6))]
    return trimesh.Trimesh([*low, *high], faces, process=True)


def test_convex_parts_mass_and_inertia_are_those_of_the_shape(tmp_path: Path) -> None:
    ell().export(tmp_path / "ell.stl")
    made = foretell.import_object(tmp_path / "ell.stl", out=tmp_path / "objects", mass=0.12)
    assert made.parts == 2 and made.mass == pytest.approx(0.12)
    assert made.size == pytest.approx((0.06, 0.03, 0.06), abs=1e-7)
    about = describe(made.asset)
    volume = 0.06 * 0.03 * 0.02 + 0.04 * 0.03 * 0.02
    assert about.source["volume"] == pytest.approx(volume, rel=0.02)
    exact = ell()
    exact.density = 0.12 / exact.volume
    assert about.com == pytest.approx(exact.center_mass - [0.03, 0.015, 0.03], abs=5e-4)
    assert sorted(about.inertia) == pytest.approx(np.linalg.eigvalsh(exact.moment_inertia), rel=0.03)
    dense = foretell.import_object(tmp_path / "ell.stl", out=tmp_path / "objects", density=1000, name="dense")
    assert dense.mass == pytest.approx(1000 * volume, rel=0.02)


def test_an_object_stands_where_a_task_puts_it(tmp_path: Path) -> None:
    made = box(tmp_path / "brick.obj", (0.04, 0.05, 0.06), mass=0.2)
    thing = asset(made.asset)
    assert thing.rest == pytest.approx(0.03) and thing.free and thing.mass == 0.2
    task = Lift()
    placed = {"cube": Placement(asset=made.asset, pos=(0.0, 0.0, thing.rest))}
    bench = Bench(task, scenario=task.scenario(0).model_copy(update={"placements": placed}))
    bench.run(0.5)
    assert bench.state.pos("cube")[0] == pytest.approx([0, 0, 0.03], abs=1e-3)
    assert bench.model.body("cube").mass[0] == pytest.approx(0.2)
    assert ("cube", "table") in bench.contacts() and not bench.solved()


def test_a_changed_object_is_another_scenario_and_a_moved_one_is_not(tmp_path: Path) -> None:
    made = box(tmp_path / "brick.obj", (0.04, 0.04, 0.05), mass=0.2)
    task = Lift()

    def scenario(name: str) -> Any:
        return task.scenario(0).model_copy(update={"placements": {"cube": Placement(asset=name, pos=(0, 0, 0.03))}})

    elsewhere = tmp_path / "moved" / "brick"
    elsewhere.parent.mkdir()
    (tmp_path / "objects" / "brick").rename(elsewhere)
    assert imported(elsewhere) != made.asset
    assert scenario(imported(elsewhere)).id == scenario(made.asset).id
    assert scenario(imported(elsewhere)).base == scenario(made.asset).base
    heavier = box(tmp_path / "brick.obj", (0.04, 0.04, 0.05), mass=0.3)
    longer = box(tmp_path / "brick.obj", (0.04, 0.04, 0.06), mass=0.3)
    assert len({scenario(name).id for name in (made.asset, heavier.asset, longer.asset)}) == 3
    with pytest.raises(UsageError, match=r"brick was changed: its hash is [0-9a-f]{16} now"):
        asset(heavier.asset)
    part = next((tmp_path / "objects" / "brick").glob("part-*.obj"))
    part.write_text(part.read_text().replace("0.03", "0.02"))
    with pytest.raises(UsageError, match=r"part-00.obj was changed after it was imported"):
        asset(longer.asset)


@pytest.mark.gl
def test_a_texture_is_kept_and_a_picture_is_drawn(tmp_path: Path) -> None:
    from PIL import Image

    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:, :4], pixels[:, 4:] = (250, 10, 10), (10, 10, 250)
    solid = trimesh.creation.box((0.05, 0.05, 0.05))
    solid.unmerge_vertices()
    uv = (solid.vertices[:, [0, 2]] + 0.025) / 0.05
    skin = trimesh.visual.texture.SimpleMaterial(image=Image.fromarray(pixels))
    solid.visual = trimesh.visual.TextureVisuals(uv=uv, material=skin)
    (tmp_path / "skin.glb").write_bytes(trimesh.Scene([solid]).export(file_type="glb"))
    made = foretell.import_object(tmp_path / "skin.glb", out=tmp_path / "objects", parts=1, up="z")
    assert made.picture is not None and made.looks == 1
    assert np.array_equal(read_png((made.folder / "texture-00.png").read_bytes()), pixels)
    drawn = np.array(Image.open(made.picture).convert("RGB")).astype(int)
    red = (drawn[..., 0] > 150) & (drawn[..., 1] < 80) & (drawn[..., 2] < 80)
    blue = (drawn[..., 2] > 90) & (drawn[..., 0] < 60)
    assert red.sum() > 300 and blue.sum() > 300


def test_the_unit_of_a_file_is_asked_about_not_guessed(tmp_path: Path) -> None:
    for size, hint in (((40, 50, 60), "in millimetres? use --scale 0.001"), ((4e-5,) * 3, "use --scale 1000")):
        with pytest.raises(UsageError, match="along its longest side") as told:
            box(tmp_path / "mm.obj", size)
        assert hint in str(told.value)
    made = box(tmp_path / "mm.obj", (40, 50, 60), scale=0.001)
    assert made.size == pytest.approx((0.04, 0.05, 0.06)) and not any("millimetres" in n for n in made.notes)


def test_an_axis_points_up(tmp_path: Path) -> None:
    sizes = {up: box(tmp_path / f"{up}.obj", (0.02, 0.04, 0.06), up=up).size for up in ("x", "y", "z")}
    assert sizes["x"] == pytest.approx((0.04, 0.06, 0.02))
    assert sizes["y"] == pytest.approx((0.02, 0.06, 0.04))
    assert sizes["z"] == pytest.approx((0.02, 0.04, 0.06))


@pytest.mark.daily
def test_holes_are_filled_or_the_fallback_is_stated(tmp_path: Path) -> None:
    holed = trimesh.creation.icosphere(subdivisions=2, radius=0.03)
    holed.update_faces(np.arange(len(holed.faces)) != 5)
    holed.export(tmp_path / "holed.stl")
    made = foretell.import_object(tmp_path / "holed.stl", out=tmp_path / "objects", density=1000)
    assert any("holes (3 open edges), which were filled" in note for note in made.notes)
    assert made.mass == pytest.approx(1000 * 4 / 3 * np.pi * 0.03**3, rel=0.06)
    open_ = trimesh.Trimesh(*_fins(), process=False)
    open_.export(tmp_path / "fins.stl")
    hull = foretell.import_object(tmp_path / "fins.stl", out=tmp_path / "objects")
    assert any("holes that could not be filled" in note for note in hull.notes)


def _fins() -> tuple[Any, Any]:
    """Three sheets that meet in one edge: no hole of it has a rim to be filled."""
    up, out = np.array([0, 0, 0.05]), [np.array([np.cos(a), np.sin(a), 0]) * 0.03 for a in (0, 2, 4)]
    vertices = [np.zeros(3), up, *out, *(side + up for side in out)]
    return vertices, [f for i in (2, 3, 4) for f in ((0, i, i + 3), (0, i + 3, 1))]


def test_a_ring_with_a_hole_stays_a_ring() -> None:
    """It is closed where it is open, and not made anew on a grid, which is slow and makes it thicker."""
    ring = trimesh.creation.torus(0.05, 0.02, major_sections=24, minor_sections=12)
    volume = ring.volume
    ring.update_faces(np.linalg.norm(ring.triangles_center - [0.07, 0, 0], axis=1) > 0.012)
    whole, note = closed([Piece(vertices=np.asarray(ring.vertices), faces=np.asarray(ring.faces))])
    assert whole.is_watertight and note is not None and "which were filled" in note
    assert whole.volume == pytest.approx(volume, rel=0.03)
    parts, other = convex_parts(whole, 16, 0.1)
    assert other is None and 3 < len(parts) <= 16
    cup = trimesh.creation.cylinder(0.04, height=0.03, sections=24)
    cup.update_faces(cup.triangles_center[:, 2] < 0.0149)
    sheet, _ = closed([Piece(vertices=np.asarray(cup.vertices), faces=np.asarray(cup.faces))])
    assert not sheet.is_watertight  # its mouth is no flaw


def test_a_ball_with_holes_that_touch_is_its_hull_at_once(tmp_path: Path) -> None:
    """CoACD makes 16 ragged parts of it, in a minute."""
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.03)
    ball.update_faces(np.arange(len(ball.faces)) % 3 > 0)
    ball.export(tmp_path / "ball.stl")
    made = foretell.import_object(tmp_path / "ball.stl", out=tmp_path / "objects", density=1000)
    assert made.parts == 1 and made.mass == pytest.approx(1000 * 4 / 3 * np.pi * 0.03**3, rel=0.1)
    assert any("it lies on its convex hull, which is used" in note for note in made.notes)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mass": 1e6}, r"mass is 1e\+06 kg and the convex parts have 0.064 litres, which is 1.56e\+10 kg/m\^3"),
        ({"mass": 1.0, "scale": 1000}, "which is 1.56e-05 kg/m.* check the mass .kg. and the scale"),
        ({"density": 1e9}, r"density is 1e\+09, it must be from 10 to 25,000 kg/m\^3"),
        ({"threshold": 7}, "threshold is 7, it must be from 0.01 to 1"),
        (
            {"words": "red\x1b[31m cup"},
            r"words are 'red\\x1b\[31m cup', they must be up to 200 letters without control",
        ),
    ],
)
def test_absurd_numbers_are_refused(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        box(tmp_path / "brick.obj", (0.04, 0.04, 0.04), **options)


def test_a_second_import_of_a_name_is_said(tmp_path: Path) -> None:
    assert not any("replaced" in note for note in box(tmp_path / "brick.obj", (0.04, 0.04, 0.04)).notes)
    again = box(tmp_path / "brick.obj", (0.04, 0.04, 0.05))
    assert any("brick was there before, and is replaced" in note for note in again.notes)


def test_a_stop_does_not_speak_of_episodes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["foretell.import_object"], "import_object", stop)
    with pytest.raises(SystemExit) as ended:
        main(["import-object", "ball.stl"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "foretell: stopped. Nothing was written\n"


BAD = {
    "nothing.obj": (b"", "is empty"),
    "points.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", "has no triangles|is no OBJ mesh"),
    "nan.obj": (b"v nan 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n", "not finite"),
    "index.obj": (
        b"v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 2 900\nf 1 2 4\n",
        "vertices that it does not have|is no OBJ",
    ),
    "far.obj": (b"v 1e99 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n", "too far away"),
    "dots.obj": (b"v 0.1 0 0\nv 0.1 0 0\nv 0.1 0 0\nv 0 0 0.1\nf 1 2 3\n", "flat"),
    "text.stl": (b"hello", "is no STL mesh|has no triangles"),
    "noise.glb": (bytes(range(256)) * 4, "is no GLB mesh"),
    "page.dae": (b"<html></html>", "is no DAE mesh|has no triangles"),
    "laughs.dae": (b'<!DOCTYPE x [<!ENTITY a "ha">]><COLLADA/>', "defines entities"),
    "flat.obj": (b"v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0.1 0.1 0\nf 1 2 3\nf 2 4 3\n", "flat"),
    "mug.blend": (b"BLENDER", "a mesh ends in .glb, .obj, .dae, .stl, not in '.blend'$"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_mesh_is_refused_in_words(tmp_path: Path, name: str) -> None:
    data, says = BAD[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=says) as told:
        foretell.import_object(tmp_path / name, out=tmp_path / "objects")
    assert name in str(told.value) and not (tmp_path / "objects" / name.partition(".")[0]).exists()


def test_thousands_of_bodies_are_refused_unless_their_hull_is_asked_for(tmp_path: Path) -> None:
    tiny = trimesh.creation.box((0.001, 0.001, 0.001))
    grid = [
        tiny.copy().apply_translation((x / 200, y / 200, 0.002 * ((x + y) % 2))) for x in range(20) for y in range(20)
    ]
    trimesh.util.concatenate(grid).export(tmp_path / "gravel.stl")
    with pytest.raises(UsageError, match=r"gravel.stl: the mesh has 400 separate bodies.*--parts 1"):
        foretell.import_object(tmp_path / "gravel.stl", out=tmp_path / "objects")
    assert foretell.import_object(tmp_path / "gravel.stl", out=tmp_path / "objects", parts=1).parts == 1


def test_a_mesh_reaches_nothing_but_what_is_beside_it(tmp_path: Path) -> None:
    secret = tmp_path / "secret.mtl"
    secret.write_text("newmtl m\nKd 0.9 0.1 0.1\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    for reference in ("../secret.mtl", str(secret), "link.mtl"):
        (inner / "link.mtl").unlink(missing_ok=True)
        os.symlink(secret, inner / "link.mtl")
        path = inner / "thing.obj"
        box(path, (0.04, 0.04, 0.04), out=tmp_path / "objects")
        path.write_text(f"mtllib {reference}\nusemtl m\n{path.read_text()}")
        made = foretell.import_object(path, out=tmp_path / "objects", parts=1)
        assert describe(made.asset).looks[0].colour != pytest.approx((0.9, 0.1, 0.1))
    (inner / "own.mtl").write_text("newmtl m\nKd 0.1 0.9 0.1\n")
    path.write_text(path.read_text().replace("link.mtl", "own.mtl"))
    own = foretell.import_object(path, out=tmp_path / "objects", parts=1)
    assert describe(own.asset).looks[0].colour == pytest.approx((0.1, 0.9, 0.1), abs=0.01)


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "a@b", "", "x" * 61, "new\nline"])
def test_hostile_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="should be up to 60 letters"):
        box(tmp_path / "thing.obj", (0.04, 0.04, 0.04), name=name)
    made = box(tmp_path / "a b;$(rm) é.obj", (0.04, 0.04, 0.04))
    assert made.name == "a-b-rm" and made.folder == tmp_path / "objects" / "a-b-rm"


def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "objects" / "brick").mkdir(parents=True)
    with pytest.raises(UsageError, match="exists and is no imported object"):
        box(tmp_path / "brick.obj", (0.04, 0.04, 0.04))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"parts": ["../../etc/passwd"]}, "parts.0: String should match pattern"),
        ({"mass": -1}, "mass: Input should be greater than 0"),
        ({"format": 9}, "has format 9; this foretell reads up to 1"),
        ({"inertia": [1e400, 1, 1]}, "inertia.0|not JSON|finite"),
    ],
)
def test_an_altered_object_file_is_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    made = box(tmp_path / "brick.obj", (0.04, 0.04, 0.04))
    about = json.loads((made.folder / FILE).read_text())
    (made.folder / FILE).write_text(json.dumps(about | change))
    with pytest.raises(UsageError, match=says):
        asset(imported(made.folder))


def test_a_small_picture_cannot_unpack_to_a_large_one() -> None:
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    data = write_png(image)
    assert np.array_equal(read_png(data), image)
    bomb = zlib.compress(bytes(50_000_000), 9)
    for bad in (
        data[:33] + struct.pack(">I", len(bomb)) + b"IDAT" + bomb,
        data[:30],
        data[:16] + b"\xff" * 8 + data[24:],
    ):
        with pytest.raises(ValueError, match=r"pixels|PNG|broken"):
            read_png(bad)
    with pytest.raises(UsageError, match="is no part as foretell writes it"):
        read_obj(b"v 0 0 0\nf 1 2 3\n", Path("objects/mug/part-00.obj"))


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(UsageError, match=r"meshes need trimesh: pip install 'foretell\[meshes\]'"):
        reading.need("trimesh")


def test_the_command_says_what_it_made(tmp_path: Path) -> None:
    box(tmp_path / "brick.obj", (0.04, 0.05, 0.06))
    done = cli("import-object", "brick.obj", "--density", "700", "--parts", "1", cwd=tmp_path)
    assert "brick: 40 x 50 x 60 mm, 84.0 g, its convex hull, in objects/brick" in done.stdout
    assert "scenarios: {objects: objects/brick}" in done.stdout
    shown = json.loads(cli("import-object", "brick.obj", "--mass", "0.1", "--json", cwd=tmp_path).stdout)
    assert shown["mass"] == pytest.approx(0.1) and shown["asset"].startswith(str(tmp_path))
    assert (
        "give mass or density"
        in cli("import-object", "brick.obj", "--mass", 1, "--density", 1, cwd=tmp_path, code=2).stderr
    )


@pytest.mark.parametrize(
    ("file", "parts"), [("bridge_carrot_generated_modified/textured.dae", 3), ("baked_sponge_v2/textured.glb", 5)]
)
def test_scans_of_simpler(tmp_path: Path, file: str, parts: int) -> None:
    path = ASSETS / "simpler" / "custom" / "models" / file
    if not path.is_file():
        pytest.skip("there is no asset pack of SIMPLER; set FORETELL_ASSETS")
    made = foretell.import_object(path, out=tmp_path / "objects", name="scan")
    about = describe(made.asset)
    assert made.parts == parts and any(look.texture for look in about.looks) and 0.08 < max(made.size) < 0.13
