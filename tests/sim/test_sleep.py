"""What lies still sleeps in SIMPLER's scenes, wakes when it is touched, and rows do not depend on who slept before."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from rollouts import episodes, reproducible

from foretell.policies.expert import NoisyExpert
from foretell.sim.bench import SLOT, Bench
from foretell.sim.layout import Layout
from foretell.sim.timers import stop_timers
from foretell.sim.world import MujocoWorld
from foretell.study.plan import make_task
from foretell.tasks.spoon_on_towel import SpoonOnTowel


class Brief(SpoonOnTowel):
    """Over after 4 s: the spoon sleeps, wakes under the fingers, and is carried."""

    time_limit = 4.0


def asleep(layout: Layout, slot: int, body: str) -> bool:
    model, data = layout.models[slot], layout.batch.get_data(slot)
    return bool(data.tree_asleep[model.body_treeid[model.body(body).id]] >= 0)


def test_what_lies_still_sleeps_until_it_is_moved_or_touched() -> None:
    bench = Bench("widowx_spoon_on_towel")
    assert not asleep(bench.layout, 0, "spoon")
    bench.run(0.5)
    assert asleep(bench.layout, 0, "spoon") and asleep(bench.layout, 0, "towel")
    assert not asleep(bench.layout, 0, "widowx/gripper_link")
    (x, y, z), quat = bench.state.pos("towel")[0], bench.state.quat("spoon")[0]
    bench.put("spoon", (x, y, z + 0.05), quat)
    bench.run(0.04)
    assert bench.state.pos("spoon")[0, 2] < z + 0.045  # it falls
    bench.run(1.0)
    assert bench.state.pos("spoon")[0, 2] < z + 0.03 and asleep(bench.layout, 0, "spoon")


def test_no_other_scene_sleeps() -> None:
    bench = Bench("lift")
    bench.run(0.5)
    assert not bench.model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP
    assert not asleep(bench.layout, 0, "cube")


def test_rows_do_not_depend_on_slots_threads_or_order_where_things_sleep() -> None:
    task = Brief()
    scenarios = [task.scenario(i) for i in range(3)]
    reference = [reproducible(o) for o in episodes(task, NoisyExpert(0.02), scenarios, slots=1)]
    assert len({str(row) for row in reference}) > 1
    again = episodes(task, NoisyExpert(0.02), scenarios, slots=2, threads=2)
    assert [reproducible(o) for o in again] == reference
    backwards = episodes(task, NoisyExpert(0.02), scenarios[::-1], slots=3)
    assert [reproducible(o) for o in backwards[::-1]] == reference


def test_time_can_stop_anywhere_where_things_sleep() -> None:
    task = make_task("widowx_spoon_on_towel")
    world = MujocoWorld(task, slots=2)
    slots = np.arange(2, dtype=np.int32)
    world.reset(slots, [task.scenario(0)] * 2, [0, 0])
    for _ in range(6):  # down and forwards, into what lies there
        world.command(slots, np.repeat([[0.02, 0.0, -0.05, 0.0, 0.0, 0.0, 1.0]], 2, axis=0), np.array([100, 100]))
        world.advance(slots[:1], np.array([100]))
        for ticks in (1, 9, 90):
            world.advance(slots[1:], np.array([ticks]))
    assert (world.state(0) == world.state(1)).all()


def test_a_state_is_judged_alike_whether_it_sleeps_or_was_restored() -> None:
    task = make_task("widowx_carrot_on_plate")
    world = MujocoWorld(task, slots=2)
    slots = np.arange(2, dtype=np.int32)
    world.reset(slots, [task.scenario(0)] * 2, [0, 0])
    benches = [Bench.on(world, slot) for slot in range(2)]
    layout = benches[0].layout
    at, on = layout.free["carrot"], benches[0].state.pos("plate")[0]
    layout.qpos[0, at : at + 3] = on + [0.0, 0.0, 0.03]
    world.advance(slots[:1], np.array([1000]))
    assert asleep(layout, 0, "carrot")
    world.restore(1, world.state(0), 1000)
    assert not asleep(layout, 1, "carrot")
    here, there = (task.reached(bench.state) for bench in benches)
    assert here == there and here["place"][0]
    for other in ("plate", "*", "widowx"):
        touched, restored = (bench.state.contacts("carrot", other) for bench in benches)
        assert touched == restored


def test_a_slot_forgets_who_slept_in_it() -> None:
    bench = Bench("widowx_spoon_on_towel")
    bench.run(0.3)
    first = bench.world.state(0)
    bench.run(0.5)
    bench.world.reset(SLOT, [bench.scenario], [0])
    assert not asleep(bench.layout, 0, "spoon")
    bench.run(0.3)
    assert (bench.world.state(0) == first).all()


def test_timers_stand_still() -> None:
    if not stop_timers():
        pytest.skip("MuJoCo's library cannot be reached here, so its timers run")
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    timer = data.timer[mujoco.mjtTimer.mjTIMER_STEP]
    assert timer.duration == 0.0
