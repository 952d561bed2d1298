"""`scenarios: {objects: FOLDER}`: every imported object is a unit, which pairs simulated with real trials."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from meshes import box, imported_boxes
from studies import cli

import foretell
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError
from foretell.sim.layout import KEPT, forget
from foretell.study.config import Study, load_study
from foretell.study.objects import objects_in, with_object
from foretell.study.plan import make_task, resolve_scenarios

pytest.importorskip("trimesh", reason="pip install 'foretell[meshes]'")
NAMES = ["brick", "stick", "tome"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three objects, and their study in simulation and in a world that stands in for reality."""
    folder = tmp_path_factory.mktemp("lab")
    imported_boxes(folder)
    (folder / "study.yaml").write_text(
        "tasks: [{use: lift, time_limit: 5}]\npolicies: [expert]\nscenarios: {objects: objects, count: 2}\n"
        "record: {video: none}\n"
    )
    for world in ("mujoco", "standin"):
        study = load_study(folder / "study.yaml").model_copy(update={"world": world, "name": world})
        foretell.run(study, out=folder / world, workers=0)
    return folder


def test_each_object_is_one_unit_of_several_scenarios(lab: Path) -> None:
    scenarios = read_scenarios(lab / "mujoco")
    assert [s.parent for s in scenarios] == [name for name in NAMES for _ in range(2)]
    assert [s.instruction for s in scenarios[::2]] == [f"lift the {name}" for name in NAMES]
    assert len({s.id for s in scenarios}) == 6 and len({s.start["panda"] for s in scenarios}) == 2
    rows = read(lab / "mujoco").to_pylist()
    solved = {name: {row["success"] for row in rows if row["parent"] == name} for name in NAMES}
    assert solved == {"brick": {True}, "stick": {True}, "tome": {False}}  # the tome is wider than the hand opens


def test_repeated_rows_of_one_object_are_not_independent(lab: Path) -> None:
    (row,) = foretell.show(lab / "mujoco")
    alone = foretell.bound(lab / "mujoco", design="iid", stand_in=True).intervals[0]
    assert (row["n"], alone.n) == (6, 3)
    assert (row["low"], row["high"]) == pytest.approx((alone.low, alone.high))
    assert row["high"] - row["low"] > 0.85  # three units say little, however often each is tried


def test_sim_and_real_pair_on_the_name_of_the_object(lab: Path, tmp_path: Path) -> None:
    done = cli(
        "bound", lab / "standin", "--sim", lab / "mujoco", "--stand-in", "--design", "iid", "--json", cwd=tmp_path
    )
    assert json.loads(done.stdout)["n"] == 3
    sheet = tmp_path / "trials.csv"
    lines = [f"expert,lift,{name},{int(name != 'tome')}" for name in (*NAMES, "brick")]
    sheet.write_text("\n".join(["policy,task,object,success", *lines]) + "\n")
    real = foretell.import_(sheet, out=tmp_path / "real").path
    rows = read(real).to_pylist()
    trials = sorted((row["parent"], row["trial"]) for row in rows)
    assert trials == [("brick", 0), ("brick", 1), ("stick", 0), ("tome", 0)]
    paired = foretell.bound(real, sim=lab / "mujoco", design="iid")
    assert paired.intervals[0].n == 3


def test_cards_and_sheets_carry_the_object(lab: Path, tmp_path: Path) -> None:
    cards = foretell.cards(
        lab / "mujoco", csv=tmp_path / "sheet.csv", html=tmp_path / "cards.html", stl=tmp_path / "stl"
    )
    assert [card["object"] for card in cards] == [name for name in NAMES for _ in range(2)]
    assert "cube (brick): x" in cards[0]["card"] and "@" not in cards[0]["card"]
    assert cards[0]["print"][0]["size"] == [40.0, 40.0, 50.0] and cards[0]["print"][0]["grams"] == 50.0
    with (tmp_path / "sheet.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["object"] for line in lines[::2]] == NAMES
    for line in lines:
        line |= {"policy": "expert", "success": "1"}

    def write(name: str) -> Path:
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, lines[0])
            writer.writeheader()
            writer.writerows(lines)
        return tmp_path / name

    done = foretell.import_(write("filled.csv"), like=lab / "mujoco", out=tmp_path / "real")
    assert {row["parent"] for row in read(done.path).to_pylist()} == set(NAMES)
    lines[0]["object"] = "tome"
    with pytest.raises(UsageError, match=r"expected the object of the scenario \('brick'\); given: 'tome'"):
        foretell.import_(write("wrong.csv"), like=lab / "mujoco", out=tmp_path / "other")


