"""What went wrong: counted from the rows, with intervals, and compared between worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made
import pytest
from sections import block, section_of

from foretell.answers.show import show
from foretell.episode import Episode
from foretell.report import events, failures
from foretell.report.runs import Runs
from foretell.stats import clopper_pearson
from foretell.tasks.events import EVENTS
from foretell.tasks.lift import Lift


def rows(policy: str, happened: list[dict[str, float]], **more: Any) -> list[Episode]:
    task = Lift()
    pairs = enumerate(happened)
    return [made.row(policy, task.scenario(i), i % 2 == 0, events=found, **more) for i, found in pairs]


def run(path: Path, *found: list[Episode]) -> Path:
    task = Lift()
    return made.run(path, [task.scenario(i) for i in range(10)], [row for some in found for row in some])


@pytest.fixture
def sim(tmp_path: Path) -> Path:
    clumsy = [{"hit_table": 3.0}, {"hit_table": 1.0, "dropped": 1.0}, {"grasped": 1.0}, *[{}] * 7]
    deft: list[dict[str, float]] = [{"grasped": 1.0}] * 10
    return run(tmp_path / "sim", rows("clumsy", clumsy), rows("deft", deft))


def test_every_event_is_counted_in_its_column(sim: Path) -> None:
    sheet = block(section_of(events, sim), "events-table")
    assert list(sheet.columns) == ["task", "policy", "n", "grasped an object", "dropped an object", "hit the table"]
    lines = {line[1]: list(line[2:]) for line in sheet.rows}
    two, one = clopper_pearson(2, 10), clopper_pearson(1, 10)
    assert lines["clumsy"] == [
        10,
        f"1 ({one.low:.0%}–{one.high:.0%})",
        f"1 ({one.low:.0%}–{one.high:.0%})",
        f"2 ({two.low:.0%}–{two.high:.0%})",
    ]
    assert lines["deft"][2:] == ["0", "0"]


def test_the_chart_has_shares_with_exact_intervals(sim: Path) -> None:
    chart = block(section_of(events, sim), "events")
    hit = next(r for r in chart.rows if (r["event"], r["series"]) == ("hit the table", "clumsy"))
    exact = clopper_pearson(2, 10)
    assert (hit["share"], hit["low"], hit["high"], hit["episodes"], hit["n"]) == (0.2, exact.low, exact.high, 2, 10)


def test_simulation_and_reality_are_compared(sim: Path, tmp_path: Path) -> None:
    dropping = rows("clumsy", [{"dropped": 1.0}] * 10, world="standin")
    real = run(tmp_path / "real", dropping)
    found = section_of(events, sim, real)
    lines = {line[2]: list(line[3:]) for line in block(found, "events-compared").rows}
    assert lines["dropped an object"][:2] == ["1 of 10", "10 of 10"]
    assert lines["dropped an object"][2].startswith("+90 (") and lines["dropped an object"][3] == "more in reality"
    assert lines["hit the table"][:2] == ["2 of 10", "0 of 10"]
    assert "In simulation 2 of 20 episodes hit the table" in found.says
    assert "in reality or its stand-in 10 of 10 episodes dropped an object" in found.says


def test_what_has_no_events_makes_no_section(tmp_path: Path) -> None:
    """A world that counts none, and a person who judged, tell nothing; zero would be a claim."""
    silent = run(tmp_path / "silent", rows("it", [{}] * 10))
    assert events.section(Runs.open([silent])) is None
    person = run(tmp_path / "person", rows("it", [{}] * 9, judge="person"), rows("it", [{"stuck": 1.0}] * 1, trial=1))
    sheet = block(section_of(events, person), "events-table")
    assert [line[2] for line in sheet.rows] == [1]


def test_trials_of_one_scenario_are_not_taken_for_independent(tmp_path: Path) -> None:
    task = Lift()
    again = [made.row("it", task.scenario(i), True, trial=t, events={"stuck": 1.0}) for i in range(5) for t in range(4)]
    chart = block(section_of(events, run(tmp_path / "again", again)), "events")
    (stuck,) = chart.rows
    assert stuck["n"] == 20 and stuck["low"] < clopper_pearson(20, 20).low


def test_definitions_of_what_happened_are_on_the_page(sim: Path) -> None:
    sheet = block(section_of(events, sim), "events-defined")
    assert [line[1] for line in sheet.rows] == ["grasped", "dropped", "hit_table"]
    assert sheet.rows[1][2] == EVENTS["dropped"].definition


def test_show_says_what_went_wrong(sim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from foretell.answers.show import episode_table, list_episodes, table

    found = show(sim)
    assert {row["policy"]: row["events"] for row in found} == {
        "clumsy": {"hit_table": 2, "dropped": 1, "grasped": 1},
        "deft": {"grasped": 10},
    }
    table(found)
    said = capsys.readouterr().out
    assert "What went wrong, in episodes:\n  lift, clumsy: hit the table 2 of 10, dropped an object 1 of 10\n" in said
    assert "deft:" not in said  # to grasp is nothing wrong
    episode_table(list_episodes(sim))
    assert "hit the table x3" in capsys.readouterr().out


def test_failures_stay_beside_events(sim: Path) -> None:
    assert section_of(failures, sim).id == "failures"
