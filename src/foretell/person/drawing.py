"""Drawings of a table from above, as SVG: the whole of it with the robot's base, and the part where objects go.

The robot is at the bottom and looks up: x of the task frame points up, y to the left. So the drawing shows what a
person sees who stands behind the robot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from foretell.errors import UsageError
from foretell.objects.imported import is_imported
from foretell.objects.outline import object_outline
from foretell.scenario import Placement, Scenario

__all__ = ["STYLE", "bounds", "close_up", "overview"]

STYLE = """
svg{display:block}
svg text{font:500 11px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#333}
.table{fill:#f3f1ec;stroke:#b9b4a8}.part{fill:#e2ddd2;stroke:#a59f92}.base{fill:#cdd3da;stroke:#56606b}
.edge{fill:none;stroke:#8a4b08;stroke-width:2.6;stroke-linejoin:round}.thing{fill:#f9cf9f}
.nose{stroke:#8a4b08;stroke-width:1.6;fill:none}
.grid{stroke:#dcdcdc;stroke-width:.6}.rule{stroke:#0b5394;stroke-width:1.1;fill:none}.axis{stroke:#666;fill:none}
svg .blue{fill:#0b5394;paint-order:stroke;stroke:#fff;stroke-width:3px}svg .small{font-size:9.5px;fill:#666}
"""
LARGEST = (350.0, 196.0)
"""Width and height that a picture has at most, in pixels: two fit side by side on A4, three such cards on a page."""
WIDEST = 30.0
"""Pixels that a number along the lower edge takes, with a gap."""
Box = tuple[float, float, float, float]
"""x from, x to, y from, y to, in the task frame, m."""


def bounds(scenarios: Iterable[Scenario], frame: Mapping[str, Any]) -> Box:
    """The part of the table that holds every object of these scenarios, with a margin; whole centimetres."""
    xs, ys = [], []
    for scenario in scenarios:
        for placed in scenario.placements.values():
            for x, y in _points(placed, frame):
                xs.append(x)
                ys.append(y)
    least = 0.10  # m: less is a picture of one object
    low_x, high_x, low_y, high_y = min(xs), max(xs), min(ys), max(ys)
    grow = [max(0.02, (least - (high - low)) / 2) for low, high in ((low_x, high_x), (low_y, high_y))]
    box = (low_x - grow[0], high_x + grow[0], low_y - grow[1], high_y + grow[1])
    return tuple(  # type: ignore[return-value]
        (math.floor if i % 2 == 0 else math.ceil)(round(100 * v, 6)) / 100 for i, v in enumerate(box)
    )


class _Sheet:
    """Maps metres of the task frame to the picture, and collects its parts."""

    def __init__(self, box: Box, pad: float):
        self.box, self.pad = box, pad
        (wide, high), across, up = LARGEST, box[3] - box[2], box[1] - box[0]
        self.scale = min((wide - 2 * pad) / across, (high - 2 * pad) / up)
        self.size = (across * self.scale + 2 * pad, up * self.scale + 2 * pad)
        self.parts: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.pad + (self.box[3] - y) * self.scale, self.pad + (self.box[1] - x) * self.scale

    def polygon(self, points: Sequence[Sequence[float]], style: str) -> None:
        text = " ".join("{:.1f},{:.1f}".format(*self.at(x, y)) for x, y in points)
        self.parts.append(f'<polygon points="{text}" class="{style}"/>')

    def line(self, a: tuple[float, float], b: tuple[float, float], style: str, more: str = "") -> None:
        (x1, y1), (x2, y2) = self.at(*a), self.at(*b)
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}" {more}/>')

    def dot(self, at: tuple[float, float]) -> None:
        x, y = self.at(*at)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="#8a4b08"/>')

    def text(
        self, at: tuple[float, float], words: str, style: str = "", anchor: str = "middle", by: tuple[int, int] = (0, 0)
    ) -> None:
        x, y = self.at(*at)
        place = f'x="{x + by[0]:.1f}" y="{y + by[1]:.1f}" text-anchor="{anchor}"'
        self.parts.append(f'<text {place} class="{style}">{escape(words)}</text>')

    def svg(self, about: str) -> str:
        wide, high = self.size
        mark = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        mark += '<path d="M0,0.8 L7.5,4 L0,7.2" fill="none" stroke="#666" stroke-width="1.2"/></marker>'
        size = f'viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" height="{high:.0f}"'
        head = f'<svg {size} role="img" aria-label="{escape(about)}">'
        return f"{head}<defs>{mark}</defs>{''.join(self.parts)}</svg>"


def overview(scenario: Scenario, frame: Mapping[str, Any], inside: Box) -> str:
    """The whole table: robot bases, furniture, the origin of the task frame, objects, and the part that `close_up`
    shows. Blue lines say how far ahead and aside each object lies from the first robot's base."""
    spots = [point for part in frame["still"] for point in part["points"]]
    spots += [robot["pos"][:2] for robot in frame["robots"].values()] + [(inside[0], inside[2]), (inside[1], inside[3])]
    xs, ys = [p[0] for p in spots], [p[1] for p in spots]
    sheet = _Sheet((min(xs) - 0.10, max(xs) + 0.03, min(ys) - 0.03, max(ys) + 0.03), 6)
    lowest = min((part["top"] for part in frame["still"]), default=0.0)
    for part in frame["still"]:
        sheet.polygon(part["points"], "table" if part["top"] <= lowest + 1e-6 else "part")
    x0, x1, y0, y1 = inside
    sheet.polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], "axis")
    for name, robot in frame["robots"].items():
        _base(sheet, name, robot)
    for placed in scenario.placements.values():
        _thing(sheet, placed, frame)
    for robot in list(frame["robots"].values())[:1]:
        _rulers(sheet, scenario, robot)
    _axes(sheet, 0.09)
    return sheet.svg("the table from above, the robot at the bottom")


def _base(sheet: _Sheet, name: str, robot: Mapping[str, Any]) -> None:
    x, y, _ = robot["pos"]
    turn = math.radians(robot["yaw"])
    ring = [(x + 0.06 * math.cos(a), y + 0.06 * math.sin(a)) for a in (2 * math.pi * i / 32 for i in range(32))]
    sheet.polygon(ring, "base")
    sheet.line((x, y), (x + 0.1 * math.cos(turn), y + 0.1 * math.sin(turn)), "axis", 'marker-end="url(#tip)"')
    sheet.text((x - 0.06, y), name, "small", by=(0, 11))


def _rulers(sheet: _Sheet, scenario: Scenario, robot: Mapping[str, Any]) -> None:
    """From the base straight ahead, then aside, to every object."""
    x, y, _ = robot["pos"]
    turn = math.radians(robot["yaw"])
    for placed in scenario.placements.values():
        ahead = (placed.pos[0] - x) * math.cos(turn) + (placed.pos[1] - y) * math.sin(turn)
        corner = (x + ahead * math.cos(turn), y + ahead * math.sin(turn))
        sheet.line((x, y), corner, "rule", 'stroke-dasharray="4 2"')
        sheet.line(corner, placed.pos[:2], "rule", 'stroke-dasharray="4 2"')
        if len(scenario.placements) == 1:
            aside = math.dist(corner, placed.pos[:2])
            half = (x + 0.4 * ahead * math.cos(turn), y + 0.4 * ahead * math.sin(turn))
            sheet.text(half, f"{ahead:.3f} m", "blue", "start", by=(5, 4))
            if aside * sheet.scale > 40:  # else there is no room
                middle = ((corner[0] + placed.pos[0]) / 2, (corner[1] + placed.pos[1]) / 2)
                sheet.text(middle, f"{aside:.3f} m", "blue", by=(0, 13))


def close_up(scenario: Scenario, frame: Mapping[str, Any], inside: Box) -> str:
    """The part of the table where objects go: a grid in centimetres, numbers of the task frame along the edges, and
    every object as large and as turned as it is to lie. A line from its middle points where its own x does."""
    x0, x1, y0, y1 = inside
    sheet = _Sheet(inside, 30)
    step = 1 if max(x1 - x0, y1 - y0) <= 0.4 else 5
    for along_x, low, high in ((True, x0, x1), (False, y0, y1)):
        room = 14 if along_x else WIDEST
        apart = (n for n in (2, 5, 10, 20, 50, 100) if n % step == 0 and n / 100 * sheet.scale >= room)
        labelled = next(apart, 100)
        for value in (i / 100 for i in range(round(100 * low), round(100 * high) + 1) if i % step == 0):
            ends = ((value, y0), (value, y1)) if along_x else ((x0, value), (x1, value))
            style = "axis" if abs(value) < 1e-9 else "grid"
            sheet.line(*ends, style)
            if round(100 * value) % labelled == 0:
                text = f"{value:.2f}".replace("-", "−")
                if along_x:
                    sheet.text((value, y1), text, "small", "end", by=(-3, 3))
                else:
                    sheet.text((x0, value), text, "small", by=(0, 12))
    for part in frame["still"]:
        if all(x0 < x < x1 and y0 < y < y1 for x, y in part["points"]):
            sheet.polygon(part["points"], "part")
    for name, placed in scenario.placements.items():
        _thing(sheet, placed, frame)
        top = max(x for x, _ in _points(placed, frame))
        sheet.text((top, placed.pos[1]), name, by=(0, -4))
    sheet.text((x1, y1), "x", "small", "end", by=(-3, -8))
    sheet.text((x0, y0), "y", "small", "start", by=(15, 12))
    return sheet.svg("where objects go, with a grid in centimetres")


def _axes(sheet: _Sheet, long: float) -> None:
    tip = 'marker-end="url(#tip)"'
    for end, name, by in (((long, 0.0), "x", (0, -3)), ((0.0, long), "y", (-7, 4))):
        sheet.line((0.0, 0.0), end, "axis", tip)
        sheet.text(end, name, "small", by=by)


def _thing(sheet: _Sheet, placed: Placement, frame: Mapping[str, Any]) -> None:
    parts = _outline(placed, frame)
    for style in ("edge", "thing"):  # fills over all edges: an object of several parts is one
        for points in parts:
            sheet.polygon(points, style)
    x, y, _ = placed.pos
    reach = min(0.03, max(math.dist((x, y), p) for p in _points(placed, frame)))
    sheet.line((x, y), (x + reach * math.cos(placed.yaw), y + reach * math.sin(placed.yaw)), "nose")
    sheet.dot((x, y))


def _points(placed: Placement, frame: Mapping[str, Any]) -> list[tuple[float, float]]:
    return [point for part in _outline(placed, frame) for point in part]


SQUARE = [[[-0.02, -0.02], [0.02, -0.02], [0.02, 0.02], [-0.02, 0.02]]]


@lru_cache(maxsize=64)
def _imported(name: str) -> list[list[list[float]]] | None:
    """The outline of an imported object, if it is still there."""
    try:
        return object_outline(name) if is_imported(name) else None
    except (UsageError, ValueError):
        return None


def _outline(placed: Placement, frame: Mapping[str, Any]) -> list[list[tuple[float, float]]]:
    """An object's polygons where it lies; a square of 4 cm for one whose shape is not known."""
    known = frame["objects"].get(placed.asset) or _imported(placed.asset) or SQUARE
    cos, sin = math.cos(placed.yaw), math.sin(placed.yaw)
    (sx, sy, _), (px, py, _) = placed.scale, placed.pos
    return [[(px + cos * sx * x - sin * sy * y, py + sin * sx * x + cos * sy * y) for x, y in part] for part in known]
