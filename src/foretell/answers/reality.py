"""Who plays reality: real trials come from a robot, unless a simulated world is said to stand in for it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from foretell.answers.choice import labels
from foretell.answers.inputs import Source, Table
from foretell.answers.words import plain
from foretell.episodes.reality import is_real, stands_in
from foretell.errors import UsageError
from foretell.registry import names

__all__ = ["check_roles", "check_sources", "simulated"]

ADVICE = "add --stand-in (in Python stand_in=True)"


def simulated(table: Table) -> str | None:
    """Name of a simulated world that rows are from; None where all are from a robot, or do not say."""
    known = names("worlds")
    worlds = [world for world in _worlds(table) if not world.real]
    return next((world.name for world in worlds if table.episodes or world.name in known), None)


def check_roles(real: Table, sim: Table | None, stand_in: bool) -> list[str]:
    """What to say of who plays reality. Raises UsageError where a simulated world does and nobody said so."""
    plays = simulated(real)
    if sim is not None and plays is not None and not _tried(real) and _tried(sim):
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
    paths = [Path(source) for source in (real, sim) if isinstance(source, (str, Path)) and Path(source).is_file()]
    if len(paths) == 2 and paths[0].samefile(paths[1]):
        raise UsageError(f"real and sim are both {real}: give the simulations of these scenarios as sim")


class _World(NamedTuple):
    name: str
    real: bool
    stands_in: bool


def _worlds(table: Table) -> list[_World]:
    """The worlds of a table, and which of them are real or play reality."""
    worlds = table.columns.get("world", [])
    # a sheet may have columns of these names too, with a meaning of their own
    stated = [table.columns.get(name) if table.episodes else None for name in ("real", "stands_in")]
    columns = [column or [None] * len(worlds) for column in stated]
    person = table.episodes and labels(table, "judge") == ["person"]
    return [
        _World(str(world), is_real(world, real, person), stands_in(world, played))
        for world, real, played in dict.fromkeys(zip(worlds, *columns, strict=True))
        if world is not None
    ]


def _tried(table: Table) -> bool:
    """Whether all rows come from a robot, or from a world that plays reality."""
    worlds = _worlds(table)
    return bool(worlds) and all(world.real or world.stands_in for world in worlds)


def _same(real: Table, sim: Table) -> bool:
    column = "world_hash" if labels(real, "world_hash") and labels(sim, "world_hash") else "world"
    real_worlds, sim_worlds = labels(real, column), labels(sim, column)
    return bool(real_worlds) and real_worlds == sim_worlds
