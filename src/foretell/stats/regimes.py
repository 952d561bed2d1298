"""Synthetic worlds with known truth: finite joint tables of real and simulated scores.

Every regime is a probability table over (real level, sim level), so its mean is exact, draws are quick, and
tests can sum over it instead of sampling. Dependence is a mixture of the monotone coupling of the two margins
and independence, with the weight that gives the wanted correlation.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretell.stats.scores import Floats

FIVE = (0.0, 0.25, 0.5, 0.75, 1.0)
THREE = (0.0, 0.5, 1.0)
TWO = (0.0, 1.0)
FINE = tuple(np.linspace(0.0, 1.0, 21).tolist())


def monotone(p: Floats, q: Floats) -> Floats:
    """Joint table, shape (R, S), with margins p (R,) and q (S,), that pairs equal quantiles."""
    a, b = np.concatenate([[0.0], np.cumsum(p)]), np.concatenate([[0.0], np.cumsum(q)])
    overlap = np.minimum(a[1:, None], b[None, 1:]) - np.maximum(a[:-1, None], b[None, :-1])
    table: Floats = np.maximum(overlap, 0.0)
    return table


@dataclass(frozen=True, kw_only=True, eq=False)
class Regime:
    """n real trials, each paired, and `extra` more simulated scenarios, drawn from one joint table."""

    name: str
    real_levels: Floats
    """Shape (R,)."""
    sim_levels: Floats
    """Shape (S,)."""
    table: Floats
    """Probability of each pair of levels, shape (R, S)."""
    n: int
    extra: int

    @property
    def mean(self) -> float:
        """True mean of the real score."""
        return float(self.real_levels @ self.table.sum(axis=1))

    @property
    def binary(self) -> bool:
        """Whether the real score only takes the values 0 and 1."""
        return set(self.real_levels.tolist()) <= {0.0, 1.0}

    def moments(self) -> dict[str, float]:
        """Exact mean, variance and correlation of the table, and the variance of real - sim."""
        p, q = self.table.sum(axis=1), self.table.sum(axis=0)
        y, f = self.real_levels - self.mean, self.sim_levels - float(self.sim_levels @ q)
        vy, vf, cov = float(y**2 @ p), float(f**2 @ q), float(y @ self.table @ f)
        return {
            "real_mean": self.mean,
            "sim_mean": float(self.sim_levels @ q),
            "real_variance": vy,
            "rectifier_variance": vy + vf - 2.0 * cov,
            "correlation": cov / (vy * vf) ** 0.5 if vy * vf > 0.0 else 0.0,
        }

    def generator(self, seed: int) -> np.random.Generator:
        """Generator keyed by seed and regime, so that regimes can be run alone or together."""
        return np.random.default_rng([seed, zlib.crc32(self.name.encode())])

    def pairs(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        """Real and sim scores of `size` scenarios, both of shape (size,)."""
        cells = np.cumsum(self.table.ravel())
        cell = np.searchsorted(cells, rng.random(size) * cells[-1], side="right")
        row, column = np.divmod(cell, self.sim_levels.size)
        return self.real_levels[row], self.sim_levels[column]

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """One data set: real (n,), sim (n,), extra (N,)."""
        real, sim = self.pairs(rng, self.n)
        margin = np.cumsum(self.table.sum(axis=0))
        column = np.searchsorted(margin, rng.random(self.extra) * margin[-1], side="right")
        return real, sim, self.sim_levels[column]


def regime(
    name: str,
    real: Sequence[float],
    p: Sequence[float],
    sim: Sequence[float],
    q: Sequence[float],
    correlation: float,
    n: int,
    extra: int,
) -> Regime:
    """A regime from margins: real levels with weights p, sim levels with weights q, and their correlation."""
    y, f = np.array(real, dtype=np.float64), np.array(sim, dtype=np.float64)
    pw, qw = np.array(p, dtype=np.float64), np.array(q, dtype=np.float64)
    pw, qw = pw / pw.sum(), qw / qw.sum()
    if correlation < 0.0:
        extreme = monotone(pw, qw[::-1])[:, ::-1]
    else:
        extreme = monotone(pw, qw)
    free = np.outer(pw, qw)
    reach = Regime(name=name, real_levels=y, sim_levels=f, table=extreme, n=n, extra=extra).moments()["correlation"]
    weight = 0.0 if correlation == 0.0 else correlation / reach
    if weight > 1.0 + 1e-9:
        raise ValueError(f"{name}: these margins reach a correlation of {reach:.3f} at most")
    return Regime(
        name=name, real_levels=y, sim_levels=f, table=weight * extreme + (1.0 - weight) * free, n=n, extra=extra
    )


def _coin(p: float) -> tuple[float, float]:
    return 1.0 - p, p


def _bell(peak: float, sharpness: float) -> list[float]:
    return [float(np.exp(-sharpness * (x - peak) ** 2)) for x in FINE]


_DP = (0.5235, 0.2068, 0.1107, 0.0802, 0.0788)
_SIM2SIM = (0.1007, 0.0764, 0.0926, 0.1788, 0.5515)
_PI0 = (0.15, 0.01, 0.02, 0.02, 0.80)
_LOW = (0.012, 0.0, 0.006, 0.004, 0.978)

WIDTH_REGIMES: tuple[Regime, ...] = (
    regime("dp-like", FIVE, _DP, THREE, (0.662, 0.316, 0.022), 0.70, 60, 700),
    regime("pi0-like", FIVE, _PI0, THREE, (0.02, 0.36, 0.62), 0.588, 60, 2100),
    regime("low correlation", FIVE, _LOW, FIVE, (0.0, 0.0, 0.02, 0.24, 0.74), 0.0, 60, 2100),
    regime("sim2sim", FIVE, _SIM2SIM, FIVE, _SIM2SIM, 0.974, 100, 2000),
    regime("binary .7 n20", TWO, _coin(0.7), TWO, _coin(0.7), 0.6, 20, 200),
    regime("binary .7 n50", TWO, _coin(0.7), TWO, _coin(0.7), 0.6, 50, 1000),
    regime("binary .02", TWO, _coin(0.02), TWO, _coin(0.02), 0.5, 60, 1200),
    regime("binary .5 rho .9", TWO, _coin(0.5), TWO, _coin(0.5), 0.9, 30, 600),
    regime("skewed", (0.3, 1.0), _coin(0.03), (0.3, 1.0), _coin(0.03), 0.3, 60, 1200),
)
"""The nine regimes of the width table; the first four follow the moments of SureSim's Table 1."""

