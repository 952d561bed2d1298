"""Pictures of a room from above, as SVG: obstacles, spots, and how robots drove. x points right, y up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.rooms.room import Room

__all__ = ["Theme", "Trail", "plan"]

Theme = Literal["light", "dark", "page"]
"""`page`: as the page that holds the picture, by its `color-scheme`."""
INKS = {
    "paper": ("#ffffff", "#1a1e23"),
    "floor": ("#f6f6f4", "#22272e"),
    "grid": ("#e7e7e4", "#2b3139"),
    "wall": ("#4a4e55", "#9aa1ac"),
    "thing": ("#d9d6cf", "#3b424c"),
    "ink": ("#1d2024", "#eceef1"),
    "soft": ("#4a4e55", "#b4b9c2"),
    "bad": ("#b3261e", "#ff8a80"),
}
"""What -> its colour on a light and on a dark page."""
GROUPS = (
    ("#0f6ab4", "#5cb0ee"), ("#d55e00", "#f0834a"), ("#009e73", "#35c49a"), ("#b5579c", "#dd93c8"),
    ("#c98a00", "#e9b949"), ("#3ea3dc", "#93a9ff"), ("#7a5c2e", "#c8a979"), ("#6b7079", "#a3a9b3"),
)  # fmt: skip
"""Of trails, as in the charts of a report."""
PAD, LINE, LETTER = 16.0, 18.0, 6.6
"""Pixels around a panel, of a line of text, and about of a letter."""
TURN = 0.32
"""Metres of the arrow that shows where a robot looks at a spot."""


@dataclass(frozen=True, kw_only=True)
class Trail:
    """How a robot drove in one episode."""

    points: Floats
    """(k, 2) one after the other, m"""
    group: str = "driven"
    """Trails of a group have one colour and one name in the legend: a world, or a policy."""
    collisions: Floats = ()  # type: ignore[assignment]
    """(c, 2) where it hit something, m"""
    success: bool | None = None
    """Whether it got there: the end is a filled or an empty circle."""


def plan(
    room: Room,
    trails: Sequence[Trail] = (),
    *,
    shortest: Iterable[Floats] = (),
    goals: Iterable[Sequence[float]] = (),
    radius: float = 0.2,
    apart: bool = False,
    title: str = "",
    width: float = 640.0,
    theme: Theme = "light",
) -> str:
    """A room as SVG.

    `trails`: any number, coloured by group. `shortest`: (k, 2) each, dashed. `goals`: (x, y) each, a ring of `radius`
    metres. `apart`: a panel for each group of trails, side by side. `width`: pixels of the whole.
    """
    if theme not in ("light", "dark", "page"):
        raise UsageError(f"theme should be light, dark or page (given: {theme!r:.40})")
    groups = list(dict.fromkeys(trail.group for trail in trails))
    panels: list[tuple[str, Sequence[Trail]]] = [("", trails)]
    if apart and groups:
        panels = [(group, [trail for trail in trails if trail.group == group]) for group in groups]
    colours = {group: GROUPS[i % len(GROUPS)] for i, group in enumerate(groups)}
    shortest, goals = list(shortest), list(goals)
    each = (width - PAD * (len(panels) - 1)) / len(panels)
    sheet = _Plan(room, each, theme)
    top = LINE + 6 if title else 0.0
    head = LINE if len(panels) > 1 else 0.0
    for i, (name, mine) in enumerate(panels):
        sheet.shift = (i * (each + PAD), top + head)
        if name:
            sheet.write(sheet.shift[0] + PAD, top + LINE - 3, name, colours[name], weight=600)
        sheet.room()
        sheet.spots()
        for ring in goals:
            sheet.ring(ring, radius)
        for way in shortest:
            sheet.way(way)
        for trail in mine:
            sheet.trail(trail, colours[trail.group])
        sheet.names(beside=bool(mine))
        sheet.ruler()
    if title:
        sheet.write(PAD, LINE, title, INKS["ink"], weight=600)
    foot = top + head + sheet.height
    foot = _legend(sheet, {} if apart else colours, bool(shortest), trails, foot, width)
    return sheet.svg(width, foot, title or room.name)


def _legend(
    sheet: _Plan, colours: dict[str, Any], dashed: bool, trails: Sequence[Trail], top: float, width: float
) -> float:
    """Writes what colours and marks mean, and returns where that ends."""
    keys = [("line", group, colour) for group, colour in colours.items() if len(colours) > 1]
    keys += [("dash", "shortest way", INKS["soft"])] if dashed else []
    keys += [("cross", "collision", INKS["bad"])] if any(len(trail.collisions) for trail in trails) else []
    ends = {trail.success for trail in trails}
    keys += [("full", "got there", INKS["ink"])] if True in ends else []
    keys += [("empty", "did not", INKS["ink"])] if False in ends else []
    x, y = PAD, top + LINE - 4
    for kind, words, colour in keys:
        wide = 34 + LETTER * len(words)
        if x > PAD and x + wide > width:
            x, y = PAD, y + LINE
        sheet.key(kind, x, y - 4, colour)
        sheet.write(x + 26, y, words, INKS["soft"])
        x += wide + 8
    return y + 8 if keys else top


class _Plan:
    """Maps metres to pixels, and collects what is drawn."""

    def __init__(self, room: Room, width: float, theme: Theme):
        self.of, self.theme = room, theme
        x0, y0, x1, y1 = room.bounds
        self.scale = (width - 2 * PAD) / (x1 - x0)
        self.corner = (x0, y1)
        self.height = (y1 - y0) * self.scale + 2 * PAD
        self.shift = (0.0, 0.0)
        self.parts: list[str] = []

    def ink(self, kind: str, colour: tuple[str, str] | str) -> str:
        if isinstance(colour, str):
            return f'{kind}="{colour}"'
        light, dark = colour
        if self.theme == "page":
            return f'{kind}="{light}" style="{kind}:light-dark({light},{dark})"'
        return f'{kind}="{dark if self.theme == "dark" else light}"'

    def at(self, x: float, y: float) -> tuple[float, float]:
        (left, top), (across, down) = self.corner, self.shift
        return across + PAD + (x - left) * self.scale, down + PAD + (top - y) * self.scale

    def line(self, points: Iterable[Sequence[float]], more: str, *, closed: bool = False) -> None:
        text = " ".join("{:.1f},{:.1f}".format(*self.at(float(x), float(y))) for x, y in points)
        self.parts.append(f'<poly{"gon" if closed else "line"} points="{text}" {more}/>')

    def room(self) -> None:
        outline = self.of.outline
        wall = f"{self.ink('stroke', INKS['wall'])} stroke-linejoin"
        self.line(outline, f'fill="none" {wall}="miter" stroke-width="7"', closed=True)
        self.line(outline, self.ink("fill", INKS["floor"]), closed=True)
        self._grid()
        for i, corners in enumerate(self.of.obstacles):
            tall = self.of.heights[i] >= 2.0
            own = self.of.colours[i] if self.of.colours else INKS["wall" if tall else "thing"]
            fill = f'{self.ink("fill", own)} fill-opacity="{1 if tall else 0.75}"'
            edge = "" if tall else f'stroke-width="1" stroke-opacity="0.55" stroke="{_darker(own)}"'
            self.line(corners, f"{fill} {edge}", closed=True)

    def _grid(self) -> None:
        x0, y0, x1, y1 = self.of.bounds
        step = 1 if max(x1 - x0, y1 - y0) <= 25 else 5
        more = f'{self.ink("stroke", INKS["grid"])} stroke-width="1"'
        clip = f"clip{len(self.parts)}"
        text = " ".join("{:.1f},{:.1f}".format(*self.at(x, y)) for x, y in self.of.outline.tolist())
        self.parts.append(f'<clipPath id="{clip}"><polygon points="{text}"/></clipPath><g clip-path="url(#{clip})">')
        for x in range(math.ceil(x0 / step) * step, math.floor(x1) + 1, step):
            self.line([(x, y0), (x, y1)], more)
        for y in range(math.ceil(y0 / step) * step, math.floor(y1) + 1, step):
            self.line([(x0, y), (x1, y)], more)
        self.parts.append("</g>")

    def ruler(self) -> None:
        """A metre, below the room on the right."""
        x0, y0, x1, _ = self.of.bounds
        long = 1 if x1 - x0 <= 25 else 5
        (a, y), (b, _) = self.at(x1 - long, y0), self.at(x1, y0)
        more = f'{self.ink("stroke", INKS["soft"])} stroke-width="1.5"'
        self.parts.append(f'<path d="M{a:.1f},{y + 8:.1f}v4h{b - a:.1f}v-4" fill="none" {more}/>')
        self.write(a - 6, y + 13, f"{long} m", INKS["soft"], anchor="end", size=10)

    def spots(self) -> None:
        for name, (x, y, yaw) in self.of.spots.items():
            (cx, cy), radius = self.at(x, y), 8 if len(name) == 1 else 5
            tx, ty = self.at(x + TURN * math.cos(yaw), y + TURN * math.sin(yaw))
            look = f'{self.ink("stroke", INKS["ink"])} stroke-width="2" stroke-linecap="round"'
            self.parts.append(f'<path d="M{cx:.1f},{cy:.1f}L{tx:.1f},{ty:.1f}" {look}/>')
            self._dot(cx, cy, radius, self.ink("fill", INKS["ink"]))

    def names(self, beside: bool) -> None:
        """Of the spots: in them where they are short, or beside them and over the trails."""
        for name, (x, y, _) in self.of.spots.items():
            cx, cy = self.at(x, y)
            half = LETTER / 2 * len(name)
            left, right = self.shift[0] + PAD + 4, self.at(self.of.bounds[2], 0)[0] - 4
            if len(name) == 1 and not beside:
                self.write(cx, cy + 4, name, INKS["paper"], anchor="middle", weight=600, size=11)
            else:
                halo = f'{self.ink("stroke", INKS["floor"])} stroke-width="4" stroke-linejoin="round"'
                cx = max(left + half, min(right - half, cx))
                for more in (halo, ""):
                    self.write(cx, cy - 12, name, INKS["ink"], anchor="middle", weight=600, size=12, more=more)

    def ring(self, goal: Sequence[float], radius: float) -> None:
        x, y = self.at(float(goal[0]), float(goal[1]))
        more = f'fill="none" {self.ink("stroke", INKS["soft"])} stroke-width="1.2"'
        self._dot(x, y, round(radius * self.scale, 1), "", more)

    def way(self, points: Floats) -> None:
        more = f'{self.ink("stroke", INKS["soft"])} stroke-width="1.6" stroke-dasharray="5 4"'
        self.line(points, f'fill="none" {more}')

    def trail(self, trail: Trail, colour: tuple[str, str]) -> None:
        points = np.asarray(trail.points, dtype=float).reshape(-1, 2)
        points = points[np.isfinite(points).all(axis=1)]
        stroke = self.ink("stroke", colour)
        if not len(points):
            return
        self.line(points, f'fill="none" {stroke} stroke-width="2" stroke-opacity="0.85" stroke-linejoin="round"')
        x, y = self.at(*points[-1].tolist())
        if trail.success is not None:
            fill = self.ink("fill", colour if trail.success else INKS["paper"])
            self._dot(x, y, 4.5, fill, f'{stroke} stroke-width="2"')
        for hit in np.asarray(trail.collisions, dtype=float).reshape(-1, 2).tolist():
            self._cross(*self.at(*hit))

    def _dot(self, x: float, y: float, radius: float, fill: str, around: str = "") -> None:
        self.parts.append(f'<g {around}><circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {fill}/></g>')

    def _cross(self, x: float, y: float) -> None:
        more = f'{self.ink("stroke", INKS["bad"])} stroke-width="1.6" stroke-linecap="round"'
        self.parts.append(f'<path d="M{x - 3:.1f},{y - 3:.1f}l6,6m0,-6l-6,6" {more}/>')

    def key(self, kind: str, x: float, y: float, colour: tuple[str, str]) -> None:
        stroke = self.ink("stroke", colour)
        if kind == "cross":
            self._cross(x + 10, y)
        elif kind in ("full", "empty"):
            fill = self.ink("fill", colour if kind == "full" else INKS["paper"])
            self.parts.append(
                f'<g {stroke} stroke-width="2"><circle cx="{x + 10:.1f}" cy="{y:.1f}" r="4.5" {fill}/></g>'
            )
        else:
            dash = ' stroke-dasharray="5 4"' if kind == "dash" else ""
            self.parts.append(f'<path d="M{x:.1f},{y:.1f}h20" {stroke} stroke-width="2"{dash}/>')

    def write(
        self, x: float, y: float, words: str, colour: tuple[str, str],
        *, anchor: str = "start", weight: int = 400, size: int = 12, more: str = "",
    ) -> None:  # fmt: skip
        look = f'text-anchor="{anchor}" font-weight="{weight}" font-size="{size}" {self.ink("fill", colour)}'
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {look} {more}>{escape(words)}</text>')

    def svg(self, width: float, height: float, about: str) -> str:
        size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
        font = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(about)}" {font}>'
        paper = "" if self.theme == "page" else f'<rect width="100%" height="100%" {self.ink("fill", INKS["paper"])}/>'
        return f"{head}{paper}{''.join(self.parts)}</svg>\n"


def _darker(colour: tuple[str, str] | str) -> str:
    """The colour of an edge around a fill."""
    text = colour if isinstance(colour, str) else INKS["soft"][0]
    return "#" + "".join(f"{int(int(text[i : i + 2], 16) * 0.55):02x}" for i in (1, 3, 5))
