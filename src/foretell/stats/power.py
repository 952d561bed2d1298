"""Level and power of the tests in `compare`, by Monte Carlo.

    python -m foretell.stats.power

Two binary policies meet the same 50 scenarios, 20 more per scenario are simulated; one-sided alpha 0.05.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

import numpy as np

from foretell.stats.barnard import barnard
from foretell.stats.evidence import mcnemar, paired_betting
from foretell.stats.interval import ALPHA
from foretell.stats.scores import Floats

N, BLOCK = 50, 20
SHARED = 0.5
"""Chance that a scenario is equally hard for both policies (one uniform decides for both)."""
FAITHFUL = 0.8
"""Chance that the simulator repeats the real outcome; otherwise it draws a fresh one of the same rate."""


def draw(rng: np.random.Generator, rate_a: float, rate_b: float, size: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Real a, real b, sim a, sim b of `size` scenarios, each of shape (size,)."""
    u = rng.random((2, size))
    u[1] = np.where(rng.random(size) < SHARED, u[0], u[1])
    rates = np.array([[rate_a], [rate_b]])
    real = (u < rates).astype(np.float64)
    fresh = (rng.random((2, size)) < rates).astype(np.float64)
    sim = np.where(rng.random((2, size)) < FAITHFUL, real, fresh)
    return real[0], real[1], sim[0], sim[1]


@cache
def _barnard(successes_a: int, successes_b: int) -> float:
    return barnard(successes_a, N, successes_b, N, "greater")


def rejection_rates(rate_a: float, rate_b: float, draws: int, seed: int) -> dict[str, float]:
    """Share of draws in which each test calls a better than b. Scalars in."""
    rng = np.random.default_rng(seed)
    hits = dict.fromkeys(("barnard", "mcnemar", "paired_betting", "paired_betting with sim"), 0)
    for _ in range(draws):
        a, b, fa, fb = draw(rng, rate_a, rate_b, N * (BLOCK + 1))
        x, y = a[:N], b[:N]
        only = int((x * (1 - y)).sum()), int(((1 - x) * y).sum())
        plain = paired_betting(x, y, alternative="greater", shuffled=True)
        aided = paired_betting(x, y, fa[:N], fb[:N], fa[N:], fb[N:], alternative="greater")
        hits["barnard"] += _barnard(int(x.sum()), int(y.sum())) <= ALPHA
        hits["mcnemar"] += mcnemar(*only, "greater") <= ALPHA
        hits["paired_betting"] += plain.p_value <= ALPHA
        hits["paired_betting with sim"] += aided.p_value <= ALPHA
    return {name: count / draws for name, count in hits.items()}


def main(write: Callable[[str], object] = print, draws: int = 1000, seed: int = 1) -> int:
    """Print the table in Markdown."""
    write(f"n {N}, {BLOCK} extra per scenario, one-sided alpha {ALPHA}, {draws} draws, seed {seed}.")
    for k, (a, b) in enumerate(((0.5, 0.5), (0.9, 0.9), (0.7, 0.5), (0.75, 0.5))):
        rates = rejection_rates(a, b, draws, seed)
        if k == 0:
            write("| true rates | " + " | ".join(rates) + " |")
            write("|" + "---|" * (1 + len(rates)))
        write(f"| {a} and {b} | " + " | ".join(f"{r:.3f}" for r in rates.values()) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
