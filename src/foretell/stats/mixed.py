"""Successes in reality and grades in simulation, as when each scenario is simulated several times: width and coverage.

    python -m foretell.stats.mixed                   60 draws of every cell
    python -m foretell.stats.mixed --sorted          the same with all rows sorted by score
    python -m foretell.stats.mixed --coverage --draws 400      coverage only, of the default

A scenario's chance of success is drawn from a beta distribution; reality and simulation try it independently. `useless`
has the simulators that tell nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretell.stats.binomial import clopper_pearson_ends
from foretell.stats.bounds import bound
from foretell.stats.coverage import Coverage, table_head
from foretell.stats.interval import ALPHA
from foretell.stats.scores import Floats

__all__ = ["CASES", "SIZES", "PolicyCase", "main"]


@dataclass(frozen=True)
class PolicyCase:
    """A policy's success rate, and the correlation of single real and simulated trials of one scenario."""

    rate: float
    correlation: float

    def draw(self, rng: np.random.Generator, n: int, extra: int, trials: int) -> tuple[Floats, Floats, Floats]:
        """Real (n,), sim (n,) and extra (N,) scores; simulated ones are means of `trials`."""
        if self.correlation > 0.0:
            size = 1.0 / self.correlation - 1.0
            chance = rng.beta(self.rate * size, (1.0 - self.rate) * size, n + extra)
        else:
            chance = np.full(n + extra, self.rate)
        real = (rng.random(n) < chance[:n]).astype(np.float64)
        sim = rng.binomial(trials, chance) / trials
        return real, sim[:n], sim[n:]


CASES = tuple(PolicyCase(rate, rho) for rho in (0.0, 0.4, 0.6) for rate in (0.5, 0.7, 0.9, 0.95))
SIZES = ((20, 200), (30, 300), (60, 1200))
TRIALS = (1, 10)
METHODS = ("auto", "strata", "blocked")


def _sorted(real: Floats, sim: Floats, extra: Floats) -> tuple[Floats, Floats, Floats]:
    order = np.lexsort((sim, real))
    return real[order], sim[order], np.sort(extra)


def measured(
    case: PolicyCase,
    n: int,
    extra: int,
    trials: int,
    methods: Sequence[str],
    draws: int,
    seed: int,
    alpha: float,
    rise: bool,
) -> tuple[dict[str, Coverage], float]:
    """Method -> its coverage and mean width, and the mean width of `clopper_pearson`. rise: rows are sorted."""
    rng = np.random.default_rng([seed, n, extra, trials, round(100 * case.rate), round(100 * case.correlation)])
    widths, hits, alone = np.zeros((len(methods), draws)), np.zeros(len(methods), dtype=int), 0.0
    for i in range(draws):
        rows = case.draw(rng, n, extra, trials)
        low, high = clopper_pearson_ends(int(rows[0].sum()), n, alpha)
        alone += (high - low) / draws
        for j, method in enumerate(methods):
            interval = bound(*(_sorted(*rows) if rise else rows), alpha=alpha, method=method, shuffled=not rise,
                          diagnostics=False)  # fmt: skip
            widths[j, i] = interval.width
            hits[j] += case.rate in interval
    name = f"{case.rate:g}, {case.correlation:g}"
    return {
        method: Coverage(
            regime=name, method=method, draws=draws, covered=int(hits[j]), alpha=alpha, width=float(widths[j].mean()),
            width_error=float(widths[j].std() / draws**0.5),
        )
        for j, method in enumerate(methods)
    }, alone  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; exit code 1 where a cell falls below nominal."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.mixed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--sorted", action="store_true", help="give rows sorted by score")
    parser.add_argument("--coverage", action="store_true", help="coverage of the default alone")
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    methods = ("auto",) if options.coverage else METHODS
    print(
        f"Coverage, and change of mean width against clopper_pearson. Alpha {options.alpha:g}, {options.draws} draws,"
    )
    print(f"seed {options.seed}. FAIL: below nominal by a one-sided binomial test.")
    head = [f"{method}, {t} trial{'s' * (t > 1)}" for t in TRIALS for method in methods]
    table_head(["success rate", "correlation", "n", "N", *head])
    failed = False
    for case in CASES:
        for n, extra in SIZES:
            row = [f"{case.rate:g}", f"{case.correlation:g}", str(n), str(extra)]
            for trials in TRIALS:
                cells, alone = measured(
                    case, n, extra, trials, methods, options.draws, options.seed, options.alpha, options.sorted
                )
                failed |= any(cell.fails for cell in cells.values())
                row += [f"{c.coverage:.3f} ({c.width / alone - 1.0:+.1%})" + " FAIL" * c.fails for c in cells.values()]
            print("| " + " | ".join(row) + " |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
