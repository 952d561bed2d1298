"""How robots drove, in a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import foretell
from foretell.report import ways
from foretell.report.runs import Runs
from foretell.tasks.pointnav import PointNav

STUDY = {
    "tasks": ["pointnav"], "policies": {"oracle": "oracle", "goal-follower": "goal-follower"},
    "scenarios": {"layouts": [0, 11]}, "record": {"video": "none", "steps": "all"}, "engine": "here",
}  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("ways")
    worlds = ("planar_challenge", "planar_standin")
    return [foretell.run({**STUDY, "name": world, "world": world}, out=root / world).path for world in worlds]


def test_each_room_has_a_chart_with_both_worlds(folders: list[Path]) -> None:
    section = ways.section(Runs.open(folders))
    assert section is not None
    assert [block.name for block in section.blocks] == ["ways-lab-easy", "ways-lab-hard"]
    for chart in section.blocks:
        driven = [row for row in chart.rows if row["part"] == "way"]
        assert {row["world"] for row in driven} == {"planar_challenge", "planar_standin"}
        assert {row["policy"] for row in driven} == {"oracle", "goal-follower"}
        assert {row["part"] for row in chart.spec["data"]["values"]} >= {"wall", "way", "goal"}


def test_a_way_is_that_of_the_steps(folders: list[Path]) -> None:
    (chart, _) = ways.section(Runs.open(folders[:1])).blocks  # type: ignore[union-attr]
    mine = [row for row in chart.rows if row["part"] == "way" and row["policy"] == "oracle"]
    start = PointNav().layouts()[0].start["locobot"]
    assert np.allclose([mine[0]["x"], mine[0]["y"]], start[:2], atol=0.01)
    (goal,) = [row for row in chart.rows if row["part"] == "goal" and row["policy"] == "oracle"]
    assert np.hypot(mine[-1]["x"] - goal["x"], mine[-1]["y"] - goal["y"]) < 0.2, "the oracle arrives"


def test_without_steps_there_is_none(tmp_path: Path) -> None:
    done = foretell.run({**STUDY, "world": "planar", "record": {"video": "none"}}, out=tmp_path / "run")
    assert ways.section(Runs.open([done.path])) is None
    with pytest.raises(
        foretell.UsageError, match=r"no chart 'ways-lab-easy' .* run the study with `record: {steps: all}`"
    ):
        foretell.figure(done.path, name="ways-lab-easy")


@pytest.mark.parametrize("room", ["/etc/passwd", "room.json", "apartment:x", "apartment:1/../../x", ""])
def test_no_file_that_rows_name_is_opened(room: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways.Room, "named", lambda name: pytest.fail(f"it opens {name}"))
    assert ways._walls(room) == []
