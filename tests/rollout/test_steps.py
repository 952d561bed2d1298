"""Steps hold the true state after each action, and writing them changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from rollouts import reproducible

from foretell.clock import parse
from foretell.factors import draw, perturb
from foretell.policies.expert import NoisyExpert
from foretell.policies.make import bind
from foretell.rollout import Job, Outcome, run_sync, run_virtual
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.tasks.lift import Lift


def run(steps: Path | None, clock: Any = "sync") -> tuple[MujocoWorld, Outcome]:
    task = Lift()
    task.time_limit = 3.0
    scenario = task.scenario(3)
    noise = {name: draw(name, scenario, task, 1.0) for name in ("Sensor_Noise", "Action_Noise")}
    world = MujocoWorld(task, slots=2)
    jobs = iter(
        [
            Job(policy="it", scenario=perturb(scenario, noise), trial=0, key="a", steps=steps),
            Job(policy="it", scenario=task.scenario(4), trial=0, key="b"),
        ]
    )
    bound = {"it": bind(NoisyExpert(0.3), world, "it")}
    drive = run_sync if clock == "sync" else run_virtual
    more = {} if clock == "sync" else {"clock": parse(clock)}
    outcomes = {job.key: outcome for job, outcome in drive(world, bound, lambda: next(jobs, None), **more)}
    return world, outcomes["a"]


@pytest.mark.parametrize("clock", ["sync", {"virtual": {"latency": 0.07}}], ids=["sync", "virtual"])
def test_steps_hold_every_action_and_leave_the_row_as_it_is(clock: Any, tmp_path: Path) -> None:
    path = tmp_path / "steps" / "a.parquet"
    world, outcome = run(path, clock)
    _, bare = run(None, clock)
    assert reproducible(outcome) == reproducible(bare)
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.parquet"]
    table = pq.read_table(path)
    ticks = table["tick"].to_numpy()
    assert ticks[0] == 0 and (np.diff(ticks) == 25).all() and ticks[-1] * world.tick == pytest.approx(outcome.sim_s)
    assert table["judged"].to_pylist() == [False] + [True] * (len(table) - 1)
    assert np.allclose(table["time"].to_numpy(), ticks * world.tick)
    assert {"panda/x", "cube/z", "panda/gripper", "action/0 translation"} <= set(table.column_names)
    action, state = (np.array(table[name].to_pylist()) for name in ("action", "state"))
    assert action.shape == (len(table), 7) and not action[0].any() and action[1:].any(axis=1).any()
    layout = Bench.on(world).layout
    assert state.shape[1] == layout.model.nq + layout.model.nv + 7 + 1
    disturbed = state[:, -8:-1]
    assert np.isclose(disturbed[-1, 0], table["action/0 translation"].to_pylist()[-1])
    assert not np.allclose(disturbed, action)  # Action_Noise


def test_a_state_of_another_scene_is_refused() -> None:
    from foretell.errors import UsageError

    with pytest.raises(UsageError, match="recorded in another scene"):
        Bench("lift").world.restore(0, np.zeros(5), 0)
