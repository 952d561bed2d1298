"""Test sets: what is in the file, who certifies it, and how studies run it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from studies import Lab, cli, refused

import foretell
from foretell.errors import UsageError
from foretell.factors.arms import FOURTEEN
from foretell.study.config import load_study
from foretell.study.plan import make_task, plan, resolve_scenarios
from foretell.study.scenario_file import read_scenario_file
from foretell.testset.certificate import certificate, write_testset


def built(path: Path, tasks: Any = ("lift",), **options: Any) -> Any:
    return foretell.testset("build", tasks, out=path, certify=False, **{"episodes": 2, **options})


def planned(path: Path, **more: Any) -> list[Any]:
    base = {"name": "s", "tasks": ["lift"], "policies": ["expert"], "scenarios": {"file": str(path)}}
    study = load_study(base | more)
    return plan(study, resolve_scenarios(study)[0])


def test_the_standard_protocol_is_none_each_and_all_paired(tmp_path: Path) -> None:
    made = built(tmp_path / "set.jsonl", ["lift", "can"], episodes=3)
    lines = read_scenario_file(tmp_path / "set.jsonl").lines
    counts = Counter((s.task, arm) for arm, s in lines)
    assert set(counts.values()) == {3} and len(counts) == made.cells
    for name in ("lift", "can"):
        applies = [f for f in FOURTEEN if f not in made.header.left_out[name]]
        assert [arm for task, arm in counts if task == name] == ["none", *applies, "colosseum:all"]
        bases = {arm: [s.base for a, s in lines if (s.task, a) == (name, arm)] for task, arm in counts if task == name}
        assert len({tuple(b) for b in bases.values()}) == 1
    assert set(made.header.left_out["lift"]) == {"RO_Color", "RO_Texture", "RO_Size"}
    assert set(made.header.left_out["can"]) == {"RO_Size"} and made.header.left_out["can"]["RO_Size"]
    assert [s.seed for arm, s in lines if (s.task, arm) == ("lift", "none")] == [50000, 50001, 50002]
    assert built(tmp_path / "again.jsonl", ["lift", "can"], episodes=3).header.id == made.header.id
    assert built(tmp_path / "other.jsonl", ["lift", "can"], episodes=3, seed=7).header.id != made.header.id


def test_every_factor_and_several_severities(tmp_path: Path) -> None:
    found = built(tmp_path / "all.jsonl", arms=["each", "all"], severity=[0.5, 1.0], episodes=1)
    arms = [arm for arm, _ in read_scenario_file(found.path).lines]
    assert {"Instruction", "Robot_Init@0.5", "all", "all@0.5"} <= set(arms)
    assert len(arms) == 1 + 2 * 19 + 2
    for severity in ([0.0], [], [-1], 0):
        with pytest.raises(UsageError, match="0 is the clean control"):
            built(tmp_path / "bad.jsonl", severity=severity)
    with pytest.raises(UsageError, match="Light_Colour"):
        built(tmp_path / "bad.jsonl", arms=["Light_Colour"])
    with pytest.raises(UsageError, match="arms: RO_Color does not apply to 'lift'"):
        built(tmp_path / "bad.jsonl", arms=["RO_Color"])
    with pytest.raises(UsageError, match=r"required is 1\.5"):
        built(tmp_path / "bad.jsonl", required=1.5)


def test_a_study_over_a_test_set_has_its_arms(tmp_path: Path) -> None:
    path = built(tmp_path / "set.jsonl", arms=["MO_Size", "Camera_Pose@0.5"]).path
    rows = planned(path)
    assert [r.arm for r in rows] == ["none"] * 2 + ["MO_Size"] * 2 + ["Camera_Pose@0.5"] * 2
    assert [r.arm for r in planned(path, scenarios={"file": str(path), "count": 1})] == [
        "none",
        "MO_Size",
        "Camera_Pose@0.5",
    ]
    same = planned(path, arms=["none"])
    assert [r.scenario.id for r in same] == [r.scenario.id for r in rows]
    with pytest.raises(UsageError, match="is a test set and has its own arms: leave `arms` out"):
        planned(path, arms=["none", "MO_Size"])
    with pytest.raises(UsageError, match="has none of task 'can'"):
        planned(path, tasks=["can"])
    drawn = load_study(
        {"tasks": ["lift"], "policies": ["expert"], "scenarios": {"count": 2, "seed": 50000}, "arms": ["MO_Size"]}
    )
    again = plan(drawn, resolve_scenarios(drawn)[0])
    assert [e.scenario.id for e in again] == [r.scenario.id for r in rows if r.arm == "MO_Size"]
    assert (
        resolve_scenarios(load_study({"tasks": ["lift"], "policies": ["expert"], "scenarios": {"file": str(path)}}))[1]
        == "iid"
    )


def test_a_changed_file_is_not_the_test_set_it_says(tmp_path: Path) -> None:
    path = built(tmp_path / "set.jsonl", arms=["MO_Size"]).path
    lines = path.read_text().splitlines()
    line = json.loads(lines[-1])
    line["scenario"]["factors"]["MO_Size"] = 1.0
    for number, (changed, said) in enumerate(
        [
            ([*lines[:-1], json.dumps(line)], "does not match its id"),
            (lines[:-1], "does not match its id"),
            ([*lines, lines[-1]], "line 6 repeats line 5"),
            ([lines[0], '{"arm": 3, "scenario": {}}'], "line 2: a line of a test set has an arm and a scenario"),
            ([lines[0], '{"arm": "none", "scenario": {"task": "lift"}}'], "line 2: seed: Field required"),
            ([lines[0], "{"], "line 2: Expecting property name"),
            (['{"testset": {"format": 99}}'], "has format 99; this foretell reads up to 1"),
            (['{"testset": {"name": "x"}}'], "line 1: testset.id: Field required"),
        ]
    ):
        (bad := tmp_path / f"bad{number}.jsonl").write_text("\n".join(changed))
        with pytest.raises(UsageError, match=said):
            planned(bad)
    header = json.loads(lines[0])
    task = make_task("lift")
    assert header["testset"]["tasks"] == {"lift": task.version}
    with pytest.raises(UsageError, match=f"test set for version {task.version} of task 'lift', which is at 99 here"):
        read_scenario_file(path).check_task("lift", 99)


def test_the_expert_certifies_what_it_can_solve(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    told = []
    names = [f"{lab.folder / 'task.py'}:{name}" for name in ("Brief", "Blink")]
    options: dict[str, Any] = {"arms": ["Table_Color"], "episodes": 2, "workers": 0}
    made = foretell.testset(
        "build", names, out=tmp_path / "set.jsonl", progress=lambda s: told.append(s.ran), **options
    )
    assert told[-1] == 8
    of = {(c.task, c.arm): c for c in made.header.certificates}
    assert set(of) == {(task, arm) for task in ("brief", "blink") for arm in ("none", "Table_Color")}
    for arm in ("none", "Table_Color"):
        brief, blink = of["brief", arm], of["blink", arm]
        assert (brief.successes, brief.n, brief.rate, brief.certified) == (2, 2, 1.0, True)
        assert (blink.successes, blink.n, blink.certified) == (0, 2, False)
        assert blink.low == 0.0 < blink.high < 1.0
    assert [c.task for c in made.failed] == ["blink", "blink"]
    assert "certified: 2 of 4 cells" in made.text() and "not certified 0/2" in made.text()
    assert (tmp_path / "set.expert" / "testset.jsonl").is_file()
    again = foretell.testset(
        "build", names, out=tmp_path / "set.jsonl", progress=lambda s: told.append(s.ran), **options
    )
    assert told[-1] == 0 and again.header == made.header
    shown = foretell.testset("show", tmp_path / "set.jsonl")
    assert shown.header == made.header and shown.to_dict()["certified"] == 2
    with pytest.raises(UsageError, match=r"set.jsonl already exists, test set .*: give another name"):
        foretell.testset("build", names, out=tmp_path / "set.jsonl", **(options | {"episodes": 3}))
    kept = foretell.testset("build", names, out=tmp_path / "set.jsonl", certify=False, **options)
    assert kept.header.certificates == made.header.certificates
    assert "set.jsonl was certified before and is not changed" in kept.text()
    before = (tmp_path / "set.jsonl").read_bytes()
    with pytest.raises(UsageError, match=r"set.jsonl already exists, certified at a rate of 0.9, not 0.5"):
        foretell.testset("build", names, out=tmp_path / "set.jsonl", required=0.5, **options)
    assert (tmp_path / "set.jsonl").read_bytes() == before


def test_certificates_that_come_out_otherwise_are_noted(tmp_path: Path) -> None:
    task = f"{Lab(tmp_path).folder / 'task.py'}:Brief"
    path, options = tmp_path / "set.jsonl", {"arms": ["Table_Color"], "episodes": 2, "workers": 0}
    made = foretell.testset("build", [task], out=path, **options)
    lines = read_scenario_file(path).lines
    worse = tuple(certificate(c.task, c.arm, 1, 2, 0.9) for c in made.header.certificates)
    write_testset(path, made.header.model_copy(update={"certificates": worse}), lines)
    again = foretell.testset("build", [task], out=path, **options)
    assert again.header.certificates == made.header.certificates and "differ from the old ones" in again.notes[-1]


def test_the_id_travels_with_the_run(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    task = f"{lab.folder / 'task.py'}:Blink"
    made = built(tmp_path / "set.jsonl", [task], arms=["Table_Color"])
    study = {"name": "s", "tasks": [task], "policies": ["random"], "scenarios": {"file": str(made.path)}}
    foretell.run(study, out=tmp_path / "run", workers=0)
    about = json.loads((tmp_path / "run" / "provenance.json").read_text())
    assert (about["testset"], about["design"]) == (made.header.id, "iid")
    assert read_scenario_file(tmp_path / "run" / "testset.jsonl").header == made.header
    rows = foretell.read(tmp_path / "run").to_pylist()
    assert Counter(r["arm"] for r in rows) == {"none": 2, "Table_Color": 2}
    assert {r["severity"] for r in rows if r["arm"] == "Table_Color"} == {1.0}


def test_on_the_command_line(tmp_path: Path) -> None:
    said = cli("testset", "build", "lift", "-o", "set.jsonl", "--no-certify", "--episodes", 1, cwd=tmp_path)
    assert said.stdout.startswith("test set set, id ")
    assert "not certified: no headline score can be given" in said.stdout
    found = json.loads(cli("testset", "show", "set.jsonl", "--json", cwd=tmp_path).stdout)
    assert (found["cells"], found["certified"], found["protocol"]["episodes"]) == (13, 0, 1)
    more = ["--arms", "0", "11", "{MO_Size: [0.9, 1.1]}", "{use: 8, severity: 0.5}", "colosseum:6@0.5"]
    said = cli("testset", "build", "lift", "-o", "arms.jsonl", "--no-certify", "--episodes", 1, *more, cwd=tmp_path)
    arms = [arm for arm, _ in read_scenario_file(tmp_path / "arms.jsonl").lines]
    assert arms == ["none", "Distractor", "MO_Size[0.9,1.1]", "Light_Color@0.5", "MO_Size@0.5"]
    for arm, what in (("13", "no task has any yet"), ("{MO_Size: ", "is not valid YAML"), ("1.5", "should be a name")):
        assert what in refused("testset", "build", "lift", "-o", "bad.jsonl", "--arms", arm, cwd=tmp_path)
    assert "out is missing" in refused("testset", "build", "lift", cwd=tmp_path)
    assert "there is no file nothing.jsonl" in refused("testset", "show", "nothing.jsonl", cwd=tmp_path)
    (tmp_path / "plain.jsonl").write_text(make_task("lift").scenario(0).model_dump_json())
    assert "plain file of scenarios" in refused("testset", "show", "plain.jsonl", cwd=tmp_path)
