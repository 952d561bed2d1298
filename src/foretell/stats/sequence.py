"""Bounds updated as trials arrive; valid after every trial, so a run may stop when it knows enough."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.betting import betting
from foretell.stats.blocked import CONTROLLED, STEPS, candidates, estimate, every_game, played
from foretell.stats.interval import ALPHA, IID, RANGE, Interval, check_horizon, looked_at
from foretell.stats.rungs import rungs
from foretell.stats.scores import UNIT, Range, check_alpha, scores, stretch


def check_plan(horizon: int | Literal["open"]) -> int | Literal["open"]:
    """`horizon` itself, if it is one. A sequence is looked at after every trial, so there has to be one."""
    if (plan := check_horizon(horizon)) is None:
        raise ValueError("a sequence needs a horizon: the planned number of trials, or 'open'")
    return plan


class Sequence(Protocol):
    """One real trial in, the interval so far out. Intervals are nested, unless trials contradict each other."""

    def update(self, real: float, sim: float | None = None, extra: ArrayLike = ()) -> Interval: ...


class BettingSequence:
    """`betting` after every trial; horizon is the planned number of trials."""

    def __init__(self, horizon: int | Literal["open"], *, alpha: float = ALPHA, within: Range = UNIT) -> None:
        self.horizon, self.alpha, self.within = check_plan(horizon), check_alpha(alpha), within
        self._scores: list[float] = []

    def update(self, real: float, sim: float | None = None, extra: ArrayLike = ()) -> Interval:
        """Add one real score; sim and extra are not used."""
        self._scores.append(float(real))
        return betting(self._scores, self.alpha, within=self.within, horizon=self.horizon)


class BlockedSequence:
    """`blocked` after every trial; a trial given without sim or extra is bet on without control.

    After t = horizon trials the result equals the batch function on the same blocks.
    """

    method = "blocked"

    def __init__(
        self,
        horizon: int | Literal["open"],
        *,
        alpha: float = ALPHA,
        within: Range = UNIT,
        sim_within: Range = UNIT,
        steps: int = STEPS,
    ) -> None:
        self.horizon = horizon = check_plan(horizon)
        self.alpha, self.within, self.sim_within, self.steps = check_alpha(alpha), within, sim_within, steps
        self._grid, games = candidates(steps), rungs(alpha)
        self._above, self._below = every_game(self._grid, games, horizon), every_game(self._grid, games, horizon)
        self._y: list[float] = []
        self._c: list[float] = []
        self._g: list[float] = []
        self._extra = 0

    def update(self, real: float, sim: float | None = None, extra: ArrayLike = ()) -> Interval:
        """Add one real score, its simulated partner and a fresh block of simulated scores of shape (k,)."""
        y = float(scores([real], "real", within=self.within)[0])
        block = np.asarray(extra, dtype=np.float64)
        c = g = 0.0
        if sim is not None and block.size:
            f = float(scores([sim], "sim", within=self.sim_within)[0])
            g = block.size / (block.size + 1.0)
            c = g * (f - float(scores(block, "extra", within=self.sim_within).mean()))
            self._extra += block.size
        self._above.update(y, c, g)
        self._below.update(1.0 - y, -c, g)
        self._above.drop()
        self._below.drop()
        self._y.append(y)
        self._c.append(c)
        self._g.append(g)
        return self._interval()

    def _interval(self) -> Interval:
        up, down = self._above.leading(self._grid), self._below.leading(self._grid)
        low, high = up / self.steps, 1.0 - down / self.steps
        y, c, g = (np.array(v) for v in (self._y, self._c, self._g))
        assumes = CONTROLLED if self._extra else (IID, RANGE)
        if low > high:  # contradictory trials: the batch function finds the level at which they are not
            unit = played(y, c, g, self.alpha, self.horizon, self.method, assumes, self._extra, self.steps)
            return stretch(unit, self.within)
        guess, n = min(max(estimate(y, c), low), high), len(self._y)
        assumes = (*assumes, *looked_at(self.horizon, self._extra))
        unit = Interval(
            estimate=guess,
            low=low,
            high=high,
            alpha=self.alpha,
            method=self.method,
            guarantee="finite-sample",
            assumes=assumes,
            n=n,
            n_extra=self._extra,
            anytime=True,
        )
        return stretch(unit, self.within)


class StarSequence(BlockedSequence):
    """`star` after every trial: the same game without simulation."""

    method = "star"

    def update(self, real: float, sim: float | None = None, extra: ArrayLike = ()) -> Interval:
        """Add one real score; sim and extra are not used."""
        return super().update(real)


def sequence(method: str, horizon: int | Literal["open"], alpha: float = ALPHA, *, within: Range = UNIT) -> Sequence:
    """A fresh sequence for an anytime-valid method; `horizon` tunes the bets, no more. Scalars in."""
    kinds = {"betting": BettingSequence, "star": StarSequence, "blocked": BlockedSequence}
    if method not in kinds:
        raise ValueError(f"{method!r} is not anytime-valid; choose one of {sorted(kinds)}")
    made: Sequence = kinds[method](horizon, alpha=alpha, within=within)
    return made
