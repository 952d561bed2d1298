"""Groups: what is put together over runs and what is kept apart, and what is still to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import made
import pytest

from foretell.digest import digest
from foretell.episode import Episode
from foretell.episodes.planned import CELL
from foretell.report.groups import groups, unfinished
from foretell.report.runs import Runs
from foretell.report.section import Block
from foretell.scenario import Scenario
from foretell.study.store import Store
from foretell.tasks.lift import Lift

SCENARIOS = [Lift().scenario(i) for i in range(12)]


def tried(policy: str, scenarios: Sequence[Scenario] = SCENARIOS, **changes: Any) -> list[Episode]:
    return [made.row(policy, s, i % 3 > 0, **changes) for i, s in enumerate(scenarios)]


def opened(folder: Path, *each: Sequence[Episode]) -> Runs:
    return Runs.open([made.run(folder / f"run{i}", SCENARIOS, some) for i, some in enumerate(each)])


def planned(run: Path, episodes: Sequence[Episode]) -> None:
    plan = [{**{c: str(getattr(e, c)) for c in CELL}, "unit": e.scenario, "episode": e.episode} for e in episodes]
    with Store(run) as store:
        store.write_plan(plan)


def text(blocks: Sequence[Block]) -> str:
    return " ".join(getattr(block, "text", "") for block in blocks)


def test_a_policy_tried_in_two_runs_is_one(tmp_path: Path) -> None:
    (group,) = groups(opened(tmp_path, tried("a", SCENARIOS[:8]), tried("a", SCENARIOS[8:])))
    assert group.policies == ["a"] and group.table.num_rows == 12


@pytest.mark.parametrize(
    ("scenarios", "changes"),
    [
        (SCENARIOS[8:], {"policy_hash": "other"}),
        (SCENARIOS[8:], {"policy_options": '{"noise": 0.2}'}),
        (SCENARIOS[7:], {"clock": '{"kind":"sync"}'}),  # written otherwise, so another episode: a trial is there twice
    ],
)
def test_what_is_not_one_policy_is_named_after_its_run(tmp_path: Path, scenarios: Any, changes: dict[str, str]) -> None:
    runs = opened(tmp_path, [*tried("a", SCENARIOS[:8]), *tried("b", SCENARIOS[:8])], tried("a", scenarios, **changes))
    (group,) = groups(runs)
    assert group.policies == ["a (run0)", "b", "a (run1)"]


def test_the_same_episode_in_two_runs_counts_once(tmp_path: Path) -> None:
    (group,) = groups(opened(tmp_path, tried("a"), tried("a")))
    assert group.policies == ["a"] and group.table.num_rows == 12


def test_other_protocols_are_other_tasks(tmp_path: Path) -> None:
    one, other = groups(opened(tmp_path, tried("a"), tried("b", task_version=9, success_rule="end")))
    first, second = (digest([str(version), ""])[:6] for version in (Lift.version, 9))
    assert one.task == f"lift#{first} (rule of success any)"
    assert other.task == f"lift#{second} (rule of success end)"
    assert one.policies == ["a"] and other.policies == ["b"]
    trials = tried("a", world="real", world_hash="r", judge="person", success_rule="person", controller="")
    assert {g.task for g in groups(opened(tmp_path / "person", tried("a"), trials))} == {"lift"}


def test_of_two_runs_only_scenarios_that_lead_in_each_may_be_looked_at(tmp_path: Path) -> None:
    runs = [made.run(tmp_path / name, SCENARIOS, []) for name in ("one", "two", "done")]
    a, b, c = tried("a"), tried("b"), tried("c")
    for run, episodes, there in ((runs[0], a, a[:5]), (runs[1], b, [*b[:3], *b[6:]]), (runs[2], c, c)):
        planned(run, episodes)
        with Store(run) as store:
            store.append(there)
    (group,) = groups(Runs.open(runs))
    assert group.missing == 7 + 3
    assert group.leading == {s.id for s in SCENARIOS[:3]}
    assert group.counted.num_rows == 3 * 3
    (group,) = groups(Runs.open(runs[1:]))
    assert group.missing == 3 and group.leading == {s.id for s in SCENARIOS[:3]}


def test_a_clock_that_has_not_begun_is_still_to_come(tmp_path: Path) -> None:
    now, later = tried("a"), tried("a", clock='{"kind": "virtual"}')
    run = made.run(tmp_path / "run", SCENARIOS, now)
    planned(run, [*now, *later])
    assert len(groups(Runs.open([run]))) == 1
    assert text(unfinished(Runs.open([run]))).startswith("12 episodes are still to come")
    with Store(run) as store:
        store.append(later)
    assert unfinished(Runs.open([run])) == []


def test_rows_of_one_version_do_not_wait_for_another_that_has_not_begun(tmp_path: Path) -> None:
    now, missing = tried("a"), tried("b")
    later = tried("a", world_hash="v" * 16)
    later = [replace(e, episode=f"later {i}") for i, e in enumerate(later)]
    run = made.run(tmp_path / "run", SCENARIOS, [*now, *missing[:4]])
    planned(run, [*now, *missing, *later])
    (group,) = groups(Runs.open([run]))
    assert (group.world, group.missing) == ("mujoco", 8)
    assert group.leading == {s.id for s in SCENARIOS[:4]}
