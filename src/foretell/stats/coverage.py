"""Does an interval cover as often as it says? A Monte Carlo harness for the shipped methods, or your own.

    python -m foretell.stats.coverage            quick table (200 draws)
    python -m foretell.stats.coverage --full     2,000 draws of every method over every regime
    python -m foretell.stats.coverage --widths   2,000 draws at alpha 0.1 over the nine width regimes, seed 1
    python -m foretell.stats.coverage --widths --hard     the same over the coverage regimes
    python -m foretell.stats.coverage --widths --other    the same over nine other regimes
    python -m foretell.stats.coverage --full --binary     coverage over further binary regimes
    python -m foretell.stats.coverage --saved             real trials saved over the width regimes, 800 draws
    python -m foretell.stats.coverage --full --sampled    bounds after uniform, stratified and active sampling
    python -m foretell.stats.coverage --bank              several simulators at once; with --widths what they gain
    python -m foretell.stats.coverage --predictivity      intervals of predictivity metrics, 0.1 and 0.05

`--only NUMBER[,NUMBER]` picks regimes and `--methods NAME[,NAME]` methods; each regime has its own generator, so
parts add up to the whole.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from foretell.stats.bounds import ANYTIME, DEALT, REAL_ONLY, WITH_SIMULATION
from foretell.stats.families import FAMILIES, Family, covered
from foretell.stats.interval import ALPHA, Interval
from foretell.stats.predictivity import METRICS, with_interval
from foretell.stats.regimes import BINARY_REGIMES, COVERAGE_REGIMES, OTHER_REGIMES, WIDTH_REGIMES, Regime
from foretell.stats.sampling import Rule, next_scenarios, sampled_bound
from foretell.stats.savings import trials_needed
from foretell.stats.scores import Floats

Method = Callable[[Floats, Floats, Floats, float, int], Interval]
"""(real (n,), sim (n,), extra (N,), alpha, number of the draw) -> Interval."""

SIGNIFICANCE = 1e-4
"""A cell fails when so few covering draws would be rarer than this at the nominal level."""
LEVELS = (0.1, ALPHA)
"""Levels at which the predictivity intervals are tried."""
FINITE = (
    "clopper_pearson", "hoeffding", "betting", "star", "strata", "blocked",
    "suresim", "suresim_ub", "suresim_2stage", "suresim_2stage_ub",
)  # fmt: skip
"""Methods that claim a finite-sample guarantee."""
ASYMPTOTIC = ("wilson", "suresim_paper", "control_variate", "control_variate_split", "control_variate_normal")
WIDTHS = ("betting", "star", "clopper_pearson", "suresim", "suresim_paper", "strata", "blocked")
BINARY_ONLY = ("clopper_pearson", "wilson", "strata")
SEEDED = ("suresim", "suresim_ub", "suresim_paper")
VARIANTS: dict[str, Callable[..., Interval]] = {
    "suresim_paper": partial(WITH_SIMULATION["suresim"], weights="paper"),
    "control_variate_normal": partial(WITH_SIMULATION["control_variate"], tail="normal"),
}


def method(name: str) -> Method:
    """A shipped method, called alike; shuffles are seeded by the number of the draw, so they average out."""

    known: dict[str, Any] = {"shuffled": True} if name in (*ANYTIME, *DEALT) else {}  # draws stand in random order

    def call(real: Floats, sim: Floats, extra: Floats, alpha: float, draw: int) -> Interval:
        if name in REAL_ONLY:
            return REAL_ONLY[name](real, alpha, **known)
        kind = VARIANTS.get(name) or WITH_SIMULATION[name]
        more = {"seed": draw} if name in SEEDED else {}
        return kind(real, sim, extra, alpha, **more, **known)

    if name not in REAL_ONLY and name not in WITH_SIMULATION and name not in VARIANTS:
        raise ValueError(f"unknown method {name!r}")
    return call


@dataclass(frozen=True, kw_only=True)
class Coverage:
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
) -> list[Coverage]:
    """Run methods (shipped names, or name -> function) on the same draws of one regime.

    Methods for binary scores are skipped where scores are not binary.
    """
    calls = methods if isinstance(methods, dict) else {name: method(name) for name in methods}
    if not world.binary:
        calls = {k: v for k, v in calls.items() if k not in BINARY_ONLY}
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
        cells.append(
            Coverage(
                regime=world.name,
                method=name,
                draws=draws,
                covered=hits[name],
                alpha=alpha,
                width=float(w.mean()),
                width_error=error,
            )
        )
    return cells


def cover_sampled(world: Regime, rule: Rule, *, draws: int = 2000, alpha: float = 0.1, seed: int = 1) -> Coverage:
    """`sampled_bound` when n of the n + N scenarios of a regime are run for real, on average, by `rule`.

    The active rule is told a wrong uncertainty on purpose: validity must not depend on it.
    """
    rng = world.generator(seed)
    hits, w = 0, np.ones(draws)
    for i in range(draws):
        real, sim = world.pairs(rng, world.n + world.extra)
        pick = next_scenarios(sim, world.n, rule=rule, uncertainty=0.05 + sim, seed=seed * draws + i)
        if not pick.chosen.size:  # no trial, no interval: the whole range
            hits += 1
            continue
        interval = sampled_bound(real[pick.chosen], sim, pick, alpha)
        hits += world.mean in interval
        w[i] = interval.width
    name = f"sampled_bound, {rule}"
    return Coverage(
        regime=world.name,
        method=name,
        draws=draws,
        covered=hits,
        alpha=alpha,
        width=float(w.mean()),
        width_error=float(w.std() / draws**0.5),
    )


def print_sampled(regimes: Sequence[Regime], draws: int, alpha: float, seed: int) -> int:
    """Coverage and mean width of `sampled_bound` in Markdown; returns the number of failing cells."""
    print(f"Coverage (mean width) at nominal {1 - alpha:g}, {draws} draws, seed {seed}.")
    rules: tuple[Rule, ...] = ("uniform", "stratified", "active")
    table_head(["regime", "n", "N", *rules])
    failures = 0
    for world in regimes:
        cells = [cover_sampled(world, rule, draws=draws, alpha=alpha, seed=seed) for rule in rules]
        failures += sum(c.fails for c in cells)
        row = [f"{c.coverage:.4f} ({c.width:.3f})" + (" FAIL" if c.fails else "") for c in cells]
        print("| " + " | ".join([world.name, str(world.n), str(world.extra), *row]) + " |", flush=True)
    print(f"finite-sample cells below nominal: {failures}", flush=True)
    return failures


def print_saved(regimes: Sequence[Regime], draws: int, alpha: float, seed: int) -> None:
    """Real trials that classical methods need to match `suresim` and `blocked`, in Markdown."""
    print(f"Real trials needed to match, alpha {alpha:g}, widths from {draws} draws, seed {seed}.")
    head = ["suresim: betting", "suresim: best", "blocked: betting", "blocked: best", "best is"]
    table_head(["regime", "n run", *head])
    for world in regimes:
        share = world.table.sum(axis=1)
        big = np.repeat(world.real_levels, np.round(20_000 * share).astype(int))  # the margin itself, to resample
        kinds = ["betting", "star"] + (["clopper_pearson"] if world.binary else [])
        row, best = [world.name, str(world.n)], ""
        for cell in cover(world, ["suresim", "blocked"], draws=draws, alpha=alpha, seed=seed):
            need = {
                k: trials_needed(k, big, cell.width, alpha, start=world.n, draws=draws // 2 + 1, seed=seed)
                for k in kinds
            }
            best = min(need, key=lambda k: need[k])
            row += [f"{need[k]} ({100 * (1 - world.n / need[k]):+.0f} %)" for k in ("betting", best)]
        print("| " + " | ".join([*row, best]) + " |", flush=True)


def table_head(head: Sequence[str]) -> None:
    """First two lines of a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))


