"""The true state of robots on their way: what a navigation task judges by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foretell.arrays import Bools, Floats, Ints
from foretell.errors import UsageError

__all__ = ["Journey", "journey"]


@dataclass(frozen=True, kw_only=True)
class Journey:
    """Of n slots, as arrays (n,)."""

    remaining: Floats
    """m along the floor to the goal"""
    shortest: Floats
    """m along the floor from the start to the goal, as the scenario has it"""
    travelled: Floats
    """m, from the end of each action to that of the next"""
    collisions: Ints
    stopped: Bools
    """whether the robot declares that it has arrived"""
    subtask: Ints


def journey(state: Any) -> Journey:
    """The state that a task was given. Raises UsageError where the world is none for navigation."""
    if not isinstance(state, Journey):
        raise UsageError("task: this task navigates, and its world is not one for navigation: use world planar")
    return state
