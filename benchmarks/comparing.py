"""Speed of the tests between policies, side by side with SciPy's Barnard test, which foretell used before.

    python benchmarks/comparing.py            (a minute; SciPy takes most of it)

Targets: Barnard's test at 10,000 trials below 50 ms and 10 MB, `compare` of two policies with 1,000 trials below
50 ms, all 45 pairs of ten policies with 1,000 trials below 5 s. Times are CPU time, which a busy machine distorts less,
and the best of several runs; the exit code is 1 when a target is missed.

It is not called statistics.py: the folder of a script comes first on the path, so that name would hide Python's module
from every library that a benchmark imports. None uses it today, but a test keeps all scripts off such names.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from bounds import import_seconds, peak_kb, report
from scipy.stats import barnard_exact

from foretell.answers.compare import compare
from foretell.stats import barnard, mcnemar
from foretell.stats.compare import compare as compare_two
from foretell.stats.compare import compare_all


def best_of(call: Callable[[], object], runs: int) -> float:
    """Least CPU time of several calls, in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def outcomes(rate: float, n: int, seed: int) -> np.ndarray:
    """Binary scores of shape (n,)."""
    return (np.random.default_rng([seed, n]).random(n) < rate).astype(float)


def rows(rates: list[float], n: int, common: bool) -> dict[str, list[object]]:
    """A table of policies p0, p1, ..., on common scenarios or each on its own."""
    table: dict[str, list[object]] = {"policy": [], "scenario": [], "score": []}
    for i, rate in enumerate(rates):
        table["policy"] += [f"p{i}"] * n
        table["scenario"] += [f"s{j}" if common else f"s{i}-{j}" for j in range(n)]
        table["score"] += outcomes(rate, n, i).tolist()
    return table


def main() -> int:
    """Print the table; 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scipy-most", type=int, default=1000, help="largest number of trials to run SciPy on")
    most = parser.parse_args().scipy_most
    met = []
    for n in (20, 100, 500, 1_000, 10_000):
        a, b = int(0.5 * n), int(0.5 * n + 1.2 * n**0.5)
        goal = 50 if n == 10_000 else None
        met.append(report(f"barnard, n={n}", best_of(lambda: barnard(a, n, b, n), 9), "ms", goal))  # noqa: B023
        met.append(report(f"barnard, n={n}, memory", peak_kb(lambda: barnard(a, n, b, n)), "kB", 10_000))  # noqa: B023
        if n <= most:
            table = [[a, b], [n - a, n - b]]
            report(f"scipy.stats.barnard_exact, n={n}", best_of(lambda: barnard_exact(table), 1), "ms")  # noqa: B023
            report(f"scipy.stats.barnard_exact, n={n}, memory", peak_kb(lambda: barnard_exact(table)), "kB")  # noqa: B023
            print(f"    p-values: {barnard(a, n, b, n):.6f} and {barnard_exact(table).pvalue:.6f}")
    report("mcnemar, 400 against 500", best_of(lambda: mcnemar(400, 500), 9), "ms")
    x, y = outcomes(0.5, 1_000, 0), outcomes(0.6, 1_000, 1)
    met.append(report("stats.compare, 2 policies, n=1000", best_of(lambda: compare_two(x, y), 9), "ms", 50))
    ten = {f"p{i}": outcomes(0.4 + 0.04 * i, 1_000, i) for i in range(10)}
    forecast = {name: float(values.mean()) for name, values in ten.items()}
    met.append(
        report("stats.compare_all, 10 policies, n=1000, unpaired", best_of(lambda: compare_all(ten), 3), "ms", 5e3)
    )
    ordered = best_of(lambda: compare_all(ten, order_by=forecast), 3)
    met.append(report("the same in the order of a forecast", ordered, "ms", 5e3))
    for common in (True, False):
        table_ = rows([0.4 + 0.04 * i for i in range(10)], 1_000, common)
        kind = "common scenarios" if common else "unpaired"
        took = best_of(lambda: compare(table_), 2)  # noqa: B023
        met.append(report(f"foretell.compare, 10 policies, n=1000, {kind}", took, "ms", 5e3))
    met.append(report("import foretell.stats (CPU)", import_seconds(), "s", 0.3))
    print("all targets met" if all(met) else "some targets MISSED")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
