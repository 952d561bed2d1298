"""How well does a simulator predict reality across policies? Point values.

Every metric takes `real` first and `sim` second, one value per policy, shape (..., P); leading axes are
separate data sets. `sim` may be any proxy for which larger is better (for an error, pass its negative). NaN
raises. A metric that is undefined on the data is NaN: a correlation with a constant, or of two policies, which
always lie on a line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.scores import Floats

Metric = Callable[[ArrayLike, ArrayLike], Floats]
Gap = Literal["real", "sim"]
"""The side on which `mmrv` measures what a wrong order costs."""

MIN_CORRELATED = 3
"""Policies below which a correlation says nothing: two always lie on a line."""
CORRELATED = ("pearson", "spearman", "kendall", "r_squared")
STEPPED = ("spearman", "kendall", "pairwise_accuracy", "rank_reversals")
"""Metrics of ranks alone: they take a few values only."""


def _pair(real: ArrayLike, sim: ArrayLike) -> tuple[Floats, Floats]:
    a, b = np.asarray(real, dtype=np.float64), np.asarray(sim, dtype=np.float64)
    if a.ndim == 0 or a.shape != b.shape:
        raise ValueError(f"real and sim must both have shape (..., P), got {a.shape} and {b.shape}")
    if a.shape[-1] < 2:
        raise ValueError(f"at least two policies are needed, got {a.shape[-1]}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("real and sim must be finite: remove or fill in missing policies first")
    return a, b


def _steps(x: Floats) -> Floats:
    """Signs of all pairwise differences x_i - x_j, shape (..., P, P)."""
    signs: Floats = np.sign(x[..., :, None] - x[..., None, :])
    return signs


def _ratio(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = np.where(bottom > 0.0, top / bottom, np.nan)
    return out


def mmrv(real: ArrayLike, sim: ArrayLike, ties: Literal["paper", "code"] = "paper", gap: Gap = "real") -> Floats:
    """Mean maximum rank violation (SIMPLER), 0 is best; real, sim: shape (..., P) -> shape (...).

    A pair is violated when sim and real disagree on the truth of `i < j` (`paper`) or of `i > j` (`code`, as
    in SimplerEnv). They differ only for ties: `paper` charges a tie in one of the two to the policy that is
    lower in the other, `code` to the higher. The charge is the difference in real performance, as SIMPLER defines
    it; with gap="sim" it is the difference in simulated performance, as Real2Sim-Eval (arXiv 2511.04665) prints it.
    """
    a, b = _pair(real, sim)
    if ties not in ("paper", "code"):
        raise ValueError(f"ties must be 'paper' or 'code', got {ties!r}")
    if gap not in ("real", "sim"):
        raise ValueError(f"gap must be 'real' or 'sim', got {gap!r}")
    side = -1.0 if ties == "paper" else 1.0
    violated = (_steps(a) == side) != (_steps(b) == side)
    charged = a if gap == "real" else b
    apart = np.abs(charged[..., :, None] - charged[..., None, :])
    worst: Floats = np.max(apart * violated, axis=-1)
    return np.asarray(worst.mean(axis=-1))


def pearson(real: ArrayLike, sim: ArrayLike) -> Floats:
    """Pearson correlation over policies, also known as SRCC; shape (..., P) -> shape (...)."""
    a, b = _pair(real, sim)
    x, y = a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
    # A constant row leaves rounding noise behind; treat it as the zero it is.
    x = np.where(np.ptp(a, axis=-1, keepdims=True) == 0.0, 0.0, x)
    y = np.where(np.ptp(b, axis=-1, keepdims=True) == 0.0, 0.0, y)
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1)) * (a.shape[-1] >= MIN_CORRELATED)
    return np.clip(_ratio((x * y).sum(axis=-1), scale), -1.0, 1.0)


def ranks(x: ArrayLike) -> Floats:
    """Average ranks from 1 (lowest) to P; ties share their mean; shape (..., P) -> same shape."""
    steps = _steps(np.asarray(x, dtype=np.float64))
    out: Floats = 0.5 * (steps.sum(axis=-1) + steps.shape[-1] + 1)
    return out


def spearman(real: ArrayLike, sim: ArrayLike) -> Floats:
    """Spearman correlation, with average ranks for ties; shape (..., P) -> shape (...)."""
    a, b = _pair(real, sim)
    return pearson(ranks(a), ranks(b))


def kendall(real: ArrayLike, sim: ArrayLike) -> Floats:
    """Kendall's tau-b, which discounts ties in either argument; shape (..., P) -> shape (...)."""
    a, b = _pair(real, sim)
    x, y = _steps(a), _steps(b)
    scale = np.sqrt((x != 0).sum(axis=(-2, -1), dtype=float) * (y != 0).sum(axis=(-2, -1), dtype=float))
    scale = scale * (a.shape[-1] >= MIN_CORRELATED)
    return _ratio((x * y).sum(axis=(-2, -1)), scale)


