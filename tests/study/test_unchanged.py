"""A policy that does not look is the same under a factor that changes looks only: tables say so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from sections import block, section_of

import foretell
from foretell.episodes.read import read
from foretell.factors.arms import looks_only
from foretell.report import perturbations
from foretell.study.unchanged import unchanged


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripted expert, which reads the state."""
    study = {"name": "blind", "tasks": ["lift"], "policies": ["expert"], "scenarios": {"count": 2}}
    study |= {"arms": ["none", "MO_Color", "MO_Size"]}
    return foretell.run(study, out=tmp_path_factory.mktemp("runs") / "blind", workers=0).path


def test_the_report_says_identical(run: Path) -> None:
    section = section_of(perturbations, run)
    said = {row[1]: row[-1] for row in block(section, "perturbations-table").rows}
    assert said["MO_Color"] == "identical" and said["MO_Size"].startswith("0 (−")
    rows = {row["arm"]: row for row in block(section, "perturbation-change").rows}
    assert (rows["MO_Color"]["low"], rows["MO_Color"]["high"], rows["MO_Color"]["method"]) == (0.0, 0.0, "identical")
    assert rows["MO_Size"]["low"] < 0.0 < rows["MO_Size"]["high"]
    assert "every episode is identical to its clean control" in block(section, "perturbation-change").about


def test_the_leaderboard_says_identical(run: Path) -> None:
    board = foretell.leaderboard(run)
    lines = [line.split(maxsplit=1) for line in board.text().splitlines()]
    assert ["MO_Color", "identical"] in lines
    (entry,) = board.entries
    changes = {row["arm"]: row.get("change") for row in entry["arms"]}
    assert changes["MO_Color"] == {"estimate": 0.0, "low": 0.0, "high": 0.0, "n": 2, "method": "identical"}
    assert changes["MO_Size"]["low"] < 0.0


def test_chance_equality_is_not_identity(run: Path) -> None:
    table = read(run)
    arms, steps = table["arm"].to_pylist(), table["steps"].to_pylist()
    assert len(unchanged(table)) == 2
    first = arms.index("MO_Color")
    other = [n + (i == first) for i, n in enumerate(steps)]  # as successful, but one action later
    changed = table.set_column(table.column_names.index("steps"), "steps", pa.array(other))
    assert len(unchanged(changed)) == 1
    resized = ["MO_Size" if arm == "MO_Color" else arm for arm in arms]  # equal rows, but by a factor that could matter
    assert not unchanged(table.set_column(table.column_names.index("arm"), "arm", pa.array(resized)))


@pytest.mark.parametrize(
    ("arm", "looks"),
    [("MO_Color", True), ("Light_Color@0.5", True), ("MO_Color+Table_Texture", True), ("none", False)]
    + [("MO_Color+MO_Size", False), ("all", False), ("MO_Color{red,blue}", True), ("given:abc", False)],
)
def test_arms_that_change_looks_only(arm: str, looks: bool) -> None:
    assert looks_only(arm) is looks
