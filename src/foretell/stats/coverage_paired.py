"""Coverage of paired changes, retention and latency budgets, and false alarms of the trend test, by simulation.

Part of `python -m foretell.stats.coverage --paired`. A scenario has a base success rate and a rate after a change (a
perturbation, latency); trials of both are drawn, and averaged within the scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from foretell.stats.coverage import SIGNIFICANCE
from foretell.stats.interval import ALPHA
from foretell.stats.latency_fit import crossing, latency_budget
from foretell.stats.robustness import paired_change, percentage_change
from foretell.stats.scores import Floats
from foretell.stats.trend import trend

__all__ = ["BUDGETS", "FLAT", "REGIMES", "SIZES", "BudgetRegime", "PairedRegime", "cover_paired", "print_paired"]

SIZES = (5, 10, 20, 40, 80)
Rng = np.random.Generator
Pairs = tuple[list[Floats], list[Floats]]


@dataclass(frozen=True, kw_only=True)
class PairedRegime:
    """Scenarios of several kinds, each with its share and its success rates after and before; one list per task."""

    name: str
    tasks: tuple[tuple[tuple[float, float, float], ...], ...]
    """Task -> kinds of scenarios: (share, rate after, rate before)."""
    trials: int = 1
    agree: float = 0.0
    """Share of trials in which after and before share their luck."""
    worth: float = 1.0
    """Score of a success: below 1 it is partial credit."""

    @property
    def truth(self) -> tuple[float, float]:
        """Mean success after and before."""
        each = [np.array(kinds) for kinds in self.tasks]
        after, before = (self.worth * float(np.mean([k[:, 0] @ k[:, i] for k in each])) for i in (1, 2))
        return after, before

    def draw(self, rng: Rng, n: int) -> Pairs:
        """Scores after and before of n scenarios of every task."""
        sides: Pairs = ([], [])
        for kinds in self.tasks:
            share, after, before = np.array(kinds).T
            kind = rng.choice(share.size, size=(n, 1), p=share)
            luck, own = rng.random((2, n, self.trials))
            own = np.where(rng.random((n, self.trials)) < self.agree, luck, own)
            for side, rates, u in zip(sides, (after, before), (own, luck), strict=True):
                side.append(self.worth * (u < rates[kind]).mean(axis=1))
        return sides


ALL = 1.0
REGIMES = (
    PairedRegime(name="loses a quarter", tasks=(((ALL, 0.6, 0.8),),), agree=0.5),
    PairedRegime(name="near one", tasks=(((ALL, 0.95, 0.97),),), agree=0.7),
    PairedRegime(name="hardly succeeds", tasks=(((ALL, 0.08, 0.15),),), agree=0.5),
    PairedRegime(name="8 % always fail", tasks=(((0.08, 0.0, 0.0), (0.92, 0.97, 1.0)),)),
    PairedRegime(name="10 % fail only after", tasks=(((0.1, 0.0, 1.0), (0.9, 1.0, 1.0)),)),
    PairedRegime(name="no change, luck shared", tasks=(((ALL, 0.5, 0.5),),), agree=0.9),
    PairedRegime(name="easy ones become hard", tasks=(((0.5, 0.1, 0.9), (0.5, 0.9, 0.3)),)),
    PairedRegime(name="3 trials, 8 % always fail", tasks=(((0.08, 0.0, 0.0), (0.92, 0.95, 1.0)),), trials=3),
    PairedRegime(name="3 of 4 stages, lost in 12 %", tasks=(((ALL, 0.88, 1.0),),), worth=0.75),
    PairedRegime(
        name="5 trials, mixed", tasks=(((0.3, 0.2, 0.5), (0.4, 0.6, 0.7), (0.3, 0.9, 0.95)),), trials=5, agree=0.5
    ),
    PairedRegime(name="easy and hard task", tasks=(((ALL, 0.9, 0.98),), ((ALL, 0.1, 0.3),)), agree=0.5),
    PairedRegime(name="two tasks, 3 trials", tasks=(((ALL, 0.8, 0.95),), ((ALL, 0.3, 0.5),)), trials=3, agree=0.5),
)


@dataclass(frozen=True, kw_only=True)
class BudgetRegime:
    """True success at four latencies and under sync; `fail` of the scenarios always fail."""

    name: str
    rates: tuple[float, float, float, float]
    fail: float = 0.0
    trials: tuple[int, int, int, int] = (1, 1, 1, 1)
    """Of a scenario at each latency. Under `sync` it has as many as at the first."""
    keep: float = 0.95

    LATENCY = (0.05, 0.1, 0.2, 0.4)

    @property
    def truth(self) -> float:
        """The budget that keeps `keep`; infinite where every latency does, minus infinity where none does."""
        return float(crossing(self.LATENCY, np.array([self.rates]), [self.keep])[0])

    def draw(self, rng: Rng, n: int) -> tuple[Floats, Floats]:
        """Sync and asynchronous scores, both of shape (n, 4)."""
        able = rng.random(n) >= self.fail
        columns = [rng.binomial(k, np.where(able, p, 0.0)) / k for p, k in zip(self.rates, self.trials, strict=True)]
        return np.repeat(able[:, None], 4, axis=1).astype(np.float64), np.stack(columns, axis=1)


BUDGETS = (
    BudgetRegime(name="falls slowly", rates=(1.0, 0.97, 0.9, 0.7)),
    BudgetRegime(name="falls at once", rates=(0.9, 0.5, 0.2, 0.0)),
    BudgetRegime(name="keeps all", rates=(1.0, 1.0, 1.0, 0.99)),
    BudgetRegime(
        name="6 % always fail, one column of 3 trials", rates=(1.0, 0.96, 0.9, 0.5), fail=0.06, trials=(1, 1, 3, 1)
    ),
    BudgetRegime(name="10 % always fail, 3 trials", rates=(1.0, 0.97, 0.93, 0.6), fail=0.1, trials=(3, 3, 3, 3)),
    BudgetRegime(name="8 % always fail, 2 trials, steep", rates=(1.0, 0.99, 0.4, 0.1), fail=0.08, trials=(2, 2, 2, 2)),
    BudgetRegime(name="8 % always fail, half is enough", rates=(1.0, 0.8, 0.35, 0.1), fail=0.08, keep=0.5),
    BudgetRegime(
        name="8 % always fail, 3 trials, half is enough",
        rates=(1.0, 0.8, 0.35, 0.1),
        fail=0.08,
        trials=(3, 3, 3, 3),
        keep=0.5,
    ),
)

FLAT: dict[str, Callable[[Rng, int, int], Floats]] = {
    "independent": lambda rng, n, k: (rng.random((n, k)) < 0.6).astype(np.float64),
    "hard and easy scenarios": lambda rng, n, k: (rng.random((n, k)) < rng.beta(0.5, 0.3, (n, 1))).astype(np.float64),
    "3 trials": lambda rng, n, k: rng.binomial(3, np.repeat(rng.beta(1.0, 0.3, (n, 1)), k, axis=1)) / 3.0,
}
"""Success without any trend: (generator, scenarios, latencies) -> scores (n, k)."""


def cover_paired(
    world: PairedRegime, n: int, *, draws: int = 2000, alpha: float = ALPHA, seed: int = 1
) -> dict[str, tuple[int, float]]:
    """change, retention -> draws whose interval held the truth, and its mean width (None counts as held)."""
    rng = np.random.default_rng([seed, n, *world.name.encode()])
    after, before = world.truth
    hits, width = {"change": 0, "retention": 0}, 0.0
    for _ in range(draws):
        a, b = world.draw(rng, n)
        change = paired_change(a, b, alpha, shuffled=True)
        hits["change"] += after - before in change
        width += change.width / draws
        kept = percentage_change(a, b, alpha, shuffled=True)  # of one task: retention, in another unit
        hits["retention"] += kept is None or 100.0 * (after / before - 1.0) in kept
    return {"change": (hits["change"], width), "retention": (hits["retention"], float("nan"))}


def cover_budget(world: BudgetRegime, n: int, *, draws: int = 2000, alpha: float = ALPHA, seed: int = 1) -> int:
    """Draws in which the interval of the budget held the true one."""
    rng = np.random.default_rng([seed, n, *world.name.encode()])
    hits = 0
    for _ in range(draws):
        budget = latency_budget(world.LATENCY, *world.draw(rng, n), keep=world.keep, alpha=alpha)
        low = -np.inf if budget.low is None else budget.low
        high = np.inf if budget.high is None else budget.high
        # a budget below all latencies tried has the smallest of them for its upper end
        hits += low <= world.truth <= high
    return hits


def alarms(kind: str, n: int, latencies: int, *, draws: int = 2000, alpha: float = ALPHA, seed: int = 1) -> int:
    """Draws without a trend in which the test shows one."""
    rng = np.random.default_rng([seed, n, latencies, *kind.encode()])
    at = np.arange(latencies)
    p_values = (trend(at, FLAT[kind](rng, n, latencies)).p_value for _ in range(draws))
    return sum(p is not None and p <= alpha for p in p_values)


def print_paired(draws: int, alpha: float, seed: int, sizes: Sequence[int] = SIZES) -> int:
    """All tables in Markdown; returns the number of failing cells."""
    from scipy.special import bdtr

    failures = 0

    def cell(hits: int, nominal: float, more: str = "") -> str:
        nonlocal failures
        fails = bool(bdtr(hits, draws, nominal) < SIGNIFICANCE)
        failures += fails
        return f"{hits / draws:.4f}{more}{' FAIL' if fails else ''}"

    def show(first: str, columns: Sequence[str], rows: Sequence[str], make: Callable[[int], list[str]]) -> None:
        print(f"\n| {first} | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
        for i, name in enumerate(rows):
            print("| " + " | ".join([name, *make(i)]) + " |", flush=True)

    print(f"Nominal {1 - alpha:g}, {draws} draws, seed {seed}; FAIL: below it by a one-sided test at {SIGNIFICANCE:g}.")
    names = [world.name for world in REGIMES]
    cells = {}

    def change(i: int) -> list[str]:
        for n in sizes:
            cells[i, n] = cover_paired(REGIMES[i], n, draws=draws, alpha=alpha, seed=seed)
        ends = [cells[i, n]["change"] for n in sizes]
        return [cell(hits, 1.0 - alpha, f" ({width:.2f})") for hits, width in ends]

    show("change, coverage (mean width)", [f"n = {n}" for n in sizes], names, change)
    show("retention, coverage", [f"n = {n}" for n in sizes], names,
         lambda i: [cell(cells[i, n]["retention"][0], 1.0 - alpha) for n in sizes])  # fmt: skip
    show("latency budget, coverage", [f"n = {n}" for n in sizes], [world.name for world in BUDGETS],
         lambda i: [cell(cover_budget(BUDGETS[i], n, draws=draws, alpha=alpha, seed=seed), 1.0 - alpha)
                    for n in sizes])  # fmt: skip
    kinds, tried = list(FLAT), list(product((3, 5, 8, 11), (10, 40)))

    def false(i: int) -> list[str]:
        count = [alarms(kinds[i], n, k, draws=draws, alpha=alpha, seed=seed) for k, n in tried]
        return [cell(draws - c, 1.0 - alpha).replace(f"{1 - c / draws:.4f}", f"{c / draws:.4f}") for c in count]

    show("trend, false alarms", [f"{k} latencies, n = {n}" for k, n in tried], kinds, false)
    print(f"\ncells below nominal: {failures}", flush=True)
    return failures
