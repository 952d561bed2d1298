"""`until`: a cell stops when enough is known, and its interval holds although it did."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy_world
import pyarrow.compute as pc
import pytest
import yaml
from numpy_world import SEEK, WORLD, rows

import foretell
from foretell.answers.show import table
from foretell.episode import Episode
from foretell.episodes.planned import plan_table
from foretell.episodes.read import read
from foretell.episodes.tally import Tally
from foretell.errors import UsageError
from foretell.report.groups import groups
from foretell.report.runs import Runs
from foretell.stats.order import by_id
from foretell.stats.until import interval_at, is_narrow, looks, stop_after
from foretell.study.config import load_study
from foretell.study.estimate import estimate
from foretell.study.follow import Follower
from foretell.study.status import Progress
from foretell.study.store import Store

FICKLE = '''
import numpy as np
from puck import Reach, Seek


class Fickle(Seek):
    """Stands still where the mark lies in one of every two stripes."""

    def __init__(self, share=0.5, shift=0.0):
        super().__init__()
        self.share, self.shift = share, shift

    def act(self, slots, observations):
        stripe = (1000 * observations["mark/pos"][:, :1] + self.shift) % 1.0
        return np.where(stripe < self.share, super().act(slots, observations), 0.0)


class Brief(Reach):
    """Reach, in two seconds."""

    name = "brief"
    time_limit = 2.0

    def layouts(self):
        return [self.scenario(seed) for seed in range(30)]
'''
BRIEF = "fickle.py:Brief"
STUDY: dict[str, Any] = {
    "name": "stops",
    "world": WORLD,
    "tasks": [BRIEF],
    "policies": {"seek": SEEK, "fickle": "fickle.py:Fickle"},
    "until": {"width": 0.3, "max": 50},
}


LAST: list[Progress] = []
"""Progress of the run `a`, of which every test reads, and which none changes."""


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("until")
    with pytest.MonkeyPatch.context() as monkeypatch:
        numpy_world.enter(folder, monkeypatch)
        monkeypatch.delitem(sys.modules, "fickle", raising=False)
        (folder / "fickle.py").write_text(FICKLE)
        LAST[:] = []
        foretell.run(STUDY, out="a", workers=0, progress=lambda state: LAST.append(replace(state)))
        yield folder


def successes(out: str, policy: str) -> list[float]:
    """Of a policy's episodes, in the order planned."""
    order = plan_table(out)["episode"].to_pylist()
    found = {row["episode"]: row["success"] for row in read(out).to_pylist() if row["policy"] == policy}
    return [float(found[name]) for name in order if name in found]


def ran(out: str) -> dict[str, int]:
    """Policy -> its episodes."""
    return {v["values"]: v["counts"] for v in pc.value_counts(read(out)["policy"].cast("string")).to_pylist()}


def test_an_easy_cell_stops_early_and_a_hard_one_goes_on() -> None:
    counts = ran("a")
    assert counts["seek"] == 30 and counts["fickle"] > 30
    assert counts["fickle"] in looks(50)
    whole = sum(counts.values())
    assert (LAST[0].done, LAST[0].planned) == (0, 100) and LAST[0].until
    assert (LAST[-1].done, LAST[-1].planned) == (whole, whole)
    # the rule, taken from the rows alone, stops at the same look
    for row in foretell.show("a"):
        y = successes("a", row["policy"])
        n = stop_after(lambda n, y=y: is_narrow(y[:n], 0.3, 50), 50)  # type: ignore[misc]
        assert row["n"] == n and row["stopped"] == (row["n"] < 50)
    again = foretell.run(STUDY, out="a", workers=0)
    assert (again.ran, again.skipped, again.left, again.spared) == (0, whole, 0, 100 - whole)
    assert f"{100 - whole} spared by `until`" in again.text()


def test_rows_do_not_depend_on_workers_or_interruptions() -> None:
    foretell.run(STUDY, out="one", workers=1, slots=3)
    foretell.run(STUDY, out="two", workers=2, slots=7)
    calls = 0
    while True:
        done = foretell.run(STUDY, out="bits", workers=0, limit=23)
        calls += 1
        assert done.left == 0 or "at most" in done.text()
        if not done.left:
            break
    assert calls > 3
    whole = sorted(rows(Path("a")), key=lambda row: str(row["episode"]))
    for other in ("one", "two", "bits"):
        assert sorted(rows(Path(other)), key=lambda row: str(row["episode"])) == whole
        assert foretell.show(other) == foretell.show("a")


@pytest.mark.daily
def test_a_killed_run_ends_with_the_same_rows(folder: Path) -> None:
    (folder / "stops.yaml").write_text(yaml.safe_dump(STUDY))
    command = [sys.executable, "-m", "foretell", "run", "stops.yaml", "--workers", "1", "--out", "killed"]
    for least in (3, 44):
        process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
        while process.poll() is None and (not Path("killed/journal").exists() or len(read("killed")) < least):
            pass
        assert process.poll() is None, "it is under way"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    foretell.run(STUDY, out="killed", workers=0)
    key = lambda row: str(row["episode"])  # noqa: E731
    assert sorted(rows(Path("killed")), key=key) == sorted(rows(Path("a")), key=key)
    assert foretell.show("killed") == foretell.show("a")


