"""Real trials for other tools: measured joints, and the films of the robot's cameras at the steps."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import made
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell
from foretell.datasets import LeRobotData
from foretell.datasets.video import VideoFile, frames_at
from foretell.errors import UsageError
from foretell.hardware.record import film_path

pytest.importorskip("av", reason="PyAV is not installed (extra video)")
STEPS = 20


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two trials of one second, each with steps and a film of 10 frames a second that grows brighter."""
    real = {"world": "lab", "world_hash": "r" * 16, "real": True, "judge": "person", "sim_s": STEPS / 20}
    scenarios, rows = made.rows({"act": 1.0}, 2, **real)
    run = made.run(tmp_path / "lab", scenarios, rows)
    for number, row in enumerate(rows):
        ticks = np.arange(STEPS + 1) * 25
        columns = {
            "time": ticks / 500,
            "measured/panda/joint1": np.linspace(0, 1, STEPS + 1) + number,
            "wanted/panda/joint1": np.full(STEPS + 1, np.nan),
            "tick": ticks,
            "judged": np.zeros(STEPS + 1, dtype=bool),
            "action": pa.array([[float(i)] * 7 for i in range(STEPS + 1)], pa.list_(pa.float64())),
        }
        (run / "steps").mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), run / "steps" / f"{row.episode}.parquet")
        path = film_path(run, row.episode, "wrist")
        path.parent.mkdir(exist_ok=True)
        film = VideoFile(path, 48, 64, Fraction(10))
        for i in range(11):
            film.add(np.full((48, 64, 3), 20 * i, dtype=np.uint8))
        film.close()
    return run


def test_joints_and_films(run: Path, tmp_path: Path) -> None:
    done = foretell.export(run, out=tmp_path / "set")
    data = LeRobotData(done.path)
    table = data.table(["observation.state", "action", "episode_index"])
    assert data.names("observation.state") == ["measured/panda/joint1"]
    assert np.allclose(data.numbers(table, "observation.state")[:STEPS, 0] % 1, np.linspace(0, 1, STEPS + 1)[:-1])
    assert data.numbers(table, "action")[:3, 0].tolist() == [1.0, 2.0, 3.0]
    film = done.path / "videos" / "observation.images.wrist" / "chunk-000" / "file-000.mp4"
    seen = [float(frame.mean()) for frame in frames_at(film, np.arange(STEPS) / 20)]
    assert np.allclose(seen, [20 * (i // 2) for i in range(STEPS)], atol=6)


def test_a_camera_without_a_film_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="camera: 'front' has no film of every episode; those that have: wrist"):
        foretell.export(run, out=tmp_path / "set", cameras=["front"])
    next((run / "frames").glob("*.mp4")).write_bytes(b"no film")
    with pytest.raises(UsageError, match="is no film that can be read"):
        foretell.export(run, out=tmp_path / "set")
    assert not (tmp_path / "set").exists() and not (tmp_path / "set.part").exists()
