"""How robots drove: rooms from above with the ways of each policy, simulated beside real, where steps are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Floats
from foretell.episodes.columns import cells
from foretell.episodes.parts import DamagedError, read_parquet
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import ForetellError
from foretell.files import inside
from foretell.registry import names
from foretell.report.charts import slug
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Chart, Section
from foretell.rooms import Room
from foretell.scenario import Scenario
from foretell.study.films import steps

__all__ = ["section"]

TASK = "pointnav"
PANELS, ROOMS, LEGS = 6, 3, 5
"""Policies in a chart, charts, and ways of each policy in one, at most."""
LONGEST = 400
"""Steps of a way."""
WIDTH = 250
"""Pixels of a panel."""


def section(runs: Runs) -> Section | None:
    """A chart for each room, the first rooms only: trial 0 of each scenario."""
    ways = [way for run in runs.each for way in _ways(run)]
    listed = names("rooms")
    order = {room: listed.index(room) if room in listed else len(listed) for room in {way["room"] for way in ways}}
    rooms = sorted(order, key=lambda room: (order[room], room))[:ROOMS]
    charts = [chart for room in rooms if (chart := _chart(room, [way for way in ways if way["room"] == room], runs))]
    if not charts:
        return None
    says = "The ways that robots drove, from above. A ring is a goal, a cross is a collision."
    return Section(id="ways", title="How robots drove", says=says, blocks=charts)


def _ways(run: OneRun) -> Iterator[dict[str, Any]]:
    """Room, policy, world, success and points (k, 2) of the episodes whose steps are kept."""
    if TASK not in run.values("task"):
        return
    try:
        known = {scenario.id: scenario for scenario in read_scenarios(run.path)}
    except (ForetellError, OSError, ValueError):
        return
    columns = ("episode", "task", "scenario", "trial", "arm", "policy", "world", "success")
    for row in zip(*(cells(run.table[name]) for name in columns), strict=True):
        episode, task, scenario, trial, arm, policy, world, success = row
        path = inside(run.path, steps(episode)) if task == TASK and trial == 0 and arm == "none" else None
        if path is None or scenario not in known or (points := _points(path)) is None:
            continue
        room, goal = _room(known[scenario]), known[scenario].placements["goal"].pos[:2]
        yield {"room": room, "policy": policy, "world": world, "success": success, "goal": goal, "scenario": scenario,
               **points}  # fmt: skip


def _room(scenario: Scenario) -> str:
    return scenario.placements["room"].asset if "room" in scenario.placements else ""


def _points(path: Any) -> dict[str, Floats] | None:
    """Where the robot was after its actions, and where it hit something."""
    try:
        table = read_parquet(path).slice(0, LONGEST)
        x, y, hits = (np.array(table[name].to_pylist(), dtype=float) for name in ("x", "y", "collisions"))
    except (DamagedError, OSError, ValueError, TypeError, KeyError, pa.ArrowException):
        return None
    at = np.round(np.stack([x, y], axis=1), 2)
    if not len(at) or not np.isfinite(at).all():
        return None
    moved = np.append(True, (np.diff(at, axis=0) != 0).any(axis=1))
    return {"points": at[moved], "hits": at[1:][np.diff(hits) > 0]}


def _chart(room: str, ways: list[dict[str, Any]], runs: Runs) -> Chart | None:
    policies = [name for name in runs.policies if name in {way["policy"] for way in ways}]
    shown = policies[:PANELS] or list(dict.fromkeys(way["policy"] for way in ways))[:PANELS]
    legs = list(dict.fromkeys(way["scenario"] for way in ways))[:LEGS]
    kept = [way for way in ways if way["policy"] in shown and way["scenario"] in legs]
    walls = _walls(room)
    if not kept:
        return None
    rows: list[dict[str, Any]] = []
    for policy in shown:
        for number, corners in enumerate(walls):
            rows += _line(corners, part="wall", policy=policy, way=f"wall {number}", world="")
        for way in (way for way in kept if way["policy"] == policy):
            about = {"policy": policy, "way": f"{way['world']} {way['scenario']}", "world": way["world"]}
            rows += _line(way["points"], part="way", **about)
            rows += [{"part": "hit", "x": x, "y": y, **about} for x, y in way["hits"].tolist()]
            rows.append({"part": "goal", "x": way["goal"][0], "y": way["goal"][1], **about})
    worlds = list(dict.fromkeys(way["world"] for way in kept))
    more = f" Of {len(policies)} policies the first {len(shown)} are shown." if len(policies) > len(shown) else ""
    title = f"Ways in {room}" if walls else "Ways in a room of one's own"
    driven = [row for row in rows if row["part"] != "wall"]
    about_it = f"The first trial of each scenario.{more}"
    return Chart(name=slug("ways", room), title=title, spec=_spec(rows, shown, worlds), rows=driven, about=about_it)


def _line(points: Floats, **about: Any) -> list[dict[str, Any]]:
    return [{**about, "x": x, "y": y, "at": at} for at, (x, y) in enumerate(points.tolist())]


def _walls(room: str) -> list[Floats]:
    """Outline and obstacles, closed, of rooms that come with foretell: a report opens no file that rows name."""
    if room not in names("rooms") and not re.fullmatch(r"apartment:\d{1,15}", room):
        return []
    try:
        known = Room.named(room)
    except ForetellError:
        return []
    return [np.vstack([corners, corners[:1]]) for corners in (known.outline, *known.obstacles)]


def _spec(rows: list[dict[str, Any]], policies: list[str], worlds: list[str]) -> dict[str, Any]:
    xs, ys = ([row[axis] for row in rows] for axis in "xy")
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    scale = {axis: {"domain": [min(of), max(of)], "nice": False, "zero": False} for axis, of in (("x", xs), ("y", ys))}
    place = {axis: {"field": axis, "type": "quantitative", "scale": scale[axis], "axis": None} for axis in ("x", "y")}
    colour = {"field": "world", "type": "nominal", "sort": worlds, "scale": {"domain": worlds},
              "legend": {"orient": "top", "title": None}}  # fmt: skip
    line = {**place, "order": {"field": "at", "type": "quantitative"}, "detail": {"field": "way", "type": "nominal"}}

    def layer(part: str, mark: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
        return {"transform": [{"filter": f"datum.part === '{part}'"}], "mark": mark, "encoding": encoding}

    layers = [
        layer(
            "wall",
            {"type": "line", "stroke": "#8d9199", "fill": "#8d9199", "fillOpacity": 0.15, "strokeWidth": 1},
            line,
        ),
        layer("goal", {"type": "point", "shape": "circle", "size": 90, "color": "#8d9199", "filled": False}, place),
        layer("way", {"type": "line", "strokeWidth": 1.6, "opacity": 0.85}, {**line, "color": colour}),
        layer("hit", {"type": "point", "shape": "cross", "size": 30, "filled": True}, {**place, "color": colour}),
    ]
    return {
        "data": {"values": rows},
        "facet": {"field": "policy", "type": "nominal", "sort": policies, "title": None},
        "columns": min(3, len(policies)),
        "spec": {"width": WIDTH, "height": max(40, round(WIDTH * high / max(wide, 0.1))), "layer": layers},
    }
