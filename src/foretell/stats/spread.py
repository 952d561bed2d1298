"""How far the width of `blocked` depends on the order of the trials, in one order and in the hull of four.

    python -m foretell.stats.spread            one data set of each width regime, 48 shuffles
    python -m foretell.stats.spread --arrays   what eight orders cost on arrays that may be sorted, 200 draws

The wealth of several games over the same trials may be averaged. A game stops at its goal, so the average reaches the
goal when all of them have: the interval is the hull of theirs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from foretell.stats.blocked import blocked
from foretell.stats.bounds import bound
from foretell.stats.coverage import table_head
from foretell.stats.interval import Horizon
from foretell.stats.regimes import WIDTH_REGIMES, Regime
from foretell.stats.scores import Floats

__all__ = ["arrays", "main", "widths"]

TOGETHER = 4


def widths(world: Regime, shuffles: int, alpha: float, seed: int) -> tuple[Floats, Floats]:
    """Widths of one data set in single orders, shape (shuffles,), and of hulls of four, shape (shuffles // 4,)."""
    rng = world.generator(seed)
    real, sim, extra = world.draw(rng)
    ends = np.empty((shuffles, 2))
    for i in range(shuffles):
        order, more = rng.permutation(real.size), rng.permutation(extra.size)
        interval = blocked(real[order], sim[order], extra[more], alpha, horizon=real.size)
        ends[i] = interval.low or 0.0, 1.0 if interval.high is None else interval.high
    whole = ends[: shuffles // TOGETHER * TOGETHER].reshape(-1, TOGETHER, 2)
    return ends[:, 1] - ends[:, 0], whole[:, :, 1].max(axis=1) - whole[:, :, 0].min(axis=1)


ARRAYS = ((2, "betting", 20), (2, "star", 20), (2, "star", 60), (3, "star", 14), (3, "blocked", 20), (3, "blocked", 40))
"""Values of a score, method and number of trials."""


def arrays(values: int, method: str, n: int, draws: int, alpha: float, seed: int) -> tuple[float, float]:
    """Mean width of `bound` in one order and in eight, of scores that take so many values evenly. A simulator, where
    the method takes one, is right in half of the scenarios."""
    rng, widths = np.random.default_rng([seed, values, n]), np.zeros(2)
    for _ in range(draws):
        real = rng.integers(0, values, 11 * n) / (values - 1.0)
        sim = np.where(rng.random(11 * n) < 0.5, real, rng.permutation(real))
        rows = (real[:n], sim[:n], sim[n:]) if method == "blocked" else (real[:n],)
        plans: tuple[Horizon, ...] = (n, None)  # as drawn, and in the orders of an array that may be sorted
        widths += [bound(*rows, method=method, alpha=alpha, horizon=plan, diagnostics=False).width for plan in plans]
    return widths[0] / draws, widths[1] / draws


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.spread", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--shuffles", type=int, default=48)
    parser.add_argument("--arrays", action="store_true", help="what eight orders cost on arrays that may be sorted")
    parser.add_argument("--draws", type=int, default=200, help="with --arrays")
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.arrays:
        print(f"Mean width in one order and in eight, alpha {options.alpha:g}, {options.draws} draws.")
        table_head(["values", "method", "n", "one order", "eight orders", "change"])
        for values, method, n in ARRAYS:
            alone, eight = arrays(values, method, n, options.draws, options.alpha, options.seed)
            change = f"{eight / alone - 1.0:+.1%}"
            print(f"| {values} | {method} | {n} | {alone:.3f} | {eight:.3f} | {change} |", flush=True)
        return 0
    print(f"Mean width (standard deviation; range) over {options.shuffles} shuffles, alpha {options.alpha:g}.")
    table_head(["regime", "one order", "four orders", "change of mean"])
    for world in WIDTH_REGIMES:
        single, hull = widths(world, options.shuffles, options.alpha, options.seed)
        cells = [f"{w.mean():.3f} ({w.std():.3f}; {w.min():.3f} to {w.max():.3f})" for w in (single, hull)]
        print(f"| {world.name} | " + " | ".join(cells) + f" | {hull.mean() / single.mean() - 1.0:+.1%} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