def test_every_surface_prints_the_same_interval(capsys: pytest.CaptureFixture[str]) -> None:
    shown = {row["policy"]: row for row in foretell.show("a")}
    scores = {policy: successes("a", policy) for policy in shown}
    live = {row["policy"]: row for row in LAST[-1].tally.figures()}
    follower = Follower(Path("a"))
    follower.look()
    watched = {row["policy"]: row for row in follower.tally.figures()}
    (group,) = groups(Runs.open(["a"]))
    for policy, row in shown.items():
        ends = (row["low"], row["high"])
        rule = interval_at(scores[policy], 50)
        assert ends == (rule.low, rule.high) and row["method"] == "star"
        assert row["until"] == {"alpha": 0.05, "every": 10, "horizon": 50, "width": 0.3}
        one = foretell.bound("a", policy=policy, stand_in=True)
        assert (one.intervals[0].low, one.intervals[0].high) == ends and one.intervals[0].anytime
        assert "the study stopped by `until`" in one.text()
        for other in (live[policy], watched[policy]):
            assert (other["low"], other["high"], other["stopped"]) == (*ends, row["stopped"])
        assert (group.rates[policy].low, group.rates[policy].high) == ends
    assert shown["seek"]["stopped"]
    table([*shown.values()])
    said = capsys.readouterr().out
    assert "star (valid at every look), where scenarios run until the interval is 30 points wide, at most 50" in said
    assert "Clopper" not in said and ", stopped" in said
    compared = foretell.compare("a")
    assert compared.pairs[0].anytime and compared.pairs[0].test == "betting"
    assert not isinstance(group.compared, str)
    assert group.compared.pairs[0].p_value == compared.pairs[0].p_value
    foretell.report("a", out="report.html")
    page = Path("report.html").read_text()
    assert "at most 50 scenarios" in page and "width 0.3" in page
    provenance = json.loads(Path("a/provenance.json").read_text())
    assert provenance["until"] == {"width": 0.3, "max": 50, "every": 10, "confidence": 0.95}


def test_methods_for_a_fixed_number_are_refused() -> None:
    foretell.run({**STUDY, "name": "b", "until": None, "scenarios": {"count": 60, "seed": 7}}, out="fixed", workers=0)
    with pytest.raises(UsageError, match="clopper_pearson needs a number of trials fixed in advance"):
        foretell.bound("a", policy="seek", stand_in=True, method="clopper_pearson")
    with pytest.raises(UsageError, match="horizon: 40 was given, and the study in a fixed 50"):
        foretell.bound("a", policy="seek", stand_in=True, horizon=40)
    with pytest.raises(UsageError, match="mcnemar needs a number of trials fixed in advance"):
        foretell.compare("a", test="mcnemar")
    with pytest.raises(UsageError, match="a stopped by `until`, so how many scenarios were simulated depends"):
        foretell.bound("fixed", "a", policy="seek", stand_in=True)


def test_what_is_spared_is_not_missing() -> None:
    whole, left = plan_table("a", spared=True), plan_table("a")
    assert len(whole) == 100 and len(left) == len(read("a"))
    tally = Tally(left, rows=read("a"))
    assert tally.planned == tally.finished == len(left)
    assert all(not row["running"] and row["planned"] == row["finished"] for row in foretell.show("a"))
    (group,) = groups(Runs.open(["a"]))
    assert group.missing == 0


def test_while_it_runs_the_interval_is_that_of_the_rule() -> None:
    foretell.run(STUDY, out="part", workers=0, limit=45)
    for row in foretell.show("part"):
        if row["n"]:
            one = foretell.bound("part", policy=row["policy"], stand_in=True).intervals[0]
            assert (row["low"], row["high"], row["method"], row["n"]) == (one.low, one.high, "star", one.n)
    assert {row["running"] for row in foretell.show("part")} == {True}


def test_trials_of_a_scenario_count_as_one_and_looks_go_by_scenarios() -> None:
    study = {**STUDY, "trials": 3, "until": {"width": 0.4, "max": 20, "every": 5}}
    foretell.run(study, out="trials", workers=0)
    shown = foretell.show("trials")
    assert all(row["finished"] % 15 == 0 for row in shown)
    assert any(row["stopped"] for row in shown)
    for row in shown:
        one = foretell.bound("trials", policy=row["policy"], stand_in=True).intervals[0]
        assert (row["low"], row["high"]) == (one.low, one.high) and one.n * 3 == row["n"]


