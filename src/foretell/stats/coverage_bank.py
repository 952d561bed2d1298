"""Does `bank` cover, and what do further simulators cost or gain? `python -m foretell.stats.coverage --bank` asks.

Scenarios differ in how hard they are. A `good` simulator gives the real score in 85 % of the scenarios, a `fair` one in
60 %, and else a score drawn at random; a `useless` one always draws, and a `contrary` one gives one less the real score
in half of them. Rows stand as drawn, or `sorted` by their scores, or `grouped` by how hard they are; `looked` looks
after every fifth trial, and covers only if every look does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from foretell.stats.bank import bank
from foretell.stats.bounds import bound as bound_alone
from foretell.stats.scores import Floats

__all__ = ["BANKS", "ORDERS", "BankRegime", "covers", "print_bank", "print_bank_widths"]

AGREES = {"good": 0.85, "fair": 0.6, "useless": 0.0, "contrary": 0.5}
BANKS = (
    ("good",), ("good", "useless"), ("good", "contrary"), ("good", "fair"), ("good", "good"),
    ("fair",), ("fair", "useless"), ("fair", "fair"), ("useless",), ("useless", "useless"),
)  # fmt: skip
ORDERS = ("drawn", "sorted", "grouped", "looked")
TRIED = (("good", "useless"), ("fair", "contrary"))
"""Banks whose coverage is tried."""
LOOK = 5
STEPS = 200
"""Candidate means: a coarse grid only widens, and is quick."""


@dataclass(frozen=True, kw_only=True)
class BankRegime:
    """n real trials, each paired with every simulator, and `extra` more simulated scenarios."""

    binary: bool
    n: int
    extra: int

    @property
    def name(self) -> str:
        return "successes" if self.binary else "scores in quarters"

    @property
    def mean(self) -> float:
        """True mean of the real score."""
        return 0.665 if self.binary else 0.5

    def draw(self, rng: np.random.Generator, kinds: Sequence[str]) -> tuple[Floats, Floats, Floats]:
        """Real scores (n + extra,), simulated ones (n + extra, K), and how hard each scenario is (n + extra,)."""
        count = self.n + self.extra
        hard = rng.random(count)
        if self.binary:
            real = (rng.random(count) < np.where(hard < 0.7, 0.95, 0.0)).astype(float)
        else:
            real = rng.binomial(4, 1.0 - hard) / 4.0
        sims = []
        for kind in kinds:
            blind = rng.integers(0, 2, count) * 1.0 if self.binary else rng.integers(0, 5, count) / 4.0
            known = 1.0 - real if kind == "contrary" else real
            sims.append(np.where(rng.random(count) < AGREES[kind], known, blind))
        return real, np.stack(sims, axis=1), hard


REGIMES = (
    BankRegime(binary=False, n=20, extra=200),
    BankRegime(binary=False, n=60, extra=600),
    BankRegime(binary=True, n=20, extra=200),
    BankRegime(binary=True, n=60, extra=600),
)


def covers(regime: BankRegime, kinds: Sequence[str], order: str, rng: np.random.Generator, alpha: float) -> bool:
    """Whether one draw's interval, or that of every look, holds the true mean."""
    real, sims, hard = regime.draw(rng, kinds)
    n = regime.n
    if order == "looked":
        ends = range(LOOK, n + 1, LOOK)
        every = (bank(real[:k], sims[:k], sims[n:], alpha, horizon=n, steps=STEPS) for k in ends)
        return all(regime.mean in interval for interval in every)
    if order == "drawn":
        return regime.mean in bank(real[:n], sims[:n], sims[n:], alpha, shuffled=True, steps=STEPS)
    keys = (*sims.T, real) if order == "sorted" else (hard > 0.5,)
    first, more = np.lexsort([key[:n] for key in keys]), n + np.lexsort([key[n:] for key in keys])
    return regime.mean in bank(real[first], sims[first], sims[more], alpha, steps=STEPS)


def print_bank(draws: int, alpha: float, seed: int, significance: float) -> int:
    """Coverage in Markdown; returns the number of failing cells."""
    from foretell.stats.coverage import table_head

    print(f"Coverage of bank at nominal {1 - alpha:g}, {draws} draws, seed {seed}.", end=" ")
    print(f"FAIL: below nominal by a one-sided binomial test at {significance:g}.")
    table_head(["real", "n", "N", "simulators", *ORDERS])
    failures = 0
    for regime in REGIMES[0::2]:
        for kinds in TRIED:
            cells = []
            for number, order in enumerate(ORDERS):
                rng = np.random.default_rng([seed, number, regime.n, regime.binary])
                held = sum(covers(regime, kinds, order, rng, alpha) for _ in range(draws))
                fails = float(bdtr(held, draws, 1.0 - alpha)) < significance
                failures += fails
                cells.append(f"{held / draws:.3f}" + " FAIL" * fails)
            print(f"| {regime.name} | {regime.n} | {regime.extra} | {' + '.join(kinds)} | " + " | ".join(cells) + " |")
    print(f"finite-sample cells below nominal: {failures}", flush=True)
    return failures


def print_bank_widths(draws: int, alpha: float, seed: int) -> None:
    """Mean widths in Markdown: of real trials alone, of the default with the first simulator, and of the bank."""
    from foretell.stats.coverage import table_head

    print(f"Mean width at alpha {alpha:g}, {draws} draws, seed {seed}; rows as drawn.")
    table_head(["simulators", *(f"{r.name}, n {r.n}, N {r.extra}" for r in REGIMES)])
    columns = [_widths(regime, draws, alpha, seed) for regime in REGIMES]
    for row in columns[0]:
        print(f"| {row} | " + " | ".join(f"{column[row]:.3f}" for column in columns) + " |", flush=True)


def _widths(regime: BankRegime, draws: int, alpha: float, seed: int) -> dict[str, float]:
    widths: dict[str, list[float]] = {}
    kinds = ("good", "good", "fair", "fair", "useless", "useless", "contrary")
    for i in range(draws):
        real, sims, _ = regime.draw(np.random.default_rng([seed, i, regime.n]), kinds)
        n = regime.n
        given = {"real trials alone": None, "good, the default": 0, "fair, the default": 2}
        for name, at in given.items():
            pairs = (None, None) if at is None else (sims[:n, at], sims[n:, at])
            made = bound_alone(real[:n], *pairs, alpha=alpha, shuffled=True, diagnostics=False)
            widths.setdefault(name, []).append(made.width)
        for some in BANKS:
            at_most, columns = dict.fromkeys(kinds, 0), []
            for kind in some:
                columns.append([j for j, k in enumerate(kinds) if k == kind][at_most[kind]])
                at_most[kind] += 1
            made = bank(real[:n], sims[:n][:, columns], sims[n:][:, columns], alpha, shuffled=True)
            widths.setdefault(" + ".join(some), []).append(made.width)
    return {name: float(np.mean(values)) for name, values in widths.items()}
