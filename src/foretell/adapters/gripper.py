"""`gripper`: a policy's values for open and closed, as the robot's."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from foretell.adapters.adapter import PartAdapter, finite
from foretell.arrays import Floats
from foretell.errors import PolicyError
from foretell.spec import DimSpec

__all__ = ["Gripper", "ends"]

FAR = 0.5
"""How far beyond its range a value may lie, in widths of that range. Networks overshoot; a value further out is of
another convention."""


def ends(dim: DimSpec) -> tuple[float, float]:
    """A robot's values for closed and open. `DimSpec.grips` says which end of the range is which."""
    low, high = float(np.min(dim.low)), float(np.max(dim.high))
    return (low, high) if dim.grips == "opening" else (high, low)


@dataclasses.dataclass(eq=False)
class Gripper(PartAdapter):
    """Translates a policy's gripper command: which value opens, which closes, and whether it is rounded to them."""

    open: float = 1.0
    """The policy's value for open."""
    closed: float = 0.0
    """The policy's value for closed."""
    binary: bool = False
    """Whether values are rounded to open or closed, at the middle."""

    name = "gripper"

    def __post_init__(self) -> None:
        for field in ("open", "closed"):
            if not finite(getattr(self, field)):
                raise self.wrong(field, "a finite number")
        if self.open == self.closed:
            raise self.wrong("open", f"another value than closed ({self.closed!r})")
        if not isinstance(self.binary, bool):
            raise self.wrong("binary", "true or false")

    def part(self, dim: DimSpec) -> DimSpec | None:
        if dim.grips is None:
            return None
        low, high = sorted((float(self.open), float(self.closed)))
        meaning: dict[str, Any] = {"meaning": "gripper", "grips": "closing"}
        if self.open > self.closed:
            meaning = {"meaning": "gripper opening", "grips": "opening"}
        return dataclasses.replace(dim, low=low, high=high, **meaning)

    def convert(self, values: Floats, spoken: DimSpec, wanted: DimSpec) -> Floats:
        share = (values - self.closed) / (self.open - self.closed)
        far = (share < -FAR) | (share > 1 + FAR)
        if far.any():
            raise PolicyError(
                f"adapter {self.name!r}: the policy returned {values[far][0]:.4g}, and its gripper is declared to be "
                f"open at {self.open:g} and closed at {self.closed:g}; set `open` and `closed` to what it returns"
            )
        share = np.clip(share, 0.0, 1.0) if not self.binary else np.where(np.isnan(share), share, share > 0.5)
        closed, opened = ends(wanted)
        converted: Floats = closed + share * (opened - closed)
        return converted
