"""Whole runs of a mobile robot: under the wall clock, and filmed by its own camera."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell


def study(**more: Any) -> dict[str, Any]:
    """Some seconds of one leg."""
    tasks = [{"use": "pointnav", "time_limit": more.pop("seconds", 12)}]
    base = {"name": "drive", "world": "planar", "tasks": tasks, "policies": ["oracle"], "scenarios": {"layouts": [10]}}
    return {**base, "record": {"video": "none"}, **more}


def test_real_time_applies_to_a_base(tmp_path: Path) -> None:
    for _ in range(3):  # a machine that was busy with something else runs the episode again
        foretell.run(study(clocks=[{"realtime": {"speed": 3}}]), out=tmp_path / "run", workers=1)
        (row,) = foretell.read(tmp_path / "run").to_pylist()
        if row["blame"] != "machine":
            break
    assert row["blame"] is None and row["end"] == "time_limit" and row["steps"] >= 8
    assert dict(row["metrics"])["path_length"] > 0.5


@pytest.mark.gl
def test_a_film_from_the_robots_camera(tmp_path: Path) -> None:
    """It shows a room from within: the picture changes as the robot turns, and is not that from above."""
    av = pytest.importorskip("av")
    foretell.run(study(), out=tmp_path / "run", workers=0)
    (episode,) = foretell.read(tmp_path / "run")["episode"].to_pylist()
    pictures = {}
    for camera in ("locobot/camera", None):
        foretell.replay(tmp_path / "run", episode, out=tmp_path / "film.mp4", camera=camera)
        with av.open(str(tmp_path / "film.mp4")) as film:
            pictures[camera] = [frame.to_ndarray(format="rgb24").astype(float) for frame in film.decode(video=0)]
    own, above = pictures.values()
    assert len(own) == len(above) > 5
    changes = [max(np.abs(a - b).mean() for a, b in pairwise(seen)) for seen in (own, above)]
    assert changes[0] > 10 > 5 * changes[1]
    assert own[0][:120].mean() != pytest.approx(above[0][:120].mean(), abs=5)
