"""`foretell check`: does a policy, a task or a world keep its contract? Each finding is one sentence with figures.

What is compared is compared bit for bit, because rows of a study must not depend on what ran beside them.
"""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from foretell.errors import ForetellError, PolicyError
from foretell.policies.make import Bound, bind, make_policy
from foretell.policy import Chunk, PolicySpec, as_chunk
from foretell.registry import names, resolve
from foretell.robots.kinematics import Kinematics
from foretell.rollout import Job, Outcome, run_sync
from foretell.rollout.ask import ask
from foretell.rotation import conjugate, rotate
from foretell.scenario import Scenario
from foretell.seeding import generator
from foretell.sim.scene import Scene, signature
from foretell.sim.world import MujocoWorld
from foretell.spec import ActionSpec, compare
from foretell.tasks.task import State, Task
from foretell.world import World, whole_ticks

__all__ = ["Finding", "Report", "check_policy", "check_task", "check_world"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    name: str
    passed: bool
    detail: str
    """One sentence, with figures."""


@dataclass
class Report:
    """What a check found. It stops early where what follows could not be told."""

    subject: str
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return bool(self.findings) and all(f.passed for f in self.findings)

    def __getitem__(self, name: str) -> Finding:
        return next(f for f in self.findings if f.name == name)

    def to_dict(self) -> dict[str, Any]:
        return {"subject": self.subject, "ok": self.ok, "findings": [dataclasses.asdict(f) for f in self.findings]}

    def look(self, name: str, check: Callable[[], tuple[bool, str]]) -> bool:
        """Add a finding; a check that raises has failed."""
        try:
            passed, detail = check()
        except ForetellError as error:
            passed, detail = False, str(error)
        except Exception as error:  # user code may raise anything, and that is a finding too
            passed, detail = False, f"raised {type(error).__name__}: {error}"
        self.findings.append(Finding(name, bool(passed), detail))
        return bool(passed)


# -- policies -------------------------------------------------------------------------------------------------------

EPISODES = 4
SECONDS = 3.0
"""Simulated time of the real rollout; longer where a policy would be called fewer than four times."""
CALLS = 12
"""Calls of that rollout that are played back to the policy."""
OUT_OF_RANGE = 0.05
"""Share of actions outside the range that is let pass: the driver clips them, and rounding overshoots."""


def check_policy(
    policy: Any,
    task: str | Task = "lift",
    world: Any = "mujoco",
    options: Mapping[str, Any] | None = None,
    controller: str | None = None,
) -> Report:
    """Check a policy, by name (with `options`) or as an object, on a task in a world."""
    report = Report(f"policy {policy if isinstance(policy, str) else type(policy).__name__}")
    made: list[Any] = []

    def constructs() -> tuple[bool, str]:
        made.append(make_policy(policy, options) if isinstance(policy, str) else policy)
        asked = _task(task)
        made.append(_world(asked, world, slots=EPISODES, controller=controller))
        return True, f"{type(made[0]).__name__} was made, for task {asked.name!r} in world {made[1].name!r}."

    if report.look("constructs", constructs):
        bound = _bind(report, *made)
        if bound is not None:
            _Trial(report, made[1], bound).run()
    return report


def _bind(report: Report, policy: Any, world: World) -> Bound | None:
    """Bind as a study does; where that fails, say which part of the agreement does not hold."""
    bound, failure = None, None
    try:
        bound = bind(policy, world, type(policy).__name__)
    except ForetellError as error:
        failure = error
    spec = getattr(policy, "spec", None) if bound is None else bound.spec
    if not isinstance(spec, PolicySpec):
        report.look("binds", lambda: (False, str(failure)))
        return None
    report.look(
        "binds",
        lambda: (
            True,
            f"it states what it reads ({', '.join(spec.reads) or 'nothing'}); its batch is {spec.batch or 'any'}.",
        ),
    )
    sound = report.look("spec", lambda: _spec(spec, world))
    agrees = report.look("action", lambda: _action(spec, world))
    if bound is None and sound and agrees:
        report.look("streams", lambda: (False, str(failure)))
    elif bound is not None:
        report.look("streams", lambda: _streams(spec, world))
    return bound if report.ok else None


def _spec(spec: PolicySpec, world: World) -> tuple[bool, str]:
    spec.validate("spec")
    most = 1.0 / world.tick
    return spec.action_rate <= most, (
        f"{spec.action_rate:g} actions per s (the world ticks {most:g} times), "
        f"chunks of {spec.chunk} of which {spec.executes} are run."
    )


def _action(spec: PolicySpec, world: World) -> tuple[bool, str]:
    compare(spec.action, world.action)
    return True, f"both speak {world.action.name!r}: {world.action.size} numbers, same units, scales and frames."


def _streams(spec: PolicySpec, world: World) -> tuple[bool, str]:
    slot = np.array([0], dtype=np.int32)
    world.reset(slot, [world.task.scenario(0)], [0])
    seen = world.observe(slot, dict(spec.reads))
    for name, stream in spec.reads.items():
        given = np.shape(seen[name])[1:]
        if stream.shape is not None and given != tuple(stream.shape):
            return False, f"stream {name!r}: its shape is {stream.shape}, the world gave {given}."
    return True, f"{len(spec.reads)} of {len(spec.reads)} streams are there, in the shapes asked for."


class _Recorder:
    """Stands between driver and policy, and keeps what passes."""

    def __init__(self, bound: Bound):
        self.bound, self.spec = bound, bound.spec
        self.tape: dict[int, list[dict[str, Any]]] = {}
        """Slot -> what it saw at each call."""
        self.starts: dict[int, tuple[str, int]] = {}
        """Slot -> instruction and seed."""
        self.actions: list[np.ndarray] = []
        self.seconds: list[float] = []
        self.changed: set[str] = set()
        """Observations that `act` modified."""

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        for slot, instruction, seed in zip(slots.tolist(), instructions, seeds, strict=True):
            self.starts[slot], self.tape[slot] = (instruction, seed), []
        self.bound.reset(slots, instructions, seeds)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        before = {k: v.copy() for k, v in observations.items()}
        began = time.perf_counter()
        returned = self.bound.act(slots, observations)
        self.seconds.append(time.perf_counter() - began)
        self.changed |= before.keys() ^ observations.keys()
        self.changed |= {k for k in before.keys() & observations.keys() if not _same(before[k], observations[k])}
        chunk = as_chunk(returned, len(slots), self.spec)
        first = np.unique(slots, return_index=True)[1]  # what follows is padding
        for row in first.tolist():
            self.tape[int(slots[row])].append({k: v[row] for k, v in before.items()})
        self.actions.append(chunk.actions[first])
        return chunk


class _Trial:
    """A short real rollout, then its observations played back to the policy in other slots, orders and company."""

    def __init__(self, report: Report, world: World, bound: Bound):
        self.report, self.world, self.spec = report, world, bound.spec
        self.recorder = _Recorder(bound)
        # the driver clips; here every bit counts
        dims = tuple(dataclasses.replace(d, low=-np.inf, high=np.inf) for d in self.spec.action.dims)
        self.bare = dataclasses.replace(self.spec, action=ActionSpec(self.spec.action.name, dims))
        self.next = EPISODES

    def run(self) -> None:
        look, recorder = self.report.look, self.recorder
        if not look("act", self._rollout):
            return
        done = np.concatenate(recorder.actions)
        took = recorder.seconds[1:] or recorder.seconds  # the first call warms up
        look("finite", lambda: _finite(done))
        look("range", lambda: _in_range(done, self.spec.action))
        self.episodes = [recorder.tape[slot] for slot in range(EPISODES)]
        self.starts = [recorder.starts[slot] for slot in range(EPISODES)]
        self.calls = min(CALLS, *map(len, self.episodes))
        look("seeding", self._seeding)
        look("batch", self._batch)
        look("reset", self._reset)
        look("observations", self._untouched)
        look("time", lambda: (True, _timing(took, self.spec)))

    def _rollout(self) -> tuple[bool, str]:
        task = copy.copy(self.world.task)
        task.time_limit = max(SECONDS, 4 * self.spec.executes / self.spec.action_rate)
        self.world.task = task
        jobs = iter([Job("policy", task.scenario(seed)) for seed in range(EPISODES)])
        ended = [o for _, o in run_sync(self.world, {"policy": self.recorder}, lambda: next(jobs, None))]
        errors = [o.error for o in ended if o.blame == "policy" and o.error and "not finite" not in o.error]
        if errors:
            return False, f"{len(errors)} of {EPISODES} episodes: {errors[0]}."
        shape = (self.spec.chunk, self.spec.action.size)
        return True, f"{len(self.recorder.seconds)} calls in {EPISODES} episodes gave {shape} (chunk, action) per slot."

    def _play(self, order: Sequence[int], slots: np.ndarray | None = None, shift: int = 0) -> np.ndarray:
        """(rows, calls, chunk, dim + 1) actions and terminations when row j plays episode order[j]; `shift` changes
        the seeds. In slots never used before, unless told."""
        if slots is None:
            slots = np.arange(self.next, self.next + len(order), dtype=np.int32)
            self.next += len(order)
        starts = [self.starts[e] for e in order]
        self.recorder.reset(slots, [s[0] for s in starts], [s[1] + shift for s in starts])
        given = []
        for call in range(self.calls):
            rows = [self.episodes[e][call] for e in order]
            seen = {k: [r[k] for r in rows] if k == "instruction" else np.stack([r[k] for r in rows]) for k in rows[0]}
            answer = ask(self.recorder, self.bare, slots, seen)
            raised = [e for e in answer.errors.values() if "not finite" not in e]
            if raised:
                raise PolicyError(raised[0])
            given.append(np.concatenate([answer.actions, answer.terminate[:, :, None]], axis=2))
        return np.stack(given, axis=1)

    def _seeding(self) -> tuple[bool, str]:
        every = range(EPISODES)
        once, again, other = self._play(every), self._play(every), self._play(every, shift=1)
        if not _same(once, again):
            return False, f"the same seeds gave other actions: {_difference(once, again)}."
        if self.spec.seeded and _same(once, other):
            return False, f"it says it is seeded, but other seeds gave the same {once.shape[1]} calls of actions."
        if not self.spec.seeded and not _same(once, other):
            return (
                False,
                f"it does not say it is seeded, but other seeds gave other actions: {_difference(once, other)}.",
            )
        return True, f"same seeds, same actions; other seeds, {'other' if self.spec.seeded else 'same'} actions."

    def _batch(self) -> tuple[bool, str]:
        alone = np.concatenate([self._play([e]) for e in range(EPISODES)])  # a batch filled with itself
        width = max(self.spec.batch or 1, EPISODES)
        mixed = [row % EPISODES for row in range(width)]
        company = {
            "position": [0] * width,  # the same episode in every row
            "neighbours": mixed,
            "order": mixed[::-1],
            "fill": [EPISODES - 1, 0],
        }
        for what, order in company.items():
            got, expected = self._play(order), alone[order]
            if not _same(got, expected):
                return False, f"a slot's actions depend on {what}: {_difference(expected, got)}."
        return True, f"rows of a batch of {width} equal those of slots run alone, bit for bit, in {len(company)} mixes."

    def _reset(self) -> tuple[bool, str]:
        order = list(range(EPISODES))
        fresh = self._play(order)
        slots = np.arange(self.next, self.next + EPISODES, dtype=np.int32)
        self.next += EPISODES
        self._play(order[::-1], slots)  # other episodes first: what the same one left behind would go unnoticed
        used = self._play(order, slots)
        if not _same(fresh, used):
            return False, f"a slot that was used before acts otherwise than a fresh one: {_difference(fresh, used)}."
        return True, f"{EPISODES} slots that other episodes had used gave the same actions as fresh ones."

    def _untouched(self) -> tuple[bool, str]:
        if self.recorder.changed:
            return False, f"act modified its observations: {', '.join(sorted(self.recorder.changed))}."
        return True, f"left as they were in {len(self.recorder.seconds)} calls."


def _finite(actions: np.ndarray) -> tuple[bool, str]:
    bad = int((~np.isfinite(actions)).any(axis=2).sum())
    return bad == 0, f"{bad} of {actions.shape[0] * actions.shape[1]} actions have a value that is not finite."


def _in_range(actions: np.ndarray, spec: ActionSpec) -> tuple[bool, str]:
    slack = 1e-6 * (spec.high - spec.low)
    out = int(((actions < spec.low - slack) | (actions > spec.high + slack)).any(axis=2).sum())
    total = actions.shape[0] * actions.shape[1]
    largest = f"; the largest magnitude is {np.nanmax(np.abs(actions)):.3g}" if out else ""
    detail = f"{out} of {total} actions ({out / total:.1%}) are out of range and would be clipped{largest}."
    return out <= OUT_OF_RANGE * total, detail


def _timing(took: Sequence[float], spec: PolicySpec) -> str:
    period = spec.executes / spec.action_rate
    return (
        f"{1e3 * np.mean(took):.2f} ms per call of {spec.batch or EPISODES} slots (longest {1e3 * max(took):.2f} ms); "
        f"a robot waits {1e3 * period:.0f} ms between calls."
    )


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


def _difference(a: np.ndarray, b: np.ndarray) -> str:
    apart = (a != b).reshape(*a.shape[:2], -1).any(axis=2)
    return f"{int(apart.sum())} of {apart.size} answers differ, by up to {np.max(np.abs(a - b)):.3g}"


# -- tasks ----------------------------------------------------------------------------------------------------------

SCENARIOS = 20
DEEPEST = 0.002
"""How far things may overlap at tick 0, m: MuJoCo lets a resting object sink in a little."""
REACHED = 0.01
"""Distance from the finger tips to an object's origin that counts as within reach, m."""
SOLVES, OF = 9, 10
SOLVED = "solved()"
"""Stands beside the stages' names; no stage is called so."""


def check_task(task: str | Task, world: Any = "mujoco") -> Report:
    """Check a task, by name or as an object, in the native simulation."""
    report = Report(f"task {task if isinstance(task, str) else type(task).__name__}")
    made: list[Any] = []

    def constructs() -> tuple[bool, str]:
        made.append(_task(task))
        made.append([made[0].scenario(seed) for seed in range(SCENARIOS)])
        made.append(_watched(made[0]))
        made.append(MujocoWorld(made[2].task, world, slots=SCENARIOS))
        return True, f"{made[0].name!r} was made, with scenarios of {SCENARIOS} seeds."

    if not report.look("constructs", constructs):
        return report
    asked, scenarios, watched, native = made
    report.look("scenarios", lambda: _scenarios(asked, scenarios))
    report.look("json", lambda: _round_trip(scenarios))
    report.look("reach", lambda: _within_reach(asked, native.scene, scenarios))
    if not report.look("layout", lambda: _layouts(native.scene, scenarios)):
        return report
    report.look("contacts", lambda: _contacts(native.scene, scenarios))
    if not report.look("stages", lambda: _stages(watched, native, scenarios)):
        return report
    report.look("start", lambda: _unsolved(watched))
    report.look("expert", lambda: _expert(watched, world, scenarios))
    report.look("slots", lambda: (not watched.wrong, watched.wrong or f"rows agree in {watched.states} states."))
    return report


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
    return lost == 0, f"{lost} of {len(back)} scenarios change when written as JSON and read back."


def _within_reach(task: Task, scene: Scene, scenarios: list[Scenario]) -> tuple[bool, str]:
    """Inverse kinematics from the home pose, the hand turned as it is there; the nearest robot counts."""
    spots = [(s.seed, name, p.pos) for s in scenarios for name, p in s.placements.items()]
    gaps = np.full(len(spots), np.inf)
    slots = np.arange(len(spots), dtype=np.int32)
    for name, robot in scene.robots.items():
        mount, arm = task.robots[name], Kinematics(robot, len(spots))
        base = np.broadcast_to(np.asarray(mount.quat), (len(spots), 4))
        goal = rotate(conjugate(base), np.array([pos for *_, pos in spots]) - np.asarray(mount.pos))
        q = np.tile(np.asarray(robot.home), (len(spots), 1))
        facing = arm.forward(slots, q)[1]
        for _ in range(25):
            q = arm.inverse(slots, q, goal, facing)
        gaps = np.minimum(gaps, np.linalg.norm(arm.forward(slots, q)[0] - goal, axis=1))
    worst = int(np.argmax(gaps))
    beyond, total = int((gaps > REACHED).sum()), len(spots)
    seed, name, pos = spots[worst]
    where = ", ".join(f"{v:.3f}" for v in pos)
    detail = f"{beyond} of {total} placements are out of reach; the farthest, {name!r} of seed {seed} at ({where}) m, "
    return beyond == 0, detail + f"is missed by {1e3 * gaps[worst]:.1f} mm."


def _layouts(scene: Scene, scenarios: list[Scenario]) -> tuple[bool, str]:
    found = {signature(scene.compile(s, 0)) for s in scenarios}
    return len(
        found
    ) == 1, f"{len(scenarios)} scenarios compile into {len(found)} {'layout' if len(found) == 1 else 'layouts'}."


def _contacts(scene: Scene, scenarios: list[Scenario]) -> tuple[bool, str]:
    deepest, pair, bad = 0.0, "", 0
    for scenario in scenarios:
        model = scene.compile(scenario, 0)
        data = mujoco.MjData(model)
        for name, robot in scene.robots.items():
            for joint, q in zip(robot.joints, scenario.robot_start.get(name, robot.home), strict=True):
                data.joint(f"{name}/{joint}").qpos = q
            for finger in robot.fingers:
                data.joint(f"{name}/{finger}").qpos = robot.gripper_opening / 2
        mujoco.mj_forward(model, data)
        if data.ncon and -data.contact.dist.min() > deepest:
            worst = int(np.argmin(data.contact.dist))
            deepest = float(-data.contact.dist[worst])
            geoms = [model.geom(int(g)) for g in data.contact.geom[worst]]
            parts = [g.name or model.body(int(g.bodyid[0])).name for g in geoms]
            pair = f": {parts[0]!r} and {parts[1]!r} of seed {scenario.seed}"
        bad += bool(data.ncon) and bool(data.contact.dist.min() < -DEEPEST)
    detail = f"{bad} of {len(scenarios)} scenarios start with things inside one another by over {1e3 * DEEPEST:g} mm; "
    return bad == 0, detail + f"the deepest contact is {1e3 * deepest:.2f} mm{pair}."


@dataclass
class _Watched:
    """A task that notes, whenever the world asks it, whether it treats every row by itself."""

    original: Task
    task: Task
    state: State | None = None
    states: int = 0
    wrong: str = ""


def _watched(original: Task) -> _Watched:
    task = copy.copy(original)
    watched = _Watched(original, task)

    def judge(state: Any) -> dict[str, np.ndarray]:
        return {**original.reached(state), SOLVED: original.solved(state)}

    def reached(state: State) -> dict[str, np.ndarray]:
        watched.state = state
        whole = judge(state)
        watched.states += 1
        n = len(state.ee_pos(next(iter(original.robots))))
        if any(np.shape(values) != (n,) for values in whole.values()):
            return whole  # `stages` says so
        for row in range(n):
            alone = judge(_Row(state, row))
            for name, values in whole.items():
                if np.shape(alone[name]) != (1,) or alone[name][0] != values[row]:
                    watched.wrong = watched.wrong or (
                        f"{name!r} of one slot alone is {alone[name]!r}, but {values[row]!r} among {len(values)} slots."
                    )
        return {name: values for name, values in whole.items() if name != SOLVED}

    task.reached = reached  # type: ignore[method-assign]
    return watched


def _stage_names(task: Task) -> list[str]:
    return [stage.name for stage in task.stages]


class _Row:
    """One slot of a State, as a State of one slot."""

    def __init__(self, state: State, row: int):
        self._state, self._row = state, row

    def __getattr__(self, name: str) -> Callable[..., np.ndarray]:
        read = getattr(self._state, name)
        return lambda *args: read(*args)[self._row : self._row + 1]


def _stages(watched: _Watched, world: MujocoWorld, scenarios: list[Scenario]) -> tuple[bool, str]:
    every = np.arange(len(scenarios), dtype=np.int32)
    world.reset(every, scenarios, [0] * len(every))
    declared = _stage_names(watched.original)
    try:
        world.progress(every)
    except KeyError as missing:  # the world looks every declared stage up
        return False, f"stage {missing} is declared but not computed; declared are {declared}."
    assert watched.state is not None
    now = watched.original.reached(watched.state)
    if set(now) != set(declared) or len(set(declared)) != len(declared):
        return False, f"declared stages are {declared}, computed are {list(now)}."
    for name, values in {**now, SOLVED: watched.original.solved(watched.state)}.items():
        if np.shape(values) != every.shape or np.asarray(values).dtype != bool:
            return False, f"{name!r} is {np.asarray(values).dtype} {np.shape(values)}, not bool {every.shape}."
    return True, f"{len(declared)} stages are declared and computed, each (n,) bool: {', '.join(declared)}."


def _unsolved(watched: _Watched) -> tuple[bool, str]:
    """The state is still that of `_stages`: the start."""
    assert watched.state is not None
    solved = watched.original.solved(watched.state)
    return not solved.any(), f"{int(solved.sum())} of {len(solved)} scenarios are solved before anything is done."


def _expert(watched: _Watched, world: Any, scenarios: list[Scenario]) -> tuple[bool, str]:
    try:
        watched.original.expert()
        policy = "expert"
    except NotImplementedError:
        policy = "random"  # so that `slots` has states to look at
    native: World = _world(watched.task, world, slots=5)
    bound = {policy: bind(make_policy(policy), native, policy)}
    jobs = iter([Job(policy, scenario) for scenario in scenarios[:OF]])
    ended: list[Outcome] = [outcome for _, outcome in run_sync(native, bound, lambda: next(jobs, None))]
    if policy == "random":
        return True, "the task has no scripted expert, so nothing shows that it can be solved."
    solved = sum(bool(o.success) for o in ended)
    reasons = sorted({o.error or o.failure_reason or "" for o in ended if not o.success})
    why = f"; failures: {', '.join(reasons)}" if reasons else ""
    seconds = np.mean([o.sim_s for o in ended])
    return solved >= SOLVES, f"the scripted expert solves {solved} of {len(ended)}, in {seconds:.1f} s on average{why}."


# -- worlds ---------------------------------------------------------------------------------------------------------

ACTIONS = 40
"""Random actions of each episode that is compared."""
PIECES = 5


def check_world(world: Any, task: str | Task = "lift") -> Report:
    """Check a world, by name or world file, on a task."""
    report = Report(f"world {world}")
    made: list[Any] = []

    def loads() -> tuple[bool, str]:
        made.append(_task(task))
        made.append(_world(made[0], world, slots=3))
        return True, f"{made[1].name!r} was made: ticks of {1e3 * made[1].tick:g} ms, {len(made[1].streams)} streams."

    if not report.look("loads", loads):
        return report
    asked, first = made
    scenarios = [asked.scenario(seed) for seed in range(3)]
    actions = _random_actions(first, scenarios, ACTIONS)
    runs: list[np.ndarray] = []

    def trajectory(slots: Sequence[int] = (0, 1, 2), count: int = 3, threads: int = 1, pieces: int = 1) -> np.ndarray:
        return _drive(_world(asked, world, slots=count, threads=threads), slots, scenarios, actions, pieces)

    def repeats() -> tuple[bool, str]:
        runs.append(_drive(first, (0, 1, 2), scenarios, actions))
        again = _drive(first, (0, 1, 2), scenarios, actions)
        return _same(
            runs[0], again
        ), f"3 episodes of {ACTIONS} random actions, run twice: {_agreement(runs[0], again)}."

    def slots() -> tuple[bool, str]:
        one = _world(asked, world, slots=1)
        alone = np.concatenate([_drive(one, [0], [s], actions[i : i + 1]) for i, s in enumerate(scenarios)])
        apart = trajectory((1, 3, 6), count=7)
        worse = alone if not _same(runs[0], alone) else apart
        return _same(runs[0], worse), f"in worlds of 1, 3 and 7 slots: {_agreement(runs[0], worse)}."

    def threads() -> tuple[bool, str]:
        more = trajectory(threads=2)
        return _same(runs[0], more), f"with 1 and 2 threads: {_agreement(runs[0], more)}."

    def seam() -> tuple[bool, str]:
        if not first.interruptible:
            return True, "this world cannot stop between two actions, and says so."
        split = trajectory(pieces=PIECES)
        period = _period(first)
        return _same(runs[0], split), (
            f"advancing {period} ticks at once and in {PIECES} pieces under one command: {_agreement(runs[0], split)}."
        )

    report.look("hash", lambda: _hash(asked, first, world))
    if report.look("repeats", repeats):
        report.look("slots", slots)
        report.look("threads", threads)
        report.look("seam", seam)
    report.look("observe", lambda: _observe(first))
    report.look("physics", lambda: _sturdy(_world(asked, world, slots=8)))
    return report


def _hash(task: Task, made: World, world: Any) -> tuple[bool, str]:
    again = _world(task, world, slots=1).hash
    if again != made.hash:
        return False, f"the hash was {made.hash}, and {again} when the world was made again."
    file = getattr(made, "file", None)
    if file is None:
        return True, f"{made.hash} both times; this world has no file whose θ could be changed."
    deaf = []
    theta = file.theta.model_dump()
    for name, value in theta.items():
        other = file.theta.model_copy(update={name: value + 1 if isinstance(value, int) else value * 1.01 + 1e-6})
        if file.model_copy(update={"theta": other}).hash == made.hash:
            deaf.append(name)
    if deaf:
        return False, f"the hash does not change with {', '.join(deaf)}."
    return True, f"{made.hash} both times, and another for each of {len(theta)} parameters changed."


def _observe(world: World) -> tuple[bool, str]:
    every, streams = np.arange(world.slots, dtype=np.int32), _numbers(world)
    once, again = (_flat(world, every, streams) for _ in range(2))
    theta = getattr(getattr(world, "file", None), "theta", None)
    noise = {n: getattr(theta, n, 0.0) for n in ("joint_noise", "pose_noise", "turn_noise")}
    if any(noise.values()):
        return True, f"not compared: sensors are noisy ({', '.join(f'{n} {v:g}' for n, v in noise.items() if v)})."
    return _same(once, again), f"{len(streams)} streams looked at twice: {_agreement(once, again)}."


def _sturdy(world: World) -> tuple[bool, str]:
    scenarios = [world.task.scenario(100 + slot) for slot in range(world.slots)]
    count = round(5.0 * world.task.action_rate)
    every = list(range(world.slots))
    seen = _drive(world, every, scenarios, _random_actions(world, scenarios, count))
    faults = world.faults(np.array(every, dtype=np.int32))
    why = f": {next(iter(faults.values()))}" if faults else ""
    wild = int((~np.isfinite(seen)).any(axis=(1, 2)).sum())
    detail = f"{len(faults)} of {world.slots} episodes of {count} random actions failed{why}; "
    return not faults and not wild, detail + f"{wild} showed a value that is not finite."


def _random_actions(world: World, scenarios: list[Scenario], count: int) -> np.ndarray:
    """(n, count, dim), keyed by scenario."""
    low, high = world.action.low, world.action.high
    return np.stack([generator(s.base, 0, "check").uniform(low, high, (count, len(low))) for s in scenarios])


def _period(world: World) -> int:
    return int(whole_ticks(1, 1.0 / world.tick, world.task.action_rate))


def _drive(
    world: World, slots: Sequence[int], scenarios: list[Scenario], actions: np.ndarray, pieces: int = 1
) -> np.ndarray:
    """(n, actions, numbers) all that is observed after each action, except pictures."""
    ids, streams = np.array(slots, dtype=np.int32), _numbers(world)
    world.reset(ids, scenarios, [0] * len(ids))
    period = _period(world)
    seen = []
    for step in range(actions.shape[1]):
        world.command(ids, actions[:, step], np.full(len(ids), period))
        for part in np.array_split(np.arange(period), pieces):
            world.advance(ids, np.full(len(ids), len(part)))
        seen.append(_flat(world, ids, streams))
    return np.stack(seen, axis=1)


def _numbers(world: World) -> dict[str, Any]:
    return {name: stream for name, stream in world.streams.items() if not name.endswith("/rgb")}


def _flat(world: World, ids: np.ndarray, streams: dict[str, Any]) -> np.ndarray:
    seen = world.observe(ids, streams)
    return np.concatenate([np.asarray(seen[name]).reshape(len(ids), -1) for name in streams], axis=1)


def _agreement(a: np.ndarray, b: np.ndarray) -> str:
    if _same(a, b):
        return f"{a.size} observed numbers are equal bit for bit"
    return f"{int((a != b).sum())} of {a.size} observed numbers differ, by up to {np.max(np.abs(a - b)):.3g}"


def _task(task: str | Task) -> Any:
    made = resolve("tasks", task) if isinstance(task, str) else task
    return made() if isinstance(made, type) else made


def _world(task: Task, world: Any, slots: int, threads: int = 1, controller: str | None = None) -> Any:
    kind = resolve("worlds", world) if isinstance(world, str) and world in names("worlds") else MujocoWorld
    return kind(task, world, slots=slots, threads=threads, controller=controller)
