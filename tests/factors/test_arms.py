"""Arms, as a study writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import foretell
from foretell.errors import UsageError
from foretell.factors.arms import COLOSSEUM, COMPOUND, FOURTEEN, expand, parse, severity_of
from foretell.registry import names
from foretell.study.config import load_study
from foretell.study.plan import left_out, make_task, plan, resolve_scenarios


def study(arms: Any, **more: Any) -> Any:
    base = {"name": "s", "tasks": ["lift"], "policies": ["expert"], "scenarios": {"count": 2}}
    return load_study({**base, "arms": arms, **more})


def planned(arms: Any, **more: Any) -> list[Any]:
    made = study(arms, **more)
    return plan(made, resolve_scenarios(made)[0])


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("none", "none"),
        ("Light_Color", "Light_Color"),
        ("Light_Color+Distractor", "Light_Color+Distractor"),
        ("MO_Size@0.5", "MO_Size@0.5"),
        ({"MO_Size": [0.9, 1.1]}, "MO_Size[0.9,1.1]"),
        ({"MO_Size": [0.9, 1.0, 1.1]}, "MO_Size{0.9,1.0,1.1}"),
        ({"MO_Size": 1.1}, "MO_Size{1.1}"),
        ({"MO_Color": ["red", "blue"], "Object_Mass": {"severity": 0.5}}, "MO_Color{red,blue}+Object_Mass@0.5"),
        ({"use": "MO_Size", "severity": 0.5}, "MO_Size@0.5"),
        ({"use": "MO_Size", "values": [0.9, 1.1]}, "MO_Size{0.9,1.1}"),
        ({"use": "MO_Size+Light_Color", "severity": 0.25}, "MO_Size@0.25+Light_Color@0.25"),
        ({"use": "all", "severity": 0.5}, "all@0.5"),
        ({"Object_Mass": 2.0, "MO_Size": 1.1}, "MO_Size{1.1}+Object_Mass{2.0}"),
        ("Distractor@0.5+Light_Color", "Light_Color+Distractor@0.5"),
        (5, "RO_Texture"),
        ("11", "Distractor"),
        ("colosseum:11@0.5", "Distractor@0.5"),
        ("11+colosseum:6@0.5", "MO_Size@0.5+Distractor"),
        ({"use": 11, "severity": 0.5}, "Distractor@0.5"),
        ({"use": "colosseum:11", "severity": 0.5}, "Distractor@0.5"),
        ({"use": 1, "severity": 0.5}, "colosseum:all@0.5"),
        ({"use": 6, "range": [0.9, 1.1]}, "MO_Size[0.9,1.1]"),
        ({6: [0.9, 1.1]}, "MO_Size[0.9,1.1]"),
        ("colosseum:11", "Distractor"),
        (0, "none"),
        (1, "colosseum:all"),
        ("workbench", "workbench"),
        ({"use": "dining_table", "severity": 0.5}, "dining_table@0.5"),
        ("study_table@0.25", "study_table@0.25"),
        ("all@0.5", "all@0.5"),
    ],
)
def test_arms_have_one_name(item: Any, name: str) -> None:
    assert parse(item).name == name


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("Light_Colour", "arm 'Light_Colour' is not known; did you mean 'Light_Color'?"),
        ("Light_Color+Distracter", "did you mean 'Distractor'?"),
        ("Light_Color+Light_Color", "Light_Color is named twice"),
        ({"use": "MO_Size", "severity": 9}, "severity 9 should be a number from 0 to 1.5"),
        ({"use": "MO_Size", "severity": "much"}, "severity 'much' should be a number"),
        ({"use": "MO_Size", "severty": 1}, "did you mean 'severity'?"),
        ({"MO_Size": [1.1, 0.9]}, "should go from low to high"),
        ({"MO_Size": ["big"]}, "'big' should be a number from 0.2 to 3"),
        ({"MO_Size": [-1, 2]}, "MO_Size: -1.0 should be a number from 0.2 to 3"),
        ({"MO_Color": [0, 1]}, "MO_Color: 0.0 is not known"),
        ({"Light_Color": 3}, "Light_Color: 3 should be a number from 0 to 2"),
        ({"MO_Color": ["redd"]}, "'redd' is not known; did you mean 'red'?"),
        ({"Table_Texture": ["wood-00", "wood-99"]}, "did you mean 'wood-0"),
        ({"Camera_Pose": [0, 1]}, "Camera_Pose takes a severity, not values"),
        ({}, "names no factor"),
        (13, "no task has any yet"),
        ("colosseum:15", "no task has any yet"),
        (18, "0 to 17"),
        (1.5, "should be a name"),
        ("work_bench", "did you mean 'workbench'?"),
        ("workbench@1.5", "severity '1.5' should be a number from 0 to 1"),
        ({"workbench": [0, 1]}, "arm 'workbench' is a set of factors: it stands alone"),
        ("workbench+Light_Color", "arm 'workbench' is a set of factors: it stands alone"),
        ("Light_Color+all", "takes a severity (`all@0.5`) but no values"),
        ({"all": 0.5}, "arm 'all' is a set of factors"),
        ({"use": "all", "range": [0, 1]}, "arm 'all' is a set of factors"),
        ({"use": 1, "values": [1]}, "arm 'colosseum:all' is a set of factors"),
        ("none@0.5", "arm 'none' is the clean control: it stands alone, with no severity and no values"),
        ("none+MO_Size", "arm 'none' is the clean control"),
        ({"use": "none", "severity": 0.5}, "arm 'none' is the clean control"),
        ({"use": 0, "severity": 1}, "arm 'none' is the clean control"),
        ({"none": 1}, "arm 'none' is the clean control"),
        ({"use": "MO_Size@0.5", "severity": 0.25}, "its severity is given twice, 0.5 and 0.25"),
        ({"use": "all@0.5", "severity": 0.25}, "its severity is given twice"),
        ({"use": "MO_Size@0.5+Light_Color", "severity": 0.25}, "its severity is given twice"),
        ({"use": "MO_Size", "severity": None}, "severity None should be a number"),
        ({"use": "MO_Size", "severity": 0.5, "range": [0.9, 1.1]}, "give one of severity, range and values"),
        ({"use": ["MO_Size"]}, "should be a name or a number"),
        (-1, "0 to 17"),
    ],
)
def test_what_is_not_an_arm_is_named(item: Any, said: str) -> None:
    with pytest.raises(UsageError, match="study: arms") as error:
        study([item])
    assert said in str(error.value)


def test_the_numbers_of_the_colosseum() -> None:
    assert sorted(COLOSSEUM.values()) == sorted(FOURTEEN)
    assert set(range(18)) - set(COLOSSEUM) == {0, 1, 13, 15}


def test_each_and_all_are_what_applies() -> None:
    lift, square = make_task("lift"), make_task("square")
    each = [arm.name for arm in expand(["each"], lift)]
    assert each == [n for n in names("factors") if not n.startswith(("RO_", "Head_", "Joint_", "Fewer_"))]
    assert [arm.name for arm in expand(["Distractor", "each", "none"], square)][:2] == ["Distractor", "MO_Color"]
    (everything,) = expand([{"use": "all", "severity": 0.5}], square)
    assert [u.factor for u in everything.uses] == [
        n for n in names("factors") if not n.startswith(("Head_", "Joint_", "Fewer_"))
    ]
    assert {u.severity for u in everything.uses} == {0.5}
    assert [u.factor for u in expand([1], square)[0].uses] == list(FOURTEEN)


def test_compound_scenes_use_what_applies() -> None:
    """Two combinations are the paper's, and it has three scenes."""
    assert list(COMPOUND) == ["workbench", "dining_table", "study_table"]
    published = [{"Distractor", "MO_Size"}, {"Light_Color", "Table_Texture", "Distractor", "MO_Size"}]
    assert all(combination in map(set, COMPOUND.values()) for combination in published)
    for task in map(make_task, ("lift", "can", "square")):
        for name, factors in COMPOUND.items():
            (arm,) = expand([{"use": name, "severity": 0.5}], task)
            assert [(u.factor, u.severity) for u in arm.uses] == [(f, 0.5) for f in factors]
            assert set(arm.on(task.scenario(0), task).factors) == set(factors)

    class Plain(type(make_task("lift"))):  # type: ignore[misc]
        clutter = None

    assert [u.factor for u in expand(["study_table"], Plain())[0].uses] == ["Light_Color", "Table_Texture", "MO_Size"]

    class Bare(Plain):
        roles = {}

    assert expand(["workbench"], Bare()) == []
    assert "it declares no space for other things" in str(parse("workbench").applies(Bare()))
    assert parse("workbench").applies(Plain()) is None


