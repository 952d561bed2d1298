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

The planned number of trials enters the bets only, so the bound also holds after fewer trials or more, and
looking after every trial is allowed.

Why it is nested
----------------
In time: a game stops when it is won, so what was refuted stays refuted. In alpha: the lower end is the least of
the lower ends of the single games, which is the hull of which `rungs` gives the proof. Its one premise, that a
game with the same bets and a lower goal refutes no less, holds since the two games are equal until the lower
goal is met.

How the bets are chosen (any choice keeps 1-5)
----------------------------------------------
Let G be the log wealth still missing to 2/aim divided by the trials left, and v(beta) an estimate of the second
moment of Y - m - beta c from the past, started with eight imaginary trials (binary Y, correlation 0.2).
A gambler staking lam will have refuted m if the mean advantage per trial is about G/lam + lam v(beta)/2, so
(lam, beta) minimise that expression under the solvency limit. In (lam, lam beta) the problem is convex with
one linear constraint; if the free optimum is insolvent the optimum lies on the limit and both cases have a
closed form (see `stake`). So beta is range-aware: control that would eat up the room to bet is declined.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.interval import ALPHA, IID, PAIRS, RANGE, Interval
from foretell.stats.rungs import Games, rungs
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, simulated, stretch

CAP = 0.99
"""Share of the solvency limit that may be staked."""
STEPS = 2000
"""The candidate means are 1/STEPS, 2/STEPS, ..., 1 - 1/STEPS of the range."""
BATCH = 2000
"""Games played at once: enough to keep numpy busy, few enough to need little memory."""
PRIOR_TRIALS = 8.0
PRIOR_CONTROL_VARIANCE = 0.1
PRIOR_CORRELATION = 0.2


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


class Gambler:
    """One side of the game for all candidates at once: bets that the mean lies above each m.

    m: candidate means in (0, 1), shape (G,). horizon: planned number of trials. level, aim: bets are tuned to a
    wealth of 2/aim and stop at 2/level, aim <= level (default: equal); numbers or of shape (G,), so that one
    candidate may stand in several games.
    """

    def __init__(self, m: Floats, level: float | Floats, horizon: int, aim: float | Floats | None = None) -> None:
        self.m = m
        self.goal = np.broadcast_to(np.log(2.0 / level), m.shape)
        self.reach = self.goal if aim is None else np.broadcast_to(np.log(2.0 / aim), m.shape)
        self.horizon = horizon
        self.t = 0
        self.log_wealth = np.zeros_like(m)
        self._prior_cross = PRIOR_TRIALS * PRIOR_CORRELATION * np.sqrt(PRIOR_CONTROL_VARIANCE * m * (1.0 - m))
        self._y = self._yy = self._c = self._cc = self._yc = 0.0

    def bets(self, g: float) -> tuple[Floats, Floats]:
        """(lam, beta) of shape (G,) for the coming trial, from past ones; lam = 0 once refuted."""
        # Past the horizon a gambler plans as if half of it were still to come; any positive number is valid.
        left = self.horizon - self.t if self.t < self.horizon else max(1, self.horizon // 2)
        need = np.where(self.refuted, 0.0, self.reach - self.log_wealth) / left
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


def every_game(m: Floats, games: Games, horizon: int) -> Gambler:
    """A gambler for candidates m, shape (G,), each of which stands until it has lost in every game."""
    level, aim = np.repeat(np.array(games), m.size, axis=0).T
    return Gambler(np.tile(m, len(games)), level, horizon, aim)


def controls(sim: Floats, extra: Floats) -> tuple[Floats, Floats]:
    """Controls c and their bounds g, both of shape (n,), from sim (n,) and extra (N,).

    Scenario j of `extra` joins block j mod n, so the first N mod n blocks hold one more.
    """
    n, total = sim.size, extra.size
    size = np.full(n, total // n)
    size[: total % n] += 1
    whole = total // n * n
    block = extra[:whole].reshape(-1, n).sum(axis=0) if whole else np.zeros(n)
    block[: total % n] += extra[whole:]
    g = size / (size + 1.0)
    return np.where(size > 0, g * (sim - block / np.maximum(size, 1)), 0.0), g


def lower_end(y: Floats, c: Floats, g: Floats, alpha: float, horizon: int | None = None, steps: int = STEPS) -> float:
    """Lower end for scores y with controls c bounded by g, all of shape (n,); 0.0 if nothing is refuted.

    Candidates are played in batches from the bottom, up to the batch in which one stands; a batch ends when all
    of it has fallen. This changes the time and memory taken and never the answer.
    """
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


def both_ends(
    y: Floats, c: Floats, g: Floats, alpha: float, horizon: int | None = None, steps: int = STEPS
) -> tuple[float, float]:
    """(low, high) in units of the [0, 1] score; y, c and g of shape (n,)."""
    return lower_end(y, c, g, alpha, horizon, steps), 1.0 - lower_end(1.0 - y, -c, g, alpha, horizon, steps)


def estimate(y: Floats, c: Floats) -> float:
    """Mean of y less the best multiple in [0, 1] of the mean control; y and c of shape (n,)."""
    square = float(np.mean(c * c))
    beta = min(max(float(np.mean((y - y.mean()) * c)) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return float(y.mean() - beta * c.mean())


def blocked(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    horizon: int | None = None,
    steps: int = STEPS,
) -> Interval:
    """Bound on mean real performance; real and sim: shape (n,), paired, as run; extra: shape (N,), N >= 1.

    `horizon` is the planned number of real trials (default n); stopping before or after it is allowed.
    Deterministic: nothing is shuffled. Blocks take `extra` in turn, so its order must not follow outcomes.
    """
    y, f, e = simulated(real, sim, extra, within, sim_within)
    c, g = controls(f, e)
    low, high = both_ends(y, c, g, check_alpha(alpha), horizon, steps)
    guess = min(max(estimate(y, c), low), high)
    n, total, assumes = y.size, e.size, (IID, PAIRS, RANGE)
    unit = Interval(guess, low, high, alpha, "blocked", "finite-sample", assumes, n, total, anytime=True)
    return stretch(unit, within)
