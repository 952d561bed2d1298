"""How well matching finds what is known: objects, looks and light of pictures that we rendered ourselves.

python benchmarks/matching.py scenario      # poses from masks and from boxes, a minute or two
python benchmarks/matching.py trials        # poses that nobody marked, about where objects should lie; three minutes
python benchmarks/matching.py texture       # colours of held-out views, before and after
python benchmarks/matching.py light         # direction and colour of the light
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from foretell.match import light as match_light
from foretell.match import texture as match_texture
from foretell.match.colour import ciede2000, lab
from foretell.match.picture import write_picture
from foretell.match.pose import Located, locate_by
from foretell.match.sight import Sight, layout_of, open_bench, view_of
from foretell.match.unaided import measure_unaided
from foretell.objects.chart import charts, picture_size
from foretell.registry import resolve
from foretell.rotation import turned

CASES = (
    ("lift", "cube", "front", 480, None),
    ("widowx_carrot_on_plate", "carrot", "third_view", 480, 0),
    ("widowx_spoon_on_towel", "spoon", "third_view", 480, 0),
    ("widowx_stack_cube", "green", "third_view", 480, 0),
    ("google_robot_pick_horizontal_coke_can", "can", "google_robot/overhead", 512, 12),
    ("google_robot_pick_standing_coke_can", "can", "google_robot/overhead", 512, 12),
)
"""Task, object, camera, height of a picture 640 wide, layout."""
NOISE = 3.0
"""Standard deviation of pixels, grey levels."""


def turn_error(located: Located, true: float) -> float:
    """Degrees from the nearest turn that was given as possible; NaN where none was."""
    if not located.turn_known:
        return math.nan
    turns = (float(located.pose[2]), *located.turns)
    return min(abs(math.degrees(math.remainder(turn - true, 2 * math.pi))) for turn in turns)


def scenario(frames: int) -> None:
    print(f"{frames} frames each; position in mm and turn in degrees: median, largest; within 2 sd; CPU s a frame")
    for name, part, camera, height, layout in CASES:
        task = resolve("tasks", name)()
        start = layout_of(task, layout)
        bench = open_bench(task, "mujoco", camera, start)
        sight = Sight(bench, part, camera, (height, 640))
        rng = np.random.default_rng(0)
        rows: dict[str, list[tuple[float, float, bool, float]]] = {"mask": [], "box": []}
        while len(rows["mask"]) < frames:
            x, y = np.array(start.placements[part].pos[:2]) + rng.uniform(-0.06, 0.06, 2)
            true = np.array([x, y, rng.uniform(-math.pi, math.pi)])
            seen = sight.silhouette(true)
            if seen.sum() < 200 or seen[[0, -1]].any() or seen[:, [0, -1]].any():
                continue  # out of the picture, or behind the robot
            noise = rng.normal(0, NOISE, (height, 640, 3))
            image = np.clip(sight.picture(true) + noise, 0, 255).astype(np.uint8)
            for how in rows:
                began = time.process_time()
                located, _ = locate_by(sight, image, seen if how == "mask" else box_around(seen))
                spent = time.process_time() - began
                off = located.pose[:2] - true[:2]
                sure = bool((np.abs(off) <= 2 * located.sd[:2]).all())
                rows[how].append((1000 * float(np.linalg.norm(off)), turn_error(located, true[2]), sure, spent))
        for how, table in rows.items():
            mm, degrees, sure, spent = (np.array(column) for column in zip(*table, strict=True))
            known = degrees[np.isfinite(degrees)]
            turn = f"{np.median(known):5.2f} {known.max():5.2f}" if len(known) else "    unknown"
            place = f"{np.median(mm):5.2f} {mm.max():5.2f}"
            print(f"{name:38} {how:5} {place}   {turn}   {sure.mean():4.0%}   {spent.mean():.1f}", flush=True)


def trials(frames: int) -> None:
    """As `foretell match trials` measures: the object lies up to 20 mm and 15° beside its place, or is not there."""
    print(
        f"{frames} frames each; measured; position in mm, turn in degrees: median, largest; within 2 sd; CPU s a frame"
    )
    for name, part, camera, height, layout in CASES[:4]:
        task = resolve("tasks", name)()
        for width in (640, 128):
            size = (height * width // 640, width)
            for how in ("beside", "hidden"):
                rng = np.random.default_rng(0)
                rows, spent, reasons = [], 0.0, Counter[str]()
                for at in range(frames):
                    start = task.scenario(at) if layout is None else layout_of(task, layout + at)
                    bench = open_bench(task, "mujoco", camera, start)
                    placed = start.placements[part]
                    true = np.array([*placed.pos[:2], 0.0]) + rng.uniform(-1, 1, 3) * [0.02, 0.02, math.radians(15)]
                    height_m = placed.pos[2] if how == "beside" else -3.0
                    bench.put(part, (true[0], true[1], height_m), turned(placed.quat, true[2]))
                    image = view_of(bench, camera, size) + rng.normal(0, NOISE, (*size, 3))
                    bench.put(part, placed.pos, placed.quat)
                    began = time.process_time()
                    frame = np.clip(image, 0, 255).astype(np.uint8)
                    measured, why = measure_unaided(bench, camera, Path("frame.png"), frame, [part])
                    spent += time.process_time() - began
                    reasons.update(why.values())
                    if part in measured.objects:
                        located = measured.objects[part]
                        off = located.pose[:2] - true[:2]
                        sure = bool((np.abs(off) <= 2 * located.sd[:2]).all())
                        rows.append((1000 * float(np.linalg.norm(off)), turn_error(located, true[2]), sure))
                print(_in_a_row(f"{name:24} {width:4} {how:6}", rows, frames, spent), flush=True)
                for why, count in reasons.items():
                    print(f"    {count}: {why}")


def _in_a_row(what: str, rows: list[tuple[float, float, bool]], frames: int, spent: float) -> str:
    line = f"{what} {len(rows)} of {frames}"
    if rows:
        mm, degrees, sure = (np.array(column) for column in zip(*rows, strict=True))
        line += f"   {np.median(mm):5.2f} {mm.max():5.2f}   {np.nanmedian(degrees):5.2f} {np.nanmax(degrees):5.2f}"
        line += f"   {sure.mean():4.0%}"
    return f"{line}   {spent / frames:.1f}"


def box_around(seen: np.ndarray, margin: int = 6) -> tuple[int, ...]:
    rows, columns = np.nonzero(seen)
    height, width = seen.shape
    left, top = max(0, columns.min() - margin), max(0, rows.min() - margin)
    right, bottom = min(width, columns.max() + 1 + margin), min(height, rows.max() + 1 + margin)
    return int(left), int(top), int(right), int(bottom)


def texture(frames: int) -> None:
    """The world has the object in plain grey; the picture shows it as it is."""
    print(f"{frames} pictures each; CIEDE2000 in the picture and in held-out views (6 other turns): before, after")
    for name, part, camera, height, layout in CASES[1:]:
        task = resolve("tasks", name)()
        start = layout_of(task, layout)
        asset = start.placements[part].asset
        true = Sight(open_bench(task, "mujoco", camera, start), part, camera, (height, 640))
        rng, rows = np.random.default_rng(0), []
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            write_picture(folder / "grey.png", np.full((*picture_size(charts(asset)), 3), 150, dtype=np.uint8))
            plain = f"transforms: [{{use: painted, asset: {asset}, image: grey.png}}]\n"
            (folder / "before.yaml").write_text(plain)
            before = Sight(open_bench(task, folder / "before.yaml", camera, start), part, camera, (height, 640))
            for _ in range(frames):
                pose = np.array([*start.placements[part].pos[:2], rng.uniform(-math.pi, math.pi)])
                write_picture(folder / "frame.png", true.picture(pose))
                write_picture(folder / "mask.png", true.silhouette(pose))
                (folder / "lab.yaml").write_text(plain)
                match = match_texture(
                    folder / "frame.png", task=name, camera=camera, object=part, mask=folder / "mask.png",
                    layout=layout, world=folder / "lab.yaml",
                )  # fmt: skip
                assert match.located is not None
                after = Sight(open_bench(task, folder / "lab.yaml", camera, start), part, camera, (height, 640))
                shift = np.array([0.0, 0.0, match.located.pose[2] - pose[2]])  # its texture is where it was taken to be
                held = []
                for turn in np.arange(1, 7) * 2 * math.pi / 7:
                    other = pose + [0.0, 0.0, turn]
                    seen, real = true.silhouette(other), true.picture(other)
                    views = before.picture(other), after.picture(other + shift)
                    held.append([float(ciede2000(lab(real[seen]), lab(view[seen])).mean()) for view in views])
                rows.append([match.before, match.after, *np.mean(held, axis=0)])
        a, b, c, d = np.mean(rows, axis=0)
        print(f"{name:38} {part:7} {a:5.1f} {b:5.1f}   {c:5.1f} {d:5.1f}", flush=True)


def light(frames: int) -> None:
    """The world has the light of the task; the picture has another."""
    print(f"{frames} pictures each; direction (degrees), ambient, colour: median and largest error; within 2 sd")
    for name, _, camera, height, layout in (CASES[0], CASES[1], CASES[4]):
        for shadows in (0, 1024):
            task, rng, rows = resolve("tasks", name)(), np.random.default_rng(0), []
            start = layout_of(task, layout)
            for _ in range(frames):
                turn, up = rng.uniform(0, 2 * math.pi), math.radians(rng.uniform(35, 80))
                way = -np.array([math.cos(turn) * math.cos(up), math.sin(turn) * math.cos(up), math.sin(up)])
                ambient, colour = rng.uniform(0.25, 0.5, 3), rng.uniform(0.3, 0.6, 3)
                lamp = {"ambient": ambient.tolist(), "colour": colour.tolist(), "direction": way.tolist()}
                world = {"name": "lit", "theta": {"shadows": shadows}, "transforms": [{"use": "light", **lamp}]}
                drawn = view_of(open_bench(task, world, camera, start), camera, (height, 640))
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "frame.png"
                    noise = rng.normal(0, NOISE, drawn.shape)
                    write_picture(path, np.clip(drawn + noise, 0, 255).astype(np.uint8))
                    lit = match_light(path, task=name, camera=camera, layout=layout)
                degrees = math.degrees(math.acos(min(1.0, float(lit.fit.direction @ way))))
                errors = [float(np.abs(a - b).max()) for a, b in ((lit.fit.ambient, ambient), (lit.fit.colour, colour))]
                rows.append([degrees, *errors, degrees <= 2 * lit.sd])
            table = np.array(rows)
            middle, most = np.median(table, axis=0), table.max(axis=0)
            each = "   ".join(f"{middle[i]:5.2f} {most[i]:5.2f}" for i in range(3))
            print(f"{name:38} shadows {shadows:4}  {each}   {table[:, 3].mean():4.0%}", flush=True)


PARTS: dict[str, Any] = {"scenario": scenario, "trials": trials, "texture": texture, "light": light}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--frames", type=int, default=6)
    given = parser.parse_args()
    PARTS[given.part](given.frames)
