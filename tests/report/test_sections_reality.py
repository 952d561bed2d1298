"""Simulation against reality, and bounds: the figures of `predictivity` and `bound`, drawn and told."""

from __future__ import annotations

import math
import random
import shutil
from pathlib import Path
from typing import Any

import made
import pytest
from sections import block

import foretell
from foretell.answers.choice import Choice, choose
from foretell.answers.inputs import open_table
from foretell.answers.units import measure, pair
from foretell.digest import digest
from foretell.episodes.fitted import note_fitted
from foretell.episodes.planned import CELL
from foretell.report import bounds, reality, verdict
from foretell.report.runs import Runs
from foretell.report.section import Chart, Section, Words
from foretell.study.store import Store
from foretell.tasks.lift import Lift

SIM = {"p1": 0.2, "p2": 0.4, "p3": 0.55, "p4": 0.7, "p5": 0.9}
REAL = {"p1": 0.15, "p2": 0.5, "p3": 0.35, "p4": 0.6, "p5": 0.75}
NAMES = reality.NAMES


def drawn(rates: dict[str, float], count: int, world: str, task: str = "lift") -> Any:
    """Episodes whose outcomes in two worlds go together: most of a scenario's luck is the scenario's own."""
    scenarios = [Lift().scenario(i) for i in range(count)]
    episodes = []
    for policy, rate in rates.items():
        own = random.Random(f"{policy} {world} {task}")
        for i, scenario in enumerate(scenarios):
            shared, noise = random.Random(f"{policy} {i} {task}").random(), own.random()
            success = (shared if own.random() < 0.7 else noise) < rate
            where = {"world": world, "world_hash": world * 3, "task": task}
            key = digest([policy, scenario.id, *where.values()])
            episodes.append(made.row(policy, scenario, success, episode=key, **where))
    return scenarios, episodes


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A real run (the stand-in) of 30 scenarios, and a simulated one of these and 300 more."""
    folder = tmp_path_factory.mktemp("runs")
    return (
        made.run(folder / "real", *drawn(REAL, 30, "standin")),
        made.run(folder / "sim", *drawn(SIM, 330, "mujoco")),
    )


def test_both_sides_of_mmrv_are_told(told: Section, paths: tuple[Path, Path]) -> None:
    sheet = block(told, "predictivity-table")
    real, sim = (foretell.predictivity(real=paths[0], sim=paths[1], stand_in=True, gap=g) for g in ("real", "sim"))
    for row, answer in ((sheet.rows[0], real), (sheet.rows[1], sim)):
        assert row[0].startswith("MMRV") and row[2].startswith(f"{answer.metrics['']['mmrv'].estimate:.3f} (")


def test_a_fitted_simulator_is_not_judged_by_what_it_saw(paths: tuple[Path, Path], tmp_path: Path) -> None:
    """The page refuses what `predictivity` and `bound` refuse."""
    real, sim = paths[0], shutil.copytree(paths[1], tmp_path / "sim")
    note_fitted(sim, set(foretell.read(real)["scenario"].to_pylist()), [])
    runs = Runs.open([real, sim])
    for section in (reality.section(runs), bounds.section(runs)):
        assert section is not None and "'mujoco' was fitted to the real trials of 30 of 30" in repr(section.blocks)
        assert not any(isinstance(part, Chart) for part in section.blocks)


@pytest.fixture(scope="module")
def told(paths: tuple[Path, Path]) -> Section:
    section = reality.section(Runs.open(paths))
    assert section is not None
    return section


@pytest.fixture(scope="module")
def bounded(paths: tuple[Path, Path]) -> Section:
    section = bounds.section(Runs.open(paths))
    assert section is not None
    return section


def test_metrics_are_those_of_predictivity(paths: tuple[Path, Path], told: Section) -> None:
    found = foretell.predictivity(real=paths[0], sim=paths[1], stand_in=True).to_dict()
    rows = {row["metric"]: row for row in block(told, "predictivity").rows}
    for metric in ("mmrv", "pearson", "spearman", "pairwise_accuracy"):
        row = rows[NAMES[metric]]
        assert (row["value"], row["low"], row["high"]) == tuple(found[metric][k] for k in ("value", "low", "high"))
    sheet = block(told, "predictivity-table")
    named = [line[0] for line in sheet.rows if line[0] != "MMRV, gap in sim"]
    assert named == list(NAMES.values()) and {*NAMES, "decision"} == set(found)
    gap = found["success_gap"]
    assert sheet.rows[-1][-1] == f"{gap['value']:.3f} ({gap['low']:.2f} to {gap['high']:.2f})"
    accuracy = found["pairwise_accuracy"]
    assert (
        f"mujoco puts {accuracy['value']:.0%} ({accuracy['low']:.0%} to {accuracy['high']:.0%}) of the pairs"
        in told.says
    )


def test_points_have_both_rates_with_the_intervals_of_show(paths: tuple[Path, Path], told: Section) -> None:
    rows = {row["policy"]: row for row in block(told, "sim-real").rows}
    assert list(rows) == list(REAL)
    for shown in foretell.show(paths[0]):  # simulated ones are of the common scenarios only
        row = rows[shown["policy"]]
        assert (row["real"], row["real_low"], row["real_high"]) == tuple(shown[k] for k in ("rate", "low", "high"))
        assert row["sim_low"] < row["sim"] < row["sim_high"] and row["scenarios"] == 30


def test_reversals_and_leave_one_out(paths: tuple[Path, Path], told: Section) -> None:
    found = foretell.predictivity(real=paths[0], sim=paths[1], stand_in=True).to_dict()
    reversed_pairs = block(told, "reversed-pairs").rows
    assert len(reversed_pairs) == found["rank_reversals"]["value"] > 0
    assert ["p3", "p2"] in [line[:2] for line in reversed_pairs]
    crossing = {r["policy"] for r in block(told, "rank-reversals").rows if r["place"] == "changes places"}
    assert crossing == {name for line in reversed_pairs for name in line[:2]}
    for row in block(told, "leave-one-out").rows:
        metric = next(k for k, v in NAMES.items() if v == row["metric"])
        assert row["value"] == found[metric]["leave_one_out"][row["without"]]
        assert row["of_all"] == found[metric]["value"]


def test_a_stand_in_is_no_evidence_about_robots_and_a_robot_is(paths: tuple[Path, Path], tmp_path: Path) -> None:
    label = "shows the mechanism, not evidence about robots"
    for module in (reality, bounds):
        section = module.section(Runs.open(paths))
        assert section is not None and label in section.blocks[0].text
    robot = made.run(tmp_path / "lab", *drawn({k: REAL[k] for k in ("p1", "p2")}, 10, "real"))
    section = reality.section(Runs.open([robot, paths[1]]))
    assert section is not None and block(section, "sim-real").title == "mujoco against real"
    assert not any(label in getattr(b, "text", "") for b in section.blocks)
    assert (
        "No value or interval: 2 policies are too few for a correlation" in block(section, "predictivity-table").about
    )


def test_one_pair_is_no_percentage(paths: tuple[Path, Path], tmp_path: Path) -> None:
    robot = made.run(tmp_path / "lab", *drawn({k: REAL[k] for k in ("p1", "p5")}, 30, "real"))
    section = reality.section(Runs.open([robot, paths[1]]))
    assert section is not None and "mujoco puts 1 of 1 pair of policies in the same order as real" in section.says
    assert "%" not in section.says.partition(", and")[0]
    sheet = {line[0]: line[2] for line in block(section, "predictivity-table").rows}
    assert {sheet[NAMES[k]] for k in ("pearson", "spearman", "kendall", "r_squared")} == {"undefined"}
    assert {row["metric"] for row in block(section, "predictivity").rows} == {"MMRV", "PRA"}


def test_there_is_nothing_to_say_without_both_worlds(paths: tuple[Path, Path]) -> None:
    for path in paths:
        runs = Runs.open([path])
        assert reality.section(runs) is None and bounds.section(runs) is None


def test_several_tasks_have_their_own_charts_and_a_mean(tmp_path: Path) -> None:
    sides = []
    for world, rates, count in (("standin", REAL, 20), ("mujoco", SIM, 60)):
        scenarios, one = drawn(rates, count, world)
        _, other = drawn(rates, count, world, task="lift2")
        sides.append(made.run(tmp_path / world, scenarios, [*one, *other]))
    section = reality.section(Runs.open(sides))
    assert section is not None and section.says.endswith("means over 2 tasks.")
    found = foretell.predictivity(real=sides[0], sim=sides[1], stand_in=True).to_dict()
    means = {r["metric"]: r["value"] for r in block(section, "predictivity").rows if r["task"] == "mean over tasks"}
    assert means["MMRV"] == found["mean"]["mmrv"]["value"]
    for task in ("lift", "lift2"):
        shown = {row["policy"]: row["real"] for row in block(section, f"sim-real-{task}").rows}
        assert shown == {p: r["real"] for p, r in found[task]["success_gap"]["policies"].items()}


def test_a_task_on_which_all_do_alike_is_named_and_the_others_count(tmp_path: Path) -> None:
    sides = []
    for world, rates, count in (("standin", REAL, 20), ("mujoco", SIM, 60)):
        scenarios, one = drawn(rates, count, world)
        _, level = drawn(dict.fromkeys(rates, 2.0), count, world, task="lift2")
        sides.append(made.run(tmp_path / world, scenarios, [*one, *level]))
    section = reality.section(Runs.open(sides))
    found = foretell.predictivity(real=sides[0], sim=sides[1], stand_in=True).to_dict()
    assert found["mean"]["pairwise_accuracy"]["value"] is None
    share = f"mujoco puts {found['lift']['pairwise_accuracy']['value']:.0%} of the pairs"
    assert section is not None and share in section.says
    assert "on lift (on lift2 all have the same success in one of the worlds)" in section.says
    alone = [made.run(tmp_path / f"{w}2", *drawn(dict.fromkeys(REAL, 2.0), 20, w)) for w in ("standin", "mujoco")]
    section = reality.section(Runs.open(alone))
    assert section is not None and "because all have the same success" in section.says


@pytest.mark.parametrize("module", [reality, bounds])
def test_a_simulation_in_two_runs_is_one(paths: tuple[Path, Path], tmp_path: Path, module: Any) -> None:
    scenarios, episodes = drawn(SIM, 330, "mujoco")
    first = {s.id for s in scenarios[:50]}
    parts = [
        made.run(tmp_path / str(early), scenarios, [e for e in episodes if (e.scenario in first) == early])
        for early in (True, False)
    ]
    whole, split = (module.section(Runs.open(runs)) for runs in (paths, [paths[0], *parts]))
    assert split.says == whole.says
    assert [getattr(b, "rows", 0) for b in split.blocks] == [getattr(b, "rows", 0) for b in whole.blocks]


def test_where_nothing_can_be_bounded_the_notes_say_why(paths: tuple[Path, Path], tmp_path: Path) -> None:
    real = made.run(tmp_path / "real", *drawn({"new": 0.5}, 30, "standin"))
    section = bounds.section(Runs.open([real, paths[1]]))
    assert section is not None and section.says.startswith("No policy has a bound on its real success")
    assert "new on lift was not simulated" in section.blocks[-1].text


@pytest.mark.parametrize("module", [reality, bounds])
def test_intervals_are_warned_of_where_there_are_some(paths: tuple[Path, Path], tmp_path: Path, module: Any) -> None:
    for rates, there in ((REAL, True), ({"new": 0.5}, False)):
        scenarios, episodes = drawn(rates, 30, "standin")
        real = made.run(tmp_path / str(there), scenarios, episodes)
        last = {c: str(getattr(episodes[-1], c)) for c in CELL}
        with Store(real) as store:
            store.write_plan([{**last, "unit": scenarios[-1].id, "episode": "f" * 16}])
        blocks = module.section(Runs.open([real, paths[1]])).blocks
        assert any("1 episode is still to come" in getattr(b, "text", "") for b in blocks) == there


def test_bounds_are_those_of_bound_by_every_method(paths: tuple[Path, Path], bounded: Section) -> None:
    chart = block(bounded, "bounds")
    rows = {(row["policy"], row["method"]): row for row in chart.rows}
    for policy in ("p1", "p4"):
        for one in foretell.bound(*paths, policy=policy, method="all", stand_in=True).to_dict():
            row = rows[policy, one["method"]]
            assert (row["low"], row["high"], row["estimate"]) == (one["low"], one["high"], one["estimate"])
        assert rows[policy, foretell.bound(*paths, policy=policy, stand_in=True).default]["default"] == "default"
    drawn = chart.spec["data"]["values"]
    assert "blocked" in {row["method"] for row in drawn} and len(drawn) < len(rows), "the CSV has them all"


def test_width_is_that_of_bound_on_so_many_simulated_scenarios(
    paths: tuple[Path, Path], bounded: Section, tmp_path: Path
) -> None:
    rows = [row for row in block(bounded, "bound-width").rows if row["policy"] == "p4"]
    sizes = [row["simulated"] for row in rows]
    assert sizes == sorted(sizes) and (sizes[0], sizes[-1]) == (30, 300)
    tables = [open_table(path, name) for path, name in zip(paths, ("real", "sim"), strict=True)]
    chosen, _ = choose(tables, Choice(policy="p4"))
    paired, _ = pair(measure(chosen[0]), measure(chosen[1], whole=True), None)
    curve = foretell.stats.width_curve(paired.real, paired.sim, paired.extra)
    assert [row["width"] for row in rows] == pytest.approx(100 * curve.widths)
    found = foretell.bound(*paths, policy="p4", method="strata", stand_in=True).intervals[0]
    assert rows[-1]["width"] == pytest.approx(100 * found.width)
    sheet = block(bounded, "trials-saved")
    line = next(line for line in sheet.rows if line[0] == "p4")
    one = foretell.bound(*paths, policy="p4", stand_in=True).intervals[0]
    whole = one.diagnostics
    assert line[1:5] == [f"{one.low:.0%} to {one.high:.0%}", 30, 300, f"{whole['correlation']:.2f}"]
    assert line[5:7] == [f"{100 * whole['width_real']:.1f}", f"{100 * whole['width_sim']:.1f}"]
    assert float(line[7]) == pytest.approx(rows[0]["floor"], abs=0.05) and int(line[8]) > 2
    helps = sum(foretell.bound(*paths, policy=p, stand_in=True).intervals[0].diagnostics["helps"] for p in REAL)
    assert (f"in {helps} of 5 cases" if helps else "in no case") in bounded.says


def test_policies_that_were_not_simulated_are_noted(paths: tuple[Path, Path], tmp_path: Path) -> None:
    more = made.run(tmp_path / "real", *drawn({**REAL, "new": 0.5}, 30, "standin"))
    section = bounds.section(Runs.open([more, paths[1]]))
    assert section is not None
    assert any("new on lift was not simulated" in getattr(b, "text", "") for b in section.blocks)
    assert all(math.isfinite(row["width"]) for row in block(section, "bounds").rows)


@pytest.mark.parametrize(("world", "stands_in"), [("lab", True), ("standin-like", False)])
def test_a_stand_in_is_known_by_its_rows_and_not_by_its_name(tmp_path: Path, world: str, stands_in: bool) -> None:
    scenarios, episodes = drawn(REAL, 30, world)
    for episode in episodes:
        episode.real, episode.stands_in = not stands_in, stands_in
    real = made.run(tmp_path / "real", scenarios, episodes)
    runs = Runs.open([real, made.run(tmp_path / "sim", *drawn(SIM, 330, "mujoco"))])
    for section in (reality.section(runs), bounds.section(runs), verdict.section(runs)):
        assert section is not None
        said = [one.text for one in section.blocks if isinstance(one, Words)]
        assert any(verdict.MECHANISM in text for text in said) == stands_in


def test_the_section_begins_with_the_pick(paths: tuple[Path, Path], told: Section) -> None:
    found = foretell.predictivity(real=paths[0], sim=paths[1], stand_in=True).to_dict()["decision"]
    assert found["pick"] == ["p4", "p5"]
    assert told.says.startswith(
        "Picking by mujoco takes p4 or p5, which tie, where p5 did best in the real trials: regret"
    )
    assert found["claim"]["reach"] in told.says
    first, listed = block(told, "regret").rows
    ends = {k: 100 * found["regret"][k] for k in ("value", "low", "high")}
    assert (first["regret"], first["low"], first["high"]) == tuple(ends.values())
    assert listed["picked_by"] == "best of its top 3 in real trials"
    sheet = block(told, "picking")
    assert sheet.rows[0][2] == "p4 and p5" and sheet.rows[0][-1].startswith(found["may_be_best"]["real"][0])
