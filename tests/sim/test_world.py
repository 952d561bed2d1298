"""The native world: rows do not depend on how they were run, bad physics stays where it happened."""

from __future__ import annotations

import numpy as np
import pytest
from rollouts import episodes, reproducible

from foretell.errors import UsageError
from foretell.policies.expert import Expert, NoisyExpert
from foretell.policies.random import Random
from foretell.sim.bench import SLOT, Bench
from foretell.sim.params import load_world
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task
from foretell.world import whole_ticks


@pytest.mark.parametrize("world", ["mujoco", pytest.param("standin", marks=pytest.mark.daily)])
def test_rows_do_not_depend_on_slots_threads_or_order(world: str) -> None:
    task = make_task("lift")
    scenarios = [task.scenario(i) for i in range(7)]
    reference = [reproducible(o) for o in episodes(task, NoisyExpert(0.2), scenarios, world=world, slots=1)]
    assert len({str(row) for row in reference}) > 1
    for slots, threads in ((3, 2), (7, 1), (16, 2)):
        again = episodes(task, NoisyExpert(0.2), scenarios, world=world, slots=slots, threads=threads)
        assert [reproducible(o) for o in again] == reference
    backwards = episodes(task, NoisyExpert(0.2), scenarios[::-1], world=world, slots=4)
    assert [reproducible(o) for o in backwards[::-1]] == reference


def test_time_can_stop_anywhere() -> None:
    task = make_task("can")
    world = MujocoWorld(task, slots=2)
    slots = np.arange(2, dtype=np.int32)
    rng = np.random.default_rng(0)
    plans = rng.uniform(-1, 1, (10, 1, 7))
    world.reset(slots, [task.scenario(0)] * 2, [0, 0])
    for action in plans:
        world.command(slots, np.repeat(action, 2, axis=0), np.array([25, 25]))
        world.advance(slots[:1], np.array([25]))
        for ticks in (1, 9, 15):
            world.advance(slots[1:], np.array([ticks]))
    seen = world.observe(slots, {"panda/joint_pos": Stream(), "can/pos": Stream()})
    for name in ("panda/joint_pos", "can/pos"):
        assert (seen[name][0] == seen[name][1]).all()


def test_diverged_physics_ends_its_own_episode_only() -> None:
    task = make_task("lift")
    scenarios = [task.scenario(i) for i in range(3)]
    clean = [reproducible(o) for o in episodes(task, Expert(), scenarios, slots=3)]

    class Saboteur(Expert):
        """Throws the second slot's cube at infinite speed, at its tenth action."""

        calls = 0
        world: MujocoWorld

        def act(self, slots, observations):
            self.calls += 1
            if self.calls == 10:
                state = self.world.state(1)
                state[-1 - self.world.action.size - 1] = np.inf  # the last velocity: action and subtask follow
                self.world.restore(1, state, 0)
            return super().act(slots, observations)

    world = MujocoWorld(task, slots=3)
    policy = Saboteur()
    policy.world = world
    policy.bind(task, world.action)
    from foretell.rollout import Job, run_sync

    jobs = iter([Job(policy="p", scenario=scenario, trial=0, key=str(i)) for i, scenario in enumerate(scenarios)])
    found = {job.key: outcome for job, outcome in run_sync(world, {"p": policy}, lambda: next(jobs, None))}
    bad = found["1"]
    assert (bad.end, bad.blame, bad.success) == ("error", "world", None)
    assert "diverged" in (bad.error or "")
    assert [reproducible(found[k]) for k in ("0", "2")] == [clean[0], clean[2]]


def test_a_slot_recovers_after_a_diverged_episode() -> None:
    bench = Bench("lift")
    bench.layout.qvel[0, 0] = np.nan
    bench.run(0.05)
    assert 0 in bench.world.faults(SLOT)
    bench.world.reset(SLOT, [bench.scenario], [0])
    bench.run(0.05)
    assert bench.world.faults(SLOT) == {}


def test_only_declared_streams_are_computed_and_unknown_ones_are_named() -> None:
    task = make_task("lift")
    world = MujocoWorld(task, slots=1)
    slot = np.array([0], dtype=np.int32)
    world.reset(slot, [task.scenario(0)], [0])
    seen = world.observe(slot, {"cube/pos": Stream()})
    assert set(seen) == {"cube/pos", "time", "instruction"}
    with pytest.raises(UsageError, match="cube/pos"):
        world.observe(slot, {"cube/poss": Stream()})


def test_observed_poses_are_the_true_ones_in_the_native_world() -> None:
    task = make_task("lift")
    world = MujocoWorld(task, slots=1)
    slot = np.array([0], dtype=np.int32)
    scenario = task.scenario(3)
    world.reset(slot, [scenario], [0])
    seen = world.observe(slot, {n: Stream() for n, f in world.features.items() if not f.image})
    assert seen["cube/pos"][0] == pytest.approx(scenario.placements["cube"].pos, abs=1e-9)
    assert seen["panda/joint_pos"][0] == pytest.approx(scenario.start["panda"])
    assert seen["panda/gripper"][0] == pytest.approx(0.08)
    assert seen["panda/joint_vel"][0] == pytest.approx(0.0)


