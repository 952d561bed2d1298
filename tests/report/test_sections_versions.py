"""Two versions under one name: every section that counts or lists episodes keeps them apart, by the names of `show`."""

from __future__ import annotations

from pathlib import Path

import made
import pytest
from sections import block, section_of
from test_pictures import JPEG

from foretell.answers.show import show
from foretell.episode import Episode
from foretell.report import contents, events, failures, pictures, stages
from foretell.scenario import Scenario
from foretell.study.films import steps
from foretell.tasks.lift import Lift

SCENARIOS = [Lift().scenario(i) for i in range(4)]
OLD, NEW = "a" * 64, "b" * 64


def tried(trial: int, success: bool, **changes: str) -> list[Episode]:
    def one(scenario: Scenario) -> Episode:
        video = f"videos/{scenario.id}-{trial}.mp4"
        return made.row("p", scenario, success, trial=trial, events={"hit_table": 1.0}, video=video, **changes)

    return [one(scenario) for scenario in SCENARIOS]


@pytest.fixture(params=["policy", "task", "world"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Four successes of one version and four failures of another: the column whose name they share, and the run."""
    column = {"policy": "policy_hash", "task": "task_hash", "world": "world_hash"}[request.param]
    rows = [*tried(0, True, **{column: OLD}), *tried(1, False, **{column: NEW})]
    path = made.run(tmp_path / "run", SCENARIOS, rows)
    (path / "steps").mkdir()
    for row in rows:
        (path / steps(row.episode)).with_suffix(".jpg").write_bytes(JPEG)
    return request.param, path


def test_versions_are_never_pooled(run: tuple[str, Path]) -> None:
    column, path = run
    names = {row[column]: row["rate"] for row in show(path)}
    assert sorted(names.values()) == [0.0, 1.0] and all("#" in name for name in names)
    table = contents([path])["episodes"]
    listed = [table["names"][column][code] for code in table["codes"][column]]
    assert {name: listed.count(name) for name in names} == dict.fromkeys(names, 4)

    counted = section_of(stages, path)
    sheets = [part for part in counted.blocks if part.kind == "sheet"]
    assert [line[1] for sheet in sheets for line in sheet.rows] == [4, 4]
    assert all(name in str([counted.blocks, counted.says]) for name in names)

    sheet = block(section_of(events, path), "events-table")
    at = list(sheet.columns).index(column)
    assert {line[at]: line[list(sheet.columns).index("n")] for line in sheet.rows} == dict.fromkeys(names, 4)

    films = block(section_of(pictures, path), "pictures").films
    assert sorted(film["outcome"] for film in films) == ["failure", "success"]
    assert all(any(name in film["said"] for film in films) for name in names)


def test_failures_are_of_the_version_that_failed(run: tuple[str, Path]) -> None:
    column, path = run
    if column == "task":
        pytest.skip("one task alone failed, and is not named")
    (failing,) = (row[column] for row in show(path) if row["rate"] == 0.0)
    section = section_of(failures, path)
    assert failing in str([section.says, block(section, "failures").rows])
