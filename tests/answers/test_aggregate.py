"""SIMPLER's aggregates: one scenario runs under all arms, and counts once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made
import numpy as np
import pytest
from sections import block, section_of
from studies import Lab, cli

import foretell
from foretell.errors import UsageError
from foretell.factors.arms import expand, parse
from foretell.report import perturbations
from foretell.stats import bound, clopper_pearson, mmrv, pearson
from foretell.study.config import Study, load_study
from foretell.study.plan import make_task, perturb_scenarios, resolve_scenarios
from foretell.tasks.lift import Lift
from foretell.tasks.variants import AGGREGATES, SHIFTS, VARIANTS, aggregated, members

COUNT = 24
TASK = Lift()
SCENARIOS = [TASK.scenario(i) for i in range(COUNT)]
ARMS = [arm.name for arm in expand(["aggregate"], TASK)]
Rule = Callable[[str, int], bool]


def written(path: Path, rules: dict[str, Rule], arms: list[str] = ARMS, skip: Any = (), **changes: Any) -> Path:
    """A run in which `rules` says what each policy does under an arm in a scenario."""
    under = {arm: [parse(arm).on(s, TASK) for s in SCENARIOS] for arm in arms if arm in ARMS}
    under |= {arm: [s.model_copy(update={"factors": {arm: 1}}) for s in SCENARIOS] for arm in arms if arm not in ARMS}
    rows = [
        made.row(policy, scenario, rule(arm, i), arm=arm, **changes)
        for policy, rule in rules.items()
        for arm in arms
        for i, scenario in enumerate(under[arm])
        if (policy, arm, i) not in skip
    ]
    return made.run(path, [s for each in under.values() for s in each], rows)


def solid(arm: str, i: int) -> bool:
    """The scenario decides, whatever the arm."""
    return i % 2 == 0


def shy(arm: str, i: int) -> bool:
    """One light makes it better and the other worse; no other arm matters."""
    return i < {"slightly_darker_lighting": 6, "slightly_brighter_lighting": 18}.get(arm, 12)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("aggregate") / "run", {"solid": solid, "shy": shy})


def entry(run: Path, policy: str, arm: str) -> dict[str, Any]:
    (found,) = [row for row in foretell.show(run) if (row["policy"], row["arm"]) == (policy, arm)]
    return found


def test_a_scenario_counts_once_however_many_arms_it_ran_under(run: Path) -> None:
    found = entry(run, "solid", "aggregate")
    assert (found["n"], found["rate"], len(found["arms"])) == (COUNT, 0.5, 9)
    wide = found["high"] - found["low"]
    independent = clopper_pearson(COUNT * 9 // 2, COUNT * 9)
    alone = bound(np.arange(COUNT) % 2 == 0)
    assert independent.low is not None and independent.high is not None
    assert alone.low is not None and alone.high is not None
    assert wide > 2 * (independent.high - independent.low)
    assert wide == pytest.approx(alone.high - alone.low, rel=0.2)


def test_shifts_are_paired_and_absolute_changes_do_not_cancel(run: Path) -> None:
    shifts = entry(run, "shy", "aggregate")["shifts"]
    assert list(shifts) == ["background", "lighting", "distractors", "table texture"]
    light = shifts["lighting"]
    assert (light["change"], light["absolute"]) == (0.0, pytest.approx(6 / COUNT)) and light["low"] < 0 < light["high"]
    assert shifts["background"]["absolute"] == 0.0 == shifts["background"]["change"]
    assert light["arms"] == ["slightly_darker_lighting", "slightly_brighter_lighting"]


def test_the_table_prints_the_aggregate_and_the_shifts(run: Path, tmp_path: Path) -> None:
    text = cli("show", run, cwd=tmp_path).stdout
    assert "aggregate" in text and "Change of success by shift, in points, paired by scenario" in text
    (line,) = [line for line in text.splitlines() if line.split()[1:3] == ["shy", "lighting"]]
    assert line.split()[3] == "+0.0" and "25.0" in line.split()
    section = section_of(perturbations, run)
    sheet = block(section, "aggregates")
    assert sorted(row[:4] for row in sheet.rows) == [[p, "control and variants", 9, COUNT] for p in ("shy", "solid")]
    assert {row["shift"] for row in block(section, "shifts").rows} == set(entry(run, "shy", "aggregate")["shifts"])


def test_a_run_ends_with_the_aggregate(tmp_path: Path) -> None:
    study = Lab(tmp_path).study(task="Blink", count=1, arms="aggregate", record={"video": "none"})
    done = cli("run", study, "--workers", 0, cwd=tmp_path)
    (line,) = [line for line in done.stdout.splitlines() if line.split()[2:3] == ["aggregate"]]
    assert line.split()[3:5] == ["0%", "1"] and "Change of success by shift" in done.stdout


def test_an_aggregate_needs_all_its_arms(tmp_path: Path) -> None:
    lacks = written(tmp_path / "lacks", {"solid": solid}, [a for a in ARMS if a != "slightly_darker_lighting"])
    assert not [row for row in foretell.show(lacks) if row["arm"] == "aggregate"]
    with pytest.raises(UsageError, match="arm 'aggregate' is the mean over its arms, and needs all of them"):
        foretell.predictivity(real=lacks, sim=lacks, arm="aggregate", stand_in=True)
    broken = written(tmp_path / "broken", {"solid": solid}, skip={("solid", "less_distractor", 3)})
    assert entry(broken, "solid", "aggregate")["n"] == COUNT - 1


def test_the_camera_is_reported_apart(tmp_path: Path) -> None:
    def blind(arm: str, i: int) -> bool:
        return arm != "AltGoogleCamera"

    run = written(tmp_path / "run", {"blind": blind}, [*ARMS, "AltGoogleCamera", "AltGoogleCamera2"])
    found = entry(run, "blind", "aggregate")
    assert found["rate"] == 1.0 and "AltGoogleCamera" not in found["arms"]
    assert found["shifts"]["camera pose"] | {"low": 0, "high": 0, "arms": []} == {
        "arms": [], "change": -0.5, "low": 0, "high": 0, "absolute": 0.5, "in_aggregate": False,
    }  # fmt: skip
    assert "left out of the aggregate" in cli("show", run, cwd=tmp_path).stdout


RATES = {"a": 20, "b": 14, "c": 5}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Real trials, and a simulation whose control misorders a and b, while the mean over its arms does not."""

    def sim(policy: str) -> Rule:
        clean = {"a": 10, "b": 14, "c": 5}
        return lambda arm, i: i < (clean[policy] if arm == "none" else RATES[policy])

    folder = tmp_path_factory.mktemp("pair")
    real = {p: (lambda arm, i, most=most: i < most) for p, most in RATES.items()}
    tried = written(folder / "real", real, ["none"], world="lab", world_hash="l" * 16, real=True, judge="person")
    return tried, written(folder / "sim", {p: sim(p) for p in RATES})


