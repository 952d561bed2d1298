"""Clocks and perturbations, of episodes that really ran and of made ones: the figures of `clocks` and `leaderboard`."""

from __future__ import annotations

import json
import math
import random
import shutil
from pathlib import Path
from typing import Any

import made
import pyarrow.parquet as pq
import pytest
from sections import block, section_of

import foretell
from foretell import stats
from foretell.digest import digest
from foretell.episodes.planned import read_plan
from foretell.report import clocks, perturbations
from foretell.report.runs import Runs
from foretell.study.scenario_file import read_scenario_file
from foretell.study.store import Store
from foretell.tasks.lift import Lift
from foretell.testset.certificate import certificate, write_testset

SYNC = {"kind": "sync"}


def late(seconds: float, speed: float = 1.0) -> dict[str, Any]:
    return {"kind": "virtual", "latency": {"kind": "constant", "values": [seconds]}, "speed": speed}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episodes that ran: two experts, under two clocks and with a heavier cube, the events of one scenario kept."""
    path = tmp_path_factory.mktemp("ran") / "run"
    study = {
        "name": "ran",
        "tasks": ["lift"],
        "policies": {"steady": "expert", "shaky": {"use": "noisy-expert", "noise": 0.4}},
        "scenarios": {"count": 2},
        "arms": ["none", "Object_Mass", {"use": "Object_Mass", "severity": 0.5}],
        "clocks": ["sync", {"virtual": {"latency": 0.2}}],
        "record": {"events": 1, "video": 0},
    }
    foretell.run(study, out=path, workers=0)
    return path


@pytest.fixture(scope="module")
def lag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many made episodes: one policy hardly minds latency, the other does."""
    scenarios = [Lift().scenario(i) for i in range(60)]
    episodes = []
    for clock in (SYNC, late(0.05), late(0.2), late(0.2, 2.0), late(0.8)):
        slow = clock.get("speed", 0) * clock.get("latency", {"values": [0.0]})["values"][0]
        metrics = {} if clock is SYNC else {"latency_per_inference_s": slow, "starvation_s": slow, "inferences": 9.0}
        for policy, rate, cost in (("quick", 0.95, 0.01), ("slow", 0.9, 1.0)):
            for i, scenario in enumerate(scenarios):
                success = random.Random(f"{policy} {i}").random() < rate - cost * slow
                text = json.dumps(clock, sort_keys=True)
                episodes.append(made.row(policy, scenario, success, clock=text, metrics=metrics))
    return made.run(tmp_path_factory.mktemp("lag") / "run", scenarios, episodes)


