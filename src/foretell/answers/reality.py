"""Who plays reality: real trials come from a robot, unless a simulated world is said to stand in for it."""

from __future__ import annotations

from foretell.answers.choice import labels
from foretell.answers.inputs import Table
from foretell.answers.words import plain
from foretell.errors import UsageError
from foretell.registry import names

__all__ = ["check_roles", "simulated"]

ROBOT = ("robot", "real")
"""Worlds that are real whoever judges them."""
STAND_IN = "standin"
"""The built-in world that is made to play reality."""
ADVICE = "say --stand-in (in Python stand_in=True)"


def simulated(table: Table) -> str | None:
    """Name of a simulated world that rows are from; None where all are from a robot, or do not say."""
    worlds = [world for world in labels(table, "world") if world.partition("#")[0] not in ROBOT]
    if table.episodes:
        return worlds[0] if worlds and labels(table, "judge") != ["person"] else None
    known = names("worlds")
    return next((world for world in worlds if world in known), None)


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
            f"itself. Give trials on a robot as real; if this world is to play reality, {ADVICE}"
        )
    if plays is None:
        return []
    if not stand_in:
        raise UsageError(
            f"real: {real.name} holds episodes of {plain(plays)!r}, a simulated world, and real trials are expected "
            f"(`foretell import` reads them). If this world is to play reality, {ADVICE}"
        )
    return [
        f"the simulated world {plain(plays)!r} plays reality: this shows the mechanism, and is no evidence about robots"
    ]


def _stands_in(world: str) -> bool:
    return world.partition("#")[0] == STAND_IN


def _tried(table: Table) -> bool:
    """Whether the rows come from a robot for sure, or from the world that is made to play it."""
    worlds = [world.partition("#")[0] for world in labels(table, "world")]
    judged = table.episodes and labels(table, "judge") == ["person"]
    return bool(worlds) and (judged or all(world in (*ROBOT, STAND_IN) for world in worlds))


def _same(real: Table, sim: Table) -> bool:
    column = "world_hash" if labels(real, "world_hash") and labels(sim, "world_hash") else "world"
    one, other = labels(real, column), labels(sim, column)
    return bool(one) and one == other
