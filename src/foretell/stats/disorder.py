"""Coverage on data as people have it: sorted, grouped, repeated, and looked at before the end.

    python -m foretell.stats.disorder             400 draws of every case
    python -m foretell.stats.disorder --full      4,000 draws
    python -m foretell.stats.disorder --alike     how often the test of paired and extra scenarios sees a difference

Each case draws scenarios at random and then does to the rows what people do to files. An interval has to cover as
often as it says, and under peeking at every look at once. `--ids` gives scenarios names, and orders them as answers
do, by a hash of the name; without it arrays are shuffled as `stats.bound` does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from foretell.stats.bounds import bound
from foretell.stats.compare import compare
from foretell.stats.coverage import Coverage, table_head
from foretell.stats.exchange import same_draw
from foretell.stats.interval import ALPHA, Horizon
from foretell.stats.order import by_id
from foretell.stats.sampling import Rule, next_scenarios, sampled_bound
from foretell.stats.scenarios import by_scenario
from foretell.stats.scores import Floats

__all__ = [
    "CASES",
    "OrderCase",
    "cover_case",
    "cover_extra",
    "cover_looks",
    "cover_pool",
    "false_differences",
    "main",
    "noticed",
]

BETS = ("betting", "star", "blocked", "suresim", "suresim_2stage")
"""Methods whose answer depends on the order in which rows are taken."""
Rows = tuple[Floats, Floats, Floats]
"""(real (n,), sim (n,), extra (N,))"""


@dataclass(frozen=True)
class OrderCase:
    """Rows in an order that follows outcomes, and the true mean."""

    name: str
    mean: float
    draw: Callable[[np.random.Generator], Rows]
    binary: bool = True


def _kinds(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Scores and simulated scores of easy (0.9) and hard (0.1) scenarios, grouped by kind."""
    easy = np.sort(rng.random(count) < 0.5)[::-1]
    rate = np.where(easy, 0.9, 0.1)
    return (rng.random(count) < rate).astype(float), (rng.random(count) < rate).astype(float)


def _grouped(rng: np.random.Generator) -> Rows:
    return (*_kinds(rng, 100), _kinds(rng, 400)[1])


