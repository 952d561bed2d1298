"""Where what has joints may start: within the range that its part declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.errors import UsageError
from foretell.registry import names
from foretell.scenario import Scenario
from foretell.sim.bench import Bench
from foretell.study.config import load_study
from foretell.study.plan import make_task, resolve_scenarios
from foretell.tasks.lift import Lift
from foretell.tasks.starts import check_start, startable_of
from foretell.tasks.tabletop import TabletopTask

OPEN = "google_robot_close_top_drawer"


def started(task: str, **start: tuple[float, ...]) -> Scenario:
    scenario: Scenario = make_task(task).scenario(0)
    return scenario.model_copy(update={"start": {**scenario.start, **start}})


def planned(task: str, *scenarios: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "scenarios.jsonl"
    file.write_text("\n".join(scenario.model_dump_json() for scenario in scenarios))
    resolve_scenarios(load_study({"tasks": [task], "policies": ["expert"], "scenarios": {"file": str(file)}}))


@pytest.mark.parametrize("task", [name for name in names("tasks") if isinstance(make_task(name), TabletopTask)])
def test_published_and_drawn_starts_are_within_range(task: str) -> None:
    made = make_task(task)
    known = startable_of(made)
    for scenario in [*made.layouts(), *(made.scenario(seed) for seed in range(20))]:
        check_start(scenario, known)


def test_a_world_refuses_a_start_out_of_range() -> None:
    start = (9.0, *make_task("lift").scenario(0).start["panda"][1:])
    with pytest.raises(UsageError) as refusal:
        Bench(Lift(), scenario=started("lift", panda=start))
    assert str(refusal.value) == (
        "scenario: start: panda: joint 'panda/joint1' cannot start at 9 rad: its range is -2.8973 to 2.8973 rad"
    )


def test_a_study_with_a_start_out_of_range_is_refused_when_it_is_planned(tmp_path: Path) -> None:
    far = started(OPEN, cabinet=(0.0, 0.0, 7.0))
    with pytest.raises(UsageError) as refusal:
        planned(OPEN, started(OPEN), far, tmp_path=tmp_path)
    assert f"scenario {far.id}: start: cabinet: joint 'cabinet/" in str(refusal.value)
    assert "cannot start at 7 m: its range is 0 to " in str(refusal.value)
    with pytest.raises(UsageError, match="the scene has no 'panada'; did you mean 'panda'"):
        planned("lift", started("lift", panada=(0.0,)), tmp_path=tmp_path)


def test_rounding_is_no_reason_to_refuse(tmp_path: Path) -> None:
    edge = 2.8973 + 5e-7
    start = (edge, *make_task("lift").scenario(0).start["panda"][1:])
    scenario = started("lift", panda=start)
    planned("lift", scenario, tmp_path=tmp_path)
    bench = Bench(Lift(), scenario=scenario)
    assert bench.state.joint("panda/joint1") == pytest.approx(2.8973, abs=1e-12), "the joint stays within its range"


def test_a_task_that_draws_a_start_out_of_range_is_refused_when_it_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wide.py").write_text(
        "from foretell.tasks.lift import Lift\n"
        "class Wide(Lift):\n"
        "    name = 'wide'\n"
        "    def start(self, rng):\n"
        "        return {'panda/gripper': (0.04, 0.06)}\n"
    )
    monkeypatch.chdir(tmp_path)
    study = load_study({"tasks": ["wide.py:Wide"], "policies": ["expert"], "scenarios": {"count": 1, "seed": 5}})
    scenarios, _ = resolve_scenarios(study)
    with pytest.raises(UsageError, match=r"seed 5 of 'wide': .*joint 'panda/finger2' cannot start at 0.06 m"):
        _ = scenarios["wide.py:Wide"].names
