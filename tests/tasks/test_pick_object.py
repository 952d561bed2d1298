"""SIMPLER's google_robot_pick_object: its 14 things, how they lie, what is asked, and the expert."""

from __future__ import annotations

import numpy as np
import pytest
from rollouts import episodes

from foretell.factors import draw
from foretell.policies.expert import Expert
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task
from foretell.tasks.pick_object import ITEMS, OBJECT, PickObject
from foretell.world import slot_array

MASSES = {
    "pepsi can": 0.0204,
    "coke can": 0.0200,
    "sprite can": 0.0245,
    "fanta can": 0.0203,
    "redbull can": 0.0169,
    "blue plastic bottle": 0.0285,
    "apple": 0.2144,
    "orange": 0.1451,
    "sponge": 0.0349,
    "spoon": 0.0431,
    "carrot": 0.0547,
    "green cube": 0.0270,
    "yellow cube": 0.0270,
    "eggplant": 0.0209,
}


def test_layouts_have_every_thing_in_every_orientation() -> None:
    layouts = PickObject().layouts()
    assert [layout.instruction for layout in layouts[::3]] == [f"pick {name}" for name in MASSES]
    assert len({(p.asset, p.quat) for p in (layout.placements[OBJECT] for layout in layouts)}) == 42


def test_coke_can_starts_as_in_its_own_task() -> None:
    """Of the other things only the redbull can was recorded, standing."""
    own = {
        layout.placements["can"].quat: layout.placements["can"]
        for layout in make_task("google_robot_pick_coke_can").layouts()[12::25]
    }
    cans = [
        layout.placements[OBJECT] for layout in PickObject().layouts() if layout.placements[OBJECT].asset == "coke-can"
    ]
    for can, expected in zip(cans, own.values(), strict=True):
        assert can.pos == pytest.approx(expected.pos, abs=1e-5)
        assert abs(np.dot(can.quat, expected.quat)) == pytest.approx(1.0, abs=2e-6)


def test_things_have_their_mass_and_rest_where_they_are_put() -> None:
    task, slots = PickObject(), slot_array(range(42))
    world = MujocoWorld(task, slots=42)
    world.reset(slots, task.layouts(), [0] * 42)
    world.advance(slots, np.full(42, 513))
    for slot, layout in enumerate(task.layouts()):
        own = Bench.on(world, slot).layout
        state = Bench.on(world, slot).state
        asset = layout.placements[OBJECT].asset
        assert own.models[slot].body(OBJECT).mass[0] == pytest.approx(MASSES[ITEMS[asset].name], abs=6e-5)
        assert state.asset(OBJECT) == [asset]
        assert np.linalg.norm(state.pos(OBJECT) - state.start_pos(OBJECT)) < 1e-3, layout.instruction


def test_drawn_scenarios_and_paraphrases_name_their_thing() -> None:
    task = PickObject()
    scenarios = [task.scenario(seed) for seed in range(12)]
    assert len({scenario.instruction for scenario in scenarios}) > 5
    for scenario in scenarios:
        name = ITEMS[scenario.placements[OBJECT].asset].name
        assert scenario.instruction == f"pick {name}"
        assert name in draw("Instruction", scenario, task)


def test_expert_picks_a_few_things() -> None:
    task = PickObject()
    outcomes = episodes(task, Expert(), task.layouts()[5::9], slots=5)
    assert [o.success for o in outcomes] == [True] * 5


@pytest.mark.daily
@pytest.mark.slow
def test_expert_picks_nine_of_ten() -> None:
    task = PickObject()
    outcomes = episodes(task, Expert(), task.layouts(), slots=21)
    assert sum(bool(o.success) for o in outcomes) >= 38