def pairwise_accuracy(real: ArrayLike, sim: ArrayLike, ties: Literal["drop", "strict"] = "drop") -> Floats:
    """Share of policy pairs that sim orders as real does (PRA); shape (..., P) -> shape (...).

    drop: pairs tied in real or in sim are left out. strict: every pair counts and signs must be equal, so a
    tie matches only a tie.
    """
    a, b = _pair(real, sim)
    if ties not in ("drop", "strict"):
        raise ValueError(f"ties must be 'drop' or 'strict', got {ties!r}")
    x, y = _steps(a), _steps(b)
    counted = (x != 0) & (y != 0) if ties == "drop" else ~np.eye(a.shape[-1], dtype=bool) & (x == x)
    return _ratio((counted & (x == y)).sum(axis=(-2, -1), dtype=float), counted.sum(axis=(-2, -1), dtype=float))


def rank_reversals(real: ArrayLike, sim: ArrayLike) -> Floats:
    """Number of pairs ordered one way in real, the other in sim; ties never count; (..., P) -> shape (...)."""
    a, b = _pair(real, sim)
    return np.asarray(0.5 * (_steps(a) * _steps(b) < 0).sum(axis=(-2, -1)))


def r_squared(real: ArrayLike, sim: ArrayLike) -> Floats:
    """Share of the variance of real explained by a straight line in sim; shape (..., P) -> shape (...)."""
    return np.asarray(pearson(real, sim) ** 2)


def success_gap(real: ArrayLike, sim: ArrayLike) -> Floats:
    """Mean absolute difference of real and sim over policies; shape (..., P) -> shape (...)."""
    a, b = _pair(real, sim)
    return np.asarray(np.abs(a - b).mean(axis=-1))


def regret(real: ArrayLike, sim: ArrayLike, top: int = 1) -> Floats:
    """Real performance lost by picking in simulation, 0 is best; real, sim: shape (..., P) -> shape (...).

    The best real value minus that of the pick. top=1: the best in simulation, at random where several tie. top=k: the
    best in reality of the k best in simulation, and of all that tie with the last of them.
    """
    a, b = _pair(real, sim)
    if not 1 <= top <= a.shape[-1]:
        raise ValueError(f"top must be from 1 to the number of policies, {a.shape[-1]}, got {top}")
    listed = b >= np.sort(b, axis=-1)[..., -top, None]
    best = a.max(axis=-1)
    if top > 1:
        return np.asarray(best - np.where(listed, a, -np.inf).max(axis=-1))
    return np.asarray(best - (a * listed).sum(axis=-1) / listed.sum(axis=-1))


METRICS: dict[str, Metric] = {
    f.__name__: f for f in (mmrv, pearson, spearman, kendall, pairwise_accuracy, rank_reversals, r_squared, success_gap)
}
"""Metric functions by name."""


def metrics_of(gap: Gap = "real") -> dict[str, Metric]:
    """`METRICS`, of which `mmrv` charges the gap on one side."""
    if gap == "real":
        return METRICS
    return METRICS | {"mmrv": update_wrapper(partial(mmrv, gap=gap), mmrv)}


RANGES: dict[str, tuple[float, float]] = {
    "mmrv": (0.0, np.inf),
    "pearson": (-1.0, 1.0),
    "spearman": (-1.0, 1.0),
    "kendall": (-1.0, 1.0),
    "pairwise_accuracy": (0.0, 1.0),
    "rank_reversals": (0.0, np.inf),
    "r_squared": (0.0, 1.0),
    "success_gap": (0.0, np.inf),
}
"""Values each metric can take; intervals are cut to them."""


@dataclass(frozen=True)
class Homogeneity:
    """Kruskal-Wallis test of one policy: could real and sim outcomes come from one distribution?"""

    statistic: float
    p_value: float


def kruskal_wallis(real: Sequence[ArrayLike], sim: Sequence[ArrayLike]) -> list[Homogeneity]:
    """One test per policy; real and sim: P arrays of trial outcomes each, shapes (n_i,) and (m_i,).

    When all outcomes of a policy are equal there is nothing to tell apart: statistic 0, p-value 1.
    """
    if len(real) != len(sim):
        raise ValueError(f"real and sim must list the same policies, got {len(real)} and {len(sim)}")
    from scipy.stats import kruskal

    tests = []
    for tried, simulated in zip(real, sim, strict=True):
        a, b = np.asarray(tried, dtype=np.float64), np.asarray(simulated, dtype=np.float64)
        if a.ndim != 1 or b.ndim != 1 or not a.size or not b.size:
            raise ValueError("each policy needs outcomes of shape (n,) with n >= 1 in real and in sim")
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            raise ValueError("outcomes must be finite")
        if np.ptp(np.concatenate([a, b])) == 0.0:
            tests.append(Homogeneity(0.0, 1.0))
        else:
            test = kruskal(a, b)
            tests.append(Homogeneity(float(test.statistic), float(test.pvalue)))
    return tests


def leave_one_out(metric: Metric, real: ArrayLike, sim: ArrayLike) -> Floats:
    """The metric without each policy in turn; shape (P,) -> shape (P,), P >= 3."""
    a, b = _pair(real, sim)
    count = a.shape[-1]
    if a.ndim != 1 or count < 3:
        raise ValueError(f"leave-one-out needs shape (P,) with at least three policies, got {a.shape}")
    keep = np.array([[j for j in range(count) if j != i] for i in range(count)])
    return metric(a[keep], b[keep])
