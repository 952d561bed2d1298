"""Suites: tasks that are published and judged together. A study names a suite where it could list its tasks."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SIMPLER_WIDOWX", "Suite"]


@dataclass(frozen=True)
class Suite:
    """Some tasks, in their published order."""

    about: str
    tasks: tuple[str, ...]
    """Names in the registry, or "package.module:Class"."""


SIMPLER_WIDOWX = Suite(
    "The four tasks of SIMPLER's WidowX, 24 layouts each.",
    (
        "widowx_spoon_on_towel",
        "widowx_carrot_on_plate",
        "widowx_stack_cube",
        "widowx_put_eggplant_in_basket",
    ),
)
