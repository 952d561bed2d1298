"""The looks of a rendered object come back from one picture, and show from other sides too."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from foretell.cli import main
from foretell.errors import UsageError
from foretell.match import texture
from foretell.match.sight import Sight, layout_of, open_bench, view_of
from foretell.match.texture import complete
from foretell.objects.chart import SurfaceChart, charts, picture_size, texels
from foretell.registry import resolve
from foretell.sim.params import load_world

pytestmark = pytest.mark.gl

TASK, CAMERA, SIZE, LAYOUT = "google_robot_pick_standing_coke_can", "google_robot/overhead", (512, 640), 12


def can_of(world: Any) -> tuple[Sight, np.ndarray]:
    """What sees the can in a world, and where the layout puts it."""
    task = resolve("tasks", TASK)()
    start = layout_of(task, LAYOUT)
    pose = np.array([*start.placements["can"].pos[:2], 0.0])
    return Sight(open_bench(task, world, CAMERA, start), "can", CAMERA, SIZE), pose


def save(path: Path, image: np.ndarray) -> Path:
    Image.fromarray(image.astype(np.uint8) * 255 if image.dtype == bool else image).save(path)
    return path


def grey(folder: Path, asset: str, name: str = "lab.yaml") -> Path:
    """A world in which an object is plain."""
    save(folder / "grey.png", np.full((*picture_size(charts(asset)), 3), 150, dtype=np.uint8))
    (folder / name).write_text(f"transforms: [{{use: painted, asset: {asset}, image: grey.png}}]\n")
    return folder / name


def test_a_print_is_taken_from_a_picture_and_shows_from_other_sides(tmp_path: Path) -> None:
    real, pose = can_of("mujoco")
    frame = save(tmp_path / "frame.png", real.picture(pose))
    mask = save(tmp_path / "mask.png", real.silhouette(pose))
    plain = grey(tmp_path, "coke-can", "before.yaml")
    world, out = grey(tmp_path, "coke-can"), tmp_path / "out.png"
    before = load_world(world).hash
    done = texture(frame, task=TASK, camera=CAMERA, object="can", mask=mask, layout=LAYOUT, world=world, out=out)
    assert done.before > 18 and done.after < 8  # CIEDE2000
    assert 0.25 < done.seen < 0.6
    assert np.asarray(Image.open(out)).shape == (512, 3 * 640, 3)
    file = load_world(world)
    assert file.hash != before and [t.use for t in file.transforms] == ["painted"]  # in the place of the plain one
    assert yaml.safe_load(world.read_text())["transforms"][0]["image"] == "lab_coke-can.png"
    after, unmatched = can_of(world)[0], can_of(plain)[0]
    for turn in (0.6, -0.6, math.pi):
        held_out = pose + [0.0, 0.0, turn]
        seen, truth = real.silhouette(held_out), real.picture(held_out).astype(float)
        was, now = (np.abs(sight.picture(held_out)[seen] - truth[seen]).mean() for sight in (unmatched, after))
        assert now < 0.45 * was, turn
    assert np.mean(after.silhouette(pose) != real.silhouette(pose)) < 0.0005
    (tmp_path / "lab_coke-can.png").write_bytes((tmp_path / "grey.png").read_bytes())
    assert load_world(world).hash != file.hash  # the picture is in the world's name


def test_an_object_that_is_brighter_than_the_light_keeps_its_hue(tmp_path: Path) -> None:
    """The picture is bright, and the world dark: else red alone would be cut, and orange turn green."""
    lamp = "{use: light, ambient: [0.5, 0.5, 0.5], colour: [0.2, 0.2, 0.2], direction: [0, 0, -1]}"
    dark = tmp_path / "dark.yaml"
    dark.write_text(f"transforms: [{lamp}]\n")
    sight, pose = can_of(dark)
    seen = sight.silhouette(pose)
    frame = np.zeros((*SIZE, 3), dtype=np.uint8)
    frame[seen] = (240, 140, 40)
    texture(
        save(tmp_path / "frame.png", frame), task=TASK, camera=CAMERA, object="can", layout=LAYOUT, world=dark,
        mask=save(tmp_path / "mask.png", seen),
    )  # fmt: skip
    painted = yaml.safe_load(dark.read_text())["transforms"][-1]
    assert painted["glow"] > 0 and painted["dim"] < 1
    shown = can_of(dark)[0].picture(pose)[seen]
    assert np.abs(np.median(shown, axis=0) - (240, 140, 40)).max() < 8


def test_colours_of_table_and_robot_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = resolve("tasks", "lift")()
    bench = open_bench(task, "mujoco", "front", layout_of(task, None))
    looks = {bench.drawn.mat(i).name for i in range(bench.drawn.nmat)}
    robot = sorted(name for name in looks if name.startswith("panda/"))
    given = {"table/top": [0.35, 0.22, 0.10], robot[0]: [0.1, 0.3, 0.6]}
    real = open_bench(
        task, {"name": "real", "transforms": [{"use": "colours", "colours": given}]}, "front", layout_of(task, None)
    )
    frame = save(tmp_path / "frame.png", view_of(real, "front", (480, 640)))
    world = tmp_path / "lab.yaml"
    arguments = ["--task", "lift", "--camera", "front", "--parts", "table", "panda", "--world", str(world), "--json"]
    main(["match", "texture", str(frame), *arguments])
    told = json.loads(capsys.readouterr().out)
    assert told["colours"]["table/top"] == pytest.approx(given["table/top"], abs=0.02)
    assert told["after"] < 1 < 5 < told["before"]
    (transform,) = yaml.safe_load(world.read_text())["transforms"]
    assert transform["use"] == "colours" and transform["colours"] == told["colours"]
    again = open_bench(task, world, "front", layout_of(task, None))
    assert np.abs(view_of(again, "front", (480, 640)).astype(float) - np.asarray(Image.open(frame))).mean() < 3


@pytest.mark.parametrize("asset", ["cube", "bridge-carrot", "coke-can", "bridge-plate", "can"])
def test_charts_cover_an_object(asset: str) -> None:
    pieces = charts(asset)
    height, width = picture_size(pieces)
    places = np.concatenate([piece.places.reshape(-1, 2) for piece in pieces])
    assert places[:, 1].min() >= 0 and places[:, 1].max() <= height
    for piece in pieces:  # no triangle goes around the world, but for one around a pole
        assert (np.ptp(piece.places[..., 0], axis=1) > width / 2).sum() <= 2
        assert np.abs(np.linalg.norm(piece.normals, axis=-1) - 1).max() < 1e-6
        middle = piece.corners.reshape(-1, 3).mean(axis=0)
        outward = ((piece.corners - middle) * piece.normals).sum(axis=-1)
        assert np.mean(outward > 0) > 0.7
    points, _ = texels(pieces)
    assert np.isfinite(points[..., 0]).mean() > 0.6
    corners = np.concatenate([piece.corners.reshape(-1, 3) for piece in pieces])
    known = points[np.isfinite(points[..., 0])]
    assert (known.min(axis=0) >= corners.min(axis=0) - 1e-9).all()
    assert (known.max(axis=0) <= corners.max(axis=0) + 1e-9).all()


def test_what_is_not_seen_follows_by_symmetry() -> None:
    none = np.zeros((1, 3, 3))
    pieces = [
        SurfaceChart(geom="", corners=none, normals=none, places=none[..., :2], top=top, height=16) for top in (0, 16)
    ]
    seen, colours = np.zeros((32, 256), dtype=bool), np.zeros((32, 256, 3))
    seen[2:14, 30:120], colours[2:14, 30:120] = True, (1.0, 0.0, 0.0)
    colours[2:14, 30:60] = (0.0, 1.0, 0.0)
    filled = complete(colours, seen, pieces, [np.zeros(3), np.array([0.0, 0.0, 1.0])])
    assert (filled[8, 40] == (0, 255, 0)).all() and (filled[8, 168] == (0, 255, 0)).all()  # half a turn on
    assert (filled[8, 100] == (255, 0, 0)).all() and (filled[8, 228] == (255, 0, 0)).all()
    assert filled[:16].max(axis=-1).min() > 60  # nothing stays black
    assert (filled[16:] == (0, 0, 255)).all()  # a piece that is not seen keeps its own colour


def refused(world: Any) -> str:
    with pytest.raises(UsageError) as caught:
        view_of(
            open_bench(resolve("tasks", "lift")(), world, "front", layout_of(resolve("tasks", "lift")(), None)),
            "front",
            (48, 64),
        )
    return str(caught.value)


def test_what_cannot_be_done(tmp_path: Path) -> None:
    frame = save(tmp_path / "frame.png", np.zeros((480, 640, 3), dtype=np.uint8))
    mask = np.zeros((480, 640), dtype=bool)
    empty = save(tmp_path / "empty.png", mask)
    good: dict[str, Any] = {"task": "lift", "camera": "front"}
    for options, words in (
        ({}, "give an object (--object), parts (--parts), or both"),
        ({"object": "cube"}, "give a mask (--mask) or a box (--box)"),
        ({"object": "cube", "mask": empty}, "empty.png marks 0 pixels"),
        ({"object": "cub", "mask": empty}, "'cub' is not in task 'lift'; did you mean 'cube'?"),
        ({"parts": ("tabel",)}, "parts: 'tabel' is not seen by camera 'front'; did you mean 'table'?"),
        ({"parts": ("table",), "world": tmp_path / "lab.txt"}, "should be a world file"),
        ({"parts": ("table",), "out": tmp_path / "out.jpg"}, "should end in .png"),
        ({"parts": ("table",), "camera": "fron"}, "did you mean 'front'?"),
    ):
        with pytest.raises(UsageError) as caught:
            texture(frame, **{**good, **options})
        assert words in str(caught.value), words
    grey(tmp_path, "cube")
    here = {"name": "x", "folder": str(tmp_path)}
    painted = {"use": "painted", "asset": "cube", "image": "grey.png"}
    assert "asset 'cub' is not known; did you mean 'cube'" in refused(
        {**here, "transforms": [{**painted, "asset": "cub"}]}
    )
    wrong = refused({**here, "transforms": [{**painted, "asset": "coke-can"}]})
    assert "grey.png has 256x128 pixels, and the charts of 'coke-can' 256x161" in wrong
    assert "cannot read" in refused({**here, "transforms": [{**painted, "image": "none.png"}]})
    fixed = {**painted, "asset": "station-cabinet"}
    assert "is furniture, whose parts move" in refused({**here, "transforms": [fixed]})
    colours = {"use": "colours", "colours": {"table/tap": [0.1, 0.2, 0.3]}}
    assert "colours: 'table/tap' is no geom or material" in refused({**here, "transforms": [colours]})
