"""Draws matched_looks.png (what policies see in the laboratory, and in the worlds that are to foretell it) and
matched_rates.png (success there and here), from what `python benchmarks/matched.py` left in runs/.

python docs/pictures/matched.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from foretell.registry import resolve
from foretell.sim.bench import Bench
from foretell.spec import Stream
from foretell.train.views import HEIGHT, WIDTH

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "runs" / "matched"
TASK, LAYOUTS, SCALE = "widowx_carrot_on_plate", (13, 22), 3
WORLDS = {"laboratory": FOLDER / "lab.yaml", "none": "mujoco", "matched": FOLDER / "looks.yaml"}
LABORATORIES = {"matched": "far", "matched-near": "near"}
SIMS = ("none", "identified", "matched", "both", "aggregated")
SIDE, EDGE, MORE = 170, 30, 2
INK, FAINT, DOT = (40, 40, 40), (205, 205, 205), (31, 90, 160)


def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def seen(world: str | Path, layout: int) -> Image.Image:
    """The picture that a policy gets, three times as large."""
    task = resolve("tasks", TASK)()
    bench = Bench(task, scenario=task.layouts()[layout], world=world)
    shown = bench.world.observe(np.zeros(1, dtype=np.int32), {"third_view/rgb": Stream((HEIGHT, WIDTH, 3))})
    picture = Image.fromarray(shown["third_view/rgb"][0])
    return picture.resize((SCALE * WIDTH, SCALE * HEIGHT), Image.Resampling.NEAREST)


def looks() -> None:
    width, height = SCALE * WIDTH, SCALE * HEIGHT
    sheet = Image.new("RGB", (len(WORLDS) * (width + 6) - 6, len(LAYOUTS) * (height + 6) - 6), "white")
    for column, world in enumerate(WORLDS.values()):
        for row, layout in enumerate(LAYOUTS):
            sheet.paste(seen(world, layout), (column * (width + 6), row * (height + 6)))
    sheet.save(HERE / "matched_looks.png", optimize=True)


def panel(draw: ImageDraw.ImageDraw, left: int, top: int, title: str, pairs: list[tuple[float, float]]) -> None:
    """Success in the laboratory to the right, in the world upwards."""
    side = MORE * SIDE
    draw.rectangle((left, top, left + side, top + side), outline=INK, width=2)
    draw.line((left, top + side, left + side, top), fill=FAINT, width=2)
    draw.text((left + side / 2, top - 12), title, fill=INK, anchor="ms", font=font(MORE * 14))
    for tick in (0, 0.5, 1):
        draw.text((left + tick * side, top + side + 8), f"{tick:.0%}", fill=INK, anchor="mt", font=font(MORE * 10))
    for real, sim in pairs:
        x, y, r = left + real * side, top + (1 - sim) * side, MORE * 5
        draw.ellipse((x - r, y - r, x + r, y + r), outline=DOT, width=4)


def rates() -> None:
    """A row for each laboratory, a panel for each world."""
    every = {name: json.loads((FOLDER.parent / name / "answers.json").read_text()) for name in LABORATORIES}
    columns, wide, high = len(SIMS), MORE * (EDGE + SIDE), MORE * (SIDE + 2 * EDGE)
    sheet = Image.new("RGB", (columns * wide + MORE * EDGE, len(every) * high + MORE * 24), "white")
    draw = ImageDraw.Draw(sheet)
    for row, (name, answers) in enumerate(every.items()):
        for column, world in enumerate(SIMS):
            if world not in answers["sims"]:
                continue
            cells = answers["sims"][world].items()
            pairs = [(answers["paired"][world][policy], success) for policy, (_, success) in cells]
            title = f"{world}, {LABORATORIES[name]}"
            panel(draw, MORE * EDGE + column * wide, row * high + MORE * EDGE, title, pairs)
    label = "to the right: success in the laboratory, which is a stand-in; upwards: success in the world"
    draw.text((sheet.width / 2, sheet.height - 12), label, fill=INK, anchor="ms", font=font(MORE * 13))
    small = sheet.resize((sheet.width // MORE, sheet.height // MORE), Image.Resampling.LANCZOS)
    small.save(HERE / "matched_rates.png", optimize=True)


if __name__ == "__main__":
    looks()
    rates()
