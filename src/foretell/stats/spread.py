"""How far the width of `blocked` depends on the order of the trials, in one order and in the hull of four.

    python -m foretell.stats.spread        one data set of each width regime, 48 shuffles

The wealth of several games over the same trials may be averaged. A game stops at its goal, so the average reaches the
goal when all of them have: the interval is the hull of theirs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from foretell.stats.blocked import blocked
from foretell.stats.coverage import table_head
from foretell.stats.regimes import WIDTH_REGIMES, Regime
from foretell.stats.scores import Floats

__all__ = ["main", "widths"]

TOGETHER = 4


def widths(world: Regime, shuffles: int, alpha: float, seed: int) -> tuple[Floats, Floats]:
    """Widths of one data set in single orders, shape (shuffles,), and of hulls of four, shape (shuffles // 4,)."""
    rng = world.generator(seed)
    real, sim, extra = world.draw(rng)
    ends = np.empty((shuffles, 2))
    for i in range(shuffles):
        order, other = rng.permutation(real.size), rng.permutation(extra.size)
        found = blocked(real[order], sim[order], extra[other], alpha, horizon=real.size)
        ends[i] = found.low or 0.0, 1.0 if found.high is None else found.high
    whole = ends[: shuffles // TOGETHER * TOGETHER].reshape(-1, TOGETHER, 2)
    return ends[:, 1] - ends[:, 0], whole[:, :, 1].max(axis=1) - whole[:, :, 0].min(axis=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.spread", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--shuffles", type=int, default=48)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print(f"Mean width (standard deviation; range) over {options.shuffles} shuffles, alpha {options.alpha:g}.")
    table_head(["regime", "one order", "four orders", "change of mean"])
    for world in WIDTH_REGIMES:
        single, hull = widths(world, options.shuffles, options.alpha, options.seed)
        cells = [f"{w.mean():.3f} ({w.std():.3f}; {w.min():.3f} to {w.max():.3f})" for w in (single, hull)]
        print(f"| {world.name} | " + " | ".join(cells) + f" | {hull.mean() / single.mean() - 1.0:+.1%} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