def test_predictivity_ranks_by_the_aggregate(pair: tuple[Path, Path], tmp_path: Path) -> None:
    real, sim = pair
    clean = foretell.predictivity(real=real, sim=sim)
    assert clean.metrics[""]["mmrv"].estimate > 0 and any("--arm aggregate" in note for note in clean.notes)
    whole = foretell.predictivity(real=real, sim=sim, arm="aggregate")
    rates = {
        "real": [most / COUNT for most in RATES.values()],
        "sim": [(8 * 20 + 10) / 9 / COUNT, 14 / COUNT, 5 / COUNT],
    }
    assert whole.scoreboards[""].sim == pytest.approx(rates["sim"])
    found = whole.to_dict()
    assert found["mmrv"]["value"] == mmrv(rates["real"], rates["sim"]) == 0.0
    assert found["pearson"]["value"] == pytest.approx(pearson(rates["real"], rates["sim"]))
    assert found["pearson"]["low"] <= found["pearson"]["value"] <= found["pearson"]["high"]


def test_every_arm_in_turn_from_one_command(pair: tuple[Path, Path], tmp_path: Path) -> None:
    real, sim = pair
    done = cli("predictivity", "--real", real, "--sim", sim, "--arm", "each", cwd=tmp_path)
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert set(ARMS) | {"aggregate"} <= set(lines) and "without perturbation" in done.stdout
    assert "--arm" not in done.stdout
    assert lines["less_distractor"].split()[1] == "0.000" != lines["none"].split()[1]
    printed = json.loads(
        cli("predictivity", "--real", real, "--sim", sim, "--arm", "each", "--json", cwd=tmp_path).stdout
    )
    assert printed["none"]["mmrv"]["value"] > printed["aggregate"]["mmrv"]["value"] == 0.0


