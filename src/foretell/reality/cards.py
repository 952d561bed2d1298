"""Cards: how to set a real table for each scenario of a run, what to print for it, and a sheet to fill in.

Positions are given in the task frame, as a sheet of real trials takes them, and from the robot's base."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from foretell.episodes.provenance import design_of, read_provenance
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError, suggest
from foretell.factors import place
from foretell.factors.factor import targets
from foretell.objects.stl import Solid, file_name, solid, solid_of, write_stl
from foretell.person.scene import objects_of, scene_words
from foretell.reality.sheet import no_formula
from foretell.registry import names
from foretell.scenario import Scenario
from foretell.study.config import load_study
from foretell.study.plan import make_task
from foretell.tasks.frame import frame
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task

__all__ = ["cards", "frames", "write_sheet"]

TRUST = "give --trust (trust=True) if you know who wrote it"
FIRST, LAST = ("policy", "task", "scenario"), ("success", "failure_reason", "design")
"""Columns of the sheet before and after the coordinates."""


def cards(
    run: str | Path,
    task: str | None = None,
    *,
    csv: str | Path | None = None,
    html: str | Path | None = None,
    stl: str | Path | None = None,
    trust: bool = False,
) -> list[dict[str, Any]]:
    """Return a card for each scenario of a run, in the planned order: id, task, card, design and objects; and `object`,
    the name of the imported object, if there is one. `task` chooses one task.

    `objects` has for each object: object, asset, `x` and `y` in the task frame, `ahead` and `left` of the base of the
    first `robot` (m; None if the frame is unknown), `yaw` in degrees, and `scale`.

    `csv` writes a spreadsheet to fill in. `html` writes a page to print. `stl` is a folder for one STL file per object
    and size. Each card then names the file to print and the weight, under `print`: object, file, size in mm and grams
    (None for objects that do not move). `trust` allows the import of a task that is a file (`file.py:Class`). The study
    of the run folder names this file, so it may be code of another person.
    """
    scenarios = read_scenarios(run)
    if not scenarios:
        raise UsageError(f"{run} has no scenarios to set a table by")
    known = {s.task for s in scenarios}
    if task is not None and task not in known:
        raise UsageError(f"task: {run} has none of {task!r}; {suggest(task, known)}")
    chosen = [s for s in scenarios if task in (None, s.task)]
    about, seen = frames(run), design_of(run)
    listed: list[dict[str, Any]] = []
    for s in chosen:
        place_of = about.get(s.task)
        text, objects = scene_words(s, place_of), objects_of(s, place_of)
        listed.append({"id": s.id, "task": s.task, "card": text, "design": seen, "objects": objects})
        if s.of_object is not None:
            listed[-1]["object"] = s.of_object
    if stl is not None:
        tasks, written = _tasks(Path(run), {s.task for s in chosen}, trust), dict[str, Solid]()
        for card, scenario in zip(listed, chosen, strict=True):
            card["print"] = _prints(scenario, tasks[scenario.task], Path(stl), written)
            card["card"] += "".join(f"\n  {_in_words(thing)}" for thing in card["print"])
    if csv is not None:
        write_sheet(csv, listed)
    if html is not None:
        from foretell.reality.card_page import write_page  # it takes frames from here

        write_page(html, run, listed)
    return listed


def frames(run: str | Path) -> dict[str, dict[str, Any]]:
    """Task -> its frame (see `tasks.frame`), as the run folder has it; of an older folder, for registered tasks only:
    no code of a study is loaded for it."""
    kept = read_provenance(run).get("frames")
    by_task = {name: f for name, f in kept.items() if _sound(f)} if isinstance(kept, dict) else {}
    for name in {s.task for s in read_scenarios(run)} & set(names("tasks")) - by_task.keys():
        by_task[name] = frame(make_task(name))
    return by_task


def _sound(scene: Any) -> bool:
    """Whether a frame that was read has the numbers that drawings need: a run folder may come from someone else."""
    try:
        for robot in scene["robots"].values():
            if len(robot["pos"]) != 3 or not all(math.isfinite(float(v)) for v in (*robot["pos"], robot["yaw"])):
                return False
        polygons = [part["points"] for part in scene["still"] if math.isfinite(part["top"]) and str(part["name"])]
        polygons += [part for parts in scene["objects"].values() for part in parts]
        if not all(isinstance(text, str) for js in scene.get("joints", {}).values() for a, b in js for text in (a, b)):
            return False
        return all(math.isfinite(float(v)) for points in polygons for x, y in points for v in (x, y))
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _in_words(thing: Mapping[str, Any]) -> str:
    x, y, z = thing["size"]
    grams = "fixed to the table" if thing["grams"] is None else f"to weigh {thing['grams']:.1f} g"
    return f"print {thing['object']}: {thing['file']} ({x:.1f} x {y:.1f} x {z:.1f} mm), {grams}"


def _tasks(run: Path, known: Iterable[str], trust: bool) -> dict[str, Task]:
    """The tasks of a run's scenarios, by name; those that are code of the study's own only where it is trusted."""
    named = {name: make_task(name) for name in known if name in names("tasks")}
    if all(name in named for name in known):
        return named
    study = run / "study.yaml"
    uses = [entry.use for entry in load_study(study).tasks] if study.is_file() else []
    theirs = [use for use in uses if use not in names("tasks")]
    if theirs and not trust:
        raise UsageError(f"stl: {study} has the task {theirs[0]!r:.200}, which is code: {TRUST}")
    named |= {task.name: task for task in map(make_task, theirs)}
    if unknown := next((name for name in known if name not in named), None):
        raise UsageError(f"stl: {run} does not say what task {unknown!r:.100} is; {suggest(unknown, names('tasks'))}")
    return named


def _prints(scenario: Scenario, task: Task, folder: Path, written: dict[str, Solid]) -> list[dict[str, Any]]:
    """What a person prints for a scenario; files that are not written yet are."""
    heavier = float(scenario.factors.get("Object_Mass", 1.0))
    prints = []
    things = [
        (name, p.asset, tuple(round(s, 3) for s in p.scale), heavier if task.roles.get(name) == "MO" else 1.0)
        for name, p in place(scenario, task).items()
    ]
    things += [(v["asset"], v["asset"], (1.0, 1.0, 1.0), 1.0) for v in scenario.factors.get("Distractor", ())]
    for name, asset, scale, mass in things:
        file = file_name(asset, scale)
        if file not in written:
            written[file] = solid(asset, scale)  # of the rounded scale: a file is what its name says
            write_stl(folder / file, written[file].triangles)
        prints.append(_print(name, file, written[file], mass))
    grown = round(float(scenario.factors.get("RO_Size", 1.0)), 3)
    for name in _standing(scenario, task):
        file = file_name(f"{task.name}-{name}", grown)
        if file not in written:
            nominal = _furniture(task, name)
            written[file] = Solid(nominal.triangles * grown, 0.0)
            write_stl(folder / file, written[file].triangles)
        prints.append(_print(name, file, written[file], 1.0))
    return prints


def _print(name: str, file: str, made: Solid, heavier: float) -> dict[str, Any]:
    grams = round(heavier * made.grams, 1) if made.grams else None
    return {"object": name, "file": file, "size": [round(float(s), 2) for s in made.size], "grams": grams}


def _standing(scenario: Scenario, task: Task) -> list[str]:
    """Receiving objects that stand still, where their size may change: a peg, not a bin whose size is the task's."""
    from foretell.factors import factor

    if factor("RO_Size").applies(task):
        return []
    return [name for name in targets(task, "RO") if name not in scenario.placements]


