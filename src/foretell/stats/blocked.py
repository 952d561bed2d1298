"""`blocked`: finite-sample bound on real performance from few real trials and many simulated ones.

Construction
------------
Each real trial t has a score Y_t, the simulator's score f_t of the same scenario, and a block of k_t
further simulated scenarios of its own, used nowhere else. With fbar_t the mean of that block,

    c_t = k_t / (k_t + 1) * (f_t - fbar_t),        g_t = k_t / (k_t + 1).

For every candidate mean m two gamblers play, one betting that the truth lies above m, one below. The first
holds W_0 = 1 and

    W_t = W_{t-1} * (1 + lam_t * (Y_t - m - beta_t * c_t)),
    0 <= beta_t <= 1,    0 <= lam_t <= 0.99 / (m + beta_t * g_t),

where lam_t and beta_t are computed from trials before t (and from k_t, a number of scenarios fixed by the
design). The second plays the same game with 1 - Y, 1 - m and -c. The gambler plays it once for the rung of
alpha, with bets tuned to that rung and the goal 2/alpha, and once for every rung a above it, with bets tuned
to a and the goal 2/a (see `rungs`). A candidate is refuted when each of these games has reached its goal at
some trial. The lower end is the last of the grid points refuted from the bottom without a gap; the upper end
mirrors it.

Why it covers
-------------
Assume scenarios are independent draws from one distribution and those that get a real trial were chosen
without looking at outcomes. Nothing is assumed of the simulator.

1. *The control is worth nothing on average.* f_t and every score in block t are draws of the same variable,
   so E[f_t] = E[fbar_t] and E[c_t] = 0; as block t is disjoint from all earlier blocks this also holds given
   the past. Block sizes may differ: each c_t has mean zero by itself.
2. *Wealth cannot turn negative.* Scores lie in [0, 1], so f_t - fbar_t lies in [-1, 1] and c_t <= g_t. With
   Y_t >= 0 the bracket is at least -(m + beta_t g_t), and the factor at least 1 - 0.99 > 0.
3. *The game is fair or worse.* Let mu be the true mean. Given the past, lam_t and beta_t are numbers, thus
   the expected factor is 1 + lam_t (mu - m): equal to one at m = mu and below one for every m above mu. For
   those m the wealth is a nonnegative supermartingale that starts at one, and Ville's inequality bounds by
   alpha/2 the chance that it ever reaches 2/alpha, however the moment of stopping was chosen. This game has to
   be won for m to be refuted; that the looser ones have to be won as well can only make refutation rarer.
4. *A grid costs nothing but resolution.* Let g* be the smallest grid point >= mu, a fixed number. The scan
   ends above mu only if it passed through g*, that is, only if g* was refuted from below; by 3 this has
   probability at most alpha/2. No other grid point matters, so there is no union over candidates, and the
   refuted set need not be an interval.
5. The mirrored game misses above with probability at most alpha/2; together at most alpha.

All this needs one process: the order of the trials, their blocks and the horizon are fixed before the first look.
Given a `horizon`, they are, and looking after every trial and stopping at will are allowed. Without one, n itself is
the horizon, trials stand in a canonical order that changes as trials are added, and the bound is for a single look.

Why it is nested
----------------
In time: a game stops when it is won, so what was refuted stays refuted. In alpha: the lower end is the least of
the lower ends of the single games, which is the hull of which `rungs` gives the proof. Its one premise, that a
game with the same bets and a lower goal refutes no less, holds since the two games are equal until the lower
goal is met.

How the bets are chosen (any choice keeps 1-5)
----------------------------------------------
Let G be the log wealth still missing to 2/aim divided by the trials left, and v(beta) an estimate of the second
moment of Y - m - beta c from the past, started with eight imaginary trials (binary Y, correlation 0.2,
or 0.1 where fewer than 30 trials are planned).
A gambler staking lam will have refuted m if the mean advantage per trial is about G/lam + lam v(beta)/2, so
(lam, beta) minimise that expression under the solvency limit. In (lam, lam beta) the problem is convex with
one linear constraint; if the free optimum is insolvent the optimum lies on the limit and both cases have a
closed form (see `stake`). So beta is range-aware: control that would eat up the room to bet is declined.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats import uncontrolled
from foretell.stats.interval import (
    ALIKE,
    ALPHA,
    CONTRADICTION,
    IID,
    OPEN,
    PAIRS,
    RANGE,
    UNFITTED,
    Horizon,
    Interval,
    check_horizon,
    looked_at,
)
from foretell.stats.order import by_content
from foretell.stats.rungs import Ends, Games, meeting, rungs
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, simulated, stretch
from foretell.stats.united import few_valued, united_pairs

CONTROLLED = (IID, PAIRS, ALIKE, UNFITTED, RANGE)
"""Assumptions of a bound that uses simulated scores as a control."""
CAP = 0.99
"""Share of the solvency limit that may be staked."""
STEPS = 2000
"""The candidate means are 1/STEPS, 2/STEPS, ..., 1 - 1/STEPS of the range."""
BATCH = 2000
"""Games played at once: enough to keep numpy busy, few enough to need little memory."""
UNSURE = 8
"""Candidates near the end that are played at once where there is no control."""
PATIENCE = 10
"""Without a horizon a gambler plans for as many trials again as there were, and for this many more."""
BLOCK = 10
"""Simulated scenarios dealt to a trial where no horizon says how many trials have to share them."""
PRIOR_TRIALS = 8.0
PRIOR_CONTROL_VARIANCE = 0.1
PRIOR_CORRELATION, FIRST_CORRELATION, FEW_TRIALS = 0.2, 0.1, 30
"""Correlation expected before the first trial, and that of fewer trials than `FEW_TRIALS`. So few trials cannot correct
it (`python -m foretell.stats.useless --graded --without FEW_TRIALS` shows what a contrary simulator then costs)."""


def candidates(steps: int = STEPS) -> Floats:
    """Interior grid of candidate means, shape (steps - 1,)."""
    return np.arange(1, steps) / steps


def stake(
    m: Floats, need: Floats, g: float, vy: Floats, vc: float, cov: Floats, cap: float = CAP
) -> tuple[Floats, Floats]:
    """Bets (lam, beta), each of shape (G,), for candidates m of shape (G,).

    need: log wealth missing per trial left, (G,). g: bound of the control. vy, vc, cov: second moments of
    Y - m (G,), of c, and their cross moment (G,). Minimises need/lam + lam v(beta)/2 over the solvent bets.
    """
    if g <= 0.0:
        return np.minimum(np.sqrt(2.0 * need / vy), cap / m), np.zeros_like(m)
    beta = np.clip(cov / vc, 0.0, 1.0)
    v = vy + beta * (beta * vc - 2.0 * cov)
    lam = np.sqrt(2.0 * need / v)
    limit = m + beta * g
    insolvent = lam * limit > cap
    if not insolvent.any():
        return lam, beta
    # On the limit lam = cap/u with u = m + beta g: minimise need u/cap + cap/2 (rest/u + vc/g^2 u + const).
    ratio = m / g
    rest = vy + ratio * (2.0 * cov + ratio * vc)
    u = np.sqrt(0.5 * cap * rest / (need / cap + 0.5 * cap * vc / (g * g)))
    u = np.clip(u, m, m + g)
    lam = np.where(insolvent, cap / u, lam)
    beta = np.where(insolvent, (u - m) / g, beta)
    return lam, beta


def planned(t: int, horizon: int | Literal["open"]) -> int:
    """Trials that a gambler plans for after t of them. Past the horizon it plans as if half of it were still to come;
    any positive number is valid."""
    if horizon == OPEN:
        return t + PATIENCE
    return horizon - t if t < horizon else max(1, horizon // 2)


class Gambler:
    """One side of the game for all candidates at once: bets that the mean lies above each m.

    m: candidate means in (0, 1), shape (G,). horizon: planned number of trials, or "open". level, aim: bets are tuned
    to a wealth of 2/aim and stop at 2/level, aim <= level (default: equal); numbers or of shape (G,), so that one
    candidate may stand in several games.
    """

    def __init__(
        self, m: Floats, level: float | Floats, horizon: int | Literal["open"], aim: float | Floats | None = None
    ) -> None:
        self.m = m
        self.goal = np.broadcast_to(np.log(2.0 / level), m.shape)
        self.reach = self.goal if aim is None else np.broadcast_to(np.log(2.0 / aim), m.shape)
        self.horizon = horizon
        self.t = 0
        self.log_wealth = np.zeros_like(m)
        few = horizon != OPEN and horizon < FEW_TRIALS
        correlation = FIRST_CORRELATION if few else PRIOR_CORRELATION
        self._prior_cross = PRIOR_TRIALS * correlation * np.sqrt(PRIOR_CONTROL_VARIANCE * m * (1.0 - m))
        self._y = self._yy = self._c = self._cc = self._yc = 0.0

    def bets(self, g: float) -> tuple[Floats, Floats]:
        """(lam, beta) of shape (G,) for the coming trial, from past ones; lam = 0 once refuted."""
        need = np.where(self.refuted, 0.0, self.reach - self.log_wealth) / planned(self.t, self.horizon)
        weight = PRIOR_TRIALS + self.t
        m = self.m
        vy = (self._yy + m * ((PRIOR_TRIALS - 2.0 * self._y) + m * (self.t - PRIOR_TRIALS))) / weight
        vc = (PRIOR_TRIALS * PRIOR_CONTROL_VARIANCE + self._cc) / weight
        cov = (self._prior_cross + (self._yc - self._c * m)) / weight
        return stake(m, need, g, vy, vc, cov)

    def update(self, y: float, c: float, g: float) -> None:
        """Play one trial: real score y, control c in [-g, g]."""
        lam, beta = self.bets(g)
        self.log_wealth += np.log1p(lam * (y - self.m - beta * c))
        self.t += 1
        self._y += y
        self._yy += y * y
        self._c += c
        self._cc += c * c
        self._yc += y * c

    @property
    def refuted(self) -> NDArray[np.bool_]:
        """Shape (G,): whether the goal was met. Betting stops there, so a refuted candidate stays so."""
        done: NDArray[np.bool_] = self.log_wealth >= self.goal - 1e-12
        return done

    def drop(self) -> None:
        """Let refuted candidates leave the game."""
        stay = ~self.refuted
        self.m, self.log_wealth, self._prior_cross = self.m[stay], self.log_wealth[stay], self._prior_cross[stay]
        self.goal, self.reach = self.goal[stay], self.reach[stay]

    def leading(self, m: Floats) -> int:
        """Number of candidates below the first still standing; m: those the game began with, ascending."""
        return int(np.searchsorted(m, self.m.min())) if self.m.size else m.size


def every_game(m: Floats, games: Games, horizon: int | Literal["open"]) -> Gambler:
    """A gambler for candidates m, shape (G,), each of which stands until it has lost in every game."""
    level, aim = np.repeat(np.array(games), m.size, axis=0).T
    return Gambler(np.tile(m, len(games)), level, horizon, aim)


def controls(sim: Floats, extra: Floats, blocks: int | None = None) -> tuple[Floats, Floats]:
    """Controls c and their bounds g, both of shape (n,), from sim (n,) and extra (N,).

    Scenario j of `extra` joins block j mod `blocks` (default n), so the first N mod blocks hold one more. Trials
    beyond the number of blocks get no control: c = g = 0.
    """
    n, total = sim.size, extra.size
    many = n if blocks is None else blocks
    size = np.full(many, total // many)
    size[: total % many] += 1
    whole = total // many * many
    block = extra[:whole].reshape(-1, many).sum(axis=0) if whole else np.zeros(many)
    block[: total % many] += extra[whole:]
    met = min(n, many)
    c, g = np.zeros(n), np.zeros(n)
    g[:met] = size[:met] / (size[:met] + 1.0)
    c[:met] = np.where(size[:met] > 0, g[:met] * (sim[:met] - block[:met] / np.maximum(size[:met], 1)), 0.0)
    return c, g


def in_turn(y: Floats, f: Floats, e: Floats, horizon: Horizon) -> tuple[Floats, Floats, Floats]:
    """Scores and controls (y, c, g), each of shape (n,), in the order in which they are bet on.

    Without a horizon pairs stand in canonical order, and `extra` is dealt to n blocks. With one they stand as run,
    and `extra` is dealt to `horizon` blocks, so that a trial has the same block at every look. Only `extra` itself may
    then seed its order, and a sorted array of few values has one order for each number of them. That moves controls
    from one trial to another and leaves their sum as it is: `python -m foretell.stats.disorder --extra` finds no harm.
    """
    horizon, e = check_horizon(horizon), e[by_content(e)]
    if horizon is None:
        order = by_content(y, f, e)
        return (y[order], *controls(f[order], e))
    return (y, *controls(f, e, max(1, e.size // BLOCK) if horizon == OPEN else horizon))


def lower_end(y: Floats, c: Floats, g: Floats, alpha: float, horizon: Horizon = None, steps: int = STEPS) -> float:
    """Lower end for scores y with controls c bounded by g, all of shape (n,); 0.0 if nothing is refuted.

    Candidates are played in batches from the bottom, up to the batch in which one stands; a batch ends when all
    of it has fallen. This changes the time and memory taken and never the answer.
    """
    if not g.any():
        return _uncontrolled_end(y, alpha, horizon or y.size, steps)
    m, games = candidates(steps), rungs(alpha)
    size = math.ceil(BATCH / len(games))
    for start in range(0, m.size, size):
        part = m[start : start + size]
        gambler = every_game(part, games, horizon or y.size)
        for t in range(y.size):
            gambler.update(float(y[t]), float(c[t]), float(g[t]))
            if t % 4 == 3 or t == y.size - 1:
                gambler.drop()
                if not gambler.m.size:
                    break
        if gambler.m.size:
            return (start + gambler.leading(part)) / steps
    return m.size / steps


def _uncontrolled_end(y: Floats, alpha: float, horizon: int | Literal["open"], steps: int) -> float:
    """`lower_end` where no trial has a control. A report asks for the same one several times."""
    return _known_end(y.tobytes(), alpha, horizon, steps)


@lru_cache(maxsize=64)
def _known_end(scores: bytes, alpha: float, horizon: int | Literal["open"], steps: int) -> float:
    m, games, y = candidates(steps), rungs(alpha), np.frombuffer(scores)
    left = np.array([planned(t, horizon) for t in range(y.size)], dtype=np.float64)
    refuted = 0
    for part in uncontrolled.parts(m, y, games[0][0], UNSURE):
        fell = uncontrolled.fallen(part, games, y, left, CAP, PRIOR_TRIALS)
        refuted += fell
        if fell < part.size:
            break
    return refuted / steps


def surely_wider(y: Floats, width: float, alpha: float, horizon: int | Literal["open"], steps: int = STEPS) -> bool:
    """Whether two candidates that are further apart than `width` stand, so that the interval of y, shape (n,), without
    a control is wider. That takes a tenth of the time of both ends. False does not mean that it is narrow."""
    apart = math.floor(width * steps) + 1
    middle = (float(y.sum()) + 2.0) / (y.size + 4.0)
    low = min(max(round(middle * steps - apart / 2), 1), steps - 1 - apart)
    if low < 1:
        return False
    left = np.array([planned(t, horizon) for t in range(y.size)], dtype=np.float64)
    sides = ((low / steps, y), ((steps - low - apart) / steps, 1.0 - y))
    games = rungs(alpha)
    return all(uncontrolled.fallen(np.array([m]), games, z, left, CAP, PRIOR_TRIALS) == 0 for m, z in sides)


def both_ends(
    y: Floats, c: Floats, g: Floats, alpha: float, horizon: Horizon = None, steps: int = STEPS
) -> tuple[Ends, float]:
    """((low, high), level) in units of the [0, 1] score; y, c and g of shape (n,), in the order bet on.

    level: alpha, or where the trials contradict each other at alpha, the largest level at which they do not.
    """

    def at(level: float) -> Ends:
        return lower_end(y, c, g, level, horizon, steps), 1.0 - lower_end(1.0 - y, -c, g, level, horizon, steps)

    ends, level = meeting(at, alpha)
    return (0.0, 1.0) if ends is None else ends, level


def estimate(y: Floats, c: Floats) -> float:
    """Mean of y less the best multiple in [0, 1] of the mean control; y and c of shape (n,)."""
    square = float(np.mean(c * c))
    beta = min(max(float(np.mean((y - y.mean()) * c)) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return float(y.mean() - beta * c.mean())


def played(
    y: Floats,
    c: Floats,
    g: Floats,
    alpha: float,
    horizon: Horizon,
    method: str,
    assumes: tuple[str, ...],
    extra: int = 0,
    steps: int = STEPS,
) -> Interval:
    """Interval of the mean of y in [0, 1] with controls c bounded by g, all of shape (n,), in the order bet on."""
    horizon = check_horizon(horizon)
    (low, high), level = both_ends(y, c, g, check_alpha(alpha), horizon, steps)
    guess = min(max(estimate(y, c), low), high)
    notes = () if level == alpha else (CONTRADICTION.format(level),)
    assumes = (*assumes, *looked_at(horizon, extra))
    anytime = horizon is not None
    return Interval(
        estimate=guess,
        low=low,
        high=high,
        alpha=alpha,
        method=method,
        guarantee="finite-sample",
        assumes=assumes,
        n=y.size,
        n_extra=extra,
        reason=None,
        anytime=anytime,
        contradiction=None if level == alpha else level,
        notes=notes,
    )


def blocked(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    horizon: Horizon = None,
    shuffled: bool = False,
    steps: int = STEPS,
) -> Interval:
    """Bound on mean real performance; real and sim: shape (n,), paired; extra: shape (N,), N >= 1.

    horizon: the number of real trials planned before the first look, or "open". It makes the interval anytime-valid;
    rows must then stand as run, and `extra` must hold the same scenarios in the same order at every look. Without it
    rows are taken in canonical order (`order`), so that the answer depends on the order of a file by chance only. Where
    pairs have few values they are taken in several orders (`united`), because the arrays may be sorted. shuffled: they
    are not, their order cannot follow outcomes.
    """
    y, f, e = simulated(real, sim, extra, within, sim_within)
    if horizon is None and not shuffled and few_valued(y, f):
        game = partial(blocked, steps=steps)
        return united_pairs(game, real, sim, extra, alpha, within, sim_within, horizon=y.size)
    if horizon is None and not shuffled:
        e = e[by_content(e, y, f)]  # few sorted arrays of `extra` may be alike, and then pairs tell them apart
    y, c, g = in_turn(y, f, e, horizon)
    return stretch(played(y, c, g, alpha, horizon, "blocked", CONTROLLED, e.size, steps), within)
