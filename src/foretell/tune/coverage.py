"""How often intervals of an improvement cover it, and how often equal simulators are taken for better ones.

    python -m foretell.tune.coverage

Policies have skills in even steps, scenarios are easy or hard and sorted so, and simulators differ from reality in how
they rank policies. Everything is made up, so the truth is known.
"""

from __future__ import annotations

import argparse
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from foretell.arrays import Floats
from foretell.tune.config import Tuning
from foretell.tune.fits import fit
from foretell.tune.improvement import improvement
from foretell.tune.objective import Objective

__all__ = ["CoverShares", "chosen_from_copies", "coverage", "drawn", "landscape_of", "rates", "skills"]

GROUPS = np.repeat([-1.2, 1.2], 500)
"""Easy and hard scenarios, sorted: what a file of trials often looks like."""
SETTINGS = ((8, 16), (8, 40), (5, 20))
"""Policies and scenarios."""
METRICS = ("pearson", "spearman", "kendall", "pairwise_accuracy", "mmrv", "success_gap")


class CoverShares(NamedTuple):
    """Shares of intervals."""

    covers: float
    above: float
    """With the truth below their lower end, which decides."""


def skills(policies: int) -> Floats:
    """(P,) on the scale of logits."""
    return np.linspace(-1.5, 1.5, policies)


def rates(of: Floats, share: float = 1.0) -> Floats:
    """(P, 1000): success of policies in a population of scenarios. share: of the scenarios' difficulty that counts."""
    success: Floats = 1.0 / (1.0 + np.exp(-(of[:, None] + share * GROUPS)))
    return success


def drawn(rng: np.random.Generator, populations: list[Floats], count: int) -> list[Floats]:
    """(P, S) outcomes of each population in the same scenarios, sorted as the population is."""
    at = np.sort(rng.integers(GROUPS.size, size=count))
    return [(rng.random((len(p), count)) < p[:, at]).astype(float) for p in populations]


def coverage(metric: str, policies: int, scenarios: int, *, gain: float, rounds: int, seed: int = 0) -> CoverShares:
    """Of intervals of the improvement by a simulator that is `gain` of the way to the truth (0: another wrong one)."""
    objective, rng, skill = Objective(metric), np.random.default_rng(seed), skills(policies)
    covers = above = made = 0
    for _ in range(rounds):
        real = rates(skill)
        before = rates(0.5 * skill + rng.normal(0, 1, policies), 0.5)
        after = rates((0.5 + 0.5 * gain) * skill + (1 - gain) * rng.normal(0, 1, policies), 0.5)
        every = np.zeros(GROUPS.size, dtype=int)
        truth = objective.sign * (objective.value(real, after, every) - objective.value(real, before, every))
        a, b, c = drawn(rng, [real, before, after], scenarios)
        interval = improvement(objective, a, b, c, np.zeros(scenarios, dtype=int))
        if interval.low is not None and interval.high is not None:
            made += 1
            covers += interval.low <= truth <= interval.high
            above += interval.low > truth
    return CoverShares(covers / max(made, 1), above / max(made, 1))


def landscape_of(real: Floats, base: Floats, others: list[Floats]) -> Any:
    """What `fit` needs of a landscape, made of scores (P, S)."""
    points = [{"theta.x": i} for i in range(len(others))]
    scores = {"{}": base} | {str(point): sim for point, sim in zip(points, others, strict=True)}
    return SimpleNamespace(
        policies=tuple(f"p{i}" for i in range(len(real))),
        ids=[f"s{i}" for i in range(real.shape[1])],
        tasks=np.zeros(real.shape[1], dtype=int),
        real=real,
        base=base,
        at=lambda point: SimpleNamespace(scores=scores[str(point)]),
        scores=lambda point: scores[str(point)],
        space=SimpleNamespace(grid=lambda: points),
    )


def chosen_from_copies(metric: str, *, copies: int = 22, rounds: int, seed: int = 0) -> tuple[float, float]:
    """Share of searches among copies of one simulator whose best looks better than the first on the data that it was
    chosen by, and share that is recommended."""
    tuning = Tuning.model_validate({"real": "r", "space": {"theta.x": [0, 1]}, "metric": metric})
    objective, rng = Objective(metric), np.random.default_rng(seed)
    looks = shown = 0
    for _ in range(rounds):
        real, *sims = drawn(rng, [rates(skills(8)), *[rates(0.4 * skills(8))] * (copies + 1)], 40)
        landscape = landscape_of(real, sims[0], sims[1:])
        fits = fit(landscape, objective, tuning)
        looks += bool(fits.best)
        judged = fits.judged(landscape)
        low = improvement(objective, judged.real, judged.before, judged.after, judged.tasks).low
        shown += low is not None and low > 0
    return looks / rounds, shown / rounds


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description="Coverage of intervals of an improvement.")
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    print("metric             policies  scenarios  gain  covers  above")
    for metric in METRICS:
        for policies, scenarios in SETTINGS:
            for gain in (0.0, 0.8):
                made = coverage(metric, policies, scenarios, gain=gain, rounds=rounds)
                shares = f"{made.covers:>6.1%}  {made.above:>5.1%}"
                print(f"{metric:<17}  {policies:>8}  {scenarios:>9}  {gain:>4.1f}  {shares}", flush=True)
    for metric in ("pearson", "success_gap"):
        looks, shown = chosen_from_copies(metric, rounds=rounds)
        print(f"22 copies of one simulator, {metric}: the best looks better in {looks:.0%}, recommended in {shown:.1%}")


if __name__ == "__main__":
    main()
