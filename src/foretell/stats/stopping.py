"""Does an interval cover when a study stops as soon as it is narrow enough? And how many scenarios does that spare?

    python -m foretell.stats.stopping                  300 draws of every case
    python -m foretell.stats.stopping --draws 2000     more of them
    python -m foretell.stats.stopping --only 0,3       some cases

Every draw goes through the functions by which a study stops (`stats.until`). Beside them stands Clopper-Pearson's
interval, stopped by its own width at the same looks: it is for a fixed number of trials.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from foretell.stats.binomial import clopper_pearson
from foretell.stats.coverage import Coverage, table_head
from foretell.stats.interval import ALPHA
from foretell.stats.scores import Floats
from foretell.stats.until import EVERY, interval_at, is_decided, is_narrow, stop_after

__all__ = ["CASES", "ScoreCase", "counted_cell", "cover_decided", "cover_stopped"]

WIDTH, HORIZON = 0.14, 200
"""The rule that is tried: `until: {width: 0.14, max: 200}`."""


@dataclass(frozen=True)
class ScoreCase:
    """A distribution of scores."""

    name: str
    mean: float
    draw: Callable[[np.random.Generator, int], Floats]
    """(generator, n) -> scores, shape (n,)."""
    binary: bool = True


def _rate(p: float) -> ScoreCase:
    return ScoreCase(f"success {p:g}", p, lambda rng, n: (rng.random(n) < p).astype(np.float64))


def _three_trials(rng: np.random.Generator, n: int) -> Floats:
    """Means of three trials of scenarios of which most are easy or hard."""
    return rng.binomial(3, rng.beta(0.6, 0.4, n)) / 3.0


CASES = (
    *map(_rate, (0.05, 0.3, 0.5, 0.8, 0.97)),
    ScoreCase("means of three trials", 0.6, _three_trials, binary=False),
    ScoreCase("graded, beta(4, 2)", 4 / 6, lambda rng, n: rng.beta(4.0, 2.0, n), binary=False),
)


@dataclass(frozen=True)
class Stopped:
    """What came of one rule in one case."""

    cell: Coverage
    scenarios: float
    """Mean number of scenarios."""


def cover_stopped(
    case: ScoreCase,
    draws: int,
    *,
    exact: bool = False,
    width: float = WIDTH,
    horizon: int = HORIZON,
    every: int = EVERY,
    alpha: float = ALPHA,
    seed: int = 1,
) -> Stopped:
    """Coverage of the interval at the look at which a study stops. `exact`: of Clopper-Pearson's instead."""
    rng = np.random.default_rng([seed, CASES.index(case)])
    hits, widths, counts = 0, np.ones(draws), np.zeros(draws)
    for i in range(draws):
        y = case.draw(rng, horizon)

        def narrow(n: int, y: Floats = y) -> bool:
            if exact:
                return clopper_pearson(int(y[:n].sum()), n, alpha).width <= width
            return is_narrow(y[:n], width, horizon, alpha)

        n = stop_after(narrow, horizon, every)
        interval = clopper_pearson(int(y[:n].sum()), n, alpha) if exact else interval_at(y[:n], horizon, alpha)
        hits += case.mean in interval
        widths[i], counts[i] = interval.width, n
    name = "clopper_pearson" if exact else "star"
    return Stopped(counted_cell(case.name, name, hits, widths, alpha), float(counts.mean()))


def cover_decided(
    a: float, b: float, draws: int, *, horizon: int = HORIZON, every: int = EVERY, alpha: float = ALPHA, seed: int = 1
) -> Stopped:
    """Share of draws in which two policies of these success rates, on the same scenarios, are not told apart. A
    scenario's ease is common to both, so their outcomes are correlated."""
    rng = np.random.default_rng([seed, round(1e6 * a), round(1e6 * b)])
    open_, widths, counts = 0, np.ones(draws), np.zeros(draws)
    for i in range(draws):
        ease = rng.random(horizon)
        x, y = ((0.5 * ease + 0.5 * rng.random(horizon) < _cut(p)).astype(np.float64) for p in (a, b))

        def decided(n: int, x: Floats = x, y: Floats = y) -> bool:
            return is_decided(x[:n], y[:n], horizon, alpha)

        n = stop_after(decided, horizon, every)
        open_ += not decided(n)
        counts[i] = n
    return Stopped(counted_cell(f"success {a:g} and {b:g}", "decided", open_, widths, alpha), float(counts.mean()))


def _cut(p: float) -> float:
    """Where the mean of two uniform numbers lies below with probability p."""
    return float(np.sqrt(p / 2) if p <= 0.5 else 1.0 - np.sqrt((1.0 - p) / 2))


def counted_cell(name: str, method: str, hits: int, widths: Floats, alpha: float) -> Coverage:
    """A cell of a table: in how many draws the interval held, and how wide it was (draws,)."""
    error = float(widths.std(ddof=1) / widths.size**0.5) if widths.size > 1 else 0.0
    return Coverage(
        regime=name,
        method=method,
        draws=widths.size,
        covered=hits,
        alpha=alpha,
        width=float(widths.mean()),
        width_error=error,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; exit code 1 when a cell of a rule fell below nominal."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.stopping", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="numbers of cases, from 0; those of `decided` follow the others")
    options = parser.parse_args(arguments)
    pairs = ((0.6, 0.6), (0.8, 0.6), (0.9, 0.5))
    chosen = [int(part) for part in options.only.split(",") if part] or range(len(CASES) + len(pairs))
    print(f"Stopped at a width of {WIDTH}, at most {HORIZON} scenarios, {options.draws} draws, seed {options.seed}.")
    table_head(["case", "coverage", "width", "scenarios", "spared", "Clopper-Pearson, coverage"])
    failures = 0
    for number in chosen:
        if number >= len(CASES):
            a, b = pairs[number - len(CASES)]
            stopped = cover_decided(a, b, options.draws, seed=options.seed)
            kept = f"{stopped.cell.coverage:.4f} open"
            failures += stopped.cell.fails and a == b
            line = [f"decided: {stopped.cell.regime}", kept, "", f"{stopped.scenarios:.0f}"]
            print(f"| {' | '.join([*line, f'{1 - stopped.scenarios / HORIZON:.0%}', ''])} |", flush=True)
            continue
        case = CASES[number]
        stopped = cover_stopped(case, options.draws, seed=options.seed)
        failures += stopped.cell.fails
        exact = ""
        if case.binary:
            exact = f"{cover_stopped(case, options.draws, exact=True, seed=options.seed).cell.coverage:.4f}"
        line = [case.name, f"{stopped.cell.coverage:.4f}", f"{stopped.cell.width:.3f}", f"{stopped.scenarios:.0f}"]
        line += [f"{1 - stopped.scenarios / HORIZON:.0%}", exact]
        print(f"| {' | '.join(line)} |", flush=True)
    print(f"cells below nominal: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