def _furniture(task: Task, name: str) -> Solid:
    import mujoco

    if not isinstance(task, TabletopTask):
        raise UsageError(f"stl: task {task.name!r} is not a TabletopTask: the shape of {name!r} is not known")
    spec = mujoco.MjSpec()
    task.build(spec)
    return solid_of(spec.compile(), name)


def write_sheet(path: str | Path, cards_: Iterable[Mapping[str, Any]]) -> None:
    """Write a spreadsheet with a line per card, its coordinates among them. `import_` takes the lines whose policy and
    success are filled in. Coordinates that are left as they are count as set, not measured.

    A file that is there is never written over: it may have been filled in.
    """
    try:
        with Path(path).open("x", newline="", encoding="utf-8") as file:
            listed = list(cards_)
            things = dict.fromkeys(thing["object"] for card in listed for thing in card["objects"])
            poses = [f"{thing}.{axis}" for thing in things for axis in ("x", "y", "yaw")]
            which = ["object"] if any("object" in card for card in listed) else []
            columns = (*FIRST, *which, *poses, *LAST)
            sheet = csv.DictWriter(file, columns, lineterminator="\n")
            sheet.writerow({column: no_formula(column) for column in columns})
            sheet.writerows(map(_line, listed))
    except FileExistsError:
        raise UsageError(f"csv: {path} already exists, and may be filled in: give another name") from None
    except OSError as error:
        raise UsageError(f"csv: cannot write {path}: {error.strerror}") from None


def _line(card: Mapping[str, Any]) -> dict[str, str]:
    """Task, scenario and coordinates, as the card has them: whole millimetres and degrees."""
    line = {"task": no_formula(card["task"]), "scenario": card["id"]}
    line |= {"object": no_formula(card["object"])} if "object" in card else {}
    for thing in card["objects"]:
        line |= {f"{thing['object']}.{axis}": f"{thing[axis] + 0.0:.3f}".replace("-0.000", "0.000") for axis in "xy"}
        line[f"{thing['object']}.yaw"] = f"{round(thing['yaw']):d}"
    return line | ({"design": "random"} if card["design"] == "iid" else {})
