"""What simulation buys: width against the number of simulated scenarios, and real trials saved.

python -m foretell.stats.savings     trials saved by `blocked` and `suresim` over the nine width regimes
"""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.stats.betting import betting, star
from foretell.stats.binomial import clopper_pearson_ends
from foretell.stats.blocked import both_ends, controls
from foretell.stats.interval import ALPHA
from foretell.stats.order import by_content
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, is_binary, scores, simulated
from foretell.stats.strata import both_ends as strata_ends
from foretell.stats.strata import solved_from, strata

ENDLESS = 1000
"""So many times the simulated scenarios at hand count as endless."""


@dataclass(frozen=True, kw_only=True)
class WidthCurve:
    """Width of a method as simulated scenarios are added."""

    method: str
    """`strata` where real scores are binary, else `blocked`."""
    sizes: NDArray[np.int64]
    """Numbers of extra simulated scenarios, shape (S,), ascending."""
    widths: Floats
    """Width at each size, shape (S,)."""
    floor: float
    """Width if the simulator's mean were known exactly: more simulation cannot go below about this."""
    real_only: float
    """Width on the real trials alone: of `clopper_pearson` where they are binary, else of `star`."""


def width_curve(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike,
    sizes: Seq[int] | None = None,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    sim_within: Range = UNIT,
) -> WidthCurve:
    """Widths of `strata` or `blocked` for N' of `extra`, for each N' in `sizes` (default: n doubled up to N).

    real and sim: shape (n,); extra: shape (N,). Widths are in units of `within`. The floor puts the mean of
    all simulated scores in the place of their expectation; it is a forecast and not itself a bound.
    """
    y, f, e = simulated(real, sim, extra, within, sim_within)
    n, total = y.size, e.size
    if sizes is None:
        sizes = [s for s in (n * 2**j for j in range(40)) if s < total] + [total]
    picks = np.array(sorted({int(s) for s in sizes}), dtype=np.int64)
    if picks[0] < 1 or picks[-1] > total:
        raise ValueError(f"sizes must lie in 1..{total}, got {picks[0]}..{picks[-1]}")
    scale = within[1] - within[0]
    mixed = e[by_content(e)]
    order = by_content(y, f, mixed)

    def width(c: Floats, g: Floats) -> float:
        (low, high), _ = both_ends(y[order], c, g, check_alpha(alpha))
        return high - low

    if is_binary(y):
        kind, widths = "strata", np.array([strata(y, f, mixed[:s], alpha).width for s in picks])
        cut, _ = solved_from(y, f, e)
        split, solved = (f >= cut).astype(np.float64), int((e >= cut).sum())
        low, high, _ = strata_ends(y, split, ENDLESS * solved, ENDLESS * total, check_alpha(alpha))
        bottom, top = clopper_pearson_ends(int(y.sum()), n, alpha)
        floor, alone = high - low, top - bottom
    else:
        kind, widths = "blocked", np.array([width(*controls(f[order], mixed[:s])) for s in picks])
        known = f - np.concatenate([f, e]).mean()
        floor, alone = width(known[order], np.ones(n)), star(y, alpha, shuffled=True).width
    return WidthCurve(method=kind, sizes=picks, widths=widths * scale, floor=floor * scale, real_only=alone * scale)


@dataclass(frozen=True, kw_only=True)
class TrialsSaved:
    """Real trials that classical methods would need for the same width. Negative shares mean a loss."""

    n: int
    width: float
    betting: int
    """Trials needed by `betting`, the paper's classical baseline."""
    best: int
    """Trials needed by the best classical method."""
    best_method: str
    saved_against_betting: float
    """1 - n / betting."""
    saved_against_best: float
    """1 - n / best: the honest figure."""


def _mean_width(method: str, y: Floats, n: int, alpha: float, draws: int, seed: int) -> float:
    """Average width of a classical method on `draws` samples of size n drawn from y with replacement."""
    rng = np.random.default_rng([seed, n])
    widths = []
    for _ in range(draws):
        sample = y[rng.integers(y.size, size=n)]
        if method == "clopper_pearson":
            low, high = clopper_pearson_ends(int(sample.sum()), n, alpha)
            widths.append(high - low)
        else:
            widths.append((betting if method == "betting" else star)(sample, alpha, shuffled=True).width)
    return float(np.mean(widths))


def trials_needed(
    method: str,
    real: ArrayLike,
    width: float,
    alpha: float = ALPHA,
    *,
    start: int | None = None,
    draws: int = 12,
    seed: int = 0,
) -> int:
    """Smallest n at which `method` on data like `real` (shape (n,), in [0, 1]) is expected to reach `width`.

    Expected widths are averages over resamples at n doubled or halved from `start` (default: the size of
    `real`), joined by a power law between neighbours.
    """
    y = scores(real, "real")
    if not width > 0.0:
        raise ValueError(f"width must be positive, got {width}")

    def at(n: int) -> float:
        return _mean_width(method, y, n, alpha, draws, seed)

    size = first = start or y.size
    now = at(size)
    if now > width:
        while now > width and size < 64 * first:
            last, before, size = size, now, 2 * size
            now = at(size)
        small, w_small, large, w_large = last, before, size, now
    else:
        while now <= width and size > 2:
            last, before, size = size, now, max(2, size // 2)
            now = at(size)
        if now <= width:
            return size
        small, w_small, large, w_large = size, now, last, before
    slope = (np.log(w_large) - np.log(w_small)) / (np.log(large) - np.log(small))
    if slope >= 0.0:
        return large
    return int(np.ceil(small * (width / w_small) ** (1.0 / slope) - 1e-9))


def real_trials_saved(
    real: ArrayLike,
    width: float,
    alpha: float = ALPHA,
    *,
    within: Range = UNIT,
    draws: int | None = None,
    seed: int = 0,
) -> TrialsSaved:
    """Trials saved by an interval of `width`, in units of `within`, reached with real of shape (n,). The best classical
    method is `clopper_pearson` for successes, else `betting` or `star`. draws: resamples, 12 or fewer for large n."""
    y = scores(real, "real", within=within)
    target = width / (within[1] - within[0])
    draws = max(2, min(12, 1200 // y.size)) if draws is None else draws
    kinds = ["betting", "clopper_pearson" if is_binary(y) else "star"]
    needed = {k: trials_needed(k, y, target, alpha, draws=draws, seed=seed) for k in kinds}
    best = min(needed, key=lambda k: needed[k])
    n = y.size
    return TrialsSaved(
        n=n,
        width=width,
        betting=needed["betting"],
        best=needed[best],
        best_method=best,
        saved_against_betting=1.0 - n / needed["betting"],
        saved_against_best=1.0 - n / needed[best],
    )
