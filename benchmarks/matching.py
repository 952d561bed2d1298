"""How well matching finds what is known: objects, looks and light of pictures that we rendered ourselves.

python benchmarks/matching.py scenario      # poses from masks and from boxes, a minute or two
python benchmarks/matching.py texture       # colours of held-out views, before and after
python benchmarks/matching.py light         # direction and colour of the light
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

from foretell.match.pose import Located, locate_by
from foretell.match.sight import Sight, layout_of, open_bench
from foretell.registry import resolve

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


def box_around(seen: np.ndarray, margin: int = 6) -> tuple[int, ...]:
    rows, columns = np.nonzero(seen)
    height, width = seen.shape
    left, top = max(0, columns.min() - margin), max(0, rows.min() - margin)
    right, bottom = min(width, columns.max() + 1 + margin), min(height, rows.max() + 1 + margin)
    return int(left), int(top), int(right), int(bottom)


PARTS: dict[str, Any] = {"scenario": scenario}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--frames", type=int, default=20)
    given = parser.parse_args()
    PARTS[given.part](given.frames)
