"""Figures of a study that still runs: in the plan's order, valid whenever one looks, and in the end those of `show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made
import numpy as np
import pyarrow as pa
import pytest
from studies import Lab

import foretell
from foretell.episode import Episode
from foretell.episodes.parts import read_table, write_table
from foretell.episodes.planned import CELL, read_plan
from foretell.episodes.tally import Tally
from foretell.stats import clopper_pearson, star
from foretell.stats.order import by_id
from foretell.study.follow import Follower
from foretell.study.lock import STOP, ask_to_stop, writer
from foretell.study.store import Store

NAMES = {
    **dict.fromkeys(("world", "world_hash", "task", "policy", "policy_hash", "arm"), "-"),
    "policy_options": "{}",
    "clock": '{"kind": "sync"}',
}


def plan(units: int, trials: int = 1) -> list[dict[str, Any]]:
    return [{**NAMES, "unit": f"{u}", "episode": f"{u}/{t}"} for u in range(units) for t in range(trials)]


def row(episode: str, success: bool | None, blame: str | None = None, at: float = 0.0) -> dict[str, Any]:
    return {**NAMES, "episode": episode, "success": success, "blame": blame, "wall_started": at, "wall_s": 0.0}


def test_only_leading_scenarios_count_until_all_are_there() -> None:
    tally = Tally(plan(4))
    for episode in ("1/0", "3/0", "0/0"):
        tally.add(row(episode, True))
    (found,) = tally.figures()
    assert (found["n"], found["finished"], found["planned"], found["running"]) == (2, 3, 4, True)
    assert found["method"] == "betting"
    tally.add(row("2/0", False))
    (found,) = tally.figures()
    assert (found["n"], found["successes"], found["running"], found["method"]) == (4, 3, False, "clopper_pearson")
    assert (found["low"], found["high"]) == (clopper_pearson(3, 4).low, clopper_pearson(3, 4).high)


def test_trials_of_one_scenario_enter_as_their_mean() -> None:
    tally = Tally(plan(9, trials=2))
    for unit in range(8):
        tally.add(row(f"{unit}/0", True))
    assert tally.figures()[0]["n"] == 0
    for unit in range(8):
        tally.add(row(f"{unit}/1", False))
    (found,) = tally.figures()
    assert (found["n"], found["rate"]) == (16, 0.5)
    eight = Tally(plan(9))
    for unit in range(8):
        eight.add(row(f"{unit}/0", unit % 2 == 0))
    assert found["high"] - found["low"] <= eight.figures()[0]["high"] - eight.figures()[0]["low"] < 1.01


def test_a_complete_cell_with_several_trials_counts_scenarios_not_trials() -> None:
    planned, loose = Tally(plan(8, trials=5)), Tally()
    for unit in range(8):
        for trial in range(5):  # five trials of a scenario that come out alike are no five trials
            planned.add(row(f"{unit}/{trial}", unit % 2 == 0))
            loose.add({**row(f"{unit}/{trial}", unit % 2 == 0), "scenario": f"{unit}", "parent": None})
    for tally in (planned, loose):
        (found,) = tally.figures()
        one = clopper_pearson(4, 8)
        assert (found["n"], found["successes"], found["running"]) == (40, 20, False)
        assert (found["low"], found["high"], found["method"]) == (one.low, one.high, "clopper_pearson")
    loose.add({**row("8/0", True), "scenario": "8", "parent": None})
    loose.add({**row("8/1", False), "scenario": "8", "parent": None})
    (found,) = loose.figures()
    means = {**{f"{u}": float(u % 2 == 0) for u in range(8)}, "8": 0.5}
    wanted = star([list(means.values())[i] for i in by_id(list(means))], shuffled=True)
    assert (found["low"], found["high"], found["method"]) == (wanted.low, wanted.high, "star")


def test_planned_and_unplanned_rows_of_one_scenario_are_one_unit(tmp_path: Path) -> None:
    """As where a study with two trials was replaced by one with a single trial: `bound` averages them too."""
    scenarios, first = made.rows({"p": 0.5}, 8)
    again = [made.row("p", s, i % 3 == 0, trial=1) for i, s in enumerate(scenarios)]
    run = made.run(tmp_path / "run", scenarios, [*first, *again])
    with Store(run) as store:
        store.write_plan(
            [{**{c: str(getattr(e, c)) for c in CELL}, "unit": e.scenario, "episode": e.episode} for e in first]
        )
    (shown,) = foretell.show(run)
    (interval,) = foretell.bound(run, stand_in=True).intervals
    assert (shown["n"], shown["method"]) == (16, "star")
    assert (shown["rate"], shown["low"], shown["high"]) == (interval.estimate, interval.low, interval.high)


def test_what_the_machine_lost_gives_way_and_others_do_not() -> None:
    tally = Tally(plan(2))
    tally.add(row("0/0", None, "machine"))
    assert tally.figures()[0]["errors"] == {"machine": 1}
    tally.add(row("0/0", True))
    tally.add(row("0/0", False))
    tally.add(row("0/0", None, "machine"))
    (found,) = tally.figures()
    assert (found["n"], found["successes"], found["errors"], found["finished"]) == (1, 1, {}, 1)


def test_looking_all_the_time_misses_no_more_than_promised() -> None:
    """Successes end early, failures late, sixteen side by side: the hardest order for who looks in between."""
    rate, studies, n, misses, naive = 0.6, 150, 40, 0, 0
    for study in range(studies):
        draws = np.random.default_rng(study)
        solved = draws.random(n) < rate
        lasts = np.where(solved, 1.0, 8.0) + draws.random(n)
        free, ends = np.zeros(16), np.zeros(n)
        for i in range(n):
            slot = int(np.argmin(free))
            free[slot] = ends[i] = free[slot] + lasts[i]
        tally, missed, missed_naively, k = Tally(plan(n)), False, False, 0
        for count, i in enumerate(np.argsort(ends), start=1):
            tally.add(row(f"{i}/0", bool(solved[i])))
            k += bool(solved[i])
            (found,) = tally.figures()
            if found["running"] and found["n"]:
                missed |= not found["low"] <= rate <= found["high"]
            fixed = clopper_pearson(k, count)
            missed_naively |= not fixed.low <= rate <= fixed.high
        misses += missed
        naive += missed_naively
    assert misses / studies <= 0.05
    assert naive / studies > 0.5, "the usual interval of what has ended would not do"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("lab"))


def test_progress_ends_with_the_figures_of_show(lab: Lab) -> None:
    out, seen = lab.folder / "half", []
    study = lab.study("half", "Blink", 3, policies={"faulty": "policy.py:Faulty", "random": "random"})
    foretell.run(study, out=out, workers=0, limit=4)
    assert [(r["policy"], r["running"], r["finished"], r["planned"]) for r in foretell.show(out)] == [
        ("faulty", False, 3, 3),
        ("random", True, 1, 3),
    ]
    foretell.run(study, out=out, workers=0, progress=lambda state: seen.append(state.tally))
    keys = foretell.show(out)[0].keys()
    assert [{k: f[k] for k in keys} for f in seen[-1].figures()] == foretell.show(out)
    assert len(read_plan(out)) == 6


def test_plans_of_other_studies_in_the_folder_stay(lab: Lab) -> None:
    out = lab.folder / "two"
    foretell.run(lab.study("one", "Blink", 3), out=out, workers=0, limit=1)
    foretell.run(lab.study("other", "Blink", 2, policies=["random"]), out=out, workers=0, add=True)
    assert {r["policy"]: (r["finished"], r["planned"]) for r in foretell.show(out)} == {
        "faulty": (1, 3),
        "random": (2, 2),
    }


def test_stopping_ends_a_study_as_ctrl_c_does(lab: Lab) -> None:
    out = lab.folder / "stopped"

    def stop(state: Any) -> None:
        if state.ran == 2:
            assert ask_to_stop(out)

    study = lab.study("stopped", "Blink", 30)
    for workers in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            foretell.run(study, out=out, workers=workers, slots=2, progress=stop)
        assert writer(out) is None and not (out / STOP).exists()
    (found,) = foretell.show(out)
    assert found["running"] and 4 <= found["finished"] < 30
    assert not ask_to_stop(out)
    (out / STOP).touch()  # a stop that nobody heard must not end the next
    assert foretell.run(study, out=out, workers=0, limit=1).ran == 1


def test_a_follower_sees_what_is_new_across_seals_and_replaced_folders(tmp_path: Path) -> None:
    def episode(name: str) -> Episode:
        fixed = dict.fromkeys(("study", "world_params", "robot", "controller", "base"), "-")
        return Episode(episode=name, scenario=name, success=True, trial=0, task_version=1, **fixed, **NAMES)

    run = tmp_path / "run"
    follower = Follower(run)
    follower.look()
    assert not follower.exists and follower.writer is None
    for name in "ab":
        with Store(run) as store:
            store.append([episode(f"{name}0")])
            follower.look()
            assert follower.writer is not None
            store.append([episode(f"{name}1")])
            store._seal()
            store.append([episode(f"{name}2")])
            follower.look()
            follower.look()
        follower.look()
        assert follower.writer is None
        assert [f["finished"] for f in follower.tally.figures()] == [3]
        run.rename(tmp_path / name)
        follower.look()
        assert follower.tally.figures() == []


def test_a_row_whose_name_was_altered_is_not_shown_as_the_planned_one(lab: Lab) -> None:
    out = lab.folder / "altered"
    foretell.run(lab.study("altered", "Blink", 3, policies={"mine": "random"}), out=out, workers=0)
    (part,) = (out / "episodes").iterdir()
    table = read_table(part)
    at = table.column_names.index("policy")
    names = pa.array(["other", "mine", "mine"], pa.string())
    write_table(part, table.set_column(at, "policy", names.cast(table.schema.field(at).type)))
    shown = {row["policy"]: (row["finished"], row["planned"], row["running"]) for row in foretell.show(out)}
    assert shown == {"mine": (2, 3, True), "other": (1, 1, False)}
    follower = Follower(out)
    follower.look()
    assert {row["policy"]: row["finished"] for row in follower.tally.figures()} == {"mine": 2, "other": 1}