def test_cells_of_a_grid_are_compared_with_the_tasks_that_have_them(tmp_path: Path) -> None:
    """Each grid runs on the tasks that it applies to; all cells are compared with the same real trials."""
    both = ("lift", "drawer")
    at = {task: [s.model_copy(update={"task": task}) for s in SCENARIOS] for task in both}
    cells = {"lift": ["Object_Mass{0.5}", "Object_Mass{2}"], "drawer": ["Joint_Friction{4}"]}
    real, sim = [], []
    for task, most in ((task, (18, 12, 6)) for task in both):
        for policy, solved in zip("abc", most, strict=True):
            lab = {"world": "lab", "world_hash": "l" * 16, "real": True, "judge": "person", "task": task}
            real += [made.row(policy, s, i < solved, **lab) for i, s in enumerate(at[task])]
            for arm in ("none", *cells[task]):
                got = 24 - solved if arm == "Object_Mass{2}" else solved
                under = [s if arm == "none" else s.model_copy(update={"factors": {arm: 1}}) for s in at[task]]
                sim += [made.row(policy, s, i < got, task=task, arm=arm) for i, s in enumerate(under)]
    runs = [made.run(tmp_path / name, at["lift"] + at["drawer"], rows) for name, rows in (("real", real), ("sim", sim))]
    answer = foretell.predictivity(real=runs[0], sim=runs[1], arm="each")
    assert set(answer.arms) == {"none", *cells["lift"], *cells["drawer"]}
    assert list(answer.arms["none"].metrics) == list(both)
    for arm, value in (("Object_Mass{0.5}", 1.0), ("Object_Mass{2}", -1.0), ("Joint_Friction{4}", 1.0)):
        (metrics,) = answer.arms[arm].metrics.values()
        assert metrics["pearson"].estimate == pytest.approx(value)


def test_one_word_in_a_study() -> None:
    study = load_study({"tasks": ["lift"], "policies": ["expert"], "scenarios": 2, "arms": "aggregate"})
    assert Study.model_validate(study.model_dump()).arms == study.arms and "aggregate" in study.to_yaml()
    planned = perturb_scenarios(study, resolve_scenarios(study)[0])["lift"]
    assert list(planned) == ARMS and len(ARMS) == 9
    assert len({planned[arm][0].base for arm in ARMS}) == 1 < len({planned[arm][0].id for arm in ARMS})


@pytest.mark.parametrize(
    ("task", "aggregate"),
    [
        ("google_robot_pick_coke_can", 9), ("google_robot_move_near", 8), ("google_robot_open_drawer", 8),
        ("widowx_stack_cube", 7), ("lift", 9),
    ],
)  # fmt: skip
def test_arms_of_equal_weight_depend_on_the_task(task: str, aggregate: int) -> None:
    made_task = make_task(task)
    arms = [arm.name for arm in expand(["aggregate"], made_task)]
    assert len(members("aggregate", arms)) == aggregate and members("arm_colours", arms) == ()
    extra = set(arms) - set(members("aggregate", arms))
    assert {SHIFTS[arm] for arm in extra} <= {"camera pose"}
    colours = [arm.name for arm in expand(["arm_colours"], made_task)]
    assert tuple(colours) == members("arm_colours", colours) and len(colours) == 4
    assert all(arm == "none" or arm in VARIANTS for arm in (*arms, *colours))


def test_an_aggregate_stands_alone() -> None:
    assert set(AGGREGATES) == {"aggregate", "arm_colours"} and aggregated("aggregate", TASK)[0] == "none"
    with pytest.raises(UsageError, match="SIMPLER's variants have no severity"):
        parse("aggregate@0.5")
    with pytest.raises(UsageError, match="stands alone, and takes neither a severity nor values"):
        parse("aggregate+Light_Color")