def _mixed(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    ease = rng.random(count)
    return (rng.random(count) < 0.4 + 0.6 * ease).astype(float), (rng.random(count) < 0.3 + 0.6 * ease).astype(float)


def _by_score(rng: np.random.Generator) -> Rows:
    real, sim = _mixed(rng, 100)
    order = np.lexsort((sim, real))
    return real[order], sim[order], _mixed(rng, 400)[1]


def _extra_sorted(rng: np.random.Generator) -> Rows:
    return (*_mixed(rng, 100), np.sort(_mixed(rng, 100)[1]))


def _all_sorted(rng: np.random.Generator) -> Rows:
    real, sim, extra = _by_score(rng)
    return real[::-1], sim[::-1], np.sort(extra)


def _graded(rng: np.random.Generator) -> Rows:
    ease = rng.random(460)
    real, sim = rng.beta(1 + 3 * ease, 2), rng.beta(1 + 3 * ease, 2)
    order = np.argsort(real[:60])
    return real[:60][order], sim[:60][order], np.sort(sim[60:])


def _repeated(rng: np.random.Generator) -> Rows:
    """Five trials of each of 24 scenarios, averaged within scenarios; rows sorted by outcome."""
    ease = rng.beta(0.6, 0.4, 24)
    scenario = np.repeat(np.arange(24), 5)
    score = (rng.random(120) < ease[scenario]).astype(float)
    order = np.argsort(score, kind="stable")
    units = by_scenario(scenario[order].tolist(), score[order])
    at = [int(str(unit)) for unit in units.ids]
    sim, extra = rng.binomial(5, ease) / 5, rng.binomial(5, rng.beta(0.6, 0.4, 240)) / 5
    return units.scores, sim[at], extra


def _beta_mean() -> float:
    """Mean of beta(1 + 3u, 2) over u in [0, 1], by the midpoint rule on a fine grid."""
    u = (np.arange(200_000) + 0.5) / 200_000
    return float(((1 + 3 * u) / (3 + 3 * u)).mean())


CASES = (
    OrderCase("grouped by kind of scenario", 0.5, _grouped),
    OrderCase("sorted by score", 0.7, _by_score),
    OrderCase("extra sorted, N = n", 0.7, _extra_sorted),
    OrderCase("all sorted, pairs downwards", 0.7, _all_sorted),
    OrderCase("graded, all sorted", _beta_mean(), _graded, binary=False),
    OrderCase("repeated trials, sorted", 0.6, _repeated, binary=False),
)


def _named(rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows of scenarios with names, in the order of the names' hashes."""
    real, sim, extra = rows
    names = [f"{word:x}" for word in rng.integers(2**62, size=real.size + extra.size)]
    order, more = by_id(names[: real.size]), by_id(names[real.size :], "extra")
    return real[order], sim[order], extra[more]


def _cell(name: str, method: str, hits: int, widths: Floats, alpha: float) -> Coverage:
    draws = widths.size
    error = float(widths.std(ddof=1) / draws**0.5) if draws > 1 else 0.0
    return Coverage(
        regime=name,
        method=method,
        draws=draws,
        covered=hits,
        alpha=alpha,
        width=float(widths.mean()),
        width_error=error,
    )


def cover_case(
    case: OrderCase, method: str, draws: int, alpha: float = ALPHA, seed: int = 1, ids: bool = False
) -> Coverage:
    """Coverage of `bound` by one method, looked at once."""
    rng, hits, widths = np.random.default_rng([seed, CASES.index(case)]), 0, np.ones(draws)
    for i in range(draws):
        rows = _named(case.draw(rng), rng) if ids else case.draw(rng)
        interval = bound(*rows, method=method, alpha=alpha, shuffled=ids, diagnostics=False)
        hits += case.mean in interval
        widths[i] = interval.width
    return _cell(case.name, method, hits, widths, alpha)


def cover_looks(
    method: str,
    horizon: Horizon,
    draws: int,
    alpha: float = ALPHA,
    seed: int = 1,
    first: int = 5,
    most: int = 100,
    thorough: int | None = None,
) -> Coverage:
    """Share of draws in which `bound`, looked at after every trial from `first` to `most`, covered at every look.

    thorough: draws in which every look is taken (default: all). In the others only the last is: intervals are nested in
    time, so an interval that covers at the last look covered at all others.
    """
    rng, hits, widths = np.random.default_rng([seed, 77]), 0, np.ones(draws)
    for i in range(draws):
        (real, sim), extra = _mixed(rng, most), _mixed(rng, 4 * most)[1]
        held = True
        for n in range(first if thorough is None or i < thorough else most, most + 1):
            pairs = (real[:n], sim[:n], extra) if method == "blocked" else (real[:n],)
            interval = bound(*pairs, method=method, alpha=alpha, horizon=horizon, diagnostics=False)
            held = held and 0.7 in interval
        hits += held
        widths[i] = interval.width
    plan = f"looks at {first} to {most}, horizon {horizon}"
    return _cell(plan, method, hits, widths, alpha)


def cover_extra(method: str, n: int, draws: int, alpha: float = ALPHA, seed: int = 1, *, planned: bool) -> Coverage:
    """Coverage where n extra scenarios are sorted and have two values: the simulator succeeds or fails. It is a good
    one, so that extra scenarios count for much: real scores are its own, and graded. planned: with a horizon."""
    rng, hits, widths = np.random.default_rng([seed, n, 33]), 0, np.ones(draws)
    for i in range(draws):
        sim, extra = (rng.random(n) < 0.5).astype(float), np.sort(rng.random(n) < 0.5).astype(float)
        real = 0.9 * sim + 0.1 * rng.random(n)
        interval = bound(
            real, sim, extra, method=method, alpha=alpha, horizon=n if planned else None, diagnostics=False
        )
        hits += 0.5 in interval
        widths[i] = interval.width
    plan = f", horizon {n}" if planned else ""
    return _cell(f"extra sorted, of two values, N = n = {n}{plan}", method, hits, widths, alpha)


def cover_pool(rule: Rule, draws: int, alpha: float = ALPHA, seed: int = 1) -> Coverage:
    """Coverage of `sampled_bound` on a pool sorted by simulated score, and within it by real score."""
    rng, hits, widths = np.random.default_rng([seed, 99]), 0, np.ones(draws)
    for i in range(draws):
        real, sim = _mixed(rng, 500)
        order = np.lexsort((real, sim))
        real, sim = real[order], sim[order]
        pick = next_scenarios(sim, 100, rule=rule, uncertainty=0.05 + sim, seed=seed * draws + i)
        interval = sampled_bound(real[pick.chosen], sim, pick, alpha)
        hits += 0.7 in interval
        widths[i] = interval.width
    return _cell("pool sorted by simulated score", f"sampled_bound, {rule}", hits, widths, alpha)


def false_differences(draws: int, alpha: float = ALPHA, seed: int = 1, n: int = 60) -> Coverage:
    """Share of draws without a false difference, comparing two unpaired files of equal policies, one sorted upwards,
    one downwards, by the betting test."""
    rng, hits, widths = np.random.default_rng([seed, 55]), 0, np.ones(draws)
    for i in range(draws):
        a, b = np.sort(rng.beta(3, 2, n)), np.sort(rng.beta(3, 2, n))[::-1]
        comparison = compare(a, b, test="betting", alpha=alpha)
        hits += comparison.p_value > alpha
        widths[i] = comparison.interval.width
    return _cell("two sorted files, unpaired", "betting test", hits, widths, alpha)


def noticed(easier: float, pairs: int, level: float = 0.01, draws: int = 1000, seed: int = 1) -> float:
    """Share of draws in which `same_draw` refutes one distribution at `level`. Simulation solves half of the paired
    scenarios, and this much more of ten times as many extra ones."""
    rng = np.random.default_rng([seed, pairs])
    studies = ((rng.random(pairs) < 0.5, rng.random(10 * pairs) < 0.5 + easier) for _ in range(draws))
    return sum(same_draw(*study) <= level for study in studies) / draws


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; exit code 1 when a cell fell below nominal."""
    parser = argparse.ArgumentParser(prog="python -m foretell.stats.disorder", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--full", action="store_true", help="4,000 draws instead of 400")
    parser.add_argument("--ids", action="store_true", help="order scenarios by their names, as answers do")
    parser.add_argument("--looks", action="store_true", help="only what is looked at after every trial")
    parser.add_argument("--extra", action="store_true", help="only extra scenarios that are sorted and of two values")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alike", action="store_true", help="how often easier extra scenarios are noticed, at 1 %%")
    options = parser.parse_args(arguments)
    if options.alike:
        table_head(["extra scenarios", "20 pairs", "40 pairs", "100 pairs"])
        for easier, words in ((0.0, "drawn alike"), (0.2, "20 points easier")):
            row = [f"{noticed(easier, n, draws=options.draws or 1000, seed=options.seed):.1%}" for n in (20, 40, 100)]
            print(f"| {words} | " + " | ".join(row) + " |", flush=True)
        return 0
    draws = options.draws or (4000 if options.full else 400)
    alpha, seed = options.alpha, options.seed
    print(f"Coverage (mean width) at nominal {1 - alpha:g}, {draws} draws, seed {seed}.")
    print("Looks: every one in a tenth of the draws, in the others the last, which is the narrowest.")
    table_head(["case", "method", "coverage", "width"])
    failures = 0

    def show(cell: Coverage) -> None:
        nonlocal failures
        failures += cell.fails
        share = f"{cell.coverage:.4f}" + (" FAIL" if cell.fails else "")
        print(f"| {cell.regime} | {cell.method} | {share} | {cell.width:.3f} |", flush=True)

    everything = not (options.looks or options.extra)
    for case in CASES if everything else ():
        for method in ("clopper_pearson", "strata") * case.binary + BETS:
            show(cover_case(case, method, draws, alpha, seed, options.ids))
    rules: tuple[Rule, ...] = ("uniform", "stratified", "active")
    for method, planned in (("blocked", False), ("suresim", False), ("suresim_2stage", False), ("blocked", True)):
        for n in (10, 20, 40) if options.extra else ():
            show(cover_extra(method, n, draws, alpha, seed, planned=planned))
    for rule in rules if everything else ():
        show(cover_pool(rule, draws, alpha, seed))
    if everything:
        show(false_differences(draws, alpha, seed))
    plans: tuple[Horizon, ...] = (100, "open")
    for plan in plans if not options.extra else ():
        for method in ("betting", "star", "blocked"):
            show(cover_looks(method, plan, draws, alpha, seed, thorough=max(draws // 10, 20)))
    print(f"cells below nominal: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