COVERAGE_REGIMES: tuple[Regime, ...] = (
    regime("tiny binary", TWO, _coin(0.5), TWO, _coin(0.5), 0.5, 10, 10),
    regime("binary", TWO, _coin(0.7), TWO, _coin(0.7), 0.6, 20, 200),
    regime("near one", TWO, _coin(0.98), TWO, _coin(0.95), 0.5, 60, 1200),
    regime("near zero", TWO, _coin(0.02), TWO, _coin(0.02), 0.5, 60, 600),
    regime("partial credit", FIVE, _DP, THREE, (0.662, 0.316, 0.022), 0.70, 60, 700),
    regime("partial credit, high", FIVE, _PI0, THREE, (0.02, 0.36, 0.62), 0.588, 60, 2100),
    regime("skewed up", (0.3, 1.0), _coin(0.03), (0.3, 1.0), _coin(0.03), 0.3, 60, 1200),
    regime("skewed down", (0.0, 0.8), (0.04, 0.96), (0.0, 0.8), (0.1, 0.9), 0.4, 40, 400),
    regime("biased simulator", FIVE, (0.5, 0.2, 0.1, 0.1, 0.1), TWO, _coin(0.75), 0.4, 40, 400),
    regime("useless simulator", TWO, _coin(0.6), TWO, _coin(0.5), 0.0, 50, 1000),
    regime("misleading simulator", TWO, _coin(0.6), TWO, _coin(0.5), -0.6, 50, 500),
    regime("near-perfect simulator", FIVE, _SIM2SIM, FIVE, _SIM2SIM, 0.995, 100, 2000),
    regime("fine score, uneven blocks", FINE, _bell(0.6, 12.0), FINE, _bell(0.5, 8.0), 0.8, 30, 100),
    regime("many real trials", TWO, _coin(0.8), TWO, _coin(0.85), 0.7, 300, 3000),
    regime("huge simulation", TWO, _coin(0.3), TWO, _coin(0.4), 0.7, 60, 50_000),
)
"""Regimes of the coverage table: n from 10 to 300, N from n to 50,000."""

OTHER_REGIMES: tuple[Regime, ...] = (
    regime("binary useless", TWO, _coin(0.7), TWO, _coin(0.7), 0.0, 60, 1200),
    regime("binary weak", TWO, _coin(0.7), TWO, _coin(0.6), 0.3, 60, 1200),
    regime("binary misleading", TWO, _coin(0.5), TWO, _coin(0.6), -0.5, 40, 800),
    regime("binary .95", TWO, _coin(0.95), TWO, _coin(0.9), 0.6, 60, 600),
    regime("binary .8 n25", TWO, _coin(0.8), TWO, _coin(0.75), 0.6, 25, 250),
    regime("graded useless", FIVE, (0.2, 0.1, 0.2, 0.2, 0.3), FIVE, (0.3, 0.2, 0.2, 0.2, 0.1), 0.0, 60, 1200),
    regime("graded misleading", FIVE, (0.3, 0.1, 0.2, 0.1, 0.3), THREE, (0.4, 0.2, 0.4), -0.5, 40, 400),
    regime("graded weak", FIVE, (0.4, 0.1, 0.1, 0.1, 0.3), FIVE, (0.3, 0.1, 0.1, 0.1, 0.4), 0.3, 30, 600),
    regime("graded good", FINE, _bell(0.7, 6.0), FINE, _bell(0.6, 5.0), 0.8, 50, 1000),
)
"""Nine more for widths, many unfriendly; draws at other seeds served to choose constants (docs/statistics.md)."""

BINARY_REGIMES: tuple[Regime, ...] = (
    *(r for r in OTHER_REGIMES if r.binary),
    regime("binary strong", TWO, _coin(0.7), TWO, _coin(0.7), 0.9, 60, 1200),
    regime("binary opposite", TWO, _coin(0.5), TWO, _coin(0.5), -0.9, 30, 300),
    regime("binary .01", TWO, _coin(0.01), TWO, _coin(0.3), 0.1, 50, 500),
    regime("binary .99", TWO, _coin(0.99), TWO, _coin(0.98), 0.6, 100, 1000),
    regime("rarely solved", TWO, _coin(0.6), TWO, _coin(0.01), 0.05, 40, 200),
    regime("few simulations", TWO, _coin(0.6), TWO, _coin(0.5), 0.6, 50, 50),
)
"""Success or failure at every correlation and near both ends, for the coverage of exact bounds."""
