"""Checks of a task: scenarios, reach, contacts at the start, stages, and whether its expert solves it."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Floats, Ints
from foretell.checks.features import check_features
from foretell.checks.report import Report
from foretell.checks.setting import called, task_of, world_of
from foretell.checks.watched import SOLVED, Watched, watch
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.objects import Fixture, asset
from foretell.planar.world import PlanarWorld
from foretell.policies.make import bind, make_policy
from foretell.robots.kinematics import Kinematics
from foretell.rollout import Job, Outcome, run_sync
from foretell.rotation import conjugate, from_axis_angle, multiply, rotate
from foretell.scenario import Scenario
from foretell.sim.scene import Scene, signature
from foretell.sim.world import MujocoWorld
from foretell.tasks.identity import task_fingerprint, task_hash
from foretell.tasks.pointnav import PointNav
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Task
from foretell.world import World
from foretell.world_file import world_class

__all__ = ["check_task"]

SCENARIOS = 20
DEEPEST = 0.002
"""How far things may overlap at tick 0, m: MuJoCo lets a resting object sink in a little."""
REACHED = 0.01
"""Distance from the finger tips to an object's origin that counts as within reach, m."""
TILTS = (0.0, -0.5, 0.5, -1.0, 1.0)
"""By how much the hand may be tilted from how it points at home, about the y axis of the robot's base, rad. The others
are tried where the first is out of reach."""
SOLVES, OF = 9, 10


def check_task(task: str | Task | type[Task], world: Any = "mujoco") -> Report:
    """Check a task, by name, as a class or as an object, in the native simulation. A task that navigates is checked in
    the world `planar`, unless another one is named."""
    report = Report(f"task {called(task)}")
    made: list[Any] = []

    def constructs() -> tuple[bool, str]:
        nonlocal world
        made.append(task_of(task))
        travels = isinstance(made[0], PointNav)
        world = "planar" if travels and world == "mujoco" else world
        if not isinstance(made[0], TabletopTask | PointNav):
            return False, (
                f"{made[0].name!r} is no TabletopTask, and this check simulates with MuJoCo; check its world instead: "
                "`foretell check world WORLD --task TASK`."
            )
        made.append([made[0].scenario(seed) for seed in range(SCENARIOS)])
        made.append(watch(made[0]))
        needed = PlanarWorld if travels else MujocoWorld
        if not issubclass(world_class(world), needed):
            kind = "planar, and the task navigates" if travels else "MuJoCo's, and this check looks into the simulation"
            return False, f"world {called(world)} is not {kind}."
        made.append(needed(made[2].task, world, slots=SCENARIOS))
        return True, f"{made[0].name!r} was made, with scenarios of {SCENARIOS} seeds."

    if not report.look("constructs", constructs):
        return report
    asked, scenarios, watched, native = made
    travels = isinstance(asked, PointNav)
    report.look("identity", lambda: _identity(asked))
    report.look("scenarios", lambda: _scenarios(asked, scenarios))
    report.look("json", lambda: _round_trip(scenarios))
    if travels:
        report.look("routes", lambda: _routes(asked, scenarios))
    else:
        report.look("reach", lambda: _within_reach(asked, native.scene, scenarios))
        if not report.look("layout", lambda: _layouts(native.scene, scenarios)):
            return report
    report.look("features", lambda: check_features(world_of(asked, world, slots=2)))
    if not travels:
        report.look("contacts", lambda: _contacts(native.scene, scenarios))
    if not report.look("stages", lambda: _stages(watched, native, scenarios)):
        return report
    report.look("start", lambda: _unsolved(watched))
    report.look("expert", lambda: _expert(watched, world, scenarios))
    report.look("slots", lambda: (not watched.wrong, watched.wrong or f"rows agree in {watched.states} states."))
    return report


def _identity(task: Task) -> tuple[bool, str]:
    """What makes it another task: told, not judged."""
    fingerprint = task_fingerprint(task)
    version = f"version {task.version}"
    return (
        True,
        f"{version}, raised by hand." if fingerprint is None else f"{version}, {task_hash(task)} {fingerprint.text()}",
    )


def _scenarios(task: Task, scenarios: list[Scenario]) -> tuple[bool, str]:
    again = [task.scenario(seed) for seed in range(SCENARIOS)]
    changed = sum(a != b for a, b in zip(scenarios, again, strict=True))
    if changed:
        return False, f"{changed} of {SCENARIOS} seeds gave another scenario the second time."
    layouts = len({s.model_copy(update={"seed": 0}).id for s in scenarios})
    return layouts == SCENARIOS, f"{SCENARIOS} seeds gave {layouts} different layouts, the same ones twice."


