"""What a report says: rebuilt from the rows, small, and sensible whatever the run folder is like."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import altair
import made
import numpy as np
import pytest
from studies import Lab

import foretell
from foretell.digest import digest
from foretell.errors import UsageError
from foretell.report import contents
from foretell.report.contents import ORDER
from foretell.study.store import Store

RATES = {"good": 0.9, "fair": 0.6, "bad": 0.2}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenarios, episodes = made.rows(RATES, 40)
    broken = made.row(
        "fair", scenarios[0], False, trial=1, blame="policy", error="ZeroDivisionError: at 3", end="error"
    )
    lost = made.row("fair", scenarios[1], None, trial=1, blame="machine", error="killed", end="error")
    return made.run(tmp_path_factory.mktemp("runs") / "plain", scenarios, [*episodes, broken, lost])


@pytest.fixture(scope="module")
def said(run: Path) -> dict[str, Any]:
    return contents([run])


def block(said: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    found = next(s for s in said["sections"] if s["id"] == section)
    return next(b for b in found["blocks"] if b.get("name") == name)


def test_it_is_json_without_nan_and_in_the_order_of_the_design(said: dict[str, Any]) -> None:
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    ids = [section["id"] for section in said["sections"]]
    assert ids == [name for name in ORDER if name in ids]
    assert {"verdict", "success", "stages", "failures", "comparison", "episodes", "provenance"} <= set(ids)
    assert not {"reality", "bounds", "clocks", "perturbations"} & set(ids), "there is nothing to say there"
    assert all(section["says"].endswith((".", "?")) for section in said["sections"])
    names = [b["name"] for section in said["sections"] for b in section["blocks"] if b["kind"] != "words"]
    assert len(set(names)) == len(names)


def test_success_has_the_figures_of_show(run: Path, said: dict[str, Any]) -> None:
    shown = {row["policy"]: row for row in foretell.show(run)}
    for row in block(said, "success", "success")["rows"]:
        assert {k: row[k] for k in ("rate", "low", "high", "n", "successes")} == {
            k: shown[row["policy"]][k] for k in ("rate", "low", "high", "n", "successes")
        }
    sheet = block(said, "success", "success-table")
    fair = next(line for line in sheet["rows"] if "fair" in line)
    assert fair[sheet["columns"].index("n")] == 41, "an error of the policy counts, one of the machine does not"
    assert set(fair[sheet["columns"].index("errors")].split(", ")) == {"1 policy", "1 machine"}


def test_stages_and_failures_count_every_failed_episode_once(run: Path, said: dict[str, Any]) -> None:
    failed = sum(success is False for success in foretell.read(run)["success"].to_pylist())
    ended = block(said, "stages", "stages")["rows"]
    assert sum(row["count"] for row in ended if row["ended"] != "success") == failed
    assert sum(row["episodes"] for row in block(said, "failures", "failures")["rows"]) == failed
    for policy in RATES:
        assert math.isclose(sum(row["share"] for row in ended if row["policy"] == policy), 1.0)
    errors = block(said, "failures", "errors")
    assert {(line[0], line[3]) for line in errors["rows"]} == {("policy", 1), ("machine", 1)}


def test_charts_are_valid_specifications(said: dict[str, Any]) -> None:
    charts = [b for section in said["sections"] for b in section["blocks"] if b["kind"] == "chart"]
    assert len(charts) >= 5
    for chart in charts:
        altair.Chart.from_dict(chart["spec"])  # raises if the schema does not have it


def test_the_columns_of_episodes_are_the_rows(run: Path, said: dict[str, Any]) -> None:
    table = said["episodes"]
    rows = foretell.read(run).to_pylist()
    assert table["count"] == len(rows)
    for i, row in enumerate(rows):
        value = {name: table["names"][name][codes[i]] for name, codes in table["codes"].items()}
        assert table["episode"][i] == row["episode"]
        assert (value["policy"], value["task"], value["arm"]) == (row["policy"], row["task"], row["arm"])
        assert value["clock"] == "sync" and value["error"] == (row["error"] or "")
        assert table["numbers"]["steps"][i] == row["steps"]
        assert [table["stage_names"][s] for s in table["stages"][i][::2]] == [name for name, _ in row["stages"]]
        card = [table["lines"][line] for line in table["cards"][row["scenario"]]]
        assert card[0].startswith("lift: ")
    outcomes = [table["names"]["outcome"][code] for code in table["codes"]["outcome"]]
    assert set(outcomes) == {"success", "failure", "error: policy", "error: machine"}


def test_lists_of_one_kind_are_as_json_has_them_too() -> None:
    from foretell.report.contents import _plain

    nan = float("nan")
    assert _plain({"a": [1.5, nan, float("inf")], "b": (1, "x", None, True), "c": [np.float64(nan), np.int64(3)]}) == {
        "a": [1.5, None, None],
        "b": [1, "x", None, True],
        "c": [None, 3],
    }
    whole = [0.5, 1.5]
    assert _plain([whole, [[nan]], Path("x"), np.arange(2)]) == [[0.5, 1.5], [[None]], "x", [0, 1]]
    assert _plain(whole) is not whole, "the page's own list"


def test_provenance_says_what_reproduces(said: dict[str, Any]) -> None:
    assert "bit for bit" in said["sections"][-1]["says"]
    facts = {line[0]: line[1] for line in block(said, "provenance", "provenance-table")["rows"]}
    assert facts["study"] == "plain" and "mujoco" in facts["versions"] and "40 run" in facts["scenarios"]
    assert [run["episodes"] for run in said["runs"]] == [122]


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    run = made.run(tmp_path / "empty", [], [])
    said = contents([run])
    assert [section["id"] for section in said["sections"]] == ["provenance"]
    assert said["notes"] == ["empty has no episodes yet."] and said["episodes"]["count"] == 0


def test_a_run_in_the_middle_of_being_written(tmp_path: Path) -> None:
    _, episodes = made.rows(RATES, 4)
    store = Store(tmp_path / "half")
    store.append(episodes[:7])  # no study, no scenarios, no provenance yet
    (journal,) = (tmp_path / "half" / "journal").glob("*.jsonl")
    with journal.open("ab") as file:
        file.write(b'{"episode": "torn')
    said = contents([tmp_path / "half"])
    store.close()
    assert said["episodes"]["count"] == 7 and said["episodes"]["cards"] == {}
    assert {"success", "episodes", "provenance"} <= {section["id"] for section in said["sections"]}


def test_until_all_is_done_figures_are_running_as_show_has_them(tmp_path: Path) -> None:
    study = Lab(tmp_path).study(task="Blink", policies={"random": "random"}, record={"events": 1})
    run = foretell.run(study, out=tmp_path / "run", workers=0, limit=4).path
    said = contents([run])
    (shown,) = foretell.show(run)
    (row,) = block(said, "success", "success")["rows"]
    assert (row["low"], row["high"], row["n"]) == (shown["low"], shown["high"], shown["n"])
    sheet = block(said, "success", "success-table")
    assert sheet["rows"][0][sheet["columns"].index("done")] == "4 of 6, running"
    assert "still running" in next(s["says"] for s in said["sections"] if s["id"] == "success")
    ((key, events),) = said["episodes"]["events"].items()
    assert key in said["episodes"]["episode"] and {"look", "action"} <= set(events["kinds"])
    assert len(events["kind"]) == len(events["start"]) == len(events["stop"]) > 10


def test_a_damaged_part_is_a_note(tmp_path: Path) -> None:
    scenarios, episodes = made.rows(RATES, 4)
    run = made.run(tmp_path / "hurt", scenarios, episodes[:4])
    with Store(run) as store:
        store.append(episodes[4:])
    part = sorted((run / "episodes").glob("*.parquet"))[0]
    part.write_bytes(part.read_bytes()[:200])
    said = contents([run])
    assert any("damaged" in note for note in said["notes"])
    assert said["episodes"]["count"] == 8


def test_a_run_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    scenarios, episodes = made.rows(RATES, 2)
    run = made.run(tmp_path / "newer", scenarios, [])
    line = json.dumps({**episodes[0].to_dict(), "schema": 99})
    (run / "journal" / "0.jsonl").write_text(line + "\n")
    with pytest.raises(UsageError, match=r"schema 99.*upgrade foretell"):
        contents([run])


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run folder: there is no such folder"):
        contents([tmp_path / "none"])
    run = made.run(tmp_path / "twice", [], [])
    with pytest.raises(UsageError, match="is given twice"):
        contents([run, run])
    with pytest.raises(UsageError, match="at least one"):
        contents([])


def test_runs_of_different_protocols_are_told_apart(tmp_path: Path) -> None:
    scenarios, episodes = made.rows(RATES, 6)
    _, others = made.rows(RATES, 6, task_version=99, controller="joint", world_hash="v" * 16)
    said = contents([made.run(tmp_path / "a", scenarios, episodes), made.run(tmp_path / "b", scenarios, others)])
    (version,) = (note for note in said["notes"] if "version" in note)
    versions = {"2": "ee_delta", "99": "joint"}
    names = [f"lift#{digest([v, ''])[:6]} (controller {c})" for v, c in versions.items()]
    told = f"2 in a, called {names[0]}; 99 in b, called {names[1]}"
    assert version == f"Task lift does not have the same version in all runs ({told}): rates are not comparable."
    assert any("controller" in note for note in said["notes"])
    assert {run["name"] for run in said["runs"]} == {"a", "b"}
    _, tried = made.rows(RATES, 6, world="real", judge="person", controller="", success_rule="person", stages={})
    said = contents([tmp_path / "a", made.run(tmp_path / "c", scenarios, tried)])
    assert said["notes"] == [], "a person's trials are there to be compared"
    assert {row["n"] for row in block(said, "stages", "stages")["rows"]} == {6}, "and tell nothing of stages"


def test_a_section_that_cannot_be_made_is_a_note(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from foretell.report import stages

    def refuse(runs: object) -> None:
        raise UsageError("stages: there is no such thing here")

    monkeypatch.setattr(stages, "section", refuse)
    said = contents([run])
    assert "stages" not in [section["id"] for section in said["sections"]]
    assert said["notes"] == ["The section “stages” is missing: stages: there is no such thing here"]


def test_videos_failures_first_and_what_is_absent(tmp_path: Path) -> None:
    scenarios, _ = made.rows({}, 4)
    outcomes = [True, False, True, False]
    episodes = [
        made.row("p", scenario, solved, video=f"videos/{i} of 4.mp4")
        for i, (scenario, solved) in enumerate(zip(scenarios, outcomes, strict=True))
    ]
    run = made.run(tmp_path / "run", scenarios, episodes)
    for i in range(3):
        (run / "videos" / f"{i} of 4.mp4").write_bytes(b"\0\0\0\x18ftyp" + b"x" * 992)
    said = contents([run], place=tmp_path, embed=2500)
    first, *others = said["videos"]
    assert first == "run/videos/1%20of%204.mp4" and len(others) == 1, "the failure first, and what fits besides"
    assert said["episodes"]["absent"] == ["run/videos/3%20of%204.mp4"]
    elsewhere = contents([run], link=lambda run, path: f"/film/{run.name}/{path}")
    assert elsewhere["episodes"]["absent"] == ["/film/run/videos/3 of 4.mp4"]


def test_a_section_that_fails_becomes_a_note_and_costs_no_other(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def section(runs: Any) -> None:
        raise ZeroDivisionError("nobody thought of this")

    monkeypatch.setattr(import_module("foretell.report.stages"), "section", section)
    said = contents([run])
    (note,) = (note for note in said["notes"] if "stages" in note)
    assert note.startswith(
        "The section “stages” is missing: ZeroDivisionError: nobody thought of this (test_contents.py"
    )
    assert {"verdict", "success", "failures", "episodes"} <= {section["id"] for section in said["sections"]}


def test_a_large_run_is_shown_by_a_sample_and_says_so(
    run: Path, said: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scenarios, episodes = made.rows(RATES, 40)
    filmed = [replace(e, video="videos/x.mp4") if i in (7, 50) else e for i, e in enumerate(episodes)]
    path = made.run(tmp_path / "large", scenarios, filmed)
    whole = contents([path])
    monkeypatch.setattr(import_module("foretell.report.episodes"), "SAMPLE", 30)
    found = contents([path])
    table = found["episodes"]
    assert (table["count"], table["total"], len(table["episode"])) == (30, 120, 30)
    assert all(len(values) == 30 for values in (*table["codes"].values(), *table["numbers"].values(), table["stages"]))
    videos = [table["names"]["video"][code] for code in table["codes"]["video"]]
    assert sum(map(bool, videos)) == 2, "those with a video are there"
    policies = [table["names"]["policy"][code] for code in table["codes"]["policy"]]
    assert all(8 <= policies.count(policy) <= 12 for policy in RATES), "the others are spread evenly"
    assert set(table["cards"]) == {table["names"]["scenario"][code] for code in table["codes"]["scenario"]}
    for one, other in zip(whole["sections"], found["sections"], strict=True):
        if one["id"] == "episodes":
            assert other["says"].startswith("A sample of 30 of the 120 episodes behind the figures above")
        else:
            assert one == other, "figures are of all episodes"
    written = foretell.report(path, out=tmp_path / "page.html")
    assert (written.episodes, written.shown) == (120, 30)
    assert ": 120 episodes (30 of them listed), " in written.text()
