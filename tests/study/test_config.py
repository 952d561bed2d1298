"""What a study may say, and what it is told when it says something else: the field, the value, and the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from studies import Lab, refused

import foretell
from foretell.clock import Virtual
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError
from foretell.factors import arms
from foretell.study.config import Record, Study, load_study
from foretell.study.jobs import asked_of
from foretell.study.plan import check_size, left_out, plan, resolve_scenarios
from foretell.study.session import Session

GOOD = {"name": "s", "tasks": ["lift"], "policies": {"expert": "expert"}, "scenarios": {"count": 2}}


def complaint(**changes: Any) -> str:
    """What loading says of a study that is good but for these fields."""
    with pytest.raises(UsageError) as caught:
        load_study(GOOD | changes)
    return str(caught.value)


def refusal(tmp_path: Path, **changes: Any) -> str:
    """What running says of it, before anything is written."""
    with pytest.raises(UsageError) as caught:
        foretell.run(GOOD | changes, out=tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()
    return str(caught.value)


def test_short_and_long_forms_mean_the_same() -> None:
    short = load_study({"name": "s", "tasks": "lift", "policies": "expert", "clocks": "sync", "arms": "none"})
    long = load_study(
        {
            "name": "s",
            "world": "mujoco",
            "tasks": [{"use": "lift", "controller": None}],
            "policies": {"expert": {"use": "expert", "execute": None}},
            "scenarios": {"seed": 0},
            "trials": 1,
            "arms": ["none"],
            "clocks": ["sync"],
            "record": {"video": 0},
        }
    )
    assert short == long == Study.model_validate(yaml.safe_load(long.to_yaml()))
    assert list(load_study(GOOD | {"policies": ["expert", "random"]}).policies) == ["expert", "random"]
    options = load_study(GOOD | {"policies": {"p": {"use": "noisy-expert", "execute": 1, "noise": 0.5}}}).policies["p"]
    assert (options.use, options.execute, options.options) == ("noisy-expert", 1, {"noise": 0.5})


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"trails": 3}, ["trails is not a field", "did you mean 'trials'?"]),
        ({"scenarios": {"cuont": 3}}, ["scenarios.cuont is not a field", "did you mean 'count'?"]),
        ({"record": {"videos": 3}}, ["record.videos is not a field", "did you mean 'video'?"]),
        ({"record": {"video": -1}}, ["record.video", "from 0, `none`, `few`, `failures` or `all`", "-1"]),
        ({"record": {"events": "some"}}, ["record.events", "`none` or `all`", "'some'"]),
        ({"trials": "many"}, ["trials", "valid integer", "'many'"]),
        ({"trials": 0}, ["trials", "greater than or equal to 1", "0"]),
        ({"trials": 1.5}, ["trials", "integer", "1.5"]),
        ({"tasks": 3}, ["tasks", "valid list", "3"]),
        ({"tasks": []}, ["tasks", "at least 1 item", "[]"]),
        ({"tasks": None}, ["tasks", "list", "None"]),
        ({"tasks": ["lift", "can", "lift"]}, ["tasks", "'lift' is listed twice"]),
        ({"policies": {}}, ["policies", "at least 1 item", "{}"]),
        ({"policies": 3}, ["policies", "dictionary", "3"]),
        ({"policies": None}, ["policies", "dictionary", "None"]),
        ({"policies": {1: "expert"}}, ["policies", "valid string", "1"]),
        ({"policies": {"a": {"uses": "expert"}}}, ["policies.a.use", "required", "'uses'"]),
        ({"policies": {"a": {"use": "expert", "execute": 0}}}, ["policies.a.execute", "1", "0"]),
        ({"policies": {"a": {"use": "x", "limit": float("inf")}}}, ["policies.a", "'limit' is inf", "finite"]),
        ({"policies": {"a": {"use": "x", "o": {1, 2}}}}, ["policies.a", "'o' is {1, 2}", "text"]),
        ({"scenarios": {"count": 0}}, ["scenarios.count", "greater than or equal to 1", "0"]),
        ({"scenarios": {"seed": -1}}, ["scenarios.seed", "greater than or equal to 0", "-1"]),
        ({"scenarios": {"file": "a", "like": "b"}}, ["scenarios", "either `file` or `like`"]),
        ({"arms": ["Light_Colour"]}, ["arms", "'Light_Colour' is not known", "did you mean 'Light_Color'?"]),
        ({"arms": []}, ["arms", "at least 1 item", "[]"]),
        ({"clocks": ["snyc"]}, ["clocks", "'snyc' is not a clock", "did you mean 'sync'?"]),
        ({"clocks": ["sync", "sync"]}, ["clocks", "'sync' is listed twice"]),
        ({"clocks": [{"virtual": 0.1}]}, ["clocks: virtual: 0.1 should be a mapping of options"]),
        ({"clocks": [{"sync": {"speed": 2}}]}, ["clocks", "['speed'] given, it takes none"]),
        ({"policy_timeout": 0}, ["policy_timeout", "greater than 0", "0"]),
        ({"policy_timeout": float("inf")}, ["policy_timeout", "inf"]),
        ({"world": 3}, ["world", "3"]),
        ({"name": 7}, ["name", "valid string", "7"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_field_is_named_with_its_value_and_the_fix(changes: dict[str, Any], parts: list[str]) -> None:
    message = complaint(**changes)
    for part in parts:
        assert part in message


def test_every_wrong_field_is_told_at_once() -> None:
    message = complaint(trails=3, trials="x", clocks=["snyc"])
    assert len(message.splitlines()) == 3


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../up",
        "a/b",
        "/etc",
        "-rf",
        ".hidden",
        "a\nb",
        "a\n",
        "a\0b",
        "$(x)",
        "x" * 101,
        "\u0308u",
        "C:\\x",
        "*",
    ],
)
def test_a_name_that_is_no_folder_name_is_refused(name: str) -> None:
    message = complaint(name=name)
    assert message.startswith("study: name: ") and "letters, digits" in message and repr(name) in message


@pytest.mark.parametrize("name", ["a", "9 lives", "v1.2-b_c".replace("_", "."), "x" * 100])
def test_a_name_that_is_a_folder_name_is_taken(name: str) -> None:
    assert load_study(GOOD | {"name": name}).name == name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": ["lfit"]}, "tasks: 'lfit' is not known; did you mean 'lift'?"),
        ({"tasks": ["qqq"]}, "tasks: 'qqq' is not known; known: can, google_robot_close_bottom_drawer"),
        ({"tasks": [{"use": "lift", "controller": "jont"}]}, "'jont' is not known; did you mean 'joint'?"),
        ({"tasks": ["no.such.module:Task"]}, "tasks: 'no.such.module:Task': No module named 'no'; is it installed"),
        ({"tasks": ["foretell.tasks.lift:Lfit"]}, "tasks: foretell.tasks.lift has no 'Lfit'; did you mean 'Lift'?"),
        ({"tasks": ["foretell.scenario:digest"]}, "tasks: foretell.scenario:digest is a function, it should be a"),
        ({"tasks": ["/no/such/file.py:Task"]}, "tasks: there is no file /no/such/file.py"),
        ({"world": "mujcoo"}, "world: 'mujcoo' is not known; did you mean 'mujoco'?"),
        ({"world": "none.yaml"}, "world: there is no file none.yaml"),
        ({"world": {"name": "w", "theta": {"pad_fricton": 1}}}, "theta.pad_fricton is not a field; did you mean 'pad_"),
        ({"policies": ["expertt"]}, "policies: 'expertt' is not known; did you mean 'expert'?"),
        (
            {"policies": {"a": {"use": "noisy-expert", "nosie": 1}}},
            "policies: noisy-expert: got an unexpected keyword argument 'nosie'; did you mean 'noise'?",
        ),
        ({"policies": {"a": {"use": "expert", "exceute": 1}}}, "argument 'exceute'; did you mean 'execute'?"),
        ({"policies": {"a": {"use": "noisy-expert", "noise": -1}}}, "noisy-expert: noise is -1, it must be a"),
        ({"policies": {"a": {"use": "noisy-expert", "noise": "much"}}}, "noisy-expert: noise is 'much', it"),
        ({"policies": {"a": {"use": "expert", "execute": 9}}}, "policy 'a': execute is 9, it must be between 1 and"),
        ({"policies": {"a": "foretell.scenario:Scenario"}}, "policies: foretell.scenario:Scenario: missing a required"),
        ({"policies": {"a": "foretell.tasks.lift:Lift"}}, "policy 'a': Lift has no method `act`"),
        ({"scenarios": {"file": "/no/such.jsonl"}}, "scenarios: there is no file /no/such.jsonl"),
        ({"scenarios": {"like": "/no/such"}}, "scenarios: like: /no/such is not a run folder: there is no such folder"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)  # fmt: skip
def test_a_wrong_name_is_told_before_anything_is_written(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    assert message in refusal(tmp_path, **changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax (mine.py, line 1)"),
        ("\nimport nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
        ("\n\nraise RuntimeError('not today')\n", "RuntimeError: not today ("),
        ("x = 1\n", "has no 'Mine'"),
    ],
)
def test_a_file_that_does_not_load_says_why_and_where(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    use = f"{tmp_path / 'mine.py'}:Mine"
    for changes in ({"policies": {"a": use}}, {"tasks": [use]}):
        told = refusal(tmp_path, **changes)
        assert told.startswith(f"{next(iter(changes))}: ") and str(tmp_path / "mine.py") in told and message in told


# Scenarios


def test_scenarios_by_count_are_those_of_the_seeds() -> None:
    ids = {}
    for seed, count in ((0, 4), (2, 2)):
        found, design = resolve_scenarios(load_study(GOOD | {"scenarios": {"seed": seed, "count": count}}))
        assert design == "iid"
        ids[seed] = [s.id for s in found["lift"]]
    assert len(set(ids[0])) == 4
    assert ids[0][2:] == ids[2]
    assert len(resolve_scenarios(load_study(GOOD | {"scenarios": {}}))[0]["lift"]) == 50


@pytest.mark.parametrize(
    "changes",
    [
        {"scenarios": {"count": 3_000_000_000}},
        {"trials": 10**6},
        {"scenarios": {"file": "some"}, "trials": 10**6, "policies": ["expert", "random"]},
    ],
)
def test_a_study_that_nobody_can_mean_is_asked_about(tmp_path: Path, changes: dict[str, Any]) -> None:
    """At once, and without planning it."""
    (tmp_path / "some").write_text(resolve_scenarios(load_study(GOOD))[0]["lift"][0].model_dump_json())
    (tmp_path / "big.yaml").write_text(yaml.safe_dump({**GOOD, "tasks": ["lift"], **changes}))
    for more in ([], ["--dry-run"]):
        said = refused("run", "big.yaml", *more, cwd=tmp_path)
        assert ",000,000 episodes, more than 1,000,000" in said
        assert "`scenarios: count` and `trials`, or give --large" in said
    assert not (tmp_path / "runs").exists()


def test_large_says_that_it_is_meant() -> None:
    study = load_study({**GOOD, "scenarios": {"count": 1_000_001}})
    with pytest.raises(UsageError, match=r"has [\d,]+ episodes"):
        check_size(study)
    check_size(study, large=True)
    check_size(load_study(GOOD))


def test_the_plan_is_every_combination_once() -> None:
    study = load_study(GOOD | {"tasks": ["lift", "can"], "policies": ["expert", "random"], "trials": 3})
    scenarios, _ = resolve_scenarios(study)
    planned = plan(study, scenarios)
    assert len(planned) == 2 * 2 * 2 * 3
    assert len({(p.group.task.use, p.policy, p.scenario.id, p.trial) for p in planned}) == len(planned)
    assert not any(p.video for p in planned)
    for video, count in ((1, 0), ("failures", 0), ("all", 2 * 2 * 2), ("none", 0)):
        filmed = study.model_copy(update={"record": Record(video=video)})
        assert sum(p.video for p in plan(filmed, scenarios)) == count, "else chosen when outcomes are known"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text + "{}\n", "line 3: task: Field required"),
        (lambda text: text + "not json\n", "line 3: scenario: Invalid JSON"),
        (lambda text: text.replace('"seed":0', '"seed":"x"'), "line 1: seed: Input should be a valid integer"),
        (lambda text: text + text.splitlines()[0], "line 3 repeats line 1"),
        (lambda text: text.replace('"cube":', '"ball":'), "does not place 'cube'"),
        (lambda text: text.replace('"lift"', '"can"'), "has none of task 'lift'; it has ['can']"),
        (lambda text: "", "has none of task 'lift'; it has nothing"),
        (lambda text: b"PAR1\xff\xfe", "is not text; it should hold one scenario a line, as JSON"),
    ],
)
def test_a_bad_scenario_file_is_told_by_line(tmp_path: Path, spoil: Any, message: str) -> None:
    found, _ = resolve_scenarios(load_study(GOOD))
    file = tmp_path / "s.jsonl"
    text = spoil("".join(s.model_dump_json() + "\n" for s in found["lift"]))
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    told = refusal(tmp_path, scenarios={"file": str(file)})
    assert told.startswith("scenarios: ") and str(file) in told and message in told


# Files


def test_paths_in_a_study_file_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab(tmp_path / "studies")
    (lab.folder / "mine.yaml").write_text("theta: {pad_friction: 0.9}\n")
    other = foretell.run(lab.study("other", "Blink", 2), out=lab.folder / "runs" / "other", workers=0)
    path = lab.study("here", "Blink", world="mine.yaml", scenarios={"like": "runs/other"})
    monkeypatch.chdir(tmp_path)
    done = foretell.run(path, workers=1)
    assert done.path == Path("runs/here")
    assert read_scenarios(done.path) == read_scenarios(other.path)
    assert {r["world"] for r in foretell.show(done.path)} == {"mine"}
    kept = load_study(done.path / "study.yaml")
    assert kept == load_study(path), "the study in the run folder can be run from there"
    moved = lab.study("moved", policies={"p": "gone.py:Gone"})
    with pytest.raises(UsageError, match=f"policies: there is no file {lab.folder}/gone.py"):
        foretell.run(moved, workers=0)
    (tmp_path / "local.py").write_text((lab.folder / "policy.py").read_text())
    local = lab.study("local", "Blink", 1, policies={"p": "local.py:Faulty"})
    assert foretell.run(local, workers=0).ran == 1, "one that is only in the current folder is found there"


def test_a_study_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "my study.yaml"
    path.write_text("tasks: [lift]\npolicies: [expert]\n")
    assert load_study(path).name == "my study"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("tasks: [lift\n", ["s.yaml is not valid YAML", "line 2"]),
        ("tasks: [lift]\ntasks: [can]\n", ["s.yaml is not valid YAML", "'tasks' is given twice", "line 2"]),
        ("- lift\n", ["s.yaml should be a mapping"]),
        ("", ["s.yaml should be a mapping"]),
        ("tasks: [lift]\n", ["s.yaml: policies: Field required"]),
        ("tasks: [lift]\npolicies: {a: {use: x, when: .nan}}\n", ["policies.a", "'when'", "nan"]),
        ("\x01", ["s.yaml is not valid YAML"]),
        ("tasks: [lfit]\npolicies: [expert]\n", ["tasks: 'lfit' is not known; did you mean 'lift'?"]),
        ("tasks: [lift]\npolicies: [expertt]\n", ["policies: 'expertt' is not known; did you mean 'expert'?"]),
        ("tasks: [lift]\npolicies: [expert]\nworld: standing\n", ["world: 'standing' is not known; did you mean 'st"]),
        ("tasks: [lift]\npolicies: {a: {use: random, seed: 1}}\n", ["policies: random: ", "argument 'seed'"]),
    ],
    ids=range(11),
)
def test_the_command_line_says_it_in_words(tmp_path: Path, text: str, parts: list[str]) -> None:
    (tmp_path / "s.yaml").write_text(text)
    message = refused("run", "s.yaml", "--workers", 1, cwd=tmp_path)
    for part in parts:
        assert part in message
    assert not (tmp_path / "runs").exists()


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    assert "there is no study file nope.yaml" in refused("run", "nope.yaml", cwd=tmp_path)
    with pytest.raises(UsageError, match="there is no study file"):
        load_study(tmp_path)


def test_clocks_and_arms_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the study to the session everybody has the same objects; the text is kept for the run folder only."""
    made: list[str] = []
    clock_init, arm_read = Virtual.__post_init__, arms._parsed

    def counted_clock(self: Virtual) -> None:
        made.append("clock")
        clock_init(self)

    def counted_arm(item: Any) -> arms.Arm:
        made.append("arm")
        return arm_read(item)

    monkeypatch.setattr(Virtual, "__post_init__", counted_clock)
    monkeypatch.setattr(arms, "_parsed", counted_arm)
    listed = [{"MO_Size": [0.9, 1.1]}, 2, "Light_Color"]
    study = load_study(GOOD | {"clocks": {"virtual": {"latency": 0.1}}, "arms": listed})
    check_size(study)
    episodes = plan(study, resolve_scenarios(study)[0])
    left_out(study)
    Session(**asked_of(study, episodes[0].group), slots=1, threads=1).close()
    assert sorted(made) == ["arm"] * 3 + ["clock"]
    assert episodes[0].group.clock is study.clocks[0]
    assert yaml.safe_load(study.to_yaml())["arms"] == listed
    assert load_study(yaml.safe_load(study.to_yaml())) == study