def _round_trip(scenarios: list[Scenario]) -> tuple[bool, str]:
    back = [Scenario.model_validate_json(s.model_dump_json()) for s in scenarios]
    lost = sum(a != b or a.id != b.id for a, b in zip(scenarios, back, strict=True))
    return lost == 0, f"{lost} of {counted(len(back), 'scenario')} changed when written as JSON and read back."


def _routes(task: Task, scenarios: list[Scenario]) -> tuple[bool, str]:
    """Whether the robot can stand at both ends, a way leads from one to the other, and its stored length is right."""
    wrong = []
    for scenario in scenarios:
        try:
            task.check(scenario)
        except UsageError as error:
            wrong.append(f"seed {scenario.seed}: {error}")
    return not wrong, wrong[0] if wrong else f"a way leads to every goal of {counted(len(scenarios), 'scenario')}."


def _within_reach(task: Task, scene: Scene, scenarios: list[Scenario]) -> tuple[bool, str]:
    """Inverse kinematics from the home pose, the hand turned as it is there or tilted; the nearest robot counts. Of a
    fixture, only the parts that can be observed count, such as a handle."""
    spots: list[tuple[int, str, Any]] = []
    for scenario in scenarios:
        spots += [(scenario.seed, n, p.pos) for n, p in scenario.placements.items() if asset(p.asset).free]
        fixed = {n: part for n, part in scene.placed.items() if isinstance(part, Fixture) and part.sites}
        if not fixed:
            continue
        model, data = _posed(scene, scenario)
        for name in (f"{n}/{site}" for n, fixture in fixed.items() for site in fixture.sites):
            body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
            spots.append((scenario.seed, name, data.xpos[body] if body >= 0 else data.site(name).xpos))
    if not spots:
        return True, "it places nothing that a hand would reach for."
    gaps = np.full(len(spots), np.inf)
    for name, robot in scene.robots.items():
        group = next((key for key, has in robot.groups.items() if has.tool), None)
        if group is None:
            continue
        mount, arm = task.robots[name], Kinematics(robot, len(spots), group)
        home = np.asarray(robot.groups[group].home)
        base = np.broadcast_to(np.asarray(mount.quat), (len(spots), 4))
        goal = rotate(conjugate(base), np.array([pos for *_, pos in spots]) - np.asarray(mount.pos))
        for tilt in TILTS:
            missed = np.flatnonzero(gaps > REACHED).astype(np.int32)
            if len(missed):
                gaps[missed] = np.minimum(gaps[missed], _gaps(arm, missed, goal[missed], home=home, tilt=tilt))
    worst = int(np.argmax(gaps))
    beyond, total = int((gaps > REACHED).sum()), len(spots)
    seed, name, pos = spots[worst]
    where = ", ".join(f"{v:.3f}" for v in pos)
    detail = f"{beyond} of {total} placements are out of reach; the farthest, {name!r} of seed {seed} at ({where}) m, "
    return beyond == 0, detail + f"is missed by {1e3 * gaps[worst]:.1f} mm."


def _gaps(arm: Kinematics, slots: Ints, goal: Floats, *, home: Floats, tilt: float) -> Floats:
    """(n,) how far from goals (n, 3) in its base frame the hand stays, tilted from how it points at home, m. It goes
    in small steps: far goals lead astray."""
    q = np.tile(home, (len(slots), 1))
    start, facing = (pose.copy() for pose in arm.forward(slots, q))
    facing = multiply(from_axis_angle(np.array([0.0, tilt, 0.0])), facing)
    for step in range(1, 26):
        q = arm.inverse(slots, q, start + min(step / 20, 1.0) * (goal - start), facing)
    gaps: Floats = np.linalg.norm(arm.forward(slots, q)[0] - goal, axis=1)
    return gaps


def _layouts(scene: Scene, scenarios: list[Scenario]) -> tuple[bool, str]:
    """Each layout is stepped by itself. Every scenario must place the same parts. Those that also place the same assets
    must share a layout; other assets have other shapes."""
    layouts: dict[tuple[str, ...], set[Any]] = {}
    for scenario in scenarios:
        assets = tuple(placement.asset for _, placement in sorted(scenario.placements.items()))
        layouts.setdefault(assets, set()).add(signature(scene.compile(scenario, 0)))
    different = len(set.union(*layouts.values()))
    detail = f"{counted(len(scenarios), 'scenario')} compiled into {counted(different, 'layout')}"
    if len({frozenset(scenario.placements) for scenario in scenarios}) > 1:
        return False, f"{detail}: some place parts that others do not."
    if len(layouts) > 1:
        detail += f", with {len(layouts)} choices of assets"
    return all(len(signatures) == 1 for signatures in layouts.values()), f"{detail}."


