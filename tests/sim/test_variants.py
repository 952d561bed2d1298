"""Kept models: the same observations and rows as with models made anew, and no more of them than there is room for."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from rollouts import episodes, reproducible

from foretell.factors.arms import expand
from foretell.policies.expert import NoisyExpert
from foretell.scenario import Scenario
from foretell.sim import variants
from foretell.sim.bench import Bench
from foretell.sim.variants import Variants
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task

SLOT = np.zeros(1, dtype=np.int32)


def use(monkeypatch: pytest.MonkeyPatch, limit: int = 32 * 2**20) -> Variants:
    """Begin with none."""
    made = Variants(limit)
    monkeypatch.setattr(variants, "_shared", made)
    return made


def model(scenario: Scenario, world: Any = "mujoco", trial: int = 0, task: Any = None) -> mujoco.MjModel:
    """What physics runs on."""
    return Bench(task or make_task(scenario.task), scenario=scenario, world=world, trial=trial).model


@pytest.mark.parametrize("world", ["mujoco", pytest.param("standin", marks=pytest.mark.daily)])
def test_rows_are_the_same_with_and_without(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Brief(type(make_task("lift"))):  # type: ignore[misc]
        time_limit = 2.0

    task = Brief()
    under = expand(["all"], task)[0]
    scenarios = [task.scenario(0), under.on(task.scenario(0), task), under.on(task.scenario(1), task)] * 2
    none = use(monkeypatch, limit=0)
    expected = [reproducible(o) for o in episodes(task, NoisyExpert(0.2), scenarios, world=world, slots=2)]
    assert len(none) == 0
    kept = use(monkeypatch)
    for _ in range(2):  # the second time, all are there
        found = [reproducible(o) for o in episodes(task, NoisyExpert(0.2), scenarios, world=world, slots=2)]
        assert found == expected
    assert len(kept) == 3


@pytest.mark.gl
def test_a_scenario_that_comes_again_is_observed_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    task = make_task("can")
    scenario = expand(["all"], task)[0].on(task.scenario(2), task)
    seen = []
    for _ in range(2):
        world = MujocoWorld(task, slots=1)
        world.reset(SLOT, [scenario], [0])
        world.advance(SLOT, np.array([25]))
        seen.append(
            world.observe(
                SLOT, {n: Stream((64, 64, 3)) for n, f in world.features.items() if f.kind in ("rgb", "position")}
            )
        )
        models = Bench.on(world).model, Bench.on(world).drawn
    assert all(np.array_equal(seen[0][name], seen[1][name]) for name in seen[0])
    again = MujocoWorld(task, slots=1)
    again.reset(SLOT, [scenario], [1])
    again.picture(0, "front", 32, 32)
    assert (Bench.on(again).model, Bench.on(again).drawn) == models


def test_what_decides_a_model_decides_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    task = make_task("lift")
    scenario = task.scenario(0)
    first = model(scenario)
    assert model(scenario) is first and model(scenario, trial=3) is first
    assert model(scenario.model_validate_json(scenario.model_dump_json())) is first
    assert model(scenario, {"name": "renamed"}) is first
    assert model(task.scenario(1)) is not first
    heavy = model(scenario, {"name": "heavy", "theta": {"object_mass": 2.0}})
    assert heavy.body("cube").mass[0] == pytest.approx(2 * first.body("cube").mass[0])
    # where objects are put down inexactly, each trial has its own
    assert not np.array_equal(model(scenario, "standin").qpos0, model(scenario, "standin", trial=1).qpos0)
    bare = make_task("lift")
    bare.cameras = {}
    assert model(scenario, task=bare).ncam == first.ncam - len(task.cameras)
    assert model(scenario) is first


def test_no_more_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_task("lift")
    each = model(task.scenario(0)).nbuffer
    kept = use(monkeypatch, limit=5 * each)
    bench = Bench(task)
    for seed in range(20):
        bench.world.reset(SLOT, [task.scenario(seed)], [0])
        assert kept.bytes <= 5 * each and len(kept) <= 5
    assert len(kept) >= 4
    newest = bench.model
    bench.world.reset(SLOT, [task.scenario(0)], [0])  # long gone
    bench.world.reset(SLOT, [task.scenario(19)], [0])
    assert bench.model is newest
