"""Intervals for success counts: k successes in n trials."""

from __future__ import annotations

import math
import operator

from foretell.stats.interval import ALPHA, BINARY, FIXED_N, IID, NORMAL, Interval
from foretell.stats.scores import check_alpha


def check_counts(successes: int, n: int) -> tuple[int, int]:
    """(successes, n) as whole numbers with 0 <= successes <= n and n >= 1, or an error."""
    try:
        k, m = operator.index(successes), operator.index(n)
    except TypeError:
        raise ValueError(f"successes and n must be whole numbers, got {successes!r} and {n!r}") from None
    if m < 1 or not 0 <= k <= m:
        raise ValueError(f"need 0 <= successes <= n and n >= 1, got {k} of {m}")
    return k, m


def z_value(alpha: float) -> float:
    """Two-sided normal quantile, e.g. 1.96 for alpha = 0.05."""
    from statistics import NormalDist  # pulls in decimal and fractions: not at import time

    return NormalDist().inv_cdf(1.0 - check_alpha(alpha) / 2.0)


def wilson_ends(successes: float, n: float, z: float) -> tuple[float, float]:
    """Ends of the score interval; also used inside Newcombe's difference. Scalars in, scalars out."""
    p = successes / n
    scale = 1.0 + z * z / n
    centre = (p + z * z / (2.0 * n)) / scale
    half = z / scale * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def wilson(successes: int, n: int, alpha: float = ALPHA) -> Interval:
    """Wilson score interval of a success rate; no continuity correction. Scalars in.

    Good on average, yet it can fall short of 1 - alpha for single rates, hence `asymptotic`.
    """
    k, m = check_counts(successes, n)
    low, high = wilson_ends(k, m, z_value(alpha))
    return Interval(
        estimate=k / m,
        low=low,
        high=high,
        alpha=alpha,
        method="wilson",
        guarantee="asymptotic",
        assumes=(IID, BINARY, FIXED_N, NORMAL),
        n=m,
    )


def clopper_pearson_ends(successes: int, n: int, alpha: float) -> tuple[float, float]:
    """Exact ends from beta quantiles with alpha/2 on each side. Scalars in, scalars out."""
    from scipy.special import betaincinv

    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, alpha / 2.0))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1.0 - alpha / 2.0))
    return low, high


def clopper_pearson(successes: int, n: int, alpha: float = ALPHA) -> Interval:
    """Exact interval of a success rate: both one-sided binomial tests inverted at alpha/2. Scalars in."""
    k, m = check_counts(successes, n)
    low, high = clopper_pearson_ends(k, m, check_alpha(alpha))
    return Interval(
        estimate=k / m,
        low=low,
        high=high,
        alpha=alpha,
        method="clopper_pearson",
        guarantee="finite-sample",
        assumes=(IID, BINARY, FIXED_N),
        n=m,
    )


def newcombe(successes_a: int, n_a: int, successes_b: int, n_b: int, alpha: float = ALPHA) -> Interval:
    """Newcombe's score interval of the difference rate_a - rate_b, independent samples. Scalars in."""
    ka, na = check_counts(successes_a, n_a)
    kb, nb = check_counts(successes_b, n_b)
    z = z_value(alpha)
    (la, ua), (lb, ub) = wilson_ends(ka, na, z), wilson_ends(kb, nb, z)
    pa, pb = ka / na, kb / nb
    d = pa - pb
    low = d - math.hypot(pa - la, ub - pb)
    high = d + math.hypot(ua - pa, pb - lb)
    assumes = (IID, BINARY, FIXED_N, NORMAL, "the two samples are independent")
    return Interval(
        estimate=d,
        low=max(-1.0, low),
        high=min(1.0, high),
        alpha=alpha,
        method="newcombe",
        guarantee="asymptotic",
        assumes=assumes,
        n=na + nb,
    )


def newcombe_paired(both: int, only_a: int, only_b: int, neither: int, alpha: float = ALPHA) -> Interval:
    """Newcombe's score interval of rate_a - rate_b when both policies met the same n scenarios.

    The four counts of the 2 x 2 table: both succeeded, only a, only b, neither. Scalars in.
    """
    cells = [operator.index(v) for v in (both, only_a, only_b, neither)]
    if min(cells) < 0 or sum(cells) < 1:
        raise ValueError(f"the four counts must be >= 0 and not all zero, got {cells}")
    n = sum(cells)
    z = z_value(alpha)
    ka, kb = cells[0] + cells[1], cells[0] + cells[2]
    (la, ua), (lb, ub) = wilson_ends(ka, n, z), wilson_ends(kb, n, z)
    pa, pb = ka / n, kb / n
    margins = ka * (n - ka) * kb * (n - kb)
    cross = cells[0] * cells[3] - cells[1] * cells[2]
    # Newcombe's continuity correction of a positive correlation, not below zero.
    shrunk = max(cross - n / 2.0, 0.0) if cross > 0 else float(cross)
    phi = shrunk / math.sqrt(margins) if margins else 0.0
    d = pa - pb
    dl_a, du_a, dl_b, du_b = pa - la, ua - pa, pb - lb, ub - pb
    low = d - math.sqrt(max(0.0, dl_a**2 - 2.0 * phi * dl_a * du_b + du_b**2))
    high = d + math.sqrt(max(0.0, du_a**2 - 2.0 * phi * du_a * dl_b + dl_b**2))
    assumes = (IID, BINARY, FIXED_N, NORMAL, "both policies ran on the same scenarios")
    return Interval(
        estimate=d,
        low=max(-1.0, low),
        high=min(1.0, high),
        alpha=alpha,
        method="newcombe_paired",
        guarantee="asymptotic",
        assumes=assumes,
        n=n,
    )
