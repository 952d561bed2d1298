"""The verdict and the comparison: words and charts with the figures of `compare`, `budget` and `show`, no others."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import made
import pytest
from sections import block

import foretell
from foretell.digest import digest
from foretell.episodes.planned import CELL
from foretell.report import comparison, verdict
from foretell.report.groups import first_groups, groups
from foretell.report.runs import Runs
from foretell.report.section import Section
from foretell.study.store import Store
from foretell.tasks.lift import Lift

CLOSE = {"a": 0.72, "b": 0.66}
TRACE = {"kind": "virtual", "latency": {"kind": "trace", "name": "measured"}}


def drawn(rates: dict[str, float], count: int, trials: int = 1, seed: int = 0, **changes: Any) -> Any:
    """Scenarios, some harder than others for every policy, and an episode of each policy and trial on each."""
    scenarios = [Lift().scenario(i) for i in range(count)]
    draw = random.Random(seed)
    hard = [draw.gauss(0, 0.15) for _ in scenarios]
    episodes = [
        made.row(policy, scenario, draw.random() < rate - off, trial=trial, **changes)
        for policy, rate in rates.items()
        for scenario, off in zip(scenarios, hard, strict=True)
        for trial in range(trials)
    ]
    return scenarios, episodes


def opened(*paths: Path) -> Runs:
    return Runs.open(paths)


def words(section: Section | None) -> str:
    assert section is not None
    return "\n".join(b.text for b in section.blocks if b.kind == "words")


def test_a_policy_is_recommended_where_compare_calls_it_better(tmp_path: Path) -> None:
    run = made.run(tmp_path / "run", *drawn({"good": 0.95, "fair": 0.5, "bad": 0.2}, 60))
    found = foretell.compare(run)
    assert {(p.a, p.b): p.verdict for p in found.pairs}["good", "fair"] == "better"
    section = verdict.section(opened(run))
    assert section is not None and section.says == "Recommended: good on lift."
    first = section.blocks[0]
    assert first.kind == "words" and first.tone == "good"
    ahead = next(p.difference for p in found.pairs if (p.a, p.b) == ("good", "fair"))
    assert f"{100 * ahead.low:.0f} to {100 * ahead.high:.0f} points ahead" in first.text
    assert "better than each of the 2 others" in first.text


def test_otherwise_budget_says_how_many_trials_more(tmp_path: Path) -> None:
    run = made.run(tmp_path / "run", *drawn(CLOSE, 40))
    (pair,) = foretell.compare(run).pairs
    assert pair.verdict not in ("better", "worse")
    plan = foretell.budget(
        run, run, power=0.8, difference=abs(pair.mean_a - pair.mean_b), policy=_ahead(pair), alpha=0.05, stand_in=True
    )
    assert plan.real_only is not None and plan.real_only > 140
    more = plan.real_only - 40
    unit = 10 ** (len(str(more)) - 2)
    section = verdict.section(opened(run))
    assert section is not None and section.says == "No policy is shown to be the best yet."
    assert f"not shown; about {-(-more // unit) * unit:,} more trials of each would decide" in section.blocks[0].text
    assert section.blocks[0].tone == "caution"


def _ahead(pair: Any) -> tuple[str, str]:
    return (pair.a, pair.b) if pair.mean_a >= pair.mean_b else (pair.b, pair.a)


def test_one_policy_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    run = made.run(tmp_path / "run", *drawn({"a": 0.5}, 20))
    (shown,) = foretell.show(run)
    said = words(verdict.section(opened(run)))
    assert f"a solves {shown['rate']:.0%} ({shown['low']:.0%} to {shown['high']:.0%}) of 20 episodes" in said
    assert comparison.section(opened(run)) is None


def test_nothing_is_said_of_an_empty_run(tmp_path: Path) -> None:
    run = made.run(tmp_path / "run", [], [])
    assert verdict.section(opened(run)) is None and comparison.section(opened(run)) is None


@pytest.mark.parametrize("trials", [1, 2])
def test_the_comparison_has_the_figures_of_compare_and_show(tmp_path: Path, trials: int) -> None:
    # with two trials scores are means and bets are made in the order planned, which is not that of the rows
    run = made.run(tmp_path / "run", *drawn({"x": 0.9, "y": 0.75, "z": 0.3}, 30, trials))
    found, shown = foretell.compare(run), {row["policy"]: row for row in foretell.show(run)}
    section = comparison.section(opened(run))
    letters = block(section, "letters").rows
    assert [(r["policy"], r["letters"], r["rank"]) for r in letters] == [
        (p["policy"], p["letters"], "{} to {}".format(*p["rank"])) for p in found.policies
    ]
    for row in letters:
        assert (row["success"], row["low"], row["high"]) == tuple(
            shown[row["policy"]][k] for k in ("rate", "low", "high")
        )
    expected = {
        f"{p.a} − {p.b}": (100 * p.difference.estimate, 100 * p.difference.low, 100 * p.difference.high, p.p_adjusted)
        for p in found.pairs
    }
    drawn_rows = {
        r["pair"]: (r["points"], r["low"], r["high"], r["p_adjusted"]) for r in block(section, "differences").rows
    }
    assert drawn_rows == expected
    ranks = {r["policy"]: [r["best"], r["worst"]] for r in block(section, "ranks").rows}
    assert ranks == {p["policy"]: p["rank"] for p in found.policies}


def test_many_pairs_are_squares_and_only_the_best_policys_have_intervals(tmp_path: Path) -> None:
    rates = {f"p{i}": 0.2 + 0.12 * i for i in range(6)}
    run = made.run(tmp_path / "run", *drawn(rates, 40))
    section = comparison.section(opened(run))
    best = foretell.compare(run).policies[0]["policy"]
    assert len(block(section, "differences").rows) == 5
    assert all(best in row["pair"] for row in block(section, "differences").rows)
    squares = block(section, "pairs").rows
    assert len(squares) == 30
    for pair in foretell.compare(run).pairs:
        row = next(r for r in squares if (r["policy"], r["other"]) == (pair.a, pair.b))
        assert row["points"] == pytest.approx(100 * pair.difference.estimate)
        assert (row["shown"] == "row is better") == (pair.verdict == "better")


def test_the_clean_arm_under_sync_is_judged_and_said(tmp_path: Path) -> None:
    scenarios, clean = drawn({"a": 0.95, "b": 0.3}, 40)
    _, dark = drawn({"a": 0.1, "b": 0.9}, 40, arm="Light_Color")
    _, late = drawn(
        {"a": 0.1, "b": 0.9},
        40,
        clock=json.dumps({"kind": "virtual", "latency": {"kind": "constant", "values": [0.5]}}),
    )
    run = made.run(tmp_path / "run", scenarios, [*dark, *late, *clean])
    section = verdict.section(opened(run))
    assert section is not None and section.says == "Recommended: a on lift."
    assert "All results are under the clock sync and without perturbation." in words(section)
    only = made.run(tmp_path / "dark", scenarios, dark)
    assert "under the perturbation Light_Color" in words(verdict.section(opened(only)))


def test_measured_latencies_are_one_clock_for_all_policies(tmp_path: Path) -> None:
    scenarios, episodes = [], []
    for policy, rate, seconds in (("a", 0.95, 0.01), ("b", 0.3, 0.2)):
        clock = json.dumps({**TRACE, "latency": {**TRACE["latency"], "values": [seconds]}})
        scenarios, some = drawn({policy: rate}, 40, clock=clock)
        episodes += some
    (group,) = groups(opened(made.run(tmp_path / "run", scenarios, episodes)))
    assert group.clock == "virtual measured" and group.policies == ["a", "b"]


def test_runs_of_one_world_are_compared_with_each_other_and_worlds_apart(tmp_path: Path) -> None:
    one = made.run(tmp_path / "one", *drawn({"a": 0.95}, 40))
    two = made.run(tmp_path / "two", *drawn({"b": 0.3}, 40))
    section = verdict.section(opened(one, two))
    assert section is not None and section.says == "Recommended: a on lift."
    real = made.run(tmp_path / "real", *drawn({"a": 0.3, "b": 0.95}, 40, world="standin", world_hash="s" * 16))
    section = verdict.section(opened(one, two, real))
    assert section is not None
    assert section.says == "Recommended: b on lift in standin; a on lift in mujoco."
    assert "shows the mechanism, not evidence about robots" in words(section)


def test_runs_by_other_protocols_are_not_compared(tmp_path: Path) -> None:
    one = made.run(tmp_path / "one", *drawn({"a": 0.95}, 40))
    two = made.run(tmp_path / "two", *drawn({"b": 0.3}, 40, task_version=9, controller="joint"))
    section = verdict.section(opened(one, two))
    assert section is not None and "no choice to make" in section.says
    assert f"On lift#{digest(['9', ''])[:6]} (controller joint): b solves" in words(section)
    assert comparison.section(opened(one, two)) is None
    both = made.run(tmp_path / "both", *drawn({"c": 0.9, "d": 0.1}, 40, controller="joint"))
    section = verdict.section(opened(one, both))
    assert section is not None and section.says == "Recommended: c on lift (controller joint)."


def test_rates_are_those_of_the_common_scenarios(tmp_path: Path) -> None:
    scenarios = [Lift().scenario(i) for i in range(30)]
    lost = {"blame": "world", "error": "diverged", "end": "error"}
    good = [made.row("good", s, True) for s in scenarios]
    # where the bad one succeeds the good one was never judged
    good[:3] = [made.row("good", s, None, **lost) for s in scenarios[:3]]
    bad = [made.row("bad", s, i < 3) for i, s in enumerate(scenarios)]
    run = made.run(tmp_path / "run", scenarios, [*good, *bad])
    (pair,) = foretell.compare(run).pairs
    assert (pair.n_a, {pair.mean_a, pair.mean_b}) == (27, {0.0, 1.0})
    said = words(verdict.section(opened(run)))
    assert "solves 100% of 27 common scenarios" in said and "of bad with 0%" in said
    level = [made.row("bad", s, i > 2) for i, s in enumerate(scenarios)]
    said = words(verdict.section(opened(made.run(tmp_path / "level", scenarios, [*good, *level]))))
    assert "good and bad are equal: each solves 100% of 27 common scenarios" in said


def test_a_task_with_one_policy_has_no_best(tmp_path: Path) -> None:
    sim = made.run(tmp_path / "sim", *drawn({"a": 0.95, "b": 0.3}, 40))
    real = made.run(tmp_path / "real", *drawn({"a": 0.9}, 10, world="standin", world_hash="s" * 16))
    section = verdict.section(opened(sim, real))
    assert section is not None and section.says == "Recommended: a on lift in mujoco."
    assert "On lift in standin: a solves" in words(section)


def test_policies_that_are_level_need_no_more_trials(tmp_path: Path) -> None:
    scenarios = [Lift().scenario(i) for i in range(100)]
    rows = [made.row(policy, s) for policy in ("a", "b") for s in scenarios]
    run = made.run(tmp_path / "run", scenarios, rows)
    (pair,) = foretell.compare(run).pairs
    assert pair.difference.high is not None and 3 < 100 * pair.difference.high < 4
    said = words(verdict.section(opened(run)))
    assert "the best two differ by at most 4 points (95%)" in said and "would decide" not in said
    few = made.run(tmp_path / "few", scenarios, [e for e in rows if e.scenario in {s.id for s in scenarios[:10]}])
    said = words(verdict.section(opened(few)))
    assert "would decide (80% chance, if the best two differ by 10 points)" in said
    assert "too few trials for a useful result" in said
    worse = [made.row("c", s, False) for s in scenarios[:10]]
    with Store(few) as store:
        store.append(worse)
    said = words(verdict.section(opened(few)))
    assert "Shown to be worse than a: c" in said and "too few" not in said


def test_what_is_not_shown_may_be_equally_good_and_what_is_may_not(tmp_path: Path) -> None:
    tail = "the others may well be equally good"
    cases: list[tuple[dict[str, float], str]] = [
        ({"a": 1.5, "b": -1}, "The two policies are shown to differ."),
        ({"a": 0.5, "b": 0.5}, "The two policies may well be equally good."),
        ({"a": 1.5, "b": 0.5, "c": -1}, "3 of 3 pairs of policies are shown to differ."),
        ({"a": 1.5, "b": 1.5, "c": -1}, f"2 of 3 pairs of policies are shown to differ; {tail}."),
    ]
    for i, (rates, says) in enumerate(cases):
        section = comparison.section(opened(made.run(tmp_path / str(i), *drawn(rates, 40))))
        assert section is not None and section.says == says


def test_a_study_without_a_complete_scenario_has_no_verdict_yet(tmp_path: Path) -> None:
    scenarios, episodes = drawn({"a": 0.9, "b": 0.2}, 20)
    run = made.run(tmp_path / "run", scenarios, episodes[3:])
    plan = [{**{c: str(getattr(e, c)) for c in CELL}, "unit": e.scenario, "episode": e.episode} for e in episodes]
    with Store(run) as store:
        store.write_plan(plan)
    section = verdict.section(opened(run))
    assert section is not None and section.says == "No policy is shown to be the best yet."
    assert "On lift: no verdict yet: 3 episodes to come." in words(section)
    other = made.run(tmp_path / "other", *drawn({"a": 0.9}, 20, world="standin", world_hash="s" * 16))
    assert "On lift in mujoco: no verdict yet" in words(verdict.section(opened(run, other)))


def test_what_runs_still_is_judged_by_bets_on_its_leading_scenarios(tmp_path: Path) -> None:
    scenarios, episodes = drawn({"good": 1.2, "bad": -0.2}, 60)
    plan = [{**{c: str(getattr(e, c)) for c in CELL}, "unit": e.scenario, "episode": e.episode} for e in episodes]
    leading = {s.id for s in scenarios[:30]}
    # of the rest only the failures have ended, as if they had been quicker
    there = [e for e in episodes if e.scenario in leading or not e.success]
    run = made.run(tmp_path / "run", scenarios, there)
    with Store(run) as store:
        store.write_plan(plan)
    (group,) = first_groups(opened(run))
    assert group.missing == 30 and group.leading == leading
    table = foretell.read(run)
    table = table.filter([s in leading for s in table["scenario"].to_pylist()])
    assert group.counted.num_rows == table.num_rows == 60
    assert not isinstance(group.compared, str) and group.compared.pairs[0].test == "betting"
    section = verdict.section(opened(run))
    assert "On lift, still running: use good" in words(section) and "hold at any time" in words(section)
    assert "30 episodes are still to come" in words(comparison.section(opened(run)))
    with Store(run) as store:
        store.append([e for e in episodes if e not in there])
    (group,) = first_groups(opened(run))
    assert not group.missing and not isinstance(group.compared, str)
    assert group.compared.pairs == foretell.compare(run).pairs


def test_names_are_data(tmp_path: Path) -> None:
    run = made.run(tmp_path / "run", *drawn({"<b>a</b>": 0.9, "'; alert(1)": 0.2, "b a b": 0.5}, 30))
    section = comparison.section(opened(run))
    assert section is not None
    assert {row["policy"] for row in block(section, "letters").rows} == {"<b>a</b>", "'; alert(1)", "b a b"}
    names = [b.name for b in section.blocks if b.kind != "words"]
    assert len(set(names)) == len(names) and all(name == name.lower() and "<" not in name for name in names)
