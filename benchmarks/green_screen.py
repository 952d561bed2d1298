"""What a photograph behind the foreground costs beside the picture itself, at 640x480, on one core.

    python benchmarks/green_screen.py
    python benchmarks/green_screen.py --rounds 60 --task can --camera front

A world without a photograph and one with it take turns, frame by frame. CPU milliseconds, medians: of a frame without,
and of what a photograph adds to it. `robots alone` does not keep the objects, which needs a segmentation: a second pass
of the renderer.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import tempfile
import time
import zlib
from pathlib import Path

os.environ.setdefault("LP_NUM_THREADS", "1")

import numpy as np

from foretell.registry import resolve
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream

SLOT = np.zeros(1, dtype=np.int32)
KINDS = {
    "plain": None,
    "photograph": {},
    "robots alone": {"keep": ["robots"]},
    "soft edges": {"soft_edges": 2},
    "contact shadow": {"contact_shadow": 0.5},
}


def photograph(height: int, width: int) -> bytes:
    """A PNG of noise."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    pixels = np.random.default_rng(0).integers(0, 255, (height, width * 3), dtype=np.uint8)
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), pixels], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def measure(task: str, camera: str, size: tuple[int, int], rounds: int) -> dict[str, float]:
    """What -> CPU milliseconds a frame."""
    worlds, stream = {}, f"{camera}/rgb"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "photo.png").write_bytes(photograph(*size))
        for kind, fields in KINDS.items():
            transforms = [] if fields is None else [{"use": "background", "image": "photo.png", **fields}]
            built = resolve("tasks", task)()
            world = MujocoWorld(built, {"name": "w", "folder": folder, "transforms": transforms}, slots=1)
            world.reset(SLOT, [built.scenario(0)], [0])
            worlds[kind] = world
    streams = {stream: Stream((*size, 3))}

    def frame(world: MujocoWorld) -> float:
        began = time.process_time()
        world.observe(SLOT, streams)
        return 1000 * (time.process_time() - began)

    plain = worlds.pop("plain")
    figures = {"plain": statistics.median(frame(plain) for _ in range(rounds + 3))}
    for kind, world in worlds.items():
        pairs = [(frame(plain), frame(world)) for _ in range(rounds + 3)][3:]
        figures[kind] = statistics.median(after - before for before, after in pairs)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="widowx_carrot_on_plate")
    parser.add_argument("--camera", default="third_view")
    parser.add_argument("--size", type=int, nargs=2, default=(480, 640), metavar=("HEIGHT", "WIDTH"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = measure(given.task, given.camera, tuple(given.size), given.rounds)
    if given.json:
        print(json.dumps(figures, indent=2))
        return
    for what, milliseconds in figures.items():
        print(f"{what:<15} {'+' if what != 'plain' else ' '}{milliseconds:5.2f} ms")


if __name__ == "__main__":
    main()
