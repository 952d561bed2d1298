"""Scenarios that coins choose among simulated ones: with known chances, once, and taken into account by a bound."""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import made
import numpy as np
import numpy_world
import pytest
from studies import cli

import foretell
from foretell.answers.show import remarks
from foretell.episodes.provenance import design_of
from foretell.episodes.scenarios import read_scenarios
from foretell.episodes.selection import read_selection
from foretell.errors import UsageError
from foretell.stats.sampling import sampled_bound
from foretell.study.config import load_study
from foretell.study.select import Select, record, select
from foretell.study.store import Store
from foretell.tasks.lift import Lift

CODE = '''
import numpy as np
from puck import Puck, Reach, Seek


class Brief(Reach):
    """Reach, in two seconds."""

    name = "brief"
    time_limit = 2.0


class Fickle(Seek):
    """Stands still where the mark lies in one of every two stripes."""

    def act(self, slots, observations):
        stripe = (1000 * observations["mark/pos"][:, :1]) % 1.0
        return np.where(stripe < 0.5, super().act(slots, observations), 0.0)


class Real(Puck):
    real = True
'''
SIM: dict[str, Any] = {
    "name": "sim",
    "world": "puck.py:Puck",
    "tasks": ["choice.py:Brief"],
    "policies": {"fickle": "choice.py:Fickle"},
    "scenarios": 60,
    "record": {"video": "none"},
}


def real(rule: str, **more: Any) -> dict[str, Any]:
    chosen = {"from": "sim", "budget": 20, "rule": rule, **more}
    return {**SIM, "name": "real", "world": "choice.py:Real", "scenarios": {"select": chosen}}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("select")
    (folder / "choice.py").write_text(CODE)
    with pytest.MonkeyPatch.context() as monkeypatch:
        numpy_world.enter(folder, monkeypatch)
        monkeypatch.delitem(sys.modules, "choice", raising=False)
        foretell.run(SIM, out="sim", workers=0)
    return folder


