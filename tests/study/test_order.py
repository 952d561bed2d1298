"""The order of trials: drawn where a world is real, kept when a study is resumed, and without effect on rows."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy_world
import pytest
from numpy_world import SEEK, rows

import foretell
from foretell.episode import Outcome
from foretell.episodes.planned import plan_table
from foretell.episodes.provenance import read_provenance
from foretell.errors import UsageError
from foretell.stats.until import looks
from foretell.study.config import load_study
from foretell.study.engine import Batch
from foretell.study.here import Here

CODE = '''
import numpy as np
from puck import Puck, Reach, Seek

from foretell.world import Verdict


class Brief(Reach):
    """Reach, in half a second."""

    name = "brief"
    time_limit = 0.5


class Other(Brief):
    name = "other"


class Idle(Seek):
    def act(self, slots, observations):
        return np.zeros((len(slots), 2))


class Real(Puck):
    """Reality, in which a person sees to every trial, and what lies to the right succeeds."""

    real = True

    def verdict(self, slots):
        won = self._mark[slots, 0] > 0
        return [Verdict(success=bool(w), score=float(w), stages={}, judge="person") for w in won]


class Sure(Real):
    """Everything succeeds."""

    def verdict(self, slots):
        return [Verdict(success=True, score=1.0, stages={}, judge="person") for _ in slots]
'''
STUDY: dict[str, Any] = {
    "name": "turns",
    "world": "turns.py:Real",
    "tasks": ["turns.py:Brief"],
    "policies": {"seek": SEEK, "idle": "turns.py:Idle", "third": "turns.py:Idle"},
    "scenarios": 8,
    "blind": False,
    "record": {"video": "none"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "turns.py").write_text(CODE)
    monkeypatch.delitem(sys.modules, "turns", raising=False)
    return numpy_world.enter(tmp_path, monkeypatch)


def ran(out: str) -> list[tuple[str, str, str]]:
    """(task, scenario, policy) of each episode, as they were started."""
    found = sorted(foretell.read(out).to_pylist(), key=lambda row: row["wall_started"])
    return [(row["task"], row["scenario"], row["policy"]) for row in found]


def planned(out: str) -> list[tuple[str, str]]:
    """(unit, policy) of each episode, as the plan has them."""
    return [(row["unit"], row["policy"]) for row in plan_table(out).to_pylist()]


def scenarios(listed: list[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(unit for unit, _ in listed))


def test_in_reality_policies_take_turns_on_each_scenario_in_random_order() -> None:
    foretell.run(STUDY, out="a", workers=0)
    foretell.run({**STUDY, "order": "planned"}, out="b", workers=0)
    blocks = [list(block) for _, block in groupby(ran("a"), key=lambda turn: turn[1])]
    assert len(blocks) == 8 and all(len({policy for *_, policy in block}) == 3 for block in blocks)
    orders = {tuple(policy for *_, policy in block) for block in blocks}
    assert len(orders) > 1  # not always the same policy first
    first, second = (list(scenarios(planned(out))) for out in ("a", "b"))
    assert sorted(first) == sorted(second) and first != second
    assert [policy for *_, policy in ran("b")] == ["seek"] * 8 + ["idle"] * 8 + ["third"] * 8
    assert [(scenario, policy) for _, scenario, policy in ran("a")] == planned("a")
    by_key = [sorted(rows(Path(out)), key=lambda row: str(row["episode"])) for out in ("a", "b")]
    assert by_key[0] == by_key[1]  # rows do not depend on the order


def test_mixed_gives_every_episode_a_turn_of_its_own() -> None:
    foretell.run({**STUDY, "order": "mixed"}, out="a", workers=0)
    turns = [scenario for _, scenario, _ in ran("a")]
    assert sum(a != b for a, b in pairwise(turns)) > 12  # 7 if scenarios stayed together
    assert len(set(ran("a"))) == 24


def test_a_study_that_is_resumed_goes_on_in_its_order() -> None:
    foretell.run(STUDY, out="whole", workers=0)
    while foretell.run(STUDY, out="bits", workers=0, limit=5).left:
        pass
    assert ran("bits") == ran("whole") and planned("bits") == planned("whole")
    order = read_provenance("whole")["order"]
    assert order["kind"] == "random" and order["seed"] == 0 and order == read_provenance("bits")["order"]


def test_a_seed_draws_another_order_and_so_does_another_study() -> None:
    orders = []
    for change in ({}, {"order": {"kind": "random", "seed": 1}}, {"trials": 2}):
        foretell.run({**STUDY, **change}, out=f"r{len(orders)}", workers=0, limit=1)
        orders.append(scenarios(planned(f"r{len(orders)}")))
    assert len({tuple(order) for order in orders}) == 3
    with pytest.raises(UsageError, match=r"order.kind.*'planned', 'random' or 'mixed'"):
        load_study({**STUDY, "order": "shuffled"})


def test_a_person_sets_up_one_task_after_the_other() -> None:
    study = {**STUDY, "tasks": ["turns.py:Brief", "turns.py:Other"], "until": {"width": 0.9, "max": 8, "every": 2}}
    foretell.run({**study, "scenarios": {"seed": 0}}, out="a", workers=0)
    tasks = [task for task, *_ in ran("a")]
    assert [task for task, _ in groupby(tasks)] == ["brief", "other"]


@pytest.mark.parametrize("order", ["random", "mixed"])
def test_each_look_of_a_rule_sees_the_scenarios_that_were_planned_for_it(order: str) -> None:
    """The first looks are at the same scenarios in simulation and on the robot."""
    until = {"width": 0.05, "max": 12, "every": 4}
    study = {**STUDY, "scenarios": {"seed": 3}, "until": until}
    foretell.run({**study, "order": order}, out="a", workers=0)
    foretell.run({**study, "order": "planned"}, out="b", workers=0)
    for policy in STUDY["policies"]:
        mine, plain = ([unit for unit, who in planned(out) if who == policy] for out in ("a", "b"))
        units, straight = list(dict.fromkeys(mine)), list(dict.fromkeys(plain))
        assert units != straight
        for first, last in zip((0, *looks(12, 4)), looks(12, 4), strict=False):
            assert set(units[first:last]) == set(straight[first:last])
    counts = [[(row["policy"], row["n"], row["successes"]) for row in foretell.show(out)] for out in ("a", "b")]
    assert counts[0] == counts[1]


class Faulty(Here):
    """The machine spoils some of the episodes."""

    def __init__(self, spoils: Callable[[int], bool]):
        super().__init__(slots=1)
        self.spoils, self.count = spoils, 0

    def run(self, batches: list[Batch], look: Callable[[], None]) -> Iterator[tuple[str, Outcome]]:
        for key, outcome in super().run(batches, look):
            self.count += 1
            if self.spoils(self.count):
                outcome = Outcome(end="error", blame="machine", error="the link was lost", wall_started=1.0)
            yield key, outcome


def test_a_real_study_stops_by_its_rule_blind_and_with_retries() -> None:
    until = {"width": 0.5, "max": 40, "every": 5}
    study = {**STUDY, "world": "turns.py:Sure", "scenarios": {"seed": 0}, "until": until, "blind": True}
    first = foretell.run(study, out="a", engine=Faulty(lambda count: count % 7 == 0))
    assert set(foretell.read("a")["policy"].to_pylist()) == {"A", "B", "C"}  # not closed: trials are still to come
    assert not any("closed" in note for note in first.notes)
    assert "the link was lost" in " ".join(first.notes)
    again = foretell.run(study, out="a", workers=0)
    assert again.ran > 0 and again.spared > 0 and any("the study is closed" in note for note in again.notes)
    foretell.run(study, out="b", workers=0)
    assert foretell.show("a") == foretell.show("b")
    for row in foretell.show("a"):
        assert row["stopped"] and row["n"] < 40 and row["errors"] == {} and row["method"] == "star"
    assert foretell.bound("a", policy="idle").intervals[0].anytime


def test_two_policies_in_reality_stop_when_they_are_told_apart() -> None:
    study = {
        **STUDY,
        "policies": {"seek": SEEK, "idle": "turns.py:Idle"},
        "world": "puck.py:Puck",
        "tasks": ["puck.py:Reach"],
        "scenarios": {"seed": 0},
        "until": {"decided": ["seek", "idle"], "max": 60},
        "order": "random",
        "blind": True,
    }
    foretell.run(study, out="a", workers=0, limit=3)
    assert {row["until"]["decided"][0] for row in foretell.show("a")} < {"A", "B"}
    done = foretell.run(study, out="a", workers=0)
    assert done.spared > 0
    by_policy = {row["policy"]: row for row in foretell.show("a")}
    assert by_policy["seek"]["n"] == by_policy["idle"]["n"] < 60
    assert re.match("seek is better than idle|idle is worse than seek", foretell.compare("a").text())


def test_a_bound_on_a_real_study_that_was_cut_short_holds_wherever_it_stopped() -> None:
    study = {**STUDY, "policies": {"idle": "turns.py:Idle"}, "scenarios": 40}
    foretell.run(study, out="a", workers=0, limit=25)
    bound = foretell.bound("a")
    assert bound.intervals[0].anytime and bound.intervals[0].n == 25
    assert "not all of the 40 planned scenarios have their real trials" in bound.text()
    exact = foretell.bound("a", method="clopper_pearson")
    assert "warning: a: not all of the 40" in exact.text() and not exact.intervals[0].anytime
    assert bound.intervals[0].width > exact.intervals[0].width
    foretell.run({**study, "world": "puck.py:Puck"}, out="sim", workers=0)
    assert "warning: a: not all of the 40" in foretell.bound("a", "sim").text()
    foretell.run(study, out="a", workers=0)
    assert foretell.bound("a").intervals[0].method == "clopper_pearson"
    assert "planned scenarios" not in foretell.bound("a").text()


def test_the_order_does_not_change_with_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foretell.run(STUDY, out="a", workers=0, limit=1)
    there = tmp_path / "moved"
    there.mkdir()
    (there / "turns.py").write_text(CODE)
    monkeypatch.delitem(sys.modules, "turns", raising=False)
    numpy_world.enter(there, monkeypatch)
    idle = f"{there}/turns.py:Idle"
    moved = {
        **STUDY,
        "world": f"{there}/turns.py:Real",
        "tasks": [f"{there}/turns.py:Brief"],
        "policies": {"seek": f"{there}/{SEEK}", "idle": idle, "third": idle},
    }
    foretell.run(moved, out="b", workers=0, limit=1)
    assert planned(str(tmp_path / "a")) == planned("b")