def test_arms_pair_with_their_control() -> None:
    rows = planned(["none", "Light_Color", {"MO_Size": [0.9, 1.1]}, "all"])
    assert [r.arm for r in rows] == ["none"] * 2 + ["Light_Color"] * 2 + ["MO_Size[0.9,1.1]"] * 2 + ["all"] * 2
    for i in range(2):
        mine = rows[i::2]
        assert len({r.scenario.base for r in mine}) == 1 and len({r.scenario.id for r in mine}) == 4
        assert all(r.scenario.placements == mine[0].scenario.placements for r in mine)
        assert 0.9 <= mine[2].scenario.factors["MO_Size"] <= 1.1
        assert mine[1].scenario.factors["Light_Color"] == mine[3].scenario.factors["Light_Color"]
    assert {r.scenario.factors["MO_Color"]["name"] for r in planned({"MO_Color": ["red"]})} == {"red"}


def test_an_arm_runs_where_it_applies_and_nowhere_is_an_error() -> None:
    both = planned(["none", "RO_Color"], tasks=["lift", "can"])
    assert {(r.scenario.task, r.arm) for r in both} == {("lift", "none"), ("can", "none"), ("can", "RO_Color")}
    said = left_out(study(["none", "all", "RO_Color"], tasks=["lift", "can"]))
    assert said == ["arm RO_Color is left out: RO_Color does not apply to 'lift': it has no object with role RO"]
    with pytest.raises(UsageError, match="arms: RO_Color does not apply to 'lift': it has no object with role RO"):
        planned(["none", "RO_Color"])


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("none", None),
        ("MO_Size", 1.0),
        ("MO_Size@0.5", 0.5),
        ("A@0.5+B@0.5", 0.5),
        ("A@0.5+B", None),
        ("MO_Size[0.9,1.1]", None),
        ("given:Light_Color", None),
        ("all", 1.0),
        ("all@0.25", 0.25),
        ("study_table@0.25", 0.25),
    ],
)
def test_severity_by_name(name: str, severity: float | None) -> None:
    assert severity_of(name) == severity


