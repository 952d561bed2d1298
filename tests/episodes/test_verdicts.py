"""Verdicts after the row: a correction changes what is read and nothing on disk."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import made
import pytest

import foretell
from foretell.episodes.verdicts import judges, newest, verdict_lines
from foretell.person.corrections import LastTrial, correct
from foretell.person.desk import Desk
from foretell.person.judgement import Judgement
from foretell.tasks.lift import Lift
from foretell.verdict_lines import append_verdict


@pytest.fixture
def run(tmp_path: Path) -> Path:
    task = Lift()
    scenarios = [task.scenario(i) for i in range(2)]
    episodes = [
        made.row(
            policy, scenario, success, judge="person", real=True, end=end, wall_started=1.7e9 + 100 * i, wall_s=20.0
        )
        for i, (policy, scenario, success, end) in enumerate(
            [
                ("a", scenarios[0], True, "success"),
                ("b", scenarios[0], True, "time_limit"),
                ("a", scenarios[1], False, "terminated"),
            ]
        )
    ]
    return made.run(tmp_path / "run", scenarios, episodes)


def last(scenario: int, judged: float) -> LastTrial:
    name = Lift().scenario(scenario).id
    said = Judgement(success=True)
    return LastTrial(task="lift", scenario=name, trial=0, seconds=20.0, judged=1.7e9 + judged, judgement=said)


def digests(run: Path) -> set[str]:
    return {hashlib.sha256(p.read_bytes()).hexdigest() for p in run.rglob("*.parquet")}


def test_the_newest_correction_is_read_and_the_row_stays(run: Path) -> None:
    before = digests(run)
    correct(run, Lift(), last(0, 25.0), Judgement(success=False, stages=("reach",), events=("dropped",), note="oily"))
    rows = {(r["policy"], r["trial"], r["scenario"]): r for r in foretell.read(run).to_pylist()}
    row = rows["a", 0, Lift().scenario(0).id]
    assert (row["success"], row["success_any"], row["success_end"]) == (False, False, False)
    assert row["failure_reason"] == "oily" and row["score"] == pytest.approx(1 / 3) and row["end"] == "stopped"
    assert dict(row["stages"]) == {"reach": 20.0} and dict(row["events"]) == {"dropped": 1.0}
    assert rows["b", 0, Lift().scenario(0).id]["success"] is True  # the same scenario and trial, judged later
    assert digests(run) == before
    correct(run, Lift(), last(0, 125.0), Judgement(success=False))  # that of b
    correct(run, Lift(), last(0, 25.0), Judgement(success=True))  # of a, again
    outcomes = {r["policy"]: r["success"] for r in foretell.read(run).to_pylist() if r["scenario"] == row["scenario"]}
    assert outcomes == {"a": True, "b": False}
    figures = {entry["policy"]: entry["successes"] for entry in foretell.show(run)}
    assert figures == {"a": 1, "b": 0}


def test_a_policy_that_ended_a_failure_ended_too_early(run: Path) -> None:
    correct(run, Lift(), last(1, 225.0), Judgement(success=True))
    rows = [r for r in foretell.read(run).to_pylist() if r["scenario"] == Lift().scenario(1).id]
    assert [r["success"] for r in rows] == [True] and rows[0]["failure_reason"] is None and rows[0]["score"] == 1.0
    correct(run, Lift(), last(1, 225.0), Judgement(success=False))
    (row,) = [r for r in foretell.read(run).to_pylist() if r["scenario"] == Lift().scenario(1).id]
    assert dict(row["events"]) == {"ended_early": 1.0} and row["failure_reason"] == "undone"


def test_a_correction_that_fits_no_row_is_told(run: Path) -> None:
    correct(run, Lift(), last(7, 25.0), Judgement(success=False))
    with pytest.warns(UserWarning, match="fits no row: it is ignored"):
        assert foretell.read(run)["success"].to_pylist().count(True) == 2


def test_a_torn_line_spoils_no_other(run: Path) -> None:
    append_verdict(run, "ann", {"kind": "person", "judge": "ann", "episode": "e1", "success": True})
    path = run / "verdicts/ann.jsonl"
    path.write_bytes(path.read_bytes() + b'{"kind": "pers')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(verdict_lines(run, "ann")) == 1  # it may be just being written
    append_verdict(run, "ann", {"kind": "person", "judge": "ann", "episode": "e1", "success": False})
    with pytest.warns(UserWarning, match="line 2 is no verdict"):
        assert newest(verdict_lines(run, "ann"))["e1"]["success"] is False
    assert judges(run) == ["ann"]


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "person", "success": "yes"}',
        '{"kind": "correction", "success": true, "trial": "1"}',
        '{"kind": "other"}',
        "[1]",
        '{"kind": "person", "success": true, "stages": 7}',
        '{"kind": "person", "success": true, "wall_time": NaN}',
    ],
)
def test_lines_of_others_are_checked(run: Path, line: str) -> None:
    (run / "verdicts").mkdir()
    (run / "verdicts/person.jsonl").write_text(line + "\n")
    with pytest.warns(UserWarning, match="line 1 is no verdict"):
        foretell.read(run)


def test_a_link_is_not_followed(run: Path, tmp_path: Path) -> None:
    (run / "verdicts").mkdir()
    (tmp_path / "secret").write_text("{}\n")
    (run / "verdicts/person.jsonl").symlink_to(tmp_path / "secret")
    with pytest.warns(UserWarning, match="cannot be read"):
        foretell.read(run)
    with pytest.raises(OSError, match="symbolic links"):
        append_verdict(run, "person", {})


def test_a_folder_that_is_a_link_is_not_written_through(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run / "verdicts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(foretell.UsageError, match="verdicts is a link"):
        append_verdict(run, "person", {})
    (run / "desk").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(foretell.UsageError, match="desk is a link"):
        Desk(run)


def test_one_process_at_a_time_asks_at_a_desk(run: Path) -> None:
    first = Desk(run)
    with pytest.raises(foretell.UsageError, match="another process asks a person"):
        Desk(run)
    first.close()
    Desk(run).close()
