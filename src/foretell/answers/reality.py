"""Who plays reality: real trials come from a robot, unless a simulated world is said to stand in for it."""

from __future__ import annotations

from pathlib import Path

from foretell.answers.choice import labels
from foretell.answers.inputs import Source, Table
from foretell.answers.words import plain
from foretell.errors import UsageError
from foretell.registry import names

__all__ = ["check_roles", "check_sources", "simulated"]

ROBOT = ("robot", "real")
"""Worlds that are real in rows which do not say themselves: older ones, and tables from elsewhere."""
STAND_IN = "standin"
"""The built-in world that is made to play reality."""
ADVICE = "add --stand-in (in Python stand_in=True)"


def simulated(table: Table) -> str | None:
    """Name of a simulated world that rows are from; None where all are from a robot, or do not say."""
    if table.episodes:
        return next((world for world, real in _worlds(table) if not real), None)
    known = names("worlds")
    return next((world for world in labels(table, "world") if _name(world) not in ROBOT and world in known), None)


def check_roles(real: Table, sim: Table | None, stand_in: bool) -> list[str]:
    """What to say of who plays reality. Raises UsageError where a simulated world does and nobody said so."""
    plays = simulated(real)
    if sim is not None and plays is not None and not _stands_in(plays) and _tried(sim):
        raise UsageError(
            f"real and sim look swapped: {real.name} holds episodes of {plain(plays)!r}, a simulated world, and "
            f"{sim.name} those of {plain(labels(sim, 'world')[0])!r}. Give {sim.name} as real and {real.name} as sim"
        )
    if sim is not None and _same(real, sim) and not stand_in:
        raise UsageError(
            f"real and sim are the same world, {plain(labels(real, 'world')[0])!r}, so simulation would predict "
            f"itself. Give trials on a robot as real; if this world plays reality, {ADVICE}"
        )
    if plays is None:
        return []
    if not stand_in:
        raise UsageError(
            f"real: {real.name} holds episodes of {plain(plays)!r}, a simulated world, and real trials are expected "
            f"(`foretell import` reads them). If this world plays reality, {ADVICE}"
        )
    return [
        f"the simulated world {plain(plays)!r} plays reality: this shows how the method works and is no "
        "evidence about robots"
    ]


def check_sources(real: Source, sim: Source | None) -> None:
    """Raises UsageError where real trials and simulations are one file: simulation would predict itself. Run folders
    name their world, and `check_roles` looks at that."""
    paths = [Path(one) for one in (real, sim) if isinstance(one, (str, Path)) and Path(one).is_file()]
    if len(paths) == 2 and paths[0].samefile(paths[1]):
        raise UsageError(f"real and sim are both {real}: give the simulations of these scenarios as sim")


def _worlds(table: Table) -> list[tuple[str, bool]]:
    """The worlds of episodes, each with whether its rows are from a robot: what they say, and where they do not say,
    whether the world has a robot's name or a person judged."""
    worlds = table.columns.get("world", [])
    said = table.columns.get("real") or [None] * len(worlds)
    person = labels(table, "judge") == ["person"]
    return [
        (str(world), (person or _name(world) in ROBOT) if real is None else bool(real))
        for world, real in dict.fromkeys(zip(worlds, said, strict=True))
        if world is not None
    ]


def _name(world: str) -> str:
    return str(world).partition("#")[0]


def _stands_in(world: str) -> bool:
    return _name(world) == STAND_IN


def _tried(table: Table) -> bool:
    """Whether the rows come from a robot for sure, or from the world that is made to play it."""
    if table.episodes:
        worlds = _worlds(table)
        return bool(worlds) and all(real or _stands_in(world) for world, real in worlds)
    listed = labels(table, "world")
    return bool(listed) and all(_name(world) in (*ROBOT, STAND_IN) for world in listed)


def _same(real: Table, sim: Table) -> bool:
    column = "world_hash" if labels(real, "world_hash") and labels(sim, "world_hash") else "world"
    one, other = labels(real, column), labels(sim, column)
    return bool(one) and one == other