def test_an_edited_mesh_never_returns_old_rows(lab: Path, tmp_path: Path) -> None:
    shutil.copytree(lab / "objects", tmp_path / "objects")
    study = {"tasks": ["lift"], "policies": ["expert"], "scenarios": {"objects": str(tmp_path / "objects")}}
    before = resolve_scenarios(Study.model_validate(study))[0]["lift"].names
    box(tmp_path / "brick.obj", (0.04, 0.04, 0.051), mass=0.05)
    after = resolve_scenarios(Study.model_validate(study))[0]["lift"].names
    assert before[0] != after[0] and before[1:] == after[1:]
    again = foretell.run(lab / "study.yaml", out=lab / "mujoco", workers=0)
    assert read(lab / "mujoco").num_rows == 6 and again is not None


def test_an_object_stands_where_the_other_lay(lab: Path) -> None:
    name = objects_in(lab / "objects")[1]
    for use in ("lift", "google_robot_pick_coke_can", "google_robot_pick_standing_coke_can", "widowx_carrot_on_plate"):
        task = make_task(use)
        scenario = with_object(task.scenario(1), task, name)
        (part,) = [part for part, role in task.roles.items() if role == "MO"]
        assert scenario.placements[part].pos[2] == pytest.approx(0.035, abs=2e-3), use
        assert scenario.placements[part].pos[:2] == task.scenario(1).placements[part].pos[:2]


def test_a_folder_without_objects_is_refused(lab: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        objects_in(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="has no imported objects; `foretell import-object MESH"):
        objects_in(tmp_path)
    shutil.copytree(lab / "objects" / "brick", tmp_path / "a")
    shutil.copytree(lab / "objects" / "brick", tmp_path / "b")
    with pytest.raises(UsageError, match="two objects called 'brick', a and b"):
        objects_in(tmp_path)
    with pytest.raises(UsageError, match="give either `layouts` or `objects`, not both"):
        load_study({"tasks": ["lift"], "policies": ["expert"], "scenarios": {"objects": "x", "layouts": "all"}})
    task, name = make_task("google_robot_open_drawer"), objects_in(lab / "objects")[0]
    with pytest.raises(UsageError, match="task 'google_robot_open_drawer' handles 0 objects"):
        with_object(task.scenario(0), task, name)


def test_a_world_forgets_the_layouts_of_objects_that_are_done() -> None:
    layouts: dict[Any, Any] = {number: object() for number in range(KEPT + 5)}
    events: dict[int, Any] = {id(layout): number for number, layout in layouts.items()}
    used = [layouts[0], None, layouts[3]]
    forget(layouts, events, used)
    assert list(layouts) == [0, 3, *range(7, KEPT + 5)] and list(events.values()) == list(layouts)


def test_a_changed_object_is_refused_when_planning(tmp_path: Path) -> None:
    made = box(tmp_path / "brick.obj", (0.04, 0.04, 0.05), mass=0.05)
    task = make_task("lift")
    (tmp_path / "one.json").write_text(with_object(task.scenario(0), task, made.asset).model_dump_json() + "\n")
    part = made.folder / "part-00.obj"
    part.write_text(part.read_text().replace("0.02", "0.03"))
    for source in ({"objects": str(made.folder)}, {"file": str(tmp_path / "one.json")}):
        study = {"tasks": ["lift"], "policies": ["expert"], "scenarios": source}
        with pytest.raises(UsageError, match=r"part-00.obj was changed after it was imported"):
            resolve_scenarios(Study.model_validate(study))


def test_an_object_without_room_is_refused_when_planning(tmp_path: Path) -> None:
    """What starts inside the arm is thrown up by physics, and counted as lifted."""
    box(tmp_path / "house.obj", (0.7, 0.3, 0.1), mass=1.0)
    box(tmp_path / "tower.obj", (0.10, 0.10, 0.60), mass=1.0)
    study = {"tasks": ["lift"], "policies": ["expert"]}
    for name, why in (
        ("house", r"'house' is 0.7 x 0.3 m wide, and the area of task 'lift' is 0.42 x 0.6 m"),
        ("tower", r"'tower' has no room in task 'lift': it starts \d+ mm inside 'panda/\w+' at seed 0"),
    ):
        source = {"objects": str(tmp_path / "objects" / name), "count": 1}
        with pytest.raises(UsageError, match=why):
            resolve_scenarios(Study.model_validate({**study, "scenarios": source}))
