"""The pictures and the figures on imports of docs/navigation.md: `python docs/pictures/rooms.py`."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
import shapely
import vl_convert
from PIL import Image

import foretell
from foretell.rooms import Geodesic, Room, plan, ways_of
from foretell.rooms.floor import shape_of
from foretell.rooms.lab import LEGS

HERE = Path(__file__).parent
R = 0.175
EDGE = 10
"""Cells around a room that nobody knows."""


def picture(svg: str, scale: float = 1.5) -> Image.Image:
    return Image.open(io.BytesIO(vl_convert.svg_to_png(svg, scale=scale))).convert("RGB")


def sheet(pictures: list[Image.Image], columns: int) -> Image.Image:
    """Pictures in rows, each as high as its highest."""
    rows = [pictures[i : i + columns] for i in range(0, len(pictures), columns)]
    wide = max(sum(each.width for each in row) for row in rows)
    whole = Image.new("RGB", (wide, sum(max(each.height for each in row) for row in rows)), "white")
    top = 0
    for row in rows:
        left = 0
        for each in row:
            whole.paste(each, (left, top))
            left += each.width
        top += max(each.height for each in row)
    return whole


def rooms() -> None:
    drawn = []
    for name in ("lab_easy", "lab_medium", "lab_hard"):
        room = Room.named(name)
        ways = [ways_of(room, R).path(room.spots[a], room.spots[b]) for a, b in LEGS]
        drawn.append(picture(plan(room, shortest=ways, title=name, width=520), 1.0))
    for seed in (1, 3, 5):
        room = Room.named(f"apartment:{seed}")
        drawn.append(picture(plan(room, title=room.name, width=520), 1.0))
    sheet(drawn, 3).save(HERE / "rooms.png", optimize=True)


def write_map(room: Room, cell: float, folder: Path) -> Path:
    """A room as a robot would map it: cells of walls 15 cm thick, and nothing known behind them."""
    x0, y0, x1, y1 = room.bounds
    x = x0 + cell * (np.arange(-EDGE, np.ceil((x1 - x0) / cell) + EDGE) + 0.5)
    y = y0 + cell * (np.arange(-EDGE, np.ceil((y1 - y0) / cell) + EDGE) + 0.5)
    across, up = np.meshgrid(x, y)
    cells = np.where(shapely.contains_xy(shape_of(room), across, up), 254, 0)
    cells[~shapely.contains_xy(shapely.Polygon(room.outline).buffer(0.15), across, up)] = 205
    Image.fromarray(cells.astype(np.uint8)[::-1]).save(folder / "map.pgm")
    origin = [x0 - EDGE * cell, y0 - EDGE * cell, 0]
    lines = ["image: map.pgm", f"resolution: {cell}", f"origin: {origin}", "negate: 0"]
    lines += ["occupied_thresh: 0.65", "free_thresh: 0.25"]
    (folder / "map.yaml").write_text("\n".join(lines) + "\n")
    return folder / "map.yaml"


def imports() -> None:
    """Rooms drawn as maps and read again: how far walls and distances are off."""
    for name in ("lab_hard", "apartment:3"):
        room = Room.named(name)
        ways = Geodesic(room, R)
        start, goal = ways.floor.sample(200, np.random.default_rng(0)).reshape(2, 100, 2)
        truth = ways.distance(start, goal)
        for cell in (0.05, 0.02):
            with tempfile.TemporaryDirectory() as folder:
                source = write_map(room, cell, Path(folder))
                made = foretell.import_room(source, name=name, out=Path(folder) / "room.json")
                again = Room.load(made.file)
                lengths = Geodesic(again, R).distance(start, goal)
                both = np.isfinite(lengths) & np.isfinite(truth)
                off = np.abs(lengths[both] / truth[both] - 1)
                print(
                    f"{name:12} {cell:g} m: {made.corners} corners of {len(room.segments)}; distances off by "
                    f"{off.mean():.2%} on average, {off.max():.2%} at most; no way in {(~both).sum()} of {len(both)}"
                )
                if cell == 0.05 and name != "lab_hard":
                    cells = Image.open(Path(folder) / "map.pgm").convert("RGB")
                    size = 700, round(700 * cells.height / cells.width)
                    pair = [cells.resize(size, Image.Resampling.NEAREST), picture(plan(again, width=700), 1.0)]
                    sheet(pair, 2).save(HERE / "import-room.png", optimize=True)


if __name__ == "__main__":
    rooms()
    imports()
