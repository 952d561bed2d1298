"""Success, stages and failures: whose episodes a figure counts; worlds, clocks and arms are not mixed unsaid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made
import pytest
from sections import block, section_of

from foretell.episode import Episode
from foretell.report import failures, stages, success
from foretell.tasks.lift import Lift

SCENARIOS = [Lift().scenario(i) for i in range(10)]
SYNC = '{"kind": "sync"}'
LATE = '{"kind": "virtual", "latency": {"kind": "constant", "values": [0.5]}}'


def tried(policy: str, solved: int, **changes: Any) -> list[Episode]:
    return [made.row(policy, s, i < solved, **changes) for i, s in enumerate(SCENARIOS)]


@pytest.fixture
def worlds(tmp_path: Path) -> tuple[Path, Path]:
    """A simulation in which few fail, and a stand-in in which more do, elsewhere."""
    fails: dict[str, Any] = {"failure_reason": "dropped it", "stages": {"reach": 1.0, "grasp": 1.3}}
    real = [made.row("a", s, i < 4, world="standin", **({} if i < 4 else fails)) for i, s in enumerate(SCENARIOS)]
    sim = [made.row("a", s, i < 8, **({} if i < 8 else {"stages": {}})) for i, s in enumerate(SCENARIOS)]
    return made.run(tmp_path / "sim", SCENARIOS, sim), made.run(tmp_path / "real", SCENARIOS, real)


def test_the_range_of_success_is_of_one_clock_and_the_clean_arm(tmp_path: Path) -> None:
    clean = [*tried("a", 9), *tried("b", 5)]
    run = made.run(
        tmp_path / "run", SCENARIOS, [*clean, *tried("a", 0, clock=LATE), *tried("b", 10, arm="Light_Color")]
    )
    says = "From 50% (b) to 90% (a) under the clock sync and without perturbation, each of 10 episodes"
    assert section_of(success, run).says.startswith(says)
    plain = made.run(tmp_path / "plain", SCENARIOS, clean)
    assert section_of(success, plain).says.startswith("From 50% (b) to 90% (a), each of 10 episodes")
    other = made.run(tmp_path / "other", SCENARIOS, tried("a", 1, world="standin", world_hash="s"))
    assert section_of(success, plain, other).says.startswith("From 10% (a in other) to 90% (a in plain), each")
    late = made.run(tmp_path / "late", SCENARIOS, tried("a", 3, clock=LATE))
    assert section_of(success, late).says.startswith("a solves 30% of 10 episodes of lift;")


def test_a_series_has_one_colour_and_a_legend_on_every_task(tmp_path: Path) -> None:
    sim = made.run(tmp_path / "sim", SCENARIOS, [*tried("a", 5), *tried("a", 6, task="can", trial=1)])
    real = made.run(tmp_path / "real", SCENARIOS, tried("a", 4, world="standin", world_hash="s"))
    section = section_of(success, real, sim)
    for name, count in (("success-lift", 2), ("success-can", 1)):
        chart = block(section, name)
        assert len(chart.rows) == count, "the CSV has what was measured"
        colour = chart.spec["layer"][1]["encoding"]["color"]
        assert colour["scale"]["domain"] == ["real", "sim"] and colour["legend"] is not None


def test_stages_are_told_world_by_world(worlds: tuple[Path, Path]) -> None:
    section = section_of(stages, *worlds)
    said = "Every failed episode gets stuck before the first stage in mujoco and after “grasp” in standin."
    assert section.says == said
    sheet = block(section, "stages-table")
    assert [line[:2] for line in sheet.rows] == [["a · sim", 10], ["a · real", 10]]
    assert sheet.rows[1][sheet.columns.index("grasp")].startswith("100%")
    assert "together" not in section_of(stages, worlds[0]).says


def test_failures_are_told_world_by_world(worlds: tuple[Path, Path]) -> None:
    section = section_of(failures, *worlds)
    assert "2 of 10 judged episodes in mujoco fail" in section.says
    assert "6 of 10 judged episodes in standin fail, all for “dropped it”" in section.says
    reasons = {row["reason"]: row["episodes"] for row in block(section, "failures").rows}
    assert reasons["standin: dropped it"] == 6 and sum(reasons.values()) == 8
    assert section_of(failures, worlds[1]).says == "6 of 10 judged episodes fail, all for “dropped it”."


def test_clocks_and_arms_that_are_counted_together_are_said(tmp_path: Path) -> None:
    rows = [*tried("a", 9), *tried("a", 2, clock=LATE), *tried("a", 5, arm="Light_Color")]
    run = made.run(tmp_path / "run", SCENARIOS, rows)
    assert section_of(failures, run).says.endswith("; clocks and perturbations are counted together.")
    section = section_of(stages, run)
    assert section.says.endswith("; clocks are counted together."), "perturbed episodes are left out"
    assert [line[1] for line in block(section, "stages-table").rows] == [10, 10], "but told apart in table and chart"


def test_too_many_lines_put_clocks_together_but_never_worlds(tmp_path: Path) -> None:
    sim, real = (
        made.run(
            tmp_path / world,
            SCENARIOS,
            [e for i in range(7) for c in (SYNC, LATE) for e in tried(f"p{i}", 5, clock=c, world=world)],
        )
        for world in ("mujoco", "standin")
    )
    section = section_of(stages, sim, real)
    chart = block(section, "stages")
    assert {row["policy"] for row in chart.rows} == {f"p{i} · {run}" for i in range(7) for run in ("mujoco", "standin")}
    assert chart.about.endswith("Clocks are counted together.")
