"""Where robots believe to be. SLAM and odometry err by a distance that changes slowly, and in heading too.

The error starts at 0, because a robot knows where it started. At each action a tenth of it is forgotten and as much is
drawn anew, so that it grows to its long-run size within some twenty actions and then stays about as large. The heading
errs by 0.25 rad for each metre of that size: 1 degree at 7 cm, 6 degrees at 40 cm.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from foretell.arrays import Floats, Ints
from foretell.planar.draws import StepDraws

__all__ = ["Localisation"]

KEPT = 0.9
"""Share of an error that is left at the next action."""
HEADING = 0.25
"""rad of heading for a metre of place."""


class Localisation:
    """The errors of all slots. size: root mean square of the distance in the long run, m."""

    def __init__(self, slots: int, size: float):
        self._size = np.array([size / np.sqrt(2), size / np.sqrt(2), HEADING * size])
        self._draws = StepDraws(slots, "localisation", 3)
        self.error = np.zeros((slots, 3))
        """(slots, 3) m, m, rad: what is believed minus what is"""

    def start(self, slot: int, base: str, trial: int) -> None:
        self._draws.start(slot, base, trial)
        self.error[slot] = 0.0

    def step(self, slots: Ints, steps: Ints) -> None:
        """Actions (n,) begin."""
        if self._size[0] > 0:
            fresh = ndtri(self._draws.at(slots, steps)) * self._size
            self.error[slots] = KEPT * self.error[slots] + np.sqrt(1 - KEPT**2) * fresh

    def believed(self, slots: Ints, pose: Floats) -> Floats:
        """(n, 3) poses as the robots believe them, of true ones (n, 3)."""
        return np.asarray(pose + self.error[slots])
