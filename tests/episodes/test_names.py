"""Names: one cell has one name, in `show`, in answers, in a report and on a leaderboard."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import made
import pytest

import foretell
from foretell.answers.inputs import open_table
from foretell.clock import Virtual
from foretell.digest import digest
from foretell.episode import Episode
from foretell.episodes.cells import Cell
from foretell.episodes.names import COLUMNS, Name, names_of, other_words
from foretell.episodes.planned import CELL
from foretell.report.groups import groups
from foretell.report.runs import Runs
from foretell.study.store import Store
from foretell.tasks.lift import Lift

SCENARIOS = [Lift().scenario(i) for i in range(3)]
SYNC = '{"kind": "sync"}'
WORLDS = [("mujoco", "a" * 16), ("mujoco", "b" * 16), ("standin", "c" * 16)]
TASKS = [(2, ""), (3, ""), (2, "edited")]
POLICIES = [("bc", "w1", "{}"), ("bc", "w2", "{}"), ("bc", "w2", '{"execute": 8}'), ("dp", "w1", "{}")]
CLOCKS = [SYNC, *(json.dumps(Virtual(latency=0.1, chunks="ensemble", decay=d).to_dict()) for d in (0.01, 0.02))]


def row(scenario: Any, world: Any, task: Any, policy: Any, clock: str, **changes: Any) -> Episode:
    values = {
        "world": world[0],
        "world_hash": world[1],
        "task_version": task[0],
        "task_hash": task[1],
        "policy_hash": policy[1],
        "policy_options": policy[2],
        "clock": clock,
        **changes,
    }
    return made.row(policy[0], scenario, **values, episode=digest([scenario.id, policy[0], *map(str, values.values())]))


def cell(policy: str, weights: str, options: str) -> Cell:
    return Cell(
        world="mujoco", world_hash="a" * 16, task="lift", policy=policy, policy_hash=weights, policy_options=options,
        clock=SYNC, arm="none", task_version="2",
    )  # fmt: skip


def in_show(run: Path) -> set[Name]:
    return {Name(**{c: entry[c] for c in COLUMNS}) for entry in foretell.show(run)}


def in_answers(run: Path) -> set[Name]:
    columns = open_table(run, "run").columns
    rows = zip(*(columns[c] for c in COLUMNS), strict=True)
    return {Name(**dict(zip(COLUMNS, row, strict=True))) for row in rows}


def in_report(run: Path) -> set[Name]:
    found = groups(Runs.open([run]))
    return {
        Name(world=g.world, task=g.task, policy=policy, clock=g.clock, arm=g.arm)
        for g in found
        for policy in g.policies
    }


@pytest.mark.parametrize("seed", range(6))
def test_all_tables_print_the_same_names(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    worlds, tasks, policies, clocks = (
        draw.sample(some, draw.randint(1, len(some))) for some in (WORLDS, TASKS, POLICIES, CLOCKS)
    )
    controllers = ("ee_delta", "joint")[: 1 + seed % 2]
    each = product(SCENARIOS, worlds, tasks, policies, clocks)
    rows = [row(*one, controller=controller) for one in each for controller in controllers]
    run = made.run(tmp_path / "run", SCENARIOS, rows)
    shown, count = in_show(run), len(worlds) * len(tasks) * len(policies) * len(clocks) * len(controllers)
    assert len(shown) == count, "each cell has a name of its own"
    assert in_answers(run) == shown
    assert in_report(run) == shown


@pytest.mark.parametrize("seed", range(3))
def test_a_leaderboard_prints_them_too(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    policies, clocks = (draw.sample(some, draw.randint(2, len(some))) for some in (POLICIES, CLOCKS))
    each = product(SCENARIOS, WORLDS[:1], [(Lift.version, "")], policies, clocks)
    run = made.run(tmp_path / "run", SCENARIOS, [row(*one) for one in each])
    shown = in_show(run)
    for clock in {name.clock for name in shown}:
        board = foretell.leaderboard(run, clock=clock)
        assert {entry["policy"] for entry in board.entries} == {n.policy for n in shown if n.clock == clock}
        assert board.clock == clock


def test_two_controllers_are_two_entries_of_a_leaderboard(tmp_path: Path) -> None:
    each = list(product(SCENARIOS, WORLDS[:1], [(Lift.version, "")], POLICIES[:1], [SYNC]))
    rows = [row(*one, controller=controller) for one in each for controller in ("ee_delta", "joint")]
    board = foretell.leaderboard(made.run(tmp_path / "run", SCENARIOS, rows))
    assert {e["policy"] for e in board.entries} == {"bc (controller ee_delta)", "bc (controller joint)"}


def test_two_controllers_are_two_lines_of_show(tmp_path: Path) -> None:
    """Planned or not, and where a study that is added plans the second one later."""
    each = {
        controller: [row(s, WORLDS[0], TASKS[0], POLICIES[0], SYNC, controller=controller) for s in SCENARIOS]
        for controller in ("ee_delta", "joint")
    }
    for episode in each["joint"]:
        episode.success = False
    run = made.run(tmp_path / "run", SCENARIOS, [*each["ee_delta"][:2], *each["joint"]])
    for planned in ("", "ee_delta", "joint"):
        plan = [
            {**{c: str(getattr(e, c)) for c in CELL}, "unit": e.scenario, "episode": e.episode}
            for e in each.get(planned, ())
        ]
        with Store(run) as store:
            assert store.write_plan(plan) == 0, "nothing of the other controller is retired"
        found = {entry["task"]: entry for entry in foretell.show(run)}
        assert {task: (e["n"], e["successes"]) for task, e in found.items()} == {
            "lift (controller ee_delta)": (2, 2),
            "lift (controller joint)": (3, 0),
        }
        assert found["lift (controller ee_delta)"]["running"] == bool(planned)
    joint = foretell.bound(run, task="lift (controller joint)", stand_in=True).intervals[0]
    assert (joint.low, joint.high) == tuple(found["lift (controller joint)"][end] for end in ("low", "high"))


def test_what_a_person_judged_has_no_version(tmp_path: Path) -> None:
    one, other = (
        [row(s, ("real", "r"), (version, ""), POLICIES[0], SYNC, judge="person") for s in some]
        for version, some in ((2, SCENARIOS[:2]), (3, SCENARIOS[2:]))
    )
    run = made.run(tmp_path / "run", SCENARIOS, [*one, *other])
    assert (
        in_show(run)
        == in_answers(run)
        == in_report(run)
        == {Name(world="real", task="lift", policy="bc", clock="sync", arm="none")}
    )
    (entry,) = foretell.show(run)
    assert entry["n"] == 3


def test_a_version_that_has_not_begun_gives_no_hash_to_those_that_have(tmp_path: Path) -> None:
    begun, planned = (
        [row(s, WORLDS[0], TASKS[0], policy, SYNC) for s in SCENARIOS] for policy in (POLICIES[0], POLICIES[1])
    )
    run = made.run(tmp_path / "run", SCENARIOS, begun)
    with Store(run) as store:
        store.write_plan(
            [
                {**{c: str(getattr(e, c)) for c in CELL}, "unit": e.scenario, "episode": e.episode}
                for e in (*begun, *planned)
            ]
        )
    assert (
        in_show(run)
        == in_answers(run)
        == in_report(run)
        == {Name(world="mujoco", task="lift", policy="bc", clock="sync", arm="none")}
    )


def test_worlds_and_tasks_are_named_over_all_runs_of_a_page() -> None:
    mine = cell("bc", "w1", "{}")
    other = replace(mine, world_hash="b" * 16, task_version="3", policy_hash="w2")
    (alone,) = names_of([mine])
    (beside,) = names_of([mine], [other])
    assert alone == Name(world="mujoco", task="lift", policy="bc", clock="sync", arm="none")
    assert beside == replace(alone, world="mujoco#aaaaaa", task=f"lift#{digest(['2', ''])[:6]}")


def test_every_word_that_a_table_may_print_means_its_name() -> None:
    cells = [cell(*p) for p in POLICIES[1:]]
    names = names_of(cells)
    words = other_words(cells, names, [(0, "joint")])
    assert words["policy"]["bc (controller joint)"] == {names[0].policy}
    for known, name in zip(cells, names, strict=True):
        assert words["policy"][f"{known.policy}#{known.policy_version[:6]}"] == {name.policy}
        assert words["world"]["mujoco#aaaaaa"] == words["world"]["mujoco"] == {"mujoco"}
    assert words["policy"]["bc"] == {name.policy for name in names[:2]} and words["policy"]["dp"] == {"dp"}
    assert words["clock"][SYNC] == {"sync"} and words["arm"]["clean"] == {"none"}