def test_a_study_with_arms_runs_pairs_and_replays(tmp_path: Path) -> None:
    arms = ["none", "Table_Color", {"use": "Object_Mass", "severity": 0.5}]
    made = {"name": "s", "tasks": ["lift"], "policies": ["expert"], "scenarios": {"count": 2}, "arms": arms}
    foretell.run(made, out=tmp_path / "run", workers=0)
    rows = foretell.read(tmp_path / "run").to_pylist()
    of = {(r["arm"], r["base"]): r for r in rows}
    assert len(of) == 6 == len({r["episode"] for r in rows})
    outcome = ("success", "score", "steps", "sim_s", "end", "stages", "metrics")
    for base in {r["base"] for r in rows}:
        clean, tinted, heavy = (of[arm, base] for arm in ("none", "Table_Color", "Object_Mass@0.5"))
        assert (clean["severity"], tinted["severity"], heavy["severity"]) == (None, 1.0, 0.5)
        assert json.loads(clean["factors"]) == {} and list(json.loads(tinted["factors"])) == ["Table_Color"]
        assert [clean[c] for c in outcome] == [tinted[c] for c in outcome]
    heavy = next(r for r in rows if r["arm"].startswith("Object_Mass"))
    assert foretell.replay(tmp_path / "run", heavy["episode"]).differences == {}
    again = foretell.run(made, out=tmp_path / "run", workers=0)
    assert (again.ran, again.skipped) == (0, 6)
    like = load_study({**made, "scenarios": {"like": str(tmp_path / "run")}})
    scenarios, _ = resolve_scenarios(like)
    assert [s.factors for s in scenarios["lift"]] == [{}, {}]
    assert {e.scenario.id for e in plan(like, scenarios)} == {r["scenario"] for r in rows}


def test_a_file_of_perturbed_scenarios_runs_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "scenarios.jsonl"
    path.write_text("\n".join(e.scenario.model_dump_json() for e in planned(["none", "Light_Color"])))
    rows = planned(["none"], scenarios={"file": str(path)})
    assert [r.arm for r in rows] == ["none"] * 2 + ["given:Light_Color"] * 2
    with pytest.raises(UsageError, match="has factors already"):
        planned(["MO_Size"], scenarios={"file": str(path)})
    for name, said in (
        ("Light_Colour", "'Light_Colour' is not known; did you mean"),
        ("RO_Size", "no object with role RO"),
    ):
        path.write_text(make_task("lift").scenario(0).model_copy(update={"factors": {name: 1}}).model_dump_json())
        with pytest.raises(UsageError, match=said):
            planned(["none"], scenarios={"file": str(path)})


def test_a_study_file_says_its_arms_again() -> None:
    made = study(["none", "each", {"MO_Size": [0.9, 1.1]}, 5])
    import yaml

    assert load_study(yaml.safe_load(made.to_yaml())).arms == made.arms
    with pytest.raises(UsageError, match="listed twice"):
        study(["Light_Color", "colosseum:8"])
    with pytest.raises(UsageError, match="listed twice"):
        study(["Light_Color+MO_Size", "MO_Size+Light_Color"])