@pytest.mark.parametrize("name", [pytest.param("ran", marks=pytest.mark.daily), "lag"])
def test_gaps_are_those_of_clocks(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    found = foretell.clocks(run, arm="none")
    section = section_of(clocks, run)
    rows = {(r["policy"], r["clock"]): r for r in block(section, "async-gap").rows}
    assert len(rows) == len(found.cells) > 0
    for cell in found.cells:
        row, gap = rows[cell["policy"], cell["clock"]], cell["gap_points"]
        assert (row["points"], row["low"], row["high"]) == (gap["estimate"], gap["low"], gap["high"])
        assert (row["sync"], row["async"]) == (cell["sync"]["estimate"], cell["async"]["estimate"])
        assert row["verdict"] == cell["verdict"]
    assert len(block(section, "clocks-table").rows) == len(found.cells)


def test_success_against_latency_and_speed_and_the_budget(lag: Path) -> None:
    found = foretell.clocks(lag)
    section = section_of(clocks, lag)
    points = {(t["policy"], 1000 * p["latency_s"]): p for t in found.against_latency for p in t["points"]}
    rows = block(section, "success-latency").rows
    assert {(r["policy"], r["latency"]) for r in rows} == set(points)
    assert all(r["success"] == points[r["policy"], r["latency"]]["success"] for r in rows)
    assert {(r["policy"], r["speed"]) for r in block(section, "success-speed").rows} == {
        (p, s) for p in ("quick", "slow") for s in (1.0, 2.0)
    }
    budget = next(row for row in found.budgets if row["policy"] == "slow")
    row = next(r for r in block(section, "latency-budget").rows if r["policy"] == "slow")
    assert budget["estimate_s"] is not None and row["budget_ms"] == 1000 * budget["estimate_s"]
    line = next(line for line in block(section, "latency-budgets").rows if line[1] == "quick")
    assert line[2] == "at least 800 ms"
    worst = max(found.cells, key=lambda c: c["gap_points"]["estimate"])
    assert section.says.startswith("slow is shown to lose success")
    assert f"up to {worst['gap_points']['estimate']:.0f} points on lift under virtual 800 ms" in section.says


def test_the_timeline_shows_the_events_of_a_slow_episode(ran: Path) -> None:
    chart = block(section_of(clocks, ran), "timeline")
    table = foretell.read(ran)
    kept = {p.stem for p in (ran / "events").glob("*.parquet")}
    episode = next(e for e in kept if f"Episode {e}:" in chart.about)
    row = next(r for r in table.to_pylist() if r["episode"] == episode)
    assert json.loads(row["clock"])["kind"] == "virtual", "under sync nothing takes time"
    events = pq.read_table(ran / "events" / f"{episode}.parquet").to_pylist()
    assert len(chart.rows) == len(events)
    thinking = [r for r in chart.rows if r["kind"] == "think"]
    assert thinking and all(r["lane"] == "inference" for r in thinking)
    assert thinking[0]["end"] - thinking[0]["start"] == pytest.approx(0.2, abs=0.01)
    bars, marks = (layer["data"]["values"] for layer in chart.spec["layer"])
    assert {r["kind"] for r in bars} >= {"think", "action"} and {r["kind"] for r in marks} >= {"look", "chunk"}


def test_one_clock_has_no_section(tmp_path: Path) -> None:
    run = made.run(tmp_path / "run", *made.rows({"a": 0.5, "b": 0.6}, 10))
    assert clocks.section(Runs.open([run])) is None and perturbations.section(Runs.open([run])) is None


def perturbed(path: Path, cut: int = 0) -> Path:
    """Two policies under a few arms; `cut`: episodes that the last arm lacks."""
    scenarios = [Lift().scenario(i) for i in range(50)]
    cost = {
        "none": 0.0,
        "MO_Color": 0.5,
        "Light_Color": 0.1,
        "Camera_Pose@0.25": 0.1,
        "Camera_Pose@0.5": 0.3,
        "Camera_Pose": 0.6,
    }
    episodes, every = [], list(scenarios)
    for arm, lost in cost.items():
        for policy, rate in (("seeing", 0.9), ("blind", 0.7)):
            for i, clean in enumerate(scenarios):
                scenario = clean.model_copy(update={"factors": {} if arm == "none" else {arm: i}})
                every.append(scenario)
                draw = random.Random(f"{policy} {i}").random() + random.Random(f"{policy} {i} {arm}").gauss(0, 0.1)
                success = draw < rate - lost * (policy == "seeing")
                episodes.append(made.row(policy, scenario, success, arm=arm, severity=None))
    return made.run(path, every, episodes[: len(episodes) - cut])


def test_changes_are_those_of_the_leaderboard(tmp_path: Path) -> None:
    run = perturbed(tmp_path / "run")
    board = foretell.leaderboard(run)
    cells = {(e["policy"], c["arm"]): c for e in board.entries for c in e["cells"]}
    section = section_of(perturbations, run)
    rows = block(section, "perturbation-change").rows
    assert {(r["policy"], r["arm"]) for r in rows} == {(p, a) for p, a in cells if a != "none" and "@" not in a}
    for row in rows:
        change = cells[row["policy"], row["arm"]]["change"]
        assert (row["points"], row["low"], row["high"]) == tuple(100 * change[k] for k in ("estimate", "low", "high"))
    assert [r["arm"] for r in rows][:2] == ["Camera_Pose", "Camera_Pose"], "what hurts most comes first"
    worst = cells["seeing", "Camera_Pose"]["change"]
    assert section.says.startswith(f"Camera_Pose hurts most: it costs seeing {-100 * worst['estimate']:.0f} points")
    shown = {(r["policy"], r["arm"]): r for r in foretell.show(run)}
    for row in block(section, "perturbation-radar").rows:
        one = shown[row["policy"], "none" if row["arm"] == "clean" else row["arm"]]
        assert (row["success"], row["low"], row["high"]) == (one["rate"], one["low"], one["high"])
    curves = [{k: r[k] for k in ("policy", "severity", "estimate")} for r in board.curves]
    for policy in ("seeing", "blind"):
        drawn = block(section, f"severity-curve-{policy}").rows
        assert [{"policy": policy, "severity": r["severity"], "estimate": r["success"]} for r in drawn] == [
            c for c in curves if c["policy"] == policy
        ]


def test_what_many_perturbations_show_is_adjusted_for_their_number(tmp_path: Path) -> None:
    scenarios = [Lift().scenario(i) for i in range(30)]
    cost = {"none": 0, **{f"Light_{i}": 0 for i in range(11)}, "MO_Color": 6}
    rows, every = [], []
    for arm, lost in cost.items():
        for i, clean in enumerate(scenarios):
            every.append(clean.model_copy(update={"factors": {} if arm == "none" else {arm: i}}))
            rows.append(made.row("a", every[-1], i >= lost, arm=arm, severity=None))
    section = section_of(perturbations, made.run(tmp_path / "many", every, rows))
    found = {row["arm"]: row for row in block(section, "perturbation-change").rows}
    assert found["MO_Color"]["high"] < 0 and stats.mcnemar(0, 6) < 0.05, "by itself it would do"
    assert found["MO_Color"]["p_adjusted"] == pytest.approx(12 * stats.mcnemar(0, 6))
    assert section.says == "No perturbation is shown to cost any policy success."
    few = [e for e in rows if e.arm in ("none", "MO_Color")]
    section = section_of(perturbations, made.run(tmp_path / "few", every, few))
    assert section.says.startswith("MO_Color hurts most: it costs a 20 points")


def test_intervals_are_warned_of_where_there_are_some(ran: Path, tmp_path: Path) -> None:
    warning = "these intervals are valid only for a finished study"
    for clock, there in (("sync", False), ("virtual", True)):
        run = tmp_path / clock
        shutil.copytree(ran, run)
        plan = read_plan(ran)
        with Store(run) as store:
            store.write_plan([*plan, {**plan[0], "episode": "f" * 16}])
        if not there:  # as if the other clock had not begun
            for part in (run / "episodes").glob("*.parquet"):
                rows = pq.read_table(part)
                kept = [json.loads(text)["kind"] == "sync" for text in rows["clock"].to_pylist()]
                pq.write_table(rows.filter(kept), part)
        section = section_of(clocks, run)
        assert any(warning in getattr(b, "text", "") for b in section.blocks) == there
        assert block(section, "timeline").rows


def test_the_radar_is_true_to_scale(tmp_path: Path) -> None:
    chart = block(section_of(perturbations, perturbed(tmp_path / "run")), "perturbation-radar")
    layers = [layer for layer in chart.spec["layer"] if layer["mark"]["type"] == "line"]
    points = layers[-1]["data"]["values"]
    assert len(points) == len(chart.rows) + 2, "each line ends where it began"
    for point in points:
        assert math.hypot(point["x"], point["y"]) == pytest.approx(point["success"], abs=1e-3)
    angles = {p["arm"]: math.atan2(p["x"], p["y"]) % math.tau for p in points if p["success"] > 0}
    steps = sorted(angles.values())
    assert steps == pytest.approx([math.tau * i / len(steps) for i in range(len(steps))], abs=1e-2)


def test_a_certified_test_set_has_a_leaderboard(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    header = foretell.testset("build", ["lift"], out=file, arms=["MO_Size"], episodes=6, certify=False).header
    scenarios = read_scenario_file(file).lines
    given = {"certificates": tuple(certificate("lift", arm, 6, 6, 0.9) for arm in dict(scenarios))}
    given["protocol"] = header.protocol.model_copy(update={"required": 0.9})
    write_testset(file, header.model_copy(update=given), scenarios)
    rows = [
        made.row(policy, s, i % 6 < good, arm=arm)
        for policy, good in (("strong", 5), ("weak", 2))
        for i, (arm, s) in enumerate(scenarios)
    ]
    run = made.run(tmp_path / "run", [s for _, s in scenarios], rows)
    assert "No leaderboard of mujoco: it is unknown" in section_of(perturbations, run).blocks[0].text
    with Store(run) as store:
        store.write_testset(file.read_bytes())
    ranking = block(section_of(perturbations, run), "leaderboard")
    board = foretell.leaderboard(run)
    assert [line[1] for line in ranking.rows] == [entry["policy"] for entry in board.entries] == ["strong", "weak"]
    assert f"{board.entries[0]['score']['estimate']:.0%}" in ranking.rows[0][2]


def test_a_run_cut_short_has_its_changes_and_says_why_there_is_no_leaderboard(tmp_path: Path) -> None:
    run = perturbed(tmp_path / "run", cut=30)
    section = section_of(perturbations, run)
    assert "No leaderboard of mujoco" in section.blocks[0].text
    assert {r["pairs"] for r in block(section, "perturbation-change").rows if r["arm"] == "Camera_Pose"} == {50, 20}


def test_perturbed_episodes_that_ran_are_paired_by_what_they_share(ran: Path) -> None:
    section = section_of(perturbations, ran)
    rows = block(section, "perturbation-change").rows
    assert {(r["policy"], r["pairs"]) for r in rows} == {("steady", 2), ("shaky", 2)}
    table = foretell.read(ran).to_pylist()
    clock = '{"kind": "sync"}'
    for row in rows:
        rate = {}
        for arm in ("none", row["arm"]):
            mine = [r["success"] for r in table if (r["policy"], r["arm"], r["clock"]) == (row["policy"], arm, clock)]
            rate[arm] = sum(mine) / len(mine)
        assert row["points"] == pytest.approx(100 * (rate[row["arm"]] - rate["none"]))
    curve = block(section, "severity-curve-steady").rows
    assert [r["severity"] for r in curve] == [0.0, 0.5, 1.0]


def test_versions_of_one_world_have_clocks_of_their_own(lag: Path, tmp_path: Path) -> None:
    scenarios = [Lift().scenario(i) for i in range(20)]
    other = [
        made.row(
            "quick", s, i % 2 == 0, clock=json.dumps(c, sort_keys=True), world_hash="v" * 16, episode=digest([s.id, c])
        )
        for c in (SYNC, late(0.1))
        for i, s in enumerate(scenarios)
    ]
    section = section_of(clocks, lag, made.run(tmp_path / "other", scenarios, other))
    names = {b.name for b in section.blocks if b.kind == "chart"}
    assert {"async-gap-mujoco-wwwwww", "async-gap-mujoco-vvvvvv"} <= names
