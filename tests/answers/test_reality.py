"""Real trials come from a robot; a simulated world plays reality only where that is said."""

from dataclasses import replace

import made
import pytest

import foretell
from foretell.answers.bound import bound
from foretell.answers.budget import budget
from foretell.answers.compare import compare
from foretell.answers.predictivity import predictivity
from foretell.report.runs import OneRun

STAND_IN = r"add --stand-in \(in Python stand_in=True\)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    worlds = {"sim": ("mujoco", 60), "standin": ("standin", 20), "lab": ("real", 20), "soft": ("soft", 20)}
    made_of = {}
    for name, (world, count) in worlds.items():
        scenarios, rows = made.rows({"p": 0.6, "r": 0.4}, count, world=world, world_hash=world.ljust(16, "x"))
        judge = "person" if name == "lab" else "task"
        made_of[name] = made.run(folder / name, scenarios, [replace(row, judge=judge) for row in rows])
    return made_of


@pytest.mark.parametrize("world", ["sim", "standin", "soft"])
def test_a_simulated_world_is_no_reality_unless_said(runs, world):
    with pytest.raises(foretell.UsageError, match=f"a simulated world, and real trials are expected.*{STAND_IN}"):
        bound(runs[world], policy="p")
    assert any("no evidence about robots" in note for note in bound(runs[world], policy="p", stand_in=True).notes)
    assert bound(runs["lab"], runs["sim"], policy="p").intervals[0].n == 20


def test_swapped_arguments_are_recognised(runs):
    for real in ("lab", "standin"):
        for said in (False, True):
            with pytest.raises(foretell.UsageError, match=r"look swapped: .*sim holds episodes of 'mujoco'"):
                bound(runs["sim"], runs[real], policy="p", stand_in=said)
    few, many = ({"scenario": list(range(n)), "score": [0, 1] * (n // 2)} for n in (10, 40))
    with pytest.raises(foretell.UsageError, match="30 of 40 scenarios of real have no simulated partner") as swapped:
        bound(many, few)
    assert "Every scenario of sim is in real: if real is the simulation, real and sim are swapped" in str(swapped.value)
    assert "\n" not in str(swapped.value), "thirty lines would bury the hint"
    some = {"scenario": list(range(12)), "score": [0, 1] * 6}
    with pytest.raises(foretell.UsageError, match=r"scenario '11' .*Every scenario of sim is in real"):
        bound(some, few)


def test_a_stand_in_is_known_by_its_rows_and_not_by_its_name(runs, tmp_path):
    for world, stands_in in (("lab", True), ("standin", False)):
        scenarios, rows = made.rows({"p": 0.6}, 20, world=world, real=False, stands_in=stands_in)
        run = made.run(tmp_path / world, scenarios, rows)
        words = "look swapped" if stands_in else "real trials are expected"
        with pytest.raises(foretell.UsageError, match=words):
            bound(runs["sim"], run, policy="p")


def test_one_world_cannot_predict_itself(runs):
    for one in ("sim", "standin", "lab"):
        with pytest.raises(foretell.UsageError, match=f"real and sim are the same world.*{STAND_IN}"):
            bound(runs[one], runs[one], policy="p")
    said = bound(runs["standin"], runs["standin"], policy="p", stand_in=True)
    assert "real and sim are the same world with the same parameters" in said.notes
    sheet = {"scenario": [*"abcdef"], "success": [0, 1] * 3, "world": ["lab"] * 6}
    with pytest.raises(foretell.UsageError, match="same world, 'lab'"):
        bound(sheet, sheet)


def test_files_are_taken_at_their_word(runs):
    sheet = {"scenario": [*"abcdef"], "success": [0, 1] * 3}
    assert bound({**sheet, "world": ["kitchen"] * 6}).intervals[0].n == 6
    with pytest.raises(foretell.UsageError, match="'mujoco', a simulated world"):
        bound({**sheet, "world": ["mujoco"] * 6})


def test_rows_say_themselves_whether_they_are_real(tmp_path):
    """What a world is called, and who judges, decides only where a row does not say."""
    told = {}
    for name, world, real, judge in (
        ("arm", "kitchen", True, "task"),
        ("named", "real", False, "task"),
        ("film", "soft", False, "person"),
        ("old", "real", None, "task"),
    ):
        scenarios, rows = made.rows({"p": 0.6}, 20, world=world, world_hash=world.ljust(16, "x"))
        told[name] = made.run(tmp_path / name, scenarios, [replace(row, real=real, judge=judge) for row in rows])
    assert bound(told["arm"]).intervals[0].n == 20
    assert bound(told["old"]).intervals[0].n == 20
    for name in ("named", "film"):
        with pytest.raises(foretell.UsageError, match="a simulated world, and real trials are expected"):
            bound(told[name])
    with pytest.raises(foretell.UsageError, match="look swapped"):
        bound(told["named"], told["arm"])
    runs = {
        name: OneRun(path=path, name=name, table=foretell.read(path), study={}, provenance={})
        for name, path in told.items()
    }
    assert {name: run.real for name, run in runs.items()} == {"arm": True, "named": False, "film": False, "old": True}


def ranked(real, sim, **said):
    return predictivity(real=real, sim=sim, **said)


def planned(real, sim, **said):
    return budget(real, sim, width=0.2, policy="p", **said)


def compared(real, sim, **said):
    return compare(real, sim=sim, **said)


def bounded(real, sim, **said):
    return bound(real, sim, policy="p", **said)


@pytest.mark.parametrize("ask", [bounded, ranked, planned, compared])
def test_every_answer_from_real_and_sim_asks_who_plays_reality(runs, ask):
    refusals = {
        ("standin", "sim"): "'standin', a simulated world, and real trials are expected",
        ("sim", "lab"): "real and sim look swapped",
        ("lab", "lab"): "real and sim are the same world, 'real', so simulation would predict itself",
    }
    for (real, sim), told in refusals.items():
        with pytest.raises(foretell.UsageError, match=told):
            ask(runs[real], runs[sim])
    assert any("no evidence about robots" in note for note in ask(runs["standin"], runs["sim"], stand_in=True).notes)
    assert not any("no evidence" in note for note in ask(runs["lab"], runs["sim"]).notes)


def test_a_proxy_may_be_measured_in_the_real_trials_themselves(runs):
    assert predictivity(real=runs["lab"], sim=runs["lab"], proxy="score").metrics
    assert compare(runs["sim"]).pairs[0].n_a == 60  # policies may be compared in simulation
