"""Scenarios of one task under one arm, each made on demand: most are needed by name only.

A study that is resumed needs the names of all its scenarios and runs few of them. One that is only estimated runs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import overload

from foretell.scenario import Scenario

__all__ = ["Scenarios"]


class Scenarios(Sequence[Scenario]):
    """Scenarios in their order. `make` gives the one of a number; what it gave is kept.

    names, units: id of each, and its parent or id, where they are known without making it. clean: whether it is known
    that none has factors.
    """

    def __init__(
        self,
        count: int,
        *,
        make: Callable[[int], Scenario],
        names: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
        clean: bool = False,
    ):
        self.clean = clean
        self._count, self._make = count, make
        self._made: dict[int, Scenario] = {}
        if names is not None:
            self.names = names
        if units is not None:
            self.units = units

    @classmethod
    def of(cls, given: Iterable[Scenario]) -> Scenarios:
        """Scenarios that are there already."""
        listed = list(given)
        return cls(len(listed), make=listed.__getitem__)

    @cached_property
    def names(self) -> Sequence[str]:
        """Id of each."""
        return [scenario.id for scenario in self]

    @cached_property
    def units(self) -> Sequence[str]:
        """What each is paired on: its parent, or itself."""
        return [scenario.pair for scenario in self]

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Scenario: ...
    @overload
    def __getitem__(self, index: slice) -> list[Scenario]: ...
    def __getitem__(self, index: int | slice) -> Scenario | list[Scenario]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        index %= self._count
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]
