"""Objects to print: the file holds the object, at its size, closed and the right way out."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from foretell.cli import main
from foretell.errors import UsageError
from foretell.objects import ASSETS, DISTRACTORS
from foretell.objects.asset import Fixture
from foretell.objects.stl import file_name, read_stl, shape, solid, solid_of, write_objects, write_stl
from foretell.reality.cards import cards
from foretell.study.config import load_study
from foretell.study.plan import plan, resolve_scenarios
from foretell.study.store import Store


def volume(triangles: np.ndarray) -> float:
    """Signed: negative where a shape is inside out."""
    a, b, c = triangles.transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def closed(triangles: np.ndarray) -> bool:
    """Every edge is walked once in each direction."""
    corners = np.round(triangles, 5) + 0.0
    edges = {}
    for t in corners:
        for i in range(3):
            key = (tuple(t[i]), tuple(t[(i + 1) % 3]))
            edges[key] = edges.get(key, 0) + 1
    return all(n == 1 and edges.get((b, a)) == 1 for (a, b), n in edges.items())


def one(kind: str, **shape: object) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="object")
    body.add_freejoint()
    if kind == "mesh":
        mesh = spec.add_mesh(name="mesh")
        mesh.uservert = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]).ravel()
        shape["meshname"] = "mesh"
    body.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}"), **shape)
    return spec.compile()


@pytest.mark.parametrize(
    ("kind", "size", "box", "solid_volume"),
    [
        ("box", [0.01, 0.02, 0.03], [20, 40, 60], 48_000),
        ("cylinder", [0.02, 0.03, 0], [40, 40, 60], np.pi * 400 * 60),
        ("ellipsoid", [0.01, 0.02, 0.03], [20, 40, 60], 4 / 3 * np.pi * 6000),
        ("sphere", [0.02, 0, 0], [40, 40, 40], 4 / 3 * np.pi * 8000),
        ("capsule", [0.02, 0.03, 0], [40, 40, 100], np.pi * 400 * 60 + 4 / 3 * np.pi * 8000),
        ("mesh", [0, 0, 0], [100, 100, 100], 1e6 / 6),
    ],
)
def test_each_shape_is_closed_and_the_right_way_out(
    kind: str, size: list[float], box: list[float], solid_volume: float
) -> None:
    model = one(kind, size=size, pos=[0.1, 0.2, 0.3])
    made = solid_of(model, "object")
    assert made.size == pytest.approx(np.array(box), abs=1e-4)
    assert closed(made.triangles)
    # a faceted circle is 0.07 % smaller than the round one
    assert volume(made.triangles - made.triangles.mean(axis=(0, 1))) == pytest.approx(solid_volume, rel=4e-3)


def test_a_turned_part_is_turned() -> None:
    half = np.sqrt(0.5)
    made = solid_of(one("box", size=[0.01, 0.02, 0.03], quat=[half, 0, 0, half]), "object")
    assert made.size == pytest.approx([40, 20, 60])
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    model = spec.compile()
    with pytest.raises(UsageError, match="is a plane, which cannot be printed"):
        shape(model, 0)


OBJECTS = [name for name, asset in ASSETS.items() if not isinstance(asset, Fixture)]
"""Furniture moves, so its print is larger than its size. Other tests register some."""


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_is_written_at_its_size(name: str, tmp_path: Path) -> None:
    scale = (1.1, 1.1, 0.9)
    made, grown = solid(name), solid(name, scale)
    assert grown.size == pytest.approx(made.size * scale)
    assert made.grams == pytest.approx(1000 * ASSETS[name].mass)
    assert grown.grams == pytest.approx(made.grams * np.prod(scale))
    if name in DISTRACTORS:
        assert made.triangles[:, :, 2].max() == pytest.approx(500 * DISTRACTORS[name].height)
    path = tmp_path / file_name(name, scale)
    write_stl(path, grown.triangles)
    triangles, normals = read_stl(path)
    assert np.abs(triangles - grown.triangles).max() < 1e-4
    corners = triangles.reshape(-1, 3)
    assert corners.max(axis=0) - corners.min(axis=0) == pytest.approx(made.size * scale, abs=1e-4)
    wound = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    assert np.einsum("ij,ij->i", wound, normals).min() > 0
    assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() < 1e-5
    assert volume(triangles) > 0


def test_mujoco_reads_it_back(tmp_path: Path) -> None:
    (path,) = write_objects(tmp_path, ["cube"])
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name="cube", file=str(path))
    mesh.scale = [0.001] * 3
    spec.worldbody.add_body(name="object").add_geom(
        type=mujoco.mjtGeom.mjGEOM_MESH, meshname="cube", density=ASSETS["cube"].mass / 0.042**3
    )
    model = spec.compile()
    assert model.body("object").mass[0] == pytest.approx(ASSETS["cube"].mass, rel=1e-4)


def test_files_say_object_and_scale(tmp_path: Path) -> None:
    assert file_name("mug") == "mug-100pct.stl"
    assert file_name("cube", (1.032, 1.002, 1.01)) == "cube-103.2x100.2x101pct.stl"
    assert file_name("square-nut", (1.25, 1.25, 1.25)) == "square-nut-125pct.stl"
    with pytest.raises(UsageError, match="stl: cannot write /proc/nope/"):
        write_stl("/proc/nope/a.stl", solid("cube").triangles)
    (tmp_path / "a.stl").write_bytes(b"solid of text".ljust(90))
    with pytest.raises(UsageError, match="not a binary STL"):
        read_stl(tmp_path / "a.stl")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    study = load_study(
        {
            "tasks": ["lift", "can", "square"],
            "policies": ["random"],
            "scenarios": {"count": 2},
            "arms": ["none", "workbench", "RO_Size+Object_Mass"],
        }
    )
    scenarios, _ = resolve_scenarios(study)
    with Store(tmp_path / "run") as store:
        store.write_study(study.to_yaml())
        store.write_scenarios(e.scenario for e in plan(study, scenarios))
    return tmp_path / "run"


def test_cards_say_what_to_print(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = cards(run, stl=tmp_path / "prints")
    plain = cards(run)
    assert [c["card"].startswith(p["card"]) for c, p in zip(found, plain, strict=True)] == [True] * 14
    named = {thing["file"]: thing for card in found for thing in card["print"]}
    assert {p.name for p in (tmp_path / "prints").iterdir()} == set(named)
    for file, thing in named.items():
        corners = read_stl(tmp_path / "prints" / file)[0].reshape(-1, 3)
        assert corners.max(axis=0) - corners.min(axis=0) == pytest.approx(thing["size"], abs=0.006)
    of = {(c["task"], "Distractor" in c["card"], "Object_Mass" in c["card"]): c["print"] for c in reversed(found)}
    assert [t["object"] for t in of["can", False, False]] == ["can"]  # its bin has the size that success is judged by
    assert [t["object"] for t in of["square", False, False]] == ["nut", "peg"]
    assert len(of["lift", True, False]) == 3
    nut, peg = of["square", False, True]
    assert nut["grams"] != of["square", False, False][0]["grams"] and peg["grams"] is None
    assert peg["size"] != of["square", False, False][1]["size"]
    main(["cards", str(run), "--task", "lift", "--stl", str(tmp_path / "again")])
    said = capsys.readouterr().out
    assert "to weigh" in said and f"STL files in {tmp_path / 'again'}" in said
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (tmp_path / "prints" / path.name).read_bytes()


def test_objects_without_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["cards", "--stl", str(tmp_path), "--json"])
    lines = json.loads(capsys.readouterr().out)
    assert len(lines) == len(ASSETS) == len(list(tmp_path.glob("*.stl")))
    assert {"file": "cube-100pct.stl", "size": [42.0, 42.0, 42.0], "grams": 74.1} in lines
    with pytest.raises(SystemExit):
        main(["cards"])
    assert "give a run folder" in capsys.readouterr().err
