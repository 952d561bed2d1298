"""The true state of some slots: what a task may look at to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.rotation import conjugate, rotate

__all__ = ["State", "Volume", "within"]


@dataclass(frozen=True)
class Volume:
    """A box in the frame of a part, or of the task: what a proximity sensor covers."""

    half: tuple[float, float, float]
    """Half sizes, m."""
    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Its middle in that frame, m."""
    part: str | None = None
    """The part that it moves with; None: it is fixed in the task frame."""


class State(Protocol):
    """The true state of n slots. Parts (robots, objects, fixtures, cameras) are named as the task names them;
    `cabinet/handle` is a body or site of one. Positions in m, task frame."""

    @property
    def subtask(self) -> Ints:
        """(n,) int: which of the task's subtasks each slot is at; 0 at first."""

    @property
    def memory(self) -> Floats:
        """(n, `Task.memory`) what the task has kept of each slot's episode so far; zeros at first."""

    @property
    def instruction(self) -> Sequence[str]:
        """n texts: what each slot's scenario asks for at first, for a task that asks for something else in each."""

    def pos(self, name: str) -> Floats:
        """(n, 3) position of a part."""

    def quat(self, name: str) -> Floats:
        """(n, 4) orientation of a part."""

    def start_pos(self, name: str) -> Floats:
        """(n, 3) position of an object or body when the episode began."""

    def start_quat(self, name: str) -> Floats:
        """(n, 4) orientation of an object or body when the episode began."""

    def joint(self, name: str) -> Floats:
        """(n,) position of a joint, rad or m: `cabinet/drawer`, `panda/joint1`."""

    def speed(self, name: str) -> Floats:
        """(n,) speed of a part's origin, m/s."""

    def touching(self, a: str, b: str) -> Bools:
        """(n,) bool: do two parts touch, with anything that belongs to them? The task must list the pair in `touch`,
        unless one is a robot's pad and the other an object."""

    def contacts(self, a: str, b: str) -> Ints:
        """(n,) int: points at which two parts touch, for pairs as in `touching`. `*` is anything: how often `a` touches
        something is `contacts(a, "*")`, if the task lists that pair."""

    def inside(self, name: str, volume: Volume) -> Bools:
        """(n,) bool: is the position of a part within a volume?"""

    def ee_pos(self, robot: str) -> Floats:
        """(n, 3) tool of a robot's arm: the point between the finger tips."""

    def holding(self, robot: str, name: str) -> Bools:
        """(n,) bool: all pads of one of the robot's grippers touch the part: an object, a fixture, or a body that its
        `sites` list."""

    def size(self, name: str) -> Floats:
        """(n,) how many times as large as in its clean scenario an object is (factors MO_Size, RO_Size)."""

    def asset(self, name: str) -> Sequence[str]:
        """n names: the model of an object or fixture, as each slot's scenario places it."""

    # -- of everything at once, for the events of an episode (`tasks.events`) ---------------------------------

    @property
    def objects(self) -> tuple[str, ...]:
        """What moves freely: the task's objects, then those that factors put down."""

    def object_pos(self) -> Floats:
        """(n, objects, 3) positions."""

    def object_quat(self) -> Floats:
        """(n, objects, 4) orientations."""

    def object_rolls(self) -> list[list[str]]:
        """For each of n slots, and each object in it, what it is round about: `Round.about`, or nothing."""

    def pads(self, robot: str) -> Bools:
        """(n, objects and fixtures, pads) bool: which pads of a robot touch what; objects come first. Of a robot with
        several grippers, one is named: `robot/group`."""

    def opening(self, robot: str) -> Floats:
        """(n,) how far a robot's gripper is open: 0 shut, 1 wide open; named as in `pads`."""

    def clenched(self, robot: str) -> Bools:
        """(n,) bool: do the fingers of a robot's gripper touch each other? It is named as in `pads`."""

    def hits(self, robot: str) -> Bools:
        """(n,) bool: does any part of a robot touch furniture or the floor?"""

    def clashes(self, robot: str) -> Bools:
        """(n,) bool: does a robot touch itself or another one? Only models whose parts can collide do. The fingers of
        a gripper may touch each other."""


def within(state: State, name: str, volume: Volume) -> Bools:
    """(n,) bool: `State.inside`, from positions and orientations."""
    offset = state.pos(name)
    if volume.part is not None:
        offset = rotate(conjugate(state.quat(volume.part)), offset - state.pos(volume.part))
    inside: Bools = np.all(np.abs(offset - np.asarray(volume.pos)) <= np.asarray(volume.half), axis=1)
    return inside
