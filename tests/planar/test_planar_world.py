"""The planar world: rows depend on their scenario only, θ does what it says, and clocks agree."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from foretell.checks import check
from foretell.clock import Virtual
from foretell.errors import UsageError
from foretell.planar.world import PlanarWorld
from foretell.policies.make import bind, make_policy
from foretell.rollout import Job, Outcome, run_sync, run_virtual
from foretell.scenario import Scenario
from foretell.spec import Stream
from foretell.tasks.pointnav import PointNav
from foretell.world_file import file_of, make_world

TASK = PointNav()
STOP, FORWARD, LEFT, RIGHT = np.eye(4)
CHANGES = ("latency_per_action_s", "observation_age_s", "action_age_s", "latency_per_inference_s")


@pytest.fixture(scope="module")
def legs() -> list[Scenario]:
    return list(TASK.layouts())


def made(theta: dict[str, Any] | None = None, *, slots: int = 1, **more: Any) -> PlanarWorld:
    world: PlanarWorld = make_world(
        {"name": "test", "kind": "planar", "theta": theta or {}, **more.pop("file", {})},
        TASK,
        slots=slots,
        threads=1,
        **more,
    )
    return world


def act(world: PlanarWorld, *actions: Any, ticks: int = 50) -> None:
    """The same actions in all slots, each for a second."""
    every = np.arange(world.slots, dtype=np.int32)
    for action in actions:
        world.command(every, np.tile(action, (world.slots, 1)), np.full(world.slots, ticks))
        world.advance(every, np.full(world.slots, ticks))


def start(world: PlanarWorld, scenario: Scenario, pose: tuple[float, float, float] | None = None) -> None:
    """All slots in one scenario, each with a trial of its own."""
    if pose is not None:
        scenario = scenario.model_copy(update={"start": {"locobot": pose}})
    world.reset(np.arange(world.slots, dtype=np.int32), [scenario] * world.slots, list(range(world.slots)))


def outcomes(
    policy: str, world: Any, scenarios: list[Scenario], slots: int, run: Any = run_sync, **more: Any
) -> list[Outcome]:
    built = make_world(world, TASK, slots=slots, threads=1)
    jobs = iter([Job(policy="p", scenario=s, trial=t, key=f"{i} {t}") for i, s in enumerate(scenarios) for t in (0, 1)])
    done = run(built, {"p": bind(make_policy(policy), built, "p")}, lambda: next(jobs, None), **more)
    by_key = {job.key: outcome for job, outcome in done}
    return [by_key[key] for key in sorted(by_key)]


def rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """What must be the same under any clock."""
    kept = [{k: v for k, v in vars(outcome).items() if not k.startswith("wall_")} for outcome in outcomes]
    own = ("inferences", "starvation_s", "seam_mean", "seam_max", *CHANGES)
    return [{**row, "metrics": {k: v for k, v in row["metrics"].items() if k not in own}} for row in kept]


@pytest.mark.parametrize("world", [pytest.param("planar", marks=pytest.mark.daily), "planar_standin"])
def test_it_passes_its_own_check(world: str) -> None:
    report = check("world", world, task="pointnav")
    assert report.ok, report.findings


def test_rows_do_not_depend_on_slots(legs: list[Scenario]) -> None:
    together = outcomes("lidar-planner", "planar_standin", legs[:3], slots=6)
    alone = outcomes("lidar-planner", "planar_standin", legs[:3], slots=1)
    assert rows(together) == rows(alone)
    assert together[0].metrics != together[1].metrics  # trials differ


def test_virtual_without_latency_is_sync(legs: list[Scenario]) -> None:
    sync = outcomes("bug", "planar_standin", legs[:2], slots=2)
    virtual = outcomes("bug", "planar_standin", legs[:2], slots=2, run=run_virtual, clock=Virtual(latency=0.0))
    assert rows(sync) == rows(virtual)


def test_latency_costs_time(legs: list[Scenario]) -> None:
    """Half a second of thought before each action: two thirds of the actions fit into the time."""
    prompt = outcomes("oracle", "planar", legs[:1], slots=2)
    late = outcomes("oracle", "planar", legs[:1], slots=2, run=run_virtual, clock=Virtual(latency=0.5))
    assert prompt[0].success and late[0].success
    assert late[0].sim_s == pytest.approx(1.5 * prompt[0].sim_s, abs=1.5)


def test_a_plan_is_replaced_from_the_current_tick(legs: list[Scenario]) -> None:
    world = made()
    start(world, legs[0], (2.0, 4.5, 0.0))
    act(world, FORWARD, ticks=20)  # 0.4 s at 0.25 m/s
    assert world.snapshot(0)[:3] == pytest.approx([2.1, 4.5, 0.0])
    act(world, LEFT)
    assert world.snapshot(0)[:3] == pytest.approx([2.1, 4.5, math.radians(30)])
    act(world, FORWARD, STOP)
    assert world.snapshot(0)[:2] == pytest.approx([2.1 + 0.25 * math.cos(math.pi / 6), 4.5 + 0.125])


@pytest.mark.parametrize(("controller", "degrees"), [("steps", 30.0), ("steps_10", 10.0)])
def test_turns(legs: list[Scenario], controller: str, degrees: float) -> None:
    world = made(controller=controller)
    start(world, legs[0], (2.0, 4.5, 0.0))
    act(world, RIGHT)
    assert world.snapshot(0)[2] == pytest.approx(-math.radians(degrees))
    assert world.observe(np.array([0]), {"locobot/compass": Stream((1,))})["locobot/compass"][0, 0] == pytest.approx(
        -math.radians(degrees)
    )


def test_velocity(legs: list[Scenario]) -> None:
    world = made(controller="velocity")
    start(world, legs[0], (2.0, 4.5, 0.0))
    act(world, (0.8, 0.5))
    assert world.snapshot(0)[:3] == pytest.approx([2.2, 4.5, math.radians(5)])
    assert not world.over(np.array([0]))[0]
    act(world, (0.09, -0.09))  # below 0.025 m/s and 1 degree/s: it stops
    assert world.over(np.array([0]))[0]


def test_sliding_is_a_parameter(legs: list[Scenario]) -> None:
    ends = []
    for sliding in (False, True):
        world = made({"sliding": sliding})
        start(world, legs[0], (9.75, 4.5, math.radians(60)))  # 7.5 cm are left to the wall at x = 10
        act(world, FORWARD, FORWARD, FORWARD)
        ends.append(world.snapshot(0)[:2])
        assert world.trace(0)["collisions"] == 3
    assert ends[0] == pytest.approx([9.825, 4.5 + 0.075 * math.tan(math.pi / 3)])
    assert ends[1] == pytest.approx([9.825, 4.5 + 0.75 * math.sin(math.pi / 3)])


def test_turning_never_collides(legs: list[Scenario]) -> None:
    """It shifts a turning base by up to 16 cm, and no wall lets it through."""
    world = made({"noise_multiplier": 1.0}, slots=40)
    start(world, legs[0], (9.82, 4.5, 0.0))
    act(world, *[LEFT, RIGHT] * 10)
    x = np.array([world.snapshot(slot)[0] for slot in range(40)])
    assert x.max() <= 9.825 + 1e-6 and np.ptp(x) > 0.02
    assert not any(world.trace(slot)["collisions"] for slot in range(40))


def test_noise_acts_before_walls_do(legs: list[Scenario]) -> None:
    """Noise that points into a wall is cut there, so that a base that runs along it ends on one side."""
    world = made({"noise_multiplier": 1.0}, slots=60)
    start(world, legs[0], (9.825, 3.9, math.radians(90)))
    act(world, FORWARD)
    x = np.array([world.snapshot(slot)[0] for slot in range(60)])
    assert x.max() <= 9.825 + 1e-6
    assert sum(world.trace(slot)["collisions"] > 0 for slot in range(60)) > 10


@pytest.mark.parametrize("size", [0.07, 0.40])
def test_localisation(legs: list[Scenario], size: float) -> None:
    world = made({"localisation": size}, slots=200)
    start(world, legs[0])
    streams = {"locobot/gps": Stream((2,)), "goal/polar": Stream((2,))}
    every = np.arange(200, dtype=np.int32)
    exact = world.observe(every, streams)
    assert not exact["locobot/gps"].any()  # it knows where it starts
    act(world, *[LEFT, RIGHT] * 30)
    seen = world.observe(every, streams)
    assert np.sqrt((seen["locobot/gps"] ** 2).sum(axis=1).mean()) == pytest.approx(size, rel=0.15)
    assert seen["goal/polar"].std(axis=0).min() > 0.1 * size
    assert world.trace(0)["x"] == legs[0].start["locobot"][0]  # the truth is another thing


def test_damage_opens_walls(legs: list[Scenario]) -> None:
    streams, every = {"locobot/lidar": Stream((72,))}, np.array([0])
    seen = []
    for damage in (0.0, 0.2, 0.4):
        world = made({"damage": damage})
        start(world, legs[10])
        seen.append(world.observe(every, streams)["locobot/lidar"][0])
    assert (seen[1] >= seen[0] - 1e-5).all() and (seen[2] >= seen[1] - 1e-5).all()
    assert (seen[1] > seen[0] + 0.1).sum() < (seen[2] > seen[0] + 0.1).sum()


def test_sensor_noise(legs: list[Scenario]) -> None:
    world = made({"lidar_noise": 0.05, "depth_noise": 0.01}, slots=60)
    clean = made()
    start(world, legs[0])
    start(clean, legs[0])
    streams = {"locobot/lidar": Stream((72,)), "locobot/depth_rays": Stream((64,))}
    noisy, exact = world.observe(np.arange(60), streams), clean.observe(np.array([0]), streams)
    assert (noisy["locobot/lidar"] - exact["locobot/lidar"]).std() == pytest.approx(0.05, rel=0.05)
    depth = exact["locobot/depth_rays"]
    assert ((noisy["locobot/depth_rays"] - depth) / depth**2).std() == pytest.approx(0.01, rel=0.05)
    again = world.observe(np.arange(60), streams)
    assert all((noisy[name] == again[name]).all() for name in streams)


def test_the_standin_differs_in_what_no_theta_expresses(legs: list[Scenario]) -> None:
    """Its base pulls to one side for a while: errors of neighbouring steps go together."""
    turns = []
    for physics in ({}, {"wander": 0.05}):
        file = {"physics": physics}
        world = made({"noise_multiplier": 1.0, "spread": "std"}, slots=100, file=file)
        start(world, legs[0], (2.0, 4.5, 0.0))
        headings = [np.zeros(100)]
        for _ in range(6):
            act(world, FORWARD)
            headings.append(np.array([world.snapshot(slot)[2] for slot in range(100)]))
        steps = np.diff(np.array(headings), axis=0)
        turns.append(np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairwise(steps)]))
    assert abs(turns[0]) < 0.2 and turns[1] > 0.7
    assert make_world("planar_standin", TASK, slots=1, threads=1).stands_in
    assert not getattr(make_world("planar", TASK, slots=1, threads=1), "stands_in", False)


def test_an_episode_can_be_judged_again(legs: list[Scenario]) -> None:
    world, again = made(), made()
    start(world, legs[1])
    start(again, legs[1])
    act(world, FORWARD, LEFT, FORWARD, STOP)
    again.restore(0, world.state(0), tick=200)
    one = np.array([0], dtype=np.int32)
    assert again.verdict(one)[0].metrics == world.verdict(one)[0].metrics
    assert again.over(one)[0] and (again.state(0) == world.state(0)).all()
    with pytest.raises(UsageError, match="the state has 3 numbers"):
        again.restore(0, np.zeros(3), tick=0)


@pytest.mark.parametrize(
    ("theta", "words"),
    [
        ({"noise_multiplier": -0.5}, r"theta.noise_multiplier: .*greater than or equal to 0 \(given: -0.5\)"),
        ({"damage": 1.5}, r"theta.damage: .*less than 1 \(given: 1.5\)"),
        ({"actuation": "roomba"}, r"theta.actuation: .*locobot_ilqr.*\(given: 'roomba'\)"),
        ({"slidding": True}, "theta.slidding is not a field; did you mean 'sliding'"),
    ],
)
def test_a_theta_out_of_range_is_refused(theta: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        file_of({"name": "test", "kind": "planar", "theta": theta})


def test_other_tasks_and_controllers_are_refused() -> None:
    from foretell.tasks.lift import Lift

    with pytest.raises(UsageError, match="task 'lift' does not navigate"):
        make_world("planar", Lift(), slots=1, threads=1)
    with pytest.raises(UsageError, match="'joint' does not drive a base; use steps, steps_10 or velocity"):
        made(controller="joint")


def test_a_gymnasium_environment_ends_where_the_robot_stops() -> None:
    import gymnasium

    import foretell  # noqa: F401 - registers the environment

    env = gymnasium.make("foretell/Task-v1", task="pointnav", world="planar", scenarios=list(TASK.layouts()[:1]))
    env.reset(seed=0)
    assert [env.step(action)[2] for action in (FORWARD, LEFT, STOP)] == [False, False, True]
    env.close()