def print_coverage(regimes: Sequence[Regime], names: Sequence[str], draws: int, alpha: float, seed: int) -> int:
    """Coverage table in Markdown; returns the number of failing cells among finite-sample methods."""
    print(f"Coverage at nominal {1 - alpha:g}, {draws} draws, seed {seed}.", end=" ")
    print(f"FAIL: below nominal by a one-sided binomial test at {SIGNIFICANCE:g}.")
    table_head(["regime", "n", "N", *names])
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
    table_head(["regime", "n", "N", *WIDTHS, "vs suresim", "vs suresim_paper", "vs star"])
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


def print_predictivity(
    families: Sequence[Family], draws: int, seed: int, interval: Callable[..., Interval] = with_interval
) -> int:
    """Coverage of the metrics' intervals over trials, in Markdown; returns the number of failing cells."""
    levels = " and ".join(f"{1 - alpha:g}" for alpha in LEVELS)
    print(f"Coverage at nominal {levels} (mean width of the latter), {draws} draws, seed {seed}.", end=" ")
    print(f"FAIL: below nominal by a one-sided binomial test at {SIGNIFICANCE:g}.")
    table_head(["policies", *METRICS])
    failures = 0
    for family in families:
        by_metric = covered(family, draws, LEVELS, seed, interval=interval)
        row = [family.name]
        for metric in METRICS:
            cells = [
                Coverage(
                    regime=family.name,
                    method=metric,
                    draws=c.given,
                    covered=c.held,
                    alpha=c.alpha,
                    width=c.width,
                    width_error=0.0,
                )
                for c in by_metric.get(metric, ())
            ]
            failures += sum(c.fails for c in cells)
            shares = " ".join(f"{c.coverage:.3f}" + " FAIL" * c.fails for c in cells)
            row.append(f"{shares} ({cells[-1].width:.2f})" if cells else "undefined")
        print("| " + " | ".join(row) + " |", flush=True)
    print(f"cells below nominal: {failures}", flush=True)
    return failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; exit code 1 when a finite-sample method, or a predictivity interval, fell below nominal."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.coverage", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--full", action="store_true", help="2,000 draws instead of 200")
    parser.add_argument("--widths", action="store_true", help="width table instead of coverage")
    parser.add_argument("--hard", action="store_true", help="with --widths: over the coverage regimes")
    parser.add_argument("--other", action="store_true", help="over nine other width regimes")
    parser.add_argument("--binary", action="store_true", help="over further binary regimes")
    parser.add_argument("--methods", default="", help="comma-separated methods of a coverage table")
    parser.add_argument("--saved", action="store_true", help="real trials saved, over the width regimes")
    parser.add_argument("--sampled", action="store_true", help="bounds after uneven sampling")
    parser.add_argument("--predictivity", action="store_true", help="coverage of the predictivity intervals")
    parser.add_argument("--decisions", action="store_true", help="regret and ties of picking by simulation")
    parser.add_argument("--paired", action="store_true", help="paired changes, retention, latency budgets and trends")
    parser.add_argument("--asymptotic", action="store_true", help="methods that claim no finite-sample guarantee")
    parser.add_argument("--bank", action="store_true", help="several simulators at once")
    parser.add_argument("--only", default="", help="comma-separated regime numbers, counted from 1")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    regimes: Sequence[Regime] = (
        OTHER_REGIMES
        if options.other
        else BINARY_REGIMES
        if options.binary
        else WIDTH_REGIMES
        if (options.widths or options.saved) and not options.hard
        else COVERAGE_REGIMES
    )
    families: Sequence[Family] = FAMILIES
    if options.only:
        chosen = [int(k) - 1 for k in options.only.split(",")]
        if options.predictivity:
            families = [families[k] for k in chosen]
        else:
            regimes = [regimes[k] for k in chosen]
    if options.bank:
        from foretell.stats.coverage_bank import print_bank, print_bank_widths

        if options.widths:
            print_bank_widths(options.draws or 40, options.alpha, options.seed)
            return 0
        return 1 if print_bank(options.draws or 200, options.alpha, options.seed, SIGNIFICANCE) else 0
    if options.paired:
        from foretell.stats.coverage_paired import print_paired

        return 1 if print_paired(options.draws or 2000, options.alpha, options.seed) else 0
    if options.decisions:
        from foretell.stats.coverage_decision import print_decisions

        return 1 if print_decisions(options.draws or 2000, options.alpha, options.seed, SIGNIFICANCE) else 0
    if options.saved:
        print_saved(regimes, options.draws or 800, options.alpha, options.seed)
        return 0
    if options.predictivity:
        return 1 if print_predictivity(families, options.draws or 600, options.seed) else 0
    if options.widths:
        print_widths(regimes, options.draws or 2000, options.seed, options.alpha)
        return 0
    if options.sampled:
        draws = options.draws or (2000 if options.full else 200)
        return 1 if print_sampled(regimes, draws, options.alpha, options.seed) else 0
    names: Sequence[str] = ASYMPTOTIC if options.asymptotic else FINITE
    names = options.methods.split(",") if options.methods else names
    draws = options.draws or (2000 if options.full else 200)
    return 1 if print_coverage(regimes, names, draws, options.alpha, options.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