def test_two_policies_stop_together_when_they_are_told_apart() -> None:
    policies = {"seek": SEEK, "weak": {"use": "fickle.py:Fickle", "share": 0.3}, "other": "fickle.py:Fickle"}
    study = {**STUDY, "policies": policies, "until": {"decided": ["weak", "seek"], "max": 60}}
    foretell.run(study, out="pair", workers=0)
    counts = ran("pair")
    assert counts["seek"] == counts["weak"] < 60 == counts["other"]
    shown = {row["policy"]: row for row in foretell.show("pair")}
    assert shown["other"]["method"] == "clopper_pearson" and shown["other"]["until"] is None
    assert shown["seek"]["method"] == "star"
    pair = foretell.compare("pair", policy=["weak", "seek"]).pairs[0]
    assert (pair.a, pair.verdict, pair.n_a) == ("seek", "better", counts["seek"])
    before = foretell.run({**study, "until": {**study["until"], "max": counts["seek"] - 10}}, out="sooner", workers=0)  # type: ignore[dict-item]
    assert before.spared == 0, "one look before, they were not told apart"


def test_layouts_are_taken_in_an_order_that_cannot_follow_outcomes() -> None:
    study = {**STUDY, "scenarios": {"layouts": "all"}, "until": {"width": 0.5, "max": 20}}
    foretell.run(study, out="turns", workers=0)
    units = plan_table("turns", spared=True)["unit"].to_pylist()[:20]
    foretell.run({**study, "until": None}, out="listed", workers=0)
    listed = plan_table("listed")["unit"].to_pylist()[:30]
    assert units == [listed[i] for i in by_id(listed)][:20]


@pytest.mark.parametrize(
    ("until", "more", "words"),
    [
        ({"width": 1.5, "max": 9}, {}, "until.width: Input should be less than 1"),
        ({"width": 0.2, "max": 0}, {}, "until.max: Input should be greater than or equal to 1"),
        ({"max": 20}, {}, "should have either `width`"),
        ({"width": 0.2, "decided": ["a", "b"], "max": 9}, {}, "should have either `width`"),
        ({"decided": ["a", "a"], "max": 9}, {}, "not 'a' twice"),
        ({"width": 0.2}, {}, "`max` is missing"),
        ({"width": 0.2, "max": 20}, {"scenarios": 30}, "`max` is 20, and `scenarios.count` is 30: give one of the two"),
        ({"widht": 0.2, "max": 20}, {}, "until.widht is not a field; did you mean 'width'"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(until: dict[str, Any], more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_study({**STUDY, **more, "until": until})


def test_a_rule_that_does_not_fit_its_study_is_refused() -> None:
    with pytest.raises(UsageError, match="decided: 'seak' is no policy of this study; did you mean 'seek'"):
        foretell.run({**STUDY, "until": {"decided": ["seak", "fickle"], "max": 9}}, out="never")
    with pytest.raises(UsageError, match="`max` is 40, and there are 30 scenarios of task"):
        foretell.run({**STUDY, "scenarios": {"layouts": "all"}, "until": {"width": 0.2, "max": 40}}, out="never")
    assert load_study({**STUDY, "scenarios": 30, "until": {"width": 0.2}}).count == 30


def test_a_rule_is_fixed_before_the_first_episode() -> None:
    foretell.run(STUDY, out="begun", workers=0, limit=5)
    other = {**STUDY, "until": {"width": 0.2, "max": 50}}
    with pytest.raises(UsageError, match="holds another study"):
        foretell.run(other, out="begun", workers=0)
    for flag in ("add", "retire"):
        with pytest.raises(UsageError, match="a rule is fixed before the first episode"):
            foretell.run(other, out="begun", workers=0, **{flag: True})  # type: ignore[arg-type]
    more = {**STUDY, "policies": {**STUDY["policies"], "late": {"use": SEEK, "gain": 3.0}}}
    foretell.run(more, out="begun", workers=0, add=True)
    assert ran("begun")["late"] == 30


def test_a_dry_run_gives_the_largest_number() -> None:
    found = estimate(STUDY)
    assert found.episodes == 100 and found.text().startswith("at most 100 episodes, ")


def test_an_episode_that_the_machine_lost_is_tried_again_and_looked_at_again() -> None:
    whole = read("a")
    first = plan_table("a")["episode"][0].as_py()
    lost = next(row for row in read("a").to_pylist() if row["episode"] == first)
    row = {k: dict(v) if isinstance(v, list) else v for k, v in lost.items()}
    with Store(Path("lost")) as store:
        store.append([Episode(**{**row, "blame": "machine", "success": None, "end": "error", "wall_started": 1.0})])
        store.write_study(load_study(STUDY).to_yaml())
    foretell.run(STUDY, out="lost", workers=0)
    assert sorted(read("lost")["episode"].to_pylist()) == sorted(whole["episode"].to_pylist())
    assert foretell.show("lost") == foretell.show("a")


def test_looking_at_every_scenario_keeps_the_level() -> None:
    """Stopped at the first look at which it is narrow, of all there are."""
    rng, missed = np.random.default_rng(4), 0
    for _ in range(40):
        y = (rng.random(40) < 0.9).astype(float)
        n = stop_after(lambda n, y=y: is_narrow(y[:n], 0.3, 40, 0.1), 40, every=1)  # type: ignore[misc]
        missed += 0.9 not in interval_at(y[:n], 40, 0.1)
    assert missed <= 8, "four are expected at most"
