"""Meshes made in tests, and objects imported from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import foretell
from foretell.import_object import ImportedObject

__all__ = ["box", "imported_boxes"]


def box(path: Path, size: tuple[float, float, float], **options: Any) -> ImportedObject:
    """A box as an OBJ file, imported into `objects` beside it."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * size
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}\nf {a + 1} {c + 1} {d + 1}" for a, b, c, d in sides]
    path.write_text("\n".join(lines) + "\n")
    return foretell.import_object(path, **{"out": path.parent / "objects", "parts": 1, **options})


def imported_boxes(folder: Path) -> Path:
    """Three objects: two that a Panda can lift, and one that is too wide for its hand."""
    box(folder / "brick.obj", (0.04, 0.04, 0.05), mass=0.05)
    box(folder / "stick.obj", (0.03, 0.03, 0.07), mass=0.05)
    box(folder / "tome.obj", (0.15, 0.15, 0.05), mass=0.05)
    return folder / "objects"
