"""Does an answer hold when a robot changes while it is tried? That depends on the order of trials.

    python -m foretell.stats.drift                 400 draws of every case
    python -m foretell.stats.drift --draws 2000    more of them

A motor warms up, a gripper wears: the success rate moves while a study runs. Two policies that are equally good are
compared, in each order that a study knows (`study.order`), with a fixed number of scenarios and with
`until: {decided: [a, b]}`. An order is fair if they are told apart no more often than stated.

Below, a rule `until: {width: 0.3, max: 60}` stops trials of the designs that real studies have: repeated trials,
children of one scenario, trials that the machine spoiled. Every draw goes through the functions by which a study stops.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from foretell.stats.compare import compare
from foretell.stats.coverage import Coverage, table_head
from foretell.stats.interval import ALPHA
from foretell.stats.scores import Floats
from foretell.stats.stopping import counted_cell
from foretell.stats.until import EVERY, interval_at, is_decided, is_narrow, looks, stop_after

__all__ = ["DESIGNS", "DRIFTS", "Way", "cover_design", "cover_drift", "times"]

HORIZON, WIDTH = 60, 0.3
Way = Literal["planned", "random", "mixed"]
Drift = Callable[[Floats], Floats]
"""Share of the study that has passed -> success rate at that moment, shape (n,) each."""
DRIFTS: dict[str, Drift] = {
    "steady, 0.6": lambda t: np.full(t.shape, 0.6),
    "wears, 0.8 to 0.4": lambda t: 0.8 - 0.4 * t,
    "warms up, 0.3, then 0.7 from a quarter on": lambda t: np.where(t < 0.25, 0.3, 0.7),
}


def times(way: Way, blocks: Sequence[int], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """When each scenario is tried with two policies: the numbers of their trials, shape (n,) each, as scenarios count.
    blocks: numbers of scenarios after which one looks; the last is n."""
    a, b, first = [], [], 0
    for last in blocks:
        n = last - first
        if way == "planned":
            mine, other = np.arange(n), n + np.arange(n)
        elif way == "random":
            swap = rng.integers(0, 2, n)
            mine, other = 2 * np.arange(n) + swap, 2 * np.arange(n) + 1 - swap
        else:
            mine, other = rng.permutation(2 * n).reshape(2, n)
        a.append(2 * first + mine)
        b.append(2 * first + other)
        first = last
    return np.concatenate(a).astype(np.float64), np.concatenate(b).astype(np.float64)


def cover_drift(
    drift: Drift, way: Way, draws: int, *, until: bool, n: int = HORIZON, alpha: float = ALPHA, seed: int = 1
) -> Coverage:
    """Share of draws in which two equal policies are not told apart. until: whether one stops when they are; else the
    default test with n scenarios. A scenario's ease is common to both policies."""
    rng = np.random.default_rng([seed, until, n, ("planned", "random", "mixed").index(way)])
    blocks = looks(n, EVERY) if until else (n,)
    held = 0
    for _ in range(draws):
        ease = rng.random(n)
        x, y = (_tried(drift(t / (2 * n)), ease, rng) for t in times(way, blocks, rng))

        def decided(k: int, x: Floats = x, y: Floats = y) -> bool:
            return is_decided(x[:k], y[:k], n, alpha)

        if until:
            held += not decided(stop_after(decided, n, EVERY))
        else:
            held += compare(x, y, paired=True, alpha=alpha).verdict not in ("better", "worse")
    rule = "until decided" if until else "fixed number"
    return counted_cell(f"{way}, {rule}", "compare", held, np.ones(draws), alpha)


def _tried(rate: Floats, ease: Floats, rng: np.random.Generator) -> Floats:
    """Outcomes at these success rates, half of them by the ease of the scenario."""
    low = np.sqrt(np.minimum(rate, 0.5) / 2)
    cut = np.where(rate <= 0.5, low, 1.0 - np.sqrt((1.0 - np.maximum(rate, 0.5)) / 2))
    return (0.5 * ease + 0.5 * rng.random(ease.size) < cut).astype(np.float64)


def _chances(rng: np.random.Generator, n: int) -> Floats:
    """Success rates of scenarios, most of them easy or hard; their mean is 0.6."""
    return rng.beta(0.6, 0.4, n)


def _trials(rng: np.random.Generator, n: int) -> Floats:
    return rng.binomial(3, _chances(rng, n)) / 3.0


def _children(rng: np.random.Generator, n: int) -> Floats:
    """Four children of each scenario: two near it, and two that are as hard as another one."""
    near, other = _chances(rng, n), _chances(rng, n)
    return (rng.binomial(2, near) + rng.binomial(2, other)) / 4.0


def _spoiled(rng: np.random.Generator, n: int) -> Floats:
    """Three trials of each scenario, every fifth spoiled by the machine. Scenarios without a trial are left out."""
    tried = rng.binomial(3, 0.8, n)
    return rng.binomial(tried, _chances(rng, n))[tried > 0] / tried[tried > 0]


DESIGNS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "one trial": lambda rng, n: rng.binomial(1, _chances(rng, n)).astype(np.float64),
    "three trials": _trials,
    "four children": _children,
    "three trials, a fifth spoiled": _spoiled,
}


def cover_design(
    name: str, draws: int, *, n: int = HORIZON, width: float = WIDTH, alpha: float = ALPHA, seed: int = 1
) -> tuple[Coverage, float]:
    """Coverage of the interval at the look at which a study stops, and the mean number of scenarios that it took.
    Scenarios stand sorted by how they went, as in a file that somebody sorted, and each block is drawn into a random
    order."""
    rng = np.random.default_rng([seed, list(DESIGNS).index(name)])
    hits, widths, counts = 0, np.ones(draws), np.zeros(draws)
    for i in range(draws):
        y = DESIGNS[name](rng, n)
        ends = looks(y.size, EVERY)
        parts = (np.sort(y[a:b]) for a, b in zip((0, *ends), ends, strict=False))
        y = np.concatenate([rng.permutation(part) for part in parts])

        def narrow(k: int, y: Floats = y) -> bool:
            return is_narrow(y[:k], width, n, alpha)

        counts[i] = stop_after(narrow, y.size, EVERY)
        interval = interval_at(y[: int(counts[i])], n, alpha)
        hits += 0.6 in interval
        widths[i] = interval.width
    return counted_cell(name, "star", hits, widths, alpha), float(counts.mean())


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; exit code 1 when a random order, or a design, fell below nominal."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.drift", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    ways: tuple[Way, ...] = ("planned", "random", "mixed")
    print(
        f"Equal policies told apart, {HORIZON} scenarios, level {ALPHA:g}, {options.draws} draws, seed {options.seed}."
    )
    table_head(["robot", "number of scenarios", *ways])
    failures = 0
    for name, drift in DRIFTS.items():
        for until in (False, True):
            cells = [cover_drift(drift, way, options.draws, until=until, seed=options.seed) for way in ways]
            failures += sum(cell.fails for cell in cells[1:])
            row = [name, "until decided" if until else "fixed", *(f"{1.0 - cell.coverage:.1%}" for cell in cells)]
            print(f"| {' | '.join(row)} |", flush=True)
    print(f"\nStopped at a width of {WIDTH}, at most {HORIZON} scenarios, in random order within looks.")
    table_head(["design", "coverage", "width", "scenarios"])
    for name in DESIGNS:
        cell, count = cover_design(name, options.draws, seed=options.seed)
        failures += cell.fails
        print(f"| {name} | {cell.coverage:.4f} | {cell.width:.3f} | {count:.0f} |", flush=True)
    print(f"cells below nominal: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