def _posed(scene: Scene, scenario: Scenario) -> tuple[Any, Any]:
    """Model and data at the start of a scenario."""
    model = scene.compile(scenario, 0)
    data = mujoco.MjData(model)
    for name, values in scene.start(scenario).items():
        for joint, q in zip(scene.startable[name].joints, values, strict=True):
            data.joint(joint).qpos = q
    mujoco.mj_forward(model, data)
    return model, data


def _contacts(scene: Scene, scenarios: list[Scenario]) -> tuple[bool, str]:
    deepest, pair, bad = 0.0, "", 0
    for scenario in scenarios:
        model, data = _posed(scene, scenario)
        if data.ncon and -data.contact.dist.min() > deepest:
            worst = int(np.argmin(data.contact.dist))
            deepest = float(-data.contact.dist[worst])
            geoms = [model.geom(int(g)) for g in data.contact.geom[worst]]
            parts = [g.name or model.body(int(g.bodyid[0])).name for g in geoms]
            pair = f": {parts[0]!r} and {parts[1]!r} of seed {scenario.seed}"
        bad += bool(data.ncon) and bool(data.contact.dist.min() < -DEEPEST)
    detail = (
        f"{bad} of {counted(len(scenarios), 'scenario')} start with things inside one another by "
        f"over {1e3 * DEEPEST:g} mm; "
    )
    return bad == 0, detail + f"the deepest contact is {1e3 * deepest:.2f} mm{pair}."


def _stages(watched: Watched, world: World, scenarios: list[Scenario]) -> tuple[bool, str]:
    """A world asks the task once for each layout: the states are the starts of all scenarios."""
    every = np.arange(len(scenarios), dtype=np.int32)
    world.reset(every, scenarios, [0] * len(every))
    watched.starts.clear()
    declared = [stage.name for stage in watched.original.stages]
    try:
        world.progress(every)
    except KeyError as missing:  # the world looks every declared stage up
        return False, f"stage {missing} is declared but not computed; declared are {declared}."
    for state in watched.starts:
        shape = (len(state.subtask),)
        now = watched.original.reached(state)
        if set(now) != set(declared) or len(set(declared)) != len(declared):
            return False, f"declared stages are {declared}, computed are {list(now)}."
        for name, values in {**now, SOLVED: watched.original.solved(state)}.items():
            if np.shape(values) != shape or np.asarray(values).dtype != bool:
                return False, f"{name!r} is {np.asarray(values).dtype} {np.shape(values)}, not bool {shape}."
    named = f", each (n,) bool: {', '.join(declared)}" if declared else ""
    return True, f"{counted(len(declared), 'stage')}, declared and computed{named}."


def _unsolved(watched: Watched) -> tuple[bool, str]:
    """The states are still those of `_stages`: the starts."""
    solved = np.concatenate([watched.original.solved(state) for state in watched.starts])
    return not solved.any(), f"{int(solved.sum())} of {len(solved)} scenarios are solved before anything is done."


def _expert(watched: Watched, world: Any, scenarios: list[Scenario]) -> tuple[bool, str]:
    try:
        watched.original.expert()
        policy = "expert"
    except NotImplementedError:
        policy = "random"  # so that `slots` has states to look at
    native: World = world_of(watched.task, world, slots=5)
    bound = {policy: bind(make_policy(policy), native, policy)}
    jobs = iter([Job(policy=policy, scenario=scenario) for scenario in scenarios[:OF]])
    ended: list[Outcome] = [outcome for _, outcome in run_sync(native, bound, lambda: next(jobs, None))]
    if policy == "random":
        return True, "the task has no scripted expert, so nothing shows that it can be solved."
    solved = sum(bool(o.success) for o in ended)
    reasons = sorted({o.error or o.failure_reason or "" for o in ended if not o.success})
    why = f"; failures: {', '.join(reasons)}" if reasons else ""
    seconds = np.mean([o.sim_s for o in ended])
    return solved >= SOLVES, f"the scripted expert solves {solved} of {len(ended)}, in {seconds:.1f} s on average{why}."
