"""How often a gate passes a candidate that is worse by just the margin, and how often one that is as good.

    python -m foretell.stats.coverage_margin

A wrong pass may happen with a chance of alpha / 2. With looks, a candidate counts as passed if it passed at any look.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foretell.stats.coverage import SIGNIFICANCE
from foretell.stats.interval import ALPHA
from foretell.stats.margin import MARGIN, Rivals, decide_margin, pooled
from foretell.stats.until import looks

__all__ = ["DESIGNS", "GateDesign", "passes"]

SHARED = 0.5
"""Chance that a scenario is equally hard for both policies (one uniform decides for both)."""


@dataclass(frozen=True, kw_only=True)
class GateDesign:
    """How candidate and base are tried."""

    name: str
    n: int
    """Scenarios of each task."""
    rates: tuple[float, ...]
    """Success of the base on each task."""
    margin: float = 0.1
    paired: bool = True
    every: int | None = None
    """Scenarios between two looks; None: a single look."""
    stages: int = 1
    """Above 1 the score is the share of so many stages."""

    def draw(self, rng: np.random.Generator, worse: float) -> list[Rivals]:
        """Scores on each task, of a candidate that is worse by so much."""
        tasks = []
        for rate in self.rates:
            luck, own = rng.random((2, self.n, self.stages))
            if self.paired:
                own = np.where(rng.random((self.n, 1)) < SHARED, luck, own)
            tasks.append(
                Rivals(
                    candidate=(own < rate - worse).mean(axis=1),
                    base=(luck < rate).mean(axis=1),
                    paired=self.paired,
                )
            )
        return tasks


DESIGNS = (
    GateDesign(name="one look", n=50, rates=(0.8,)),
    GateDesign(name="one look, near one", n=100, rates=(0.97,)),
    GateDesign(name="one look, more scenarios", n=400, rates=(0.8,), margin=MARGIN),
    GateDesign(name="more than 1000 scenarios", n=1200, rates=(0.8,), margin=0.03),
    GateDesign(name="not paired", n=200, rates=(0.8,), paired=False),
    GateDesign(name="not paired, near one", n=200, rates=(0.97,), paired=False),
    GateDesign(name="partial credit", n=100, rates=(0.7,), stages=4),
    GateDesign(name="three tasks", n=60, rates=(0.95, 0.6, 0.3)),
    GateDesign(name="three tasks, partial credit", n=60, rates=(0.95, 0.6, 0.3), stages=4),
    GateDesign(name="a look every 10", n=200, rates=(0.8,), every=10),
    GateDesign(name="three tasks, a look every 10", n=100, rates=(0.95, 0.6, 0.3), every=10),
)


def passes(design: GateDesign, worse: float, *, draws: int = 1000, alpha: float = ALPHA, seed: int = 1) -> int:
    """Draws in which a candidate that is worse by so much passes."""
    rng = np.random.default_rng([seed, design.n, *design.name.encode()])
    return sum(_passes(design, design.draw(rng, worse), alpha) for _ in range(draws))


def _passes(design: GateDesign, tasks: list[Rivals], alpha: float) -> bool:
    if design.every is None:
        return decide_margin(pooled(tasks, alpha, shuffled=True), design.margin) == "pass"
    for n in looks(design.n, design.every):
        so_far = [Rivals(candidate=t.candidate[:n], base=t.base[:n], paired=t.paired) for t in tasks]
        if decide_margin(pooled(so_far, alpha, horizon=design.n), design.margin) == "pass":
            return True
    return False


def main(write: Callable[[str], object] = print, draws: int = 300, seed: int = 1) -> int:
    """Print the table in Markdown; returns the number of rows that pass too often."""
    from scipy.special import bdtr

    write(f"alpha {ALPHA}: a wrong pass may have a chance of {ALPHA / 2:g}; {draws} draws, seed {seed}.")
    write("| design | scenarios | margin | worse by the margin, passes | equally good, passes |")
    write("|---|---|---|---|---|")
    failures = 0
    for design in DESIGNS:
        wrong, right = (passes(design, worse, draws=draws, seed=seed) for worse in (design.margin, 0.0))
        fails = bool(bdtr(draws - wrong, draws, 1.0 - ALPHA / 2.0) < SIGNIFICANCE)
        failures += fails
        size = f"{len(design.rates)} x {design.n}" if len(design.rates) > 1 else str(design.n)
        shown = f"{wrong / draws:.3f}{' FAIL' if fails else ''} | {right / draws:.3f}"
        write(f"| {design.name} | {size} | {design.margin:g} | {shown} |")
    write(f"rows that pass too often: {failures}")
    return failures


if __name__ == "__main__":
    sys.exit(main())
