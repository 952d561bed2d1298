"""Checks of a world: does a row depend on anything but its scenario, and does physics hold?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from foretell.checks.bits import agreement, same
from foretell.checks.features import check_features
from foretell.checks.report import Report
from foretell.checks.setting import task_of, world_of
from foretell.counting import counted
from foretell.scenario import Scenario
from foretell.seeding import generator
from foretell.spec import Stream
from foretell.tasks.task import Task
from foretell.world import ABILITIES, World, whole_ticks
from foretell.world_file import FITTED, WorldFile, file_of, slots_of

__all__ = ["check_world"]

ACTIONS = 40
"""Random actions of each episode that is compared."""
PIECES = 5


def check_world(world: Any, task: str | Task | type[Task] = "lift") -> Report:
    """Check a world, by name or world file, on a task."""
    report = Report(f"world {world}")
    made: list[Any] = []

    def loads() -> tuple[bool, str]:
        made.append(task_of(task))
        made.append(world_of(made[0], world, slots=slots_of(world, 3)))
        about = f"{made[1].name!r} was made: ticks of {1e3 * made[1].tick:g} ms, {len(made[1].features)} features."
        return True, " ".join([about, *(f"Note: {note}." for note in getattr(made[1], "notes", ()))])

    if not report.look("loads", loads):
        return report
    asked, first = made
    if lacking := [ability for ability in ("wait", "reset") if ability not in first.can]:
        why = f"the checks run the same episodes several times, and {first.name!r} cannot {ABILITIES[lacking[0]]}."
        report.look("able", lambda: (False, why))
        return report
    scenarios = [asked.scenario(seed) for seed in range(3)]
    actions = _random_actions(first, scenarios, ACTIONS)
    runs: list[np.ndarray] = []

    def trajectory(slots: Sequence[int] = (0, 1, 2), count: int = 3, threads: int = 1, pieces: int = 1) -> np.ndarray:
        made = world_of(asked, world, slots=slots_of(world, count), threads=threads)
        return _drive_each(made, slots, scenarios, actions, pieces)

    def repeats() -> tuple[bool, str]:
        runs.append(_drive_each(first, (0, 1, 2), scenarios, actions))
        again = _drive_each(first, (0, 1, 2), scenarios, actions)
        return same(runs[0], again), f"3 episodes of {ACTIONS} random actions, run twice: {agreement(runs[0], again)}."

    def slots() -> tuple[bool, str]:
        alone = _drive_each(world_of(asked, world, slots=1), (0,), scenarios, actions)
        apart = trajectory((1, 3, 6), count=7)
        worse = alone if not same(runs[0], alone) else apart
        held = "in worlds of 1, 3 and 7 slots" if first.slots > 1 else "in other worlds, which hold one episode"
        return same(runs[0], worse), f"{held}: {agreement(runs[0], worse)}."

    def threads() -> tuple[bool, str]:
        more = trajectory(threads=2)
        return same(runs[0], more), f"with 1 and 2 threads: {agreement(runs[0], more)}."

    def seam() -> tuple[bool, str]:
        if "pause" not in first.can:
            return True, "this world cannot stop between two actions, and declares this."
        split = trajectory(pieces=PIECES)
        period = _period(first)
        return same(runs[0], split), (
            f"advancing {period} ticks at once and in {PIECES} pieces under one command: {agreement(runs[0], split)}."
        )

    report.look("hash", lambda: _hash(asked, first, world))
    # a world of its own: what it is asked here leaves no trace in those that are compared
    if not report.look("features", lambda: check_features(world_of(asked, world, slots=slots_of(world, 2)))):
        return report
    if report.look("repeats", repeats):
        report.look("slots", slots)
        report.look("threads", threads)
        report.look("seam", seam)
    report.look("observe", lambda: _observe(first))
    report.look("physics", lambda: _sturdy(world_of(asked, world, slots=slots_of(world, 8))))
    return report


def _drive_each(
    world: World, slots: Sequence[int], scenarios: list[Scenario], actions: np.ndarray, pieces: int = 1
) -> np.ndarray:
    """As `_drive`; one episode after another in a world that holds one."""
    if world.slots > 1:
        return _drive(world, slots, scenarios, actions, pieces)
    return np.concatenate([_drive(world, [0], [s], actions[i : i + 1], pieces) for i, s in enumerate(scenarios)])


def _hash(task: Task, made: World, world: Any) -> tuple[bool, str]:
    again = world_of(task, world, slots=1).hash
    if again != made.hash:
        return False, f"the hash was {made.hash}, and {again} when the world was made again."
    file = file_of(world)
    if file is None:
        return True, f"{made.hash} both times; this world has no file whose θ could be changed."
    if file.hash != made.hash and not getattr(made, "versions", {}):  # those of a simulator are in the hash too
        return False, f"the hash is {made.hash}, and that of its world file {file.hash}: they should be the same."
    theta = {path: value for path, value in _leaves(file.params) if path[0] not in FITTED}
    deaf = [".".join(path) for path, value in theta.items() if _changed(file, path, value).hash == file.hash]
    if deaf:
        return False, f"the hash does not change with {', '.join(deaf)}."
    return True, f"{made.hash} both times, and another for each of {counted(len(theta), 'parameter')} changed."


def _leaves(params: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Path and value of every number of θ."""
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, name))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, name), value


def _changed(file: WorldFile, path: tuple[str, ...], value: float) -> WorldFile:
    """The world file with one parameter a little larger. It is not validated: nothing runs with it."""
    update: Any = value + 1 if isinstance(value, int) else value * 1.01 + 1e-6
    for depth in reversed(range(len(path))):
        holder: Any = file
        for name in path[:depth]:
            holder = holder[name] if isinstance(holder, Mapping) else getattr(holder, name)
        change = {path[depth]: update}
        update = {**holder, **change} if isinstance(holder, Mapping) else holder.model_copy(update=change)
    changed: WorldFile = update
    return changed


def _observe(world: World) -> tuple[bool, str]:
    """Looking must change nothing. A stream that declares noise may show another value each time."""
    every, streams = np.arange(world.slots, dtype=np.int32), _numbers(world)
    exact = {name: stream for name, stream in streams.items() if world.features[name].noise is None}
    once, again = (_flat(world, every, streams) for _ in range(2))
    if same(once, again):
        return True, f"{len(streams)} streams looked at twice: {agreement(once, again)}."
    once, again = (_flat(world, every, exact) for _ in range(2)) if exact else (once, once)
    noisy = len(streams) - len(exact)
    return same(once, again), f"{len(exact)} streams looked at twice: {agreement(once, again)}; {noisy} are noisy."


def _sturdy(world: World) -> tuple[bool, str]:
    scenarios = [world.task.scenario(100 + slot) for slot in range(world.slots)]
    count = round(5.0 * world.task.action_rate)
    every = list(range(world.slots))
    seen = _drive(world, every, scenarios, _random_actions(world, scenarios, count))
    faults = world.faults(np.array(every, dtype=np.int32))
    why = f": {next(iter(faults.values()))}" if faults else ""
    wild = int((~np.isfinite(seen)).any(axis=(1, 2)).sum())
    detail = f"{len(faults)} of {counted(world.slots, 'episode')} of {count} random actions failed{why}; "
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
    return {name: Stream(f.shape) for name, f in world.features.items() if not f.image and f.kind != "text"}


def _flat(world: World, ids: np.ndarray, streams: dict[str, Any]) -> np.ndarray:
    seen = world.observe(ids, streams)
    return np.concatenate([np.asarray(seen[name]).reshape(len(ids), -1) for name in streams], axis=1)
