"""`unnormalise`: actions in the numbers of a network, back into those of the dataset it was trained on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from foretell.adapters.adapter import Adapter, columns
from foretell.adapters.statistics import FORMS, Statistics, load
from foretell.arrays import Ints
from foretell.errors import UsageError
from foretell.policy import Chunk
from foretell.spec import ActionSpec

__all__ = ["Unnormalise"]

DEVIATIONS = 10.0
"""Standard deviations within which actions normalised by mean and std are expected."""


@dataclasses.dataclass(eq=False)
class Unnormalise(Adapter):
    """Undoes the normalisation of actions by a dataset's statistics (mean and std, or q01 and q99)."""

    statistics: Any = None
    """A JSON file, or a mapping with q01 and q99, min and max, or mean and std; `mask` where some dimensions are left
    alone. Several datasets may stand in one file. In the unit of the action that comes out."""
    key: str | None = None
    """The dataset, where there are several."""
    form: Literal["quantiles", "bounds", "mean_std"] | None = None
    """None: the first of these that the statistics have."""

    name = "unnormalise"

    def __post_init__(self) -> None:
        if self.statistics is None:
            raise self.wrong("statistics", "a JSON file or a mapping with q01 and q99, or mean and std")
        if self.form not in (None, *FORMS):
            raise self.wrong("form", " or ".join(map(repr, FORMS)))
        self.statistics, self.key = load(self.statistics, self.key), None
        self._statistics = Statistics(self.statistics)
        self._form = self.form or self._statistics.form()

    @classmethod
    def by_value(cls, options: dict[str, Any]) -> dict[str, Any]:
        if options.get("statistics") is None:
            return options
        return {**options, "statistics": load(options["statistics"], options.get("key")), "key": None}

    def takes(self, action: ActionSpec) -> ActionSpec:
        first, second = self._statistics.pair(self._form, action.size)
        mask = self._statistics.mask(action.size)
        if mask is None:  # a gripper command is seldom normalised
            mask = np.concatenate([np.full(dim.size, dim.grips is None) for dim in action.dims])
        if self._form == "mean_std":
            factor, offset = second, first
        else:
            factor, offset = 0.5 * (second - first), 0.5 * (second + first)
        self._factor, self._offset = np.where(mask, factor, 1.0), np.where(mask, offset, 0.0)
        dims = list(action.dims)
        most = DEVIATIONS if self._form == "mean_std" else 1.0
        for at, (dim, where) in enumerate(zip(dims, columns(action), strict=True)):
            if mask[where].all():
                dims[at] = dataclasses.replace(dim, unit="1", low=-most, high=most, scale=1.0)
            elif mask[where].any():
                raise UsageError(
                    f"adapter {self.name!r}: the mask {mask[where].tolist()} splits the action's part {dim.meaning!r}; "
                    "mask whole parts"
                )
        return ActionSpec(action.name, tuple(dims))

    def changed(self, slots: Ints, chunk: Chunk, observations: Mapping[str, Any]) -> Chunk:
        return Chunk(chunk.actions * self._factor + self._offset, chunk.terminate)
