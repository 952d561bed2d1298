"""Which rows are from reality, and which are from a simulated world that plays it.

Rows state both, in the columns `real` and `stands_in`. Rows that are older than these columns, and tables from
elsewhere, have only the name of their world.
"""

from __future__ import annotations

__all__ = ["is_real", "stands_in"]

ROBOT = ("robot", "real")
"""Worlds that are real where a row does not state it."""
STAND_IN = "standin"
"""The built-in world that stands in for reality where a row does not state it."""


def is_real(world: str, real: bool | None, person: bool = False) -> bool:
    """Whether rows of a world are from reality. real: their column `real`; person: whether a person judged them."""
    return person or _name(world) in ROBOT if real is None else real


def stands_in(world: str, stated: bool | None) -> bool:
    """Whether rows are from a simulated world that plays reality. stated: their column `stands_in`."""
    return _name(world) == STAND_IN if stated is None else stated


def _name(world: str) -> str:
    """Without the hash that tables add."""
    return str(world).partition("#")[0]
