"""Recorded episodes can be judged again without physics, and come out as they did unless the rule has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from studies import cli, refused

import foretell
from foretell.errors import UsageError
from foretell.study.films import steps

RULES = """
import numpy as np

from foretell.tasks.lift import Lift


class Higher(Lift):
    def solved(self, state):
        return state.pos("cube")[:, 2] > 0.5


class Sooner(Lift):
    '''Reaching is enough.'''

    def solved(self, state):
        return np.linalg.norm(state.ee_pos("panda") - state.pos("cube"), axis=1) < 0.03


class Hasty(Lift):
    time_limit = 0.5


class Heavier(Lift):
    robots = {**Lift.robots, "second": Lift.robots["panda"].__class__("panda", (0.56, 0.0, 0.112), (0, 0, 0, 1))}
"""
POLICIES = {"expert": "expert", "shaky": {"use": "noisy-expert", "noise": 0.6}}


def study(**changes: Any) -> dict[str, Any]:
    common = {"policies": POLICIES, "scenarios": {"count": 1}, "record": {"steps": "all"}}
    return {"name": "recorded", "tasks": ["lift", "can", "square"], **common, **changes}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tasks, with factors of size, noise and clutter."""
    folder = tmp_path_factory.mktemp("judge")
    (folder / "rules.py").write_text(RULES)
    arms = ["none", "MO_Size+Distractor+Sensor_Noise+Action_Noise"]
    return foretell.run(study(arms=arms), out=folder / "run", workers=0).path


@pytest.mark.daily
def test_judged_again_without_a_change_everything_is_equal(recorded: Path) -> None:
    found = foretell.judge(recorded)
    assert (found.judged, found.left_out, found.differences) == (12, {}, [])
    table = foretell.read(recorded)
    assert {True, False} == set(table["success"].to_pylist())
    assert any(dict(e) for e in table["events"].to_pylist()) and any(dict(s) for s in table["stages"].to_pylist())
    assert "12 episodes judged again, 0 with another result" in found.text()


@pytest.mark.daily
def test_the_stand_in_slips_alike_and_latency_changes_nothing(tmp_path: Path) -> None:
    clocks = [{"virtual": {"latency": 0.1}}]
    one = study(world="standin", tasks=["lift"], trials=2, clocks=clocks)
    run = foretell.run(one, out=tmp_path / "run", workers=0).path
    found = foretell.judge(run)
    assert (found.judged, found.differences) == (4, [])


def test_a_film_goes_on_after_the_end_and_is_judged_up_to_it(recorded: Path, tmp_path: Path) -> None:
    """What a film shows after success is in its steps too."""
    run = foretell.run(study(tasks=["lift"]), out=tmp_path / "run", workers=0).path
    row = next(r for r in foretell.read(run).to_pylist() if r["success"])
    path = run / steps(row["episode"])
    table = pq.read_table(path)
    last = table.slice(len(table) - 1).to_pylist()[0]
    late = {**last, "tick": last["tick"] + 25, "judged": False}
    pq.write_table(pa.concat_tables([table, pa.Table.from_pylist([late], schema=table.schema)]), path)
    assert foretell.judge(run).differences == []


def test_a_changed_rule_shows_which_episodes_change(recorded: Path) -> None:
    found = foretell.judge(recorded, task=f"{recorded.parent / 'rules.py'}:Sooner")
    assert found.judged == 4  # those of lift
    changed = {d["episode"]: d["changes"] for d in found.differences}
    rows = {r["episode"]: r for r in foretell.read(recorded).to_pylist() if r["task"] == "lift"}
    reached = [name for name, row in rows.items() if dict(row["stages"]).get("reach")]
    assert set(changed) == set(reached)
    for rate in found.rates:
        assert rate["undecided"] == 0 and rate["successes"] >= rate["successes_then"]
    for name, changes in changed.items():
        assert not rows[name]["success"] or "success" not in changes
        assert rows[name]["success"] or changes["success"] == (False, True)
    assert "then" in found.text() and "with another result" in found.text()


