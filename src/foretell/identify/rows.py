"""Rows of a recording that are missing, or do not belong to their actions, told from the replay."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Floats

__all__ = ["jump", "late"]

LEAST, TIMES = 0.01, 3.0
"""rad or m, and times what nine of ten other actions show, from which on a recording jumps."""
MOVING = 0.002
"""rad or m by which a motion changes in an action, root mean square, so that its time can be told."""
BETTER = 0.5
"""Share of the difference that may be left if a recording is late or early."""
FEWEST = 6
"""Actions that tell it."""


def jump(apart: Floats) -> int | None:
    """The action in which a recording leaves the world's motion at once, as where rows are missing. `apart`, (T + 1,
    joints or axes), is what they are apart."""
    steps = np.abs(np.diff(apart, axis=0)).max(axis=1)
    row = int(steps.argmax())
    usual = float(np.quantile(np.delete(steps, row), 0.9)) if len(steps) > 2 else np.inf
    return row if steps[row] > max(LEAST, TIMES * usual) else None


def late(recorded: Floats, replayed: Floats) -> int:
    """By how many actions a recording follows the replay: 1 where it is late, -1 where it is early, 0 where neither is
    plain. Both are (T + 1, joints or axes)."""
    was, went = np.diff(recorded, axis=0), np.diff(replayed, axis=0)
    if len(was) < FEWEST or min(_rms(was), _rms(went)) < MOVING:
        return 0
    # the ends, which only some of the comparisons have, are left out of all of them
    apart = {shift: _rms(was[1 + shift : len(was) - 1 + shift] - went[1:-1]) for shift in (-1, 0, 1)}
    best = min(apart, key=lambda shift: apart[shift])
    return best if apart[best] < BETTER * apart[0] else 0


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values * values)))
