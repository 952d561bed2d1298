"""Does an interval cover as often as it says? A Monte Carlo harness for the shipped methods, or your own.

    python -m foretell.stats.coverage            quick table (200 draws)
    python -m foretell.stats.coverage --full     2,000 draws of every method over every regime
    python -m foretell.stats.coverage --widths   2,000 draws at alpha 0.1 over the nine width regimes, seed 1

`--only NAME[,NAME]` picks regimes; each has its own generator, so parts add up to the whole.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from foretell.stats.bounds import REAL_ONLY, WITH_SIMULATION
from foretell.stats.interval import Interval
from foretell.stats.regimes import COVERAGE_REGIMES, WIDTH_REGIMES, Regime
from foretell.stats.scores import Floats

Method = Callable[[Floats, Floats, Floats, float, int], Interval]
"""(real (n,), sim (n,), extra (N,), alpha, number of the draw) -> Interval."""

SIGNIFICANCE = 1e-4
"""A cell fails when so few covering draws would be rarer than this at the nominal level."""
FINITE = (
    "clopper_pearson", "hoeffding", "betting", "star", "blocked",
    "suresim", "suresim_ub", "suresim_2stage", "suresim_2stage_ub",
)  # fmt: skip
"""Methods that claim a finite-sample guarantee."""
ASYMPTOTIC = ("wilson", "suresim_paper", "control_variate", "control_variate_split", "control_variate_normal")
WIDTHS = ("betting", "star", "clopper_pearson", "suresim", "suresim_paper", "blocked")
SEEDED = ("suresim", "suresim_ub", "suresim_paper")
VARIANTS: dict[str, Callable[..., Interval]] = {
    "suresim_paper": partial(WITH_SIMULATION["suresim"], weights="paper"),
    "control_variate_normal": partial(WITH_SIMULATION["control_variate"], tail="normal"),
}


def method(name: str) -> Method:
    """A shipped method, called alike; shuffles are seeded by the number of the draw, so they average out."""

    def call(real: Floats, sim: Floats, extra: Floats, alpha: float, draw: int) -> Interval:
        if name in REAL_ONLY:
            return REAL_ONLY[name](real, alpha)
        kind = VARIANTS.get(name) or WITH_SIMULATION[name]
        return kind(real, sim, extra, alpha, seed=draw) if name in SEEDED else kind(real, sim, extra, alpha)

    if name not in REAL_ONLY and name not in WITH_SIMULATION and name not in VARIANTS:
        raise ValueError(f"unknown method {name!r}")
    return call


@dataclass(frozen=True)
class Cell:
    """One method in one regime."""

    regime: str
    method: str
    draws: int
    covered: int
    alpha: float
    width: float
    """Mean width."""
    width_error: float
    """Standard error of the mean width."""

    @property
    def coverage(self) -> float:
        """Share of draws whose interval held the true mean."""
        return self.covered / self.draws

    @property
    def p_value(self) -> float:
        """Chance of so few covering draws if the true coverage were 1 - alpha."""
        from scipy.special import bdtr

        return float(bdtr(self.covered, self.draws, 1.0 - self.alpha))

    @property
    def fails(self) -> bool:
        """Whether coverage is below nominal beyond chance."""
        return self.p_value < SIGNIFICANCE


def cover(
    world: Regime,
    methods: Iterable[str] | dict[str, Method],
    *,
    draws: int = 2000,
    alpha: float = 0.1,
    seed: int = 1,
) -> list[Cell]:
    """Run methods (shipped names, or name -> function) on the same draws of one regime.

    Methods for binary scores are skipped where scores are not binary.
    """
    calls = methods if isinstance(methods, dict) else {name: method(name) for name in methods}
    if not world.binary:
        calls = {k: v for k, v in calls.items() if k not in ("clopper_pearson", "wilson")}
    rng = world.generator(seed)
    hits = dict.fromkeys(calls, 0)
    widths: dict[str, list[float]] = {name: [] for name in calls}
    truth = world.mean
    for i in range(draws):
        real, sim, extra = world.draw(rng)
        for name, call in calls.items():
            interval = call(real, sim, extra, alpha, i)
            # The exact mean is a float sum: allow for its rounding.
            low, high = interval.low, interval.high
            held = (low is None or low <= truth + 1e-12) and (high is None or truth - 1e-12 <= high)
            hits[name] += held
            widths[name].append(interval.width)
    cells = []
    for name in calls:
        w = np.array(widths[name])
        error = float(w.std(ddof=1) / np.sqrt(draws)) if draws > 1 else 0.0
        cells.append(Cell(world.name, name, draws, hits[name], alpha, float(w.mean()), error))
    return cells


def _show(rows: Sequence[Sequence[str]], head: Sequence[str]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def print_coverage(
    regimes: Sequence[Regime], names: Sequence[str], draws: int, alpha: float, seed: int
) -> int:
    """Coverage table in Markdown; returns the number of failing cells among finite-sample methods."""
    print(f"Coverage at nominal {1 - alpha:g}, {draws} draws, seed {seed}.", end=" ")
    print(f"FAIL: below nominal by a one-sided binomial test at {SIGNIFICANCE:g}.")
    _show([], ["regime", "n", "N", *names])
    failures = 0
    for world in regimes:
        cells = {c.method: c for c in cover(world, names, draws=draws, alpha=alpha, seed=seed)}
        row = [world.name, str(world.n), str(world.extra)]
        for name in names:
            cell = cells.get(name)
            row.append("" if cell is None else f"{cell.coverage:.4f}" + (" FAIL" if cell.fails else ""))
            failures += cell is not None and cell.fails and name in FINITE
        print("| " + " | ".join(row) + " |", flush=True)
    print(f"finite-sample cells below nominal: {failures}", flush=True)
    return failures


def print_widths(regimes: Sequence[Regime], draws: int, seed: int, alpha: float = 0.1) -> None:
    """Width table in Markdown: mean width (coverage), and `blocked` against both forms of `suresim`."""
    print(f"Mean width (coverage) at alpha {alpha:g}, {draws} draws, seed {seed}.")
    _show([], ["regime", "n", "N", *WIDTHS, "vs suresim", "vs suresim_paper", "vs star"])
    ratios = []
    for world in regimes:
        cells = {c.method: c for c in cover(world, WIDTHS, draws=draws, alpha=alpha, seed=seed)}
        row = [world.name, str(world.n), str(world.extra)]
        row += [f"{cells[m].width:.4f} ({cells[m].coverage:.3f})" if m in cells else "" for m in WIDTHS]
        ratio = [cells["blocked"].width / cells[m].width - 1.0 for m in ("suresim", "suresim_paper", "star")]
        ratios.append(ratio)
        row += [f"{100 * r:+.1f} %" for r in ratio]
        print("| " + " | ".join(row) + " |", flush=True)
    mean = np.mean(np.array(ratios), axis=0)
    print("mean change of width: " + ", ".join(f"{100 * r:+.1f} %" for r in mean), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; exit code 1 when a finite-sample method fell below nominal."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.coverage", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--full", action="store_true", help="2,000 draws instead of 200")
    parser.add_argument("--widths", action="store_true", help="width table instead of coverage")
    parser.add_argument(
        "--asymptotic", action="store_true", help="methods that claim no finite-sample guarantee"
    )
    parser.add_argument("--only", default="", help="comma-separated regime numbers, counted from 1")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    regimes: Sequence[Regime] = WIDTH_REGIMES if options.widths else COVERAGE_REGIMES
    if options.only:
        regimes = [regimes[int(k) - 1] for k in options.only.split(",")]
    if options.widths:
        print_widths(regimes, options.draws or 2000, options.seed, options.alpha)
        return 0
    names = ASYMPTOTIC if options.asymptotic else FINITE
    draws = options.draws or (2000 if options.full else 200)
    return 1 if print_coverage(regimes, names, draws, options.alpha, options.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