def test_what_ended_by_the_old_rule_is_undecided_by_a_stricter_one(recorded: Path) -> None:
    found = foretell.judge(recorded, task=f"{recorded.parent / 'rules.py'}:Higher")
    solved = sum(r["success"] for r in foretell.read(recorded).to_pylist() if r["task"] == "lift")
    assert sum(rate["undecided"] for rate in found.rates) == solved > 0
    assert all(rate["successes"] == 0 for rate in found.rates)
    assert all(d["changes"]["success"] == (True, None) for d in found.differences if "success" in d["changes"])
    assert "undecided" in found.text() and "run the episodes again" in found.text()


def test_a_shorter_time_limit_cuts_episodes_off(recorded: Path) -> None:
    found = foretell.judge(recorded, task=f"{recorded.parent / 'rules.py'}:Hasty")
    assert all(rate["successes"] == rate["undecided"] == 0 for rate in found.rates)
    assert all(rate["n"] == rate["n_then"] for rate in found.rates)


def test_new_rows_go_into_a_new_folder_that_can_be_judged_again(recorded: Path, tmp_path: Path) -> None:
    rule = f"{recorded.parent / 'rules.py'}:Sooner"
    out = tmp_path / "sooner"
    before = foretell.read(recorded)
    found = foretell.judge(recorded, task=rule, out=out)
    assert found.out == out and foretell.read(recorded).equals(before)
    rows = foretell.read(out).to_pylist()
    assert len(rows) == 4 and not {r["episode"] for r in rows} & set(before["episode"].to_pylist())
    assert {(r["task"], r["task_version"], r["judge"]) for r in rows} == {("lift", 2, "task")}
    assert len({r["task_hash"] for r in rows}) == 1 and rows[0]["task_hash"]
    assert sum(r["success"] for r in rows) == sum(rate["successes"] for rate in found.rates)
    assert foretell.judge(out, task=rule).differences == []
    assert {entry["task"] for entry in foretell.show(out)} == {"lift"}
    with pytest.raises(UsageError, match="is not empty; give the name of a new folder"):
        foretell.judge(recorded, out=out)


def test_what_cannot_be_judged_is_refused_in_words(recorded: Path, tmp_path: Path) -> None:
    bare = foretell.run(study(tasks=["lift"], record={}, policies=["expert"]), out=tmp_path / "bare", workers=0).path
    with pytest.raises(UsageError, match=r"no episode can be judged again: 1 episode: they have no recorded steps"):
        foretell.judge(bare)
    with pytest.raises(UsageError, match="recorded in another scene"):
        foretell.judge(recorded, task=f"{recorded.parent / 'rules.py'}:Heavier")
    (tmp_path / "other.py").write_text("from foretell.tasks.can import Can\nclass Tin(Can):\n    name = 'tin'\n")
    run = foretell.run(study(tasks=["lift"], policies=["expert"]), out=tmp_path / "run", workers=0).path
    with pytest.raises(UsageError, match="'tin' cannot judge this run, whose tasks are lift: "):
        foretell.judge(run, task=f"{tmp_path / 'other.py'}:Tin")
    (path,) = (run / "steps").iterdir()
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UsageError, match="damaged"):
        foretell.judge(run)


def test_the_verb_says_the_same_as_the_function(recorded: Path) -> None:
    said = json.loads(cli("judge", recorded, "--json", cwd=recorded.parent).stdout)
    assert (said["judged"], said["differences"], said["out"]) == (12, [], None)
    text = cli("judge", recorded, "--task", "rules.py:Higher", cwd=recorded.parent).stdout
    assert "4 episodes judged again" in text
    assert "there is no" in refused("judge", recorded, "--task", "absent.py:Rule", cwd=recorded.parent)
