"""A task of one's own is known by its source, as a policy is: an edited task never gives old rows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from studies import TASK, Lab

import foretell
from foretell.answers.show import show
from foretell.checks import check_task
from foretell.episodes.read import read
from foretell.errors import UsageError
from foretell.sim.bench import Bench
from foretell.study.plan import make_task
from foretell.study.run import run
from foretell.tasks.identity import task_fingerprint, task_hash
from foretell.tasks.lift import Lift

NAMES = """
import json
from pathlib import Path

import slab_for_task
from foretell.scenario import Placement
from foretell.tasks.lift import Lift
from foretell.tasks.task import Mount


class Named(Lift):
    name = "named"
    robots = {"panda": Mount("arm_for_task:Arm", (-0.56, 0.0, 0.112))}

    def __init__(self):
        self.height = json.loads((Path(__file__).parent / "table.json").read_text())

    def place(self, rng):
        return {"cube": Placement(asset="slab", pos=(rng.uniform(), 0, 0.02))}

    def build(self, spec):
        spec.add_mesh(name="slab", file=str(Path(__file__).parent / "slab.obj"))
"""
SLAB = """
from foretell.objects import ASSETS, Asset


def add(spec, body, scale, physics):
    body.add_geom(size=[0.02, 0, 0])


ASSETS["slab"] = Asset("slab", 0.1, 0.02, add)
"""


def test_an_edited_task_is_another_task(tmp_path: Path) -> None:
    """An edited task file never gives old rows, and its rows are told from theirs."""
    lab = Lab(tmp_path)
    study = lab.study("edited", task="Blink", count=2)
    out = lab.folder / "runs" / "edited"
    assert run(study, out=out, workers=0).ran == 2
    again = run(study, out=out, workers=0)
    assert (again.ran, again.skipped) == (0, 2)
    task = lab.folder / "task.py"
    task.write_text(TASK.replace('name = "blink"', 'name = "blink"\n    success_rule = "end"'))
    edited = run(study, out=out, workers=0)
    assert (edited.ran, edited.skipped) == (2, 0)
    assert len({row["task_hash"] for row in read(out).to_pylist()}) == 2
    shown = show(out)
    assert [row["n"] for row in shown] == [2, 2] and len({row["task"] for row in shown}) == 2
    assert all(re.fullmatch(r"blink#[0-9a-f]{6}", row["task"]) for row in shown)
    with pytest.raises(UsageError, match=r"several tasks: choose one with --task:\n.* has blink#[0-9a-f]{6}, blink#"):
        foretell.compare(out)
    task.write_text(TASK)
    assert run(study, out=out, workers=0).skipped == 2


def test_built_in_tasks_are_known_by_their_version() -> None:
    for name in ("lift", "can", "square"):
        assert task_hash(make_task(name)) == ""


def test_what_a_task_names_is_part_of_it(tmp_path: Path) -> None:
    """Modules, assets, mesh files and robots."""
    mesh = tmp_path / "slab.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n")
    (tmp_path / "table.json").write_text("1")
    (tmp_path / "task.py").write_text(NAMES)
    (tmp_path / "slab_for_task.py").write_text(SLAB)
    (tmp_path / "arm_for_task.py").write_text(
        "from foretell.robots.panda import Panda\n\n\nclass Arm(Panda):\n    pass\n"
    )
    sys.path.insert(0, str(tmp_path))
    seen = {}
    try:
        for file in ("", "task.py", "slab_for_task.py", "arm_for_task.py", "slab.obj", "table.json"):
            if file:
                edited = tmp_path / file
                edited.write_text(edited.read_text() + ("# \n" if file != "table.json" else " "))
            use = f"{tmp_path / 'task.py'}:Named"
            seen[file] = task_hash(make_task(use))
            assert task_hash(make_task(use)) == seen[file]
        text = getattr(task_fingerprint(make_task(use)), "text", str)()
        assert "class Named in task.py" in text and "function add in slab_for_task.py" in text
    finally:
        sys.path.remove(str(tmp_path))
        for name in ("slab_for_task", "arm_for_task"):
            sys.modules.pop(name, None)
    assert len(set(seen.values())) == 6, seen


def test_the_check_of_a_task_says_what_it_is_known_by(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    said = check_task(f"{lab.folder / 'task.py'}:Blink")["identity"].detail
    assert "version 2, " in said and "covers class Blink in task.py, class Brief in task.py; 0 data files" in said
    assert check_task("lift")["identity"].detail == "version 2, raised by hand."


GRIP = """
from foretell.robots.controller import Grip


class Slow(Grip):
    WINDUP = 0.01
"""


def test_an_edited_controller_is_another_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grips.py").write_text(GRIP)
    entry = {"use": "lift", "controller": "ee_delta+gripper:grips.py:Slow", "time_limit": 0.1}
    study = {"name": "it", "tasks": [entry], "policies": ["random"], "scenarios": 1, "record": {"video": 0}}
    run(study, out="it", workers=0)
    assert run(study, out="it", workers=0).ran == 0
    (tmp_path / "grips.py").write_text(GRIP.replace("0.01", "0.001"))
    assert run(study, out="it", workers=0).ran == 1
    assert len(set(read("it")["task_hash"].to_pylist())) == 2 and {row["n"] for row in show("it")} == {1}
    assert task_hash(Lift(), Bench("lift").world.controllers.values()) == ""