def test_the_stand_in_differs_in_ways_theta_cannot_express() -> None:
    native, standin = load_world("mujoco"), load_world("standin")
    different = {k for k, v in standin.physics.model_dump().items() if v != native.physics.model_dump()[k]}
    assert {"timestep", "integrator", "geometry", "joint_friction", "backlash", "delay_spread"} <= different
    fitted = native.model_copy(update={"theta": standin.theta})
    task = make_task("lift")
    scenarios = [task.scenario(i) for i in range(3)]
    ends = {
        name: [o.stages.get("lift") for o in episodes(task, Expert(), scenarios, world=world, slots=3)]
        for name, world in (("standin", standin), ("fitted", fitted))
    }
    assert ends["standin"] != ends["fitted"]


def test_world_files() -> None:
    base = load_world("mujoco")
    other = load_world({"name": "soft", "theta": {"kp_scale": 0.5}})
    assert other.hash != base.hash
    assert load_world({"name": "renamed"}).hash == base.hash
    with pytest.raises(UsageError, match=r"kp_scal is not a field; did you mean 'kp_scale'"):
        load_world({"name": "typo", "theta": {"kp_scal": 0.5}})
    with pytest.raises(UsageError, match=r"theta\.kp_scale.*-1"):
        load_world({"name": "negative", "theta": {"kp_scale": -1}})
    with pytest.raises(UsageError, match="did you mean 'mujoco'"):
        load_world("mujuco")


def test_theta_reaches_physics() -> None:
    task = make_task("lift")
    scenarios = [task.scenario(i) for i in range(2)]
    nominal = [o.stages for o in episodes(task, Expert(), scenarios)]
    for theta in ({"kp_scale": 0.3}, {"kv_scale": 3.0}, {"actuation_delay": 0.06}):
        assert [o.stages for o in episodes(task, Expert(), scenarios, world={"name": "w", "theta": theta})] != nominal
    slippery = {"name": "ice", "theta": {"pad_friction": 0.02, "finger_force": 5 / 70}}
    assert not any(o.success for o in episodes(task, Expert(), scenarios, world=slippery))


def test_camera_ticks_do_not_drift() -> None:
    ticks = whole_ticks(np.arange(31), 500.0, 30.0)
    assert ticks[:4].tolist() == [0, 16, 33, 50] and ticks[30] == 500


@pytest.mark.daily
def test_random_actions_do_not_break_physics() -> None:
    for name in ("lift", "can", "square"):
        task = make_task(name)
        outcomes = episodes(task, Random(), [task.scenario(i) for i in range(4)], slots=4)
        assert all(o.blame is None for o in outcomes)


def test_diverged_physics_leaves_no_file_behind(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    test_a_slot_recovers_after_a_diverged_episode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("steps", [(7, 7, 7, 7), (1, 2, 25), (28,)])
def test_sensors_show_what_was_there_a_while_ago(steps: tuple[int, ...]) -> None:
    """10 ms are five ticks: however time was cut, a late world shows what a prompt one showed five ticks before."""
    task = make_task("lift")
    slots = np.zeros(1, dtype=np.int32)
    streams = {n: Stream() for n in ("panda/joint_pos", "panda/joint_vel", "panda/ee_pos", "panda/gripper", "cube/pos")}
    late = MujocoWorld(task, {"name": "late", "theta": {"sensor_delay": 0.01}}, slots=1)
    prompt = MujocoWorld(task, slots=1)
    action = np.array([[0.5, -0.5, -1.0, 0.2, 0.1, 0.3, 1.0]])
    for world in (late, prompt):
        world.reset(slots, [task.scenario(3)], [0])
        world.command(slots, action, np.array([25]))
    first = prompt.observe(slots, streams)
    assert all(np.allclose(late.observe(slots, streams)[n], first[n], atol=1e-9) for n in streams)
    for count in steps:
        late.advance(slots, np.array([count]))
    prompt.advance(slots, np.array([sum(steps) - 5]))
    then, now = prompt.observe(slots, streams), late.observe(slots, streams)
    for name in streams:
        assert np.allclose(now[name], then[name], atol=1e-9), name
        assert now.ticks[name][0] == sum(steps) - 5
    assert not np.allclose(now["panda/joint_pos"], first["panda/joint_pos"], atol=1e-4)


def test_a_world_file_of_kind_standin_stands_in_whatever_its_name() -> None:
    worlds = {"mujoco": "mujoco", "standin": "standin", "lab": {"name": "lab", "kind": "standin"}}
    worlds["standin-like"] = {"name": "standin-like", "kind": "mujoco"}
    made = {name: MujocoWorld(make_task("lift"), world, slots=1).stands_in for name, world in worlds.items()}
    assert made == {"mujoco": False, "standin": True, "lab": True, "standin-like": False}
