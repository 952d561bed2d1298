"""Speed of the bounds, side by side with the grid algorithm of the SureSim paper.

    nice -n 19 python benchmarks/bounds.py

Targets (one core): `betting` at n + N = 50,060 below 40 ms, `blocked` at n = 60, N = 50,000 below 25 ms, memory
of `blocked` beyond its input flat in N, `import foretell.stats` below 0.3 s. Times are the best of several
runs; the exit code is 1 when a target is missed.
"""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from foretell.stats import betting, blocked, bound, star, strata, suresim

ALPHA = 0.1


def grid_wsr(z: np.ndarray, low: float, high: float, step: float, alpha: float) -> tuple[float, float]:
    """Algorithm 4 of the paper as printed: all candidates on a grid of the normalised axis, (n,) -> ends."""
    x = (z - low) / (high - low)
    n = x.size
    t = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    lam = np.sqrt(2 * np.log(2 / alpha) / (n * np.concatenate([[0.25], variance[:-1]])))
    grid = np.arange(step, 1.0, step)
    alive = np.ones(grid.size, dtype=bool)
    up, down = np.zeros(grid.size), np.zeros(grid.size)
    for i in range(n):
        up += np.log1p(np.minimum(lam[i], 0.99 / grid) * (x[i] - grid))
        down += np.log1p(-np.minimum(lam[i], 0.99 / (1 - grid)) * (x[i] - grid))
        alive &= np.maximum(up, down) < np.log(2 / alpha)
    kept = grid[alive] * (high - low) + low
    if not kept.size:
        return float("nan"), float("nan")
    return max(0.0, float(kept.min())), min(1.0, float(kept.max()))


def best_of(call: Callable[[], object], runs: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Shortest time of several calls, in milliseconds; by default on the wall."""
    times = []
    for _ in range(runs):
        start = clock()
        call()
        times.append(clock() - start)
    return 1e3 * min(times)


def data(n: int, extra: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Binary pairs with a useful simulator: real (n,), sim (n,), extra (N,)."""
    rng = np.random.default_rng(0)
    u = rng.random(n + extra)
    sim = (u + 0.2 * rng.normal(size=u.size) < 0.4).astype(float)
    return (u[:n] < 0.35).astype(float), sim[:n], sim[n:]


def peak_kb(call: Callable[[], object]) -> float:
    """Largest memory allocated during a call, in kB."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e3


def import_seconds() -> float:
    """CPU time of `import foretell.stats` in a fresh interpreter; best of five."""
    code = "import time; t = time.process_time(); import foretell.stats; print(time.process_time() - t)"
    command = [sys.executable, "-c", code]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(5))


def report(name: str, value: float, unit: str, target: float | None = None) -> bool:
    """Print one line; whether the target, if any, was met."""
    met = target is None or value < target
    verdict = "" if target is None else f"target {target:g}: {'met' if met else 'MISSED'}"
    print(f"{name:<58} {value:10.2f} {unit:<3} {verdict}", flush=True)
    return met


def time_bounds(n: int, extra: int, goals: tuple[float | None, float | None]) -> bool:
    """Times of the shipped methods at one size; goals: for betting and for blocked, in ms."""
    real, sim, more = data(n, extra)
    total = np.concatenate([real, (np.random.default_rng(1).random(extra) < 0.35).astype(float)])
    size = f"n={n}, N={extra}"
    met = report(
        f"betting on n+N={n + extra} scores", best_of(lambda: betting(total, ALPHA, shuffled=True), 15), "ms", goals[0]
    )
    met &= report(
        f"blocked, {size}", best_of(lambda: blocked(real, sim, more, ALPHA, shuffled=True), 15), "ms", goals[1]
    )
    report(f"suresim, {size}", best_of(lambda: suresim(real, sim, more, ALPHA, shuffled=True), 7), "ms")
    report(
        f"bound with diagnostics, {size}", best_of(lambda: bound(real, sim, more, alpha=ALPHA, shuffled=True), 7), "ms"
    )
    report(f"star, n={n}", best_of(lambda: star(real, ALPHA, shuffled=True), 7), "ms")
    return met


def time_grid(n: int, extra: int) -> None:
    """The paper's grid on the uniform-PPI sample that `suresim(weights="paper")` uses, and both answers."""
    real, sim, more = data(n, extra)
    order = np.random.default_rng(0).permutation(n + extra)
    z = np.concatenate([sim + (n + extra) / n * (real - sim), more])[order]
    low, high = -(n + extra) / n, 1 + (n + extra) / n
    ends: list[tuple[float, float]] = []
    report(f"grid, n={n}, N={extra}", best_of(lambda: ends.append(grid_wsr(z, low, high, 1e-4, ALPHA)), 1), "ms")
    exact = suresim(real, sim, more, ALPHA, weights="paper")
    print(
        f"    one step is {1e-4 * (high - low):.4f} of success rate: grid [{ends[0][0]:.4f}, {ends[0][1]:.4f}], "
        f"root finding [{exact.low:.4f}, {exact.high:.4f}]"
    )


def main() -> int:
    """Print the table; 1 if a target was missed."""
    met = [
        time_bounds(60, 700, (None, None)),
        time_bounds(60, 2100, (None, None)),
        time_bounds(60, 50_000, (40, 25)),
    ]
    for n in (60, 300, 1000, 3000):
        pairs = data(n, 3 * n)
        report(f"strata, n={n}, N={3 * n} (CPU)", best_of(lambda: strata(*pairs, ALPHA), 1, time.process_time), "ms")  # noqa: B023
    print("\nPaper's grid algorithm, step 1e-4 of the normalised axis")
    for extra in (700, 2100, 50_000):
        time_grid(60, extra)
    print("\nMemory allocated on top of the input")
    for extra in (1_000, 10_000, 100_000, 1_000_000):
        real, sim, more = data(60, extra)
        use = peak_kb(lambda: blocked(real, sim, more, ALPHA, shuffled=True))  # noqa: B023
        met.append(report(f"blocked, N={extra}", use, "kB", 400))
    print()
    met.append(report("import foretell.stats (CPU)", import_seconds(), "s", 0.3))
    print("all targets met" if all(met) else "some targets MISSED")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
