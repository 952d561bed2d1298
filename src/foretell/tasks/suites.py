"""Suites: tasks that are published and judged together. A study names a suite where it could list its tasks."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SIMPLER_GOOGLE", "SIMPLER_WIDOWX", "Suite"]


@dataclass(frozen=True)
class Suite:
    """Some tasks, in their published order."""

    about: str
    tasks: tuple[str, ...]
    """Names in the registry, or "package.module:Class"."""


SIMPLER_GOOGLE = Suite(
    "SIMPLER's Google Robot: can, 25 layouts of each orientation; any object, 42; move near, 60; drawers, 9 each.",
    (
        "google_robot_pick_horizontal_coke_can",
        "google_robot_pick_vertical_coke_can",
        "google_robot_pick_standing_coke_can",
        "google_robot_pick_object",
        "google_robot_move_near",
        "google_robot_open_top_drawer",
        "google_robot_open_middle_drawer",
        "google_robot_open_bottom_drawer",
        "google_robot_close_top_drawer",
        "google_robot_close_middle_drawer",
        "google_robot_close_bottom_drawer",
    ),
)

SIMPLER_WIDOWX = Suite(
    "The four tasks of SIMPLER's WidowX, 24 layouts each.",
    (
        "widowx_spoon_on_towel",
        "widowx_carrot_on_plate",
        "widowx_stack_cube",
        "widowx_put_eggplant_in_basket",
    ),
)