@pytest.fixture(autouse=True)
def folder(simulated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("puck", "choice"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    shutil.copytree(simulated, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("rule", ["stratified", "active"])
def test_a_real_study_runs_what_the_coins_chose_and_the_bound_knows_their_chances(rule: str) -> None:
    done = foretell.run(real(rule), out="real", workers=0)
    chosen = read_selection("real")["brief"]
    assert done.planned == len(chosen.ids) < 40 and len(chosen.pool) == 60
    assert {row["scenario"] for row in foretell.read("real").to_pylist()} == set(chosen.ids)
    assert len(set(np.round(chosen.selection.probability, 6))) > 1
    assert design_of("real") == "chosen" and "unequal chances" in remarks("real")[0]
    bound = foretell.bound("real", "sim")
    (interval,) = bound.intervals
    assert (interval.method, interval.guarantee) == ("sampled_bound", "finite-sample")
    assert interval.n_extra == 60 - done.planned
    scores = {row["scenario"]: float(row["success"]) for row in foretell.read("sim").to_pylist()}
    truth = {row["scenario"]: float(row["success"]) for row in foretell.read("real").to_pylist()}
    direct = sampled_bound(
        [truth[unit] for unit in chosen.ids], [scores[unit] for unit in chosen.pool], chosen.selection, 0.05
    )
    assert (interval.low, interval.high, interval.estimate) == (direct.low, direct.high, direct.estimate)
    assert f"{done.planned} of 60 scenarios were chosen by coins" in bound.text()
    with pytest.raises(UsageError, match="real trials alone are no fair sample"):
        foretell.bound("real")
    with pytest.raises(UsageError, match="only the method sampled_bound applies"):
        foretell.bound("real", "sim", method="strata")


def test_equal_chances_leave_the_design_as_it_is_and_every_method() -> None:
    foretell.run(real("uniform"), out="real", workers=0)
    assert design_of("real") == "iid" and remarks("real") == []
    assert foretell.bound("real").intervals[0].method == "clopper_pearson"
    assert foretell.bound("real", "sim").intervals[0].guarantee == "finite-sample"


def test_a_choice_is_made_once(folder: Path) -> None:
    first = foretell.run(real("active"), out="real", workers=0, limit=3)
    assert first.left
    with pytest.raises(UsageError, match="some have no trial yet: run the rest"):
        foretell.bound("real", "sim")
    again = foretell.run(real("active"), out="real", workers=0)
    assert (again.skipped, again.left) == (3, 0)
    other = foretell.run(real("active", seed=1), out="other", workers=0, limit=1)
    assert set(read_selection("other")["brief"].ids) != set(read_selection("real")["brief"].ids) and other.ran
    foretell.run({**SIM, "policies": {"fickle": "puck.py:Seek"}}, out="sim2", workers=0)
    shutil.rmtree("sim")
    shutil.move("sim2", "sim")
    with pytest.raises(UsageError, match="has other episodes than when this study began"):
        foretell.run(real("active"), out="real", workers=0)


def test_trials_that_the_world_spoiled_widen_the_bound_instead_of_biasing_it() -> None:
    foretell.run(real("stratified"), out="real", workers=0)
    whole = foretell.bound("real", "sim").intervals[0]
    table = foretell.read("real").to_pylist()
    with Store(Path("spoiled")) as store:
        store.write_study(Path("real/study.yaml").read_text())
        store.write_provenance(json.loads(Path("real/provenance.json").read_text()))
        store.write_selection(json.loads(Path("real/selection.json").read_text()))
        store.write_scenarios(read_scenarios("real"))
        for number, row in enumerate(table):
            spoiled = {"success": None, "blame": "world", "end": "error"} if number < 2 else {}
            store.append([made.Episode(**{**row, "stages": {}, "metrics": {}, "events": {}, **spoiled})])
    bound = foretell.bound("spoiled", "sim")
    assert "2 chosen scenarios have no trial that counts" in bound.text()
    assert bound.intervals[0].width > whole.width and bound.intervals[0].n == len(table) - 2


def test_a_bound_after_an_uneven_choice_covers(tmp_path: Path) -> None:
    """Scenarios are easy or hard, simulation tells which, and reality follows in part: many draws, through folders."""
    draw = random.Random(3)
    scenarios = [Lift().scenario(i) for i in range(120)]
    truth = 0.6 * 0.85 + 0.4 * 0.25
    hits, draws = 0, 20
    for number in range(draws):
        easy = {s.id: draw.random() < 0.6 for s in scenarios}
        sim = made.run(tmp_path / f"s{number}", scenarios, [made.row("p", s, easy[s.id]) for s in scenarios])
        asked = Select.model_validate({"from": sim, "budget": 40, "rule": "stratified", "seed": number})
        chosen, picked = select(asked, "lift", ["p"])
        won = {s.id: draw.random() < (0.85 if easy[s.id] else 0.25) for s in picked}
        robot = {"judge": "person", "world": "robot", "world_hash": "r" * 16, "real": True}
        run = made.run(tmp_path / f"r{number}", picked, [made.row("p", s, won[s.id], **robot) for s in picked])
        with Store(run) as store:
            store.write_selection(record(asked, {"lift": chosen}))
        interval = foretell.bound(run, sim, alpha=0.1).intervals[0]
        assert interval.method == "sampled_bound"
        hits += truth in interval
    assert hits >= 16  # 18 are expected at least; fewer than 16 in one of 25 tries


def test_budget_prints_the_choice_that_a_study_makes(folder: Path) -> None:
    answer = foretell.budget(sim="sim", next=20, rule="stratified")
    foretell.run(real("stratified"), out="real", workers=0, limit=1)
    assert answer.to_dict()["tasks"]["brief"] == json.loads(Path("real/selection.json").read_text())["tasks"]["brief"]
    out = cli("budget", "--next", "20", "--sim", "sim", "--rule", "stratified", cwd=folder).stdout
    assert "of 60 scenarios came up" in out and "rule: stratified, seed: 0}}" in out
    for wrong, words in (
        ({"sim": "sim", "next": 20, "rule": "activ"}, "did you mean 'active'"),
        ({"next": 20}, "next needs sim"),
        ({"sim": "sim", "next": 200}, "budget is 200, and sim has 60 scenarios"),
        ({"sim": "sim", "next": 20, "task": "brif"}, "did you mean 'brief'"),
    ):
        with pytest.raises(UsageError, match=words):
            foretell.budget(**wrong)


def test_what_does_not_fit_a_choice_is_refused() -> None:
    for study, words in (
        ({**real("active"), "until": {"width": 0.2}}, "`scenarios.select` fixes it"),
        (
            {**SIM, "scenarios": {"select": {"from": "sim", "budget": 5}, "like": "sim"}},
            "give either `like` or `select`",
        ),
        ({**SIM, "scenarios": {"select": {"from": "sim", "budget": 5}, "seed": 3}}, "put `seed` under `select`"),
        ({**SIM, "scenarios": {"select": {"from": "sim", "budget": 5, "rule": "best"}}}, "rule"),
        ({**SIM, "scenarios": {"select": {"budget": 5}}}, r"select\.from"),
    ):
        with pytest.raises(UsageError, match=words):
            load_study(study)
    with pytest.raises(UsageError, match="scenarios: select: from: nowhere is not a run folder"):
        foretell.run(real("active", **{"from": "nowhere"}), workers=0)
    study = load_study(real("active"))
    assert load_study(json.loads(json.dumps(study.model_dump(mode="json")))).scenarios == study.scenarios
