"""A grid of properties: one arm for each combination of values (SIMPLER's Table X)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.factors import draw, factor, perturb
from foretell.factors.arms import CELLS, expand, looks_only, parse, severity_of
from foretell.sim.bench import Bench
from foretell.study.config import Study, load_study
from foretell.study.plan import make_task, perturb_scenarios, resolve_scenarios

GRID = {"grid": {"Object_Mass": [0.5, 1, 2, 4], "Object_Friction": [0.25, 0.5]}}
DRAWER = "google_robot_open_top_drawer"


def test_every_combination_is_an_arm_of_fixed_values() -> None:
    task = make_task("lift")
    arms = expand(["none", GRID], task)
    assert [arm.name for arm in arms[:4]] == [
        "none", "Object_Friction{0.25}+Object_Mass{0.5}", "Object_Friction{0.5}+Object_Mass{0.5}",
        "Object_Friction{0.25}+Object_Mass{1}",
    ]  # fmt: skip
    assert len(arms) == 9
    for number in range(3):
        factors = arms[-1].on(task.scenario(number), task).factors
        assert factors == {"Object_Friction": 0.5, "Object_Mass": 4.0}
    assert severity_of(arms[-1].name) is None and not looks_only(arms[-1].name)


def test_a_study_writes_its_grid_and_reads_it_again() -> None:
    study = load_study({"tasks": ["lift"], "policies": ["expert"], "scenarios": 2, "arms": ["none", GRID]})
    again = Study.model_validate(study.model_dump())
    assert [arm.cells for arm in again.arms] == [arm.cells for arm in study.arms] and "grid" in study.to_yaml()
    planned = perturb_scenarios(again, resolve_scenarios(again)[0])["lift"]
    assert len(planned) == 9 and len({under[0].base for under in planned.values()}) == 1


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ({"grid": {}}, "should map factors to lists"),
        ({"grid": {"Object_Mass": 2}}, "should map factors to lists"),
        ({"grid": {"Object_Mass": [1, 1]}}, "Object_Mass has a value twice"),
        ({"grid": {"Object_Mass": [0]}}, "should be a number from 0.01 to 100"),
        ({"grid": {"Object_Weight": [1]}}, "did you mean 'Object_Mass'|is not known"),
        (
            {"grid": {"Object_Mass": [1 + i / 100 for i in range(99)], "Object_Friction": list(range(1, 99))}},
            str(CELLS),
        ),
    ],
)
def test_what_is_no_grid_is_refused(item: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(item)


def test_a_grid_needs_a_task_that_has_all_its_factors() -> None:
    grid = parse({"grid": {"Joint_Friction": [0.5, 2]}})
    assert expand([grid], make_task("lift")) == []
    assert str(grid.applies(make_task("lift"))) == (
        "Joint_Friction does not apply to 'lift': it has no furniture with joints"
    )
    assert len(expand([grid], make_task(DRAWER))) == 2


def test_joint_friction_holds_a_drawer_back() -> None:
    """A drawer that is let go at 0.3 m/s runs out, the sooner the more friction there is."""
    task = make_task(DRAWER)
    scenario = task.scenario(0)
    ran = []
    for value in (0.25, 1.0, 4.0):
        bench = Bench(task, scenario=perturb(scenario, {"Joint_Friction": value}))
        joint = bench.model.joint("cabinet/top")
        assert bench.model.dof_frictionloss[joint.dofadr[0]] == pytest.approx(0.05 * value)
        bench.layout.qvel[0, joint.dofadr[0]] = 0.3
        bench.run(1.0)
        ran.append(float(bench.layout.qpos[0, joint.qposadr[0]]))
    assert ran[0] > ran[1] > ran[2] > 0
    drawn = [draw("Joint_Friction", task.scenario(i), task) for i in range(50)]
    assert min(drawn) > 0.25 and max(drawn) < 4 and np.std(drawn) > 0.5
    assert factor("Joint_Friction").card(2.0) == "make drawers and lids move with 2.00 times the friction"
