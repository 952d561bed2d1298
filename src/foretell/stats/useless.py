"""What the default costs where simulation is of no use: its width against the best interval of real trials alone.

    python -m foretell.stats.useless              40 draws of every cell
    python -m foretell.stats.useless --successes  successes in reality and simulation only
    python -m foretell.stats.useless --graded --draws 240      graded scores only
    python -m foretell.stats.useless --mixed      successes in reality, means of several trials in simulation

Simulators here know nothing of reality, contradict it, or give the same in every scenario. The sizes are those at the
edge of what `auto` takes simulation for, and some beyond; `--sizes` and `--rates` give other ones. `--without` leaves
out one rule of a method, which shows what it is for: `--successes --without SCARCE`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from foretell.stats.bounds import bound, enough
from foretell.stats.coverage import table_head
from foretell.stats.diagnosis import real_only_width
from foretell.stats.interval import ALPHA
from foretell.stats.scores import Floats, is_binary

__all__ = ["SHARES", "SIZES", "change", "graded", "main", "mixed", "successes"]

Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
"""(generator, count) -> (real, sim), each of shape (count,)."""

SIZES = ((30, enough(30)), (40, enough(40)), (60, enough(60)), (100, enough(100)), (200, enough(200)), (60, 2000))
"""Real trials and extra simulated scenarios."""
SHARES = (0.3, 0.5, 0.7, 0.9, 0.97, 1.0)
"""Of scenarios that the simulator solves."""
RATES = (0.5, 0.7, 0.9, 0.95, 0.98)
"""Real success rates."""
MIXED_SIZES = ((20, 200), (30, 300), (40, 40), (40, 400), (60, 600))
MIXED_KINDS = ("four trials", "ten trials", "contrary")
RULES: dict[str, tuple[str, Any]] = {
    "SCARCE": ("strata", (0.0, 0.0)),
    "HARDLY": ("strata", 0.0),
    "FEW": ("strata", 0.0),
    "FEW_TRIALS": ("blocked", 0),
}
"""Constant of a rule -> its module, and the value with which there is no such rule."""
GRADED_SIZES = ((10, 10), (10, 100), (20, 60), (40, 40), (40, 400), (80, 800))


def successes(rate: float, share: float) -> Draw:
    """Successes of a policy, and of a simulator that solves a share of the scenarios, whichever."""

    def draw(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        return (rng.random(count) < rate).astype(float), (rng.random(count) < share).astype(float)

    return draw


def graded(kind: str) -> Draw:
    """Scores in quarters, and a simulator that is `independent`, `contrary` or `constant`."""

    def draw(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        real, blind = rng.integers(0, 5, count) / 4.0, rng.integers(0, 5, count) / 4.0
        sims = {"independent": blind, "contrary": 0.5 * (1.0 - real) + 0.5 * blind, "constant": np.full(count, 0.75)}
        return real, sims[kind]

    return draw


def mixed(kind: str, rate: float) -> Draw:
    """Successes of a policy, and means of several trials of a simulator: `four trials` and `ten trials` know nothing of
    reality, and differ in how much scenarios differ; `contrary` fails more often where reality succeeds."""

    def draw(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        real = (rng.random(count) < rate).astype(float)
        sims = {
            "four trials": rng.binomial(4, 0.7, count) / 4.0,
            "ten trials": rng.binomial(10, rng.beta(0.5, 0.5, count)) / 10.0,
            "contrary": rng.binomial(4, np.where(real > 0, 0.5, 0.9)) / 4.0,
        }
        return real, sims[kind]

    return draw


def change(
    draw: Draw, n: int, extra: int, draws: int, alpha: float = ALPHA, seed: int = 1, method: str = "auto"
) -> float:
    """Mean width of a method over that of the best interval without simulation, less one. Bets on graded scores are
    placed in the order drawn, with simulation and without: two orders would differ by more than simulation costs."""
    rng, used, alone = np.random.default_rng([seed, n, extra]), 0.0, 0.0
    for _ in range(draws):
        real, sim = draw(rng, n + extra)
        horizon = None if is_binary(real) else n
        pairs = real[:n], sim[:n], sim[n:]
        used += bound(*pairs, alpha=alpha, method=method, horizon=horizon, shuffled=True, diagnostics=False).width
        alone += real_only_width(real[:n], alpha, horizon)
    return used / alone - 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.useless", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--draws", type=int, default=40)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--successes", action="store_true", help="successes in reality and simulation only")
    only.add_argument("--graded", action="store_true", help="graded scores only")
    only.add_argument("--mixed", action="store_true", help="successes and a graded simulator only")
    parser.add_argument("--method", default="auto", help="method with simulation (default: auto)")
    parser.add_argument("--sizes", help="real trials and extra scenarios of successes, such as 20x80,60x300")
    parser.add_argument("--rates", help="real success rates, such as 0.9,0.98")
    parser.add_argument("--without", choices=RULES, help="leave out this rule")
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    given = (options.draws, options.alpha, options.seed, options.method)
    print(f"Change of width by using simulation, alpha {options.alpha:g}, {options.draws} draws, seed {options.seed}.")
    if options.without:
        module, value = RULES[options.without]
        setattr(import_module(f"foretell.stats.{module}"), options.without, value)
    rates = [float(part) for part in options.rates.split(",")] if options.rates else RATES
    sizes = [tuple(map(int, part.split("x"))) for part in options.sizes.split(",")] if options.sizes else SIZES
    everything = not (options.successes or options.graded or options.mixed)
    if everything or options.successes:
        table_head(["n", "N", "success rate", *(f"sim solves {share:.0%}" for share in SHARES)])
    for n, extra in sizes if everything or options.successes else ():
        for rate in rates:
            row = [f"{change(successes(rate, share), n, extra, *given):+.1%}" for share in SHARES]
            print(f"| {n} | {extra} | {rate:g} | " + " | ".join(row) + " |", flush=True)
    if everything or options.graded:
        kinds = ("independent", "contrary", "constant")
        table_head(["n", "N", *(f"graded, {kind}" for kind in kinds)])
        for n, extra in GRADED_SIZES:
            row = [f"{change(graded(kind), n, extra, *given):+.1%}" for kind in kinds]
            print(f"| {n} | {extra} | " + " | ".join(row) + " |", flush=True)
    if everything or options.mixed:
        table_head(["simulator", "n", "N", *(f"success rate {rate:g}" for rate in rates)])
        for kind in MIXED_KINDS:
            for n, extra in MIXED_SIZES:
                row = [f"{change(mixed(kind, rate), n, extra, *given):+.1%}" for rate in rates]
                print(f"| {kind} | {n} | {extra} | " + " | ".join(row) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
