"""Two studies never merge unless the user says so, and an old half can be retired."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from studies import Lab, cli, refused

import foretell
from foretell.answers.show import table
from foretell.episodes.planned import read_plan
from foretell.episodes.read import read
from foretell.errors import UsageError
from foretell.study.config import Study, load_study
from foretell.study.difference import difference, identity
from foretell.study.replay import replay

BASE: dict[str, Any] = {"tasks": ["lift"], "policies": {"a": {"use": "noisy-expert", "noise": 0.4}}}


def study(**changes: Any) -> Study:
    return load_study({**BASE, **changes})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"policies": {"a": {"use": "noisy-expert", "noise": 0.5}}}, ["policies.a.noise: 0.4 there, 0.5 here"]),
        ({"policies": ["random"]}, ["policies.a: ", "policies.random: nothing there, random here"]),
        ({"scenarios": {"count": 20}}, ["scenarios: nothing there, "]),
        ({"trials": 2}, ["trials: nothing there, 2 here"]),
        ({"tasks": ["can", "lift"]}, ["tasks: can only here"]),
        ({"world": "standin"}, ["world: nothing there, standin here"]),
        ({"clocks": ["sync", {"virtual": {"latency": 0.1}}]}, ["clocks: "]),
    ],
)
def test_every_field_that_differs_is_told(changes: dict[str, Any], told: list[str]) -> None:
    found = difference(study(), study(**changes))
    assert len(found) == len(told)
    assert all(text.startswith(start) for text, start in zip(found, told, strict=True)), found


def test_what_asks_for_the_same_episodes_is_the_same_study() -> None:
    one = study(policies={"p": "/home/ann/lab/policy.py:Mine", "n": "onnx:/home/ann/a.onnx"})
    other = study(
        name="other",
        policies={"p": "/srv/policy.py:Mine", "n": "onnx:/srv/a.onnx"},
        record={"video": 3},
        policy_timeout=9,
        arms=["none"],
        scenarios={"seed": 0},
    )
    assert difference(one, other) == []


def test_another_file_of_the_same_name_is_asked_about(tmp_path: Path) -> None:
    """The run folder would take both for one policy; one that was only moved is the same."""
    lab, out = Lab(tmp_path), tmp_path / "run"
    text = (lab.folder / "policy.py").read_text()
    for name in ("a", "b"):
        (lab.folder / name).mkdir()
        (lab.folder / name / "policy.py").write_text(f"{text}\n# {name}\n")
    a, b = (lab.study(n, "Blink", 2, policies={"mine": f"{n}/policy.py:Chunked"}) for n in "ab")
    assert foretell.run(a, out=out, workers=0).ran == 2
    with pytest.raises(UsageError, match=r"policies.mine.use: \S+/a/policy.py:Chunked there, \S+/b/policy.py:Ch"):
        foretell.run(b, out=out, workers=0)
    assert foretell.run(b, out=out, workers=0, add=True).ran == 2
    for again in (a, b, a):
        assert foretell.run(again, out=out, workers=0).skipped == 2
    os.rename(lab.folder / "a", lab.folder / "moved")  # that of the last call
    moved = lab.study("moved", "Blink", 2, policies={"mine": "moved/policy.py:Chunked"})
    assert foretell.run(moved, out=out, workers=0).skipped == 2


def test_another_study_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.study("s", "Blink", 2, policies=["random"])
    cli("run", "s.yaml", "--workers", "0", cwd=tmp_path)
    before = {p: p.read_bytes() for p in (tmp_path / "runs").rglob("*") if p.is_file()}
    lab.study("s", "Blink", 3, policies=["random", "expert"])
    said = refused("run", "s.yaml", "--workers", "0", cwd=tmp_path)
    assert "runs/s holds another study:\n  policies.expert: nothing there, expert here\n" in said
    assert "\n  scenarios.count: 2 there, 3 here\n" in said
    assert all(word in said for word in ("--add", "--out", "--retire", "`name`"))
    assert {p: p.read_bytes() for p in (tmp_path / "runs").rglob("*") if p.is_file()} == before
    with pytest.raises(UsageError, match="cannot be combined"):
        foretell.run(tmp_path / "s.yaml", out=tmp_path / "runs" / "s", workers=0, add=True, retire=True)


def test_added_studies_share_a_folder_and_each_resumes(tmp_path: Path) -> None:
    lab, out = Lab(tmp_path), tmp_path / "run"
    one = lab.study("one", "Blink", 3, policies=["random"])
    two = lab.study("two", "Blink", 2, policies={"mine": {"use": "policy.py:Chunked"}})
    foretell.run(one, out=out, workers=0, limit=1)
    assert foretell.run(two, out=out, workers=0, add=True).ran == 2
    assert set(load_study(out / "study.yaml").policies) == {"random", "mine"}
    assert [(r["policy"], r["running"], r["retired"]) for r in foretell.show(out)] == [
        ("mine", False, False),
        ("random", True, False),
    ]
    assert foretell.run(one, out=out, workers=0).ran == 2  # no flag: it is there
    assert not any(r["running"] or r["retired"] for r in foretell.show(out))
    assert foretell.run(two, out=out, workers=0).skipped == 2
    assert len(json.loads((out / "provenance.json").read_text())["studies"]) == 2
    for row in read(out).to_pylist():
        assert replay(out, row["episode"]).identical


def test_run_prints_what_show_prints_alone_and_beside_another(tmp_path: Path) -> None:
    """It has counted the episodes of its own study, and reads the folder again where there is another."""
    lab, out = Lab(tmp_path), tmp_path / "run"
    lab.study("one", "Blink", 3, policies=["random"])
    lab.study("two", "Blink", 2, policies={"mine": {"use": "policy.py:Chunked"}})
    for name, *flags in (("one", "--limit", 1), ("one",), ("two", "--add", "--limit", 1)):
        said = cli("run", lab.folder / f"{name}.yaml", "--out", out, "--workers", 0, *flags, cwd=tmp_path).stdout
        assert said.startswith(cli("show", out, cwd=tmp_path).stdout), (name, flags)


def test_an_old_half_can_be_retired_and_taken_up_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab, out = Lab(tmp_path), tmp_path / "run"
    old = lab.study("old", "Blink", 4, policies=["random"])
    new = lab.study("new", "Blink", 2, policies=["expert"])
    foretell.run(old, out=out, workers=0, limit=2)
    done = foretell.run(new, out=out, workers=0, retire=True)
    assert any("2 episodes of an earlier plan will not be run" in note for note in done.notes)
    shown = {r["policy"]: r for r in foretell.show(out)}
    assert shown["random"]["retired"] and not shown["random"]["running"] and shown["random"]["n"] == 2
    assert shown["random"]["method"] == "betting"  # where it stopped was not fixed in advance
    table(list(shown.values()))
    assert "retired: 2 of 4" in capsys.readouterr().out
    assert foretell.run(old, out=out, workers=0, retire=True).ran == 2
    assert not any(r["retired"] for r in foretell.show(out))


def test_new_weights_retire_what_the_old_ones_had_left(tmp_path: Path) -> None:
    lab, out = Lab(tmp_path), tmp_path / "run"
    study = lab.study("s", "Blink", 4, policies={"mine": "policy.py:Chunked"})
    foretell.run(study, out=out, workers=0, limit=2)
    policy = lab.folder / "policy.py"
    policy.write_text(policy.read_text() + "# better\n")
    done = foretell.run(study, out=out, workers=0)  # the same study
    assert done.ran == 4
    assert sorted((r["n"], r["retired"], r["running"]) for r in foretell.show(out)) == [
        (2, True, False),
        (4, False, False),
    ]
    assert sum(bool(entry["retired"]) for entry in read_plan(out)) == 2


def test_a_folder_without_rows_takes_any_study(tmp_path: Path) -> None:
    out = tmp_path / "run"
    (out / "journal").mkdir(parents=True)
    (out / "study.yaml").write_text(study(trials=7).to_yaml())
    lab = Lab(tmp_path)
    assert foretell.run(lab.study("s", "Blink", 1, policies=["random"]), out=out, workers=0).ran == 1


def test_a_folder_of_an_older_version_is_resumed(tmp_path: Path) -> None:
    """Whatever that version called the study, it asks for the same episodes."""
    assert identity(study(arms=["none"], clocks=["sync"])) == identity(study()) == "9d9ce70e581f597f"
    whole = {**BASE, "tasks": [{"use": "lift", "time_limit": 0.1}], "scenarios": 1}
    run = foretell.run(whole, out=tmp_path, workers=0).path
    about = json.loads((run / "provenance.json").read_text())
    (run / "provenance.json").write_text(json.dumps({**about, "studies": ["0123456789abcdef"]}))
    assert foretell.run({**whole, "clocks": ["sync"]}, out=run, workers=0).skipped == 1
    with pytest.raises(UsageError, match="trials: nothing there, 2 here"):
        foretell.run({**whole, "trials": 2}, out=run, workers=0)
