"""`sticky_gripper`: a change of an absolute gripper command, repeated for some actions.

For grippers that take changes (the Google robot's), and policies that give the opening. The rule is that of SIMPLER's
adapter for Octo: the change from the last action's opening is passed on, and one above the threshold is repeated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.adapters.adapter import Adapter, columns, finite, whole
from foretell.arrays import Floats, Ints
from foretell.errors import UsageError
from foretell.policy import Chunk
from foretell.spec import ActionSpec, DimSpec

__all__ = ["StickyGripper"]


@dataclasses.dataclass(eq=False)
class StickyGripper(Adapter):
    """Repeats a change of the gripper's opening; for grippers that take changes."""

    steps: int = 15
    """Actions that a change lasts, the first included."""
    threshold: float = 0.5
    """Change of the opening (0 to 1) from one action to the next above which it is repeated."""

    name = "sticky_gripper"

    def __post_init__(self) -> None:
        if not whole(self.steps, 1):
            raise self.wrong("steps", "a whole number, 1 or more")
        if not finite(self.threshold) or not 0 < self.threshold < 1:
            raise self.wrong("threshold", "between 0 and 1")
        self._after: dict[int, tuple[int, Floats]] = {}

    def takes(self, action: ActionSpec) -> ActionSpec:
        dims = list(action.dims)
        places = [i for i, dim in enumerate(dims) if dim.grips is not None and dim.mode == "delta"]
        if len(places) != 1:
            raise UsageError(
                f"adapter {self.name!r}: it needs one gripper that takes changes, and the action {action.name!r} has "
                f"{len(places)}; a gripper that takes its opening needs the adapter 'gripper'"
            )
        (at,) = places
        self._at, self._sign = columns(action)[at].start, -1.0 if dims[at].grips == "opening" else 1.0
        dims[at] = DimSpec(
            meaning="gripper opening",
            unit="1",
            low=0.0,
            high=1.0,
            grips="opening",
            robot=dims[at].robot,
            group=dims[at].group,
        )
        return ActionSpec(action.name, tuple(dims))

    def start(self, slots: Ints) -> None:
        blank = np.tile([np.nan, 0.0, 0.0], (self.inner.chunk + 1, 1))
        for slot in slots.tolist():
            self._after[slot] = (0, blank)

    def changed(self, slots: Ints, chunk: Chunk, observations: Mapping[str, Any]) -> Chunk:
        now, steps = self.now(observations), chunk.actions.shape[1]
        actions = chunk.actions.copy()
        # after k actions of this chunk: (n, k, [opening before, change that is repeated, how often it was])
        after = np.empty((len(slots), steps + 1, 3))
        for row, slot in enumerate(slots.tolist()):
            began, states = self._after[slot]
            after[row, 0] = states[min(max(int(now[row]) - began, 0), len(states) - 1)]
        for step in range(steps):
            closing, after[:, step + 1] = self._step(actions[:, step, self._at], after[:, step])
            actions[:, step, self._at] = self._sign * closing
        for row, slot in enumerate(slots.tolist()):
            self._after[slot] = (int(now[row]), after[row])
        return Chunk(actions, chunk.terminate)

    def _step(self, opening: Floats, state: Floats) -> tuple[Floats, Floats]:
        """(n,) change, positive where it closes, and (n, 3) the state after it."""
        before, held, times = state[:, 0], state[:, 1], state[:, 2]
        change = np.where(np.isnan(before), 0.0, before - opening)
        begins = (np.abs(change) > self.threshold) & (times == 0)
        held = np.where(begins, change, held)
        on = begins | (times > 0)
        times = np.where(on, times + 1, 0)
        change = np.where(on, held, change)
        over = times == self.steps
        return change, np.stack([opening, np.where(over, 0.0, held), np.where(over, 0, times)], axis=1)
