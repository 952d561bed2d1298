"""Pictures of rooms from above."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.rooms import Room, Trail, plan
from foretell.rooms.picture import GROUPS, INKS

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def trails() -> list[Trail]:
    line = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 1.0]])
    hit = Trail(points=line, group="stand-in", collisions=line[1:2], success=False)
    return [Trail(points=line + 0.1, group="simulated", success=True), hit]


def test_a_plan_has_every_obstacle_and_spot() -> None:
    room = Room.named("lab_medium")
    tree = parsed(plan(room, title="the lab"))
    assert len(list(tree.iter(f"{SVG}polygon"))) == 3 + len(room.obstacles)  # wall, floor and its clip
    words = [text.text for text in tree.iter(f"{SVG}text")]
    assert set("ABCDE") | {"the lab", "1 m"} <= set(words)


def test_places_are_to_scale() -> None:
    """10 m take 640 pixels without the margins; y points up."""
    room = Room.named("lab_easy")
    tree = parsed(plan(room, [Trail(points=np.array([[0.0, 0.0], [10.0, 6.5]]))]))
    line = next(p for p in tree.iter(f"{SVG}polyline") if p.get("stroke") == GROUPS[0][0])
    (x0, y0), (x1, y1) = (tuple(map(float, point.split(","))) for point in line.get("points", "").split())
    assert (x1 - x0, y0 - y1) == pytest.approx((608, 608 * 0.65), abs=0.2)


def test_trails_have_the_colour_of_their_group_and_marks() -> None:
    svg = plan(Room.named("lab_easy"), trails(), shortest=[np.array([[1.0, 1.0], [3.0, 1.0]])], goals=[(3.0, 1.0)])
    words = {text.text for text in parsed(svg).iter(f"{SVG}text")}
    assert {"simulated", "stand-in", "shortest way", "collision", "got there", "did not"} <= words
    assert GROUPS[0][0] in svg and GROUPS[1][0] in svg and "stroke-dasharray" in svg
    assert svg.count(INKS["bad"][0]) == 2  # the collision, and its key


def test_panels_stand_apart() -> None:
    svg = plan(Room.named("lab_easy"), trails(), apart=True, width=1000)
    names = {text.text: float(text.get("x", 0)) for text in parsed(svg).iter(f"{SVG}text")}
    assert names["stand-in"] - names["simulated"] > 450


def test_themes() -> None:
    room = Room.named("lab_easy")
    assert INKS["floor"][0] in plan(room) and INKS["floor"][1] not in plan(room)
    assert INKS["floor"][1] in plan(room, theme="dark")
    assert "light-dark(#f6f6f4,#22272e)" in plan(room, theme="page")
    with pytest.raises(UsageError, match=r"theme should be light, dark or page \(given: 'pink'\)"):
        plan(room, theme="pink")  # type: ignore[arg-type]


def test_names_are_text() -> None:
    room = Room(name="x", outline=[[0, 0], [4, 0], [4, 3], [0, 3]], spots={"<script>": (1, 1, 0)})  # type: ignore[arg-type]
    svg = plan(room, [Trail(points=np.empty((0, 2)), group="a & b")], title="<b>")
    assert "<script>" not in svg
    assert {"<script>", "<b>"} <= {text.text for text in parsed(svg).iter(f"{SVG}text")}
