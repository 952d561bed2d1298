"""Does a bound with a detector hold for good, bad and adversarial detectors, and what does a good detector gain?

    python -m foretell.stats.coverage_detector

A detector judges all trials, and a person a random share of them, drawn by coins. The bound is `blocked`, with the
detector in the place of simulation. Beside it: the detector's verdicts taken as true, and the confirmed trials alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foretell.stats.binomial import clopper_pearson_ends
from foretell.stats.bounds import bound
from foretell.stats.coverage import SIGNIFICANCE
from foretell.stats.interval import ALPHA, Interval
from foretell.stats.scores import Floats

__all__ = ["DETECTORS", "cover_detector"]

Rng = np.random.Generator


def _errs(misses: float, invents: float) -> Callable[[Rng, Floats], Floats]:
    """A detector that calls so many successes failures, and so many failures successes."""

    def judge(rng: Rng, truth: Floats) -> Floats:
        u = rng.random(truth.size)
        return np.where(truth == 1.0, u >= misses, u < invents).astype(np.float64)

    return judge


def _unsure(rng: Rng, truth: Floats) -> Floats:
    """Probabilities: mostly near the truth, sometimes far from it."""
    return np.where(truth == 1.0, rng.beta(6.0, 1.5, truth.size), rng.beta(1.5, 4.0, truth.size))


DETECTORS: dict[str, Callable[[Rng, Floats], Floats]] = {
    "never errs": _errs(0.0, 0.0),
    "errs in 5 %": _errs(0.05, 0.05),
    "misses 20 % of successes": _errs(0.2, 0.0),
    "takes 40 % of failures for successes": _errs(0.0, 0.4),
    "says probabilities": _unsure,
    "flips a coin": _errs(0.5, 0.5),
    "always says success": _errs(0.0, 1.0),
    "always says the opposite": _errs(1.0, 1.0),
}
"""Name -> (generator, truth of shape (n,)) -> score of each trial."""


def _bound(truth: Floats, score: Floats, coin: NDArray[np.bool_], alpha: float) -> Interval:
    """As `foretell bound --detector` gives it."""
    pair, rest = (truth[coin], score[coin]), score[~coin]
    return bound(*pair, rest, method="blocked", alpha=alpha, shuffled=True, diagnostics=False)


def cover_detector(
    name: str, rate: float, *, n: int = 200, share: float = 0.2, draws: int = 300, alpha: float = ALPHA, seed: int = 1
) -> dict[str, tuple[int, float]]:
    """bound, believed, alone -> draws whose interval held the true rate, and the mean width."""
    rng = np.random.default_rng([seed, n, int(1000 * rate), *name.encode()])
    hits, width = dict.fromkeys(("bound", "believed", "alone"), 0), dict.fromkeys(("bound", "believed", "alone"), 0.0)
    for _ in range(draws):
        truth = (rng.random(n) < rate).astype(np.float64)
        score, coin = DETECTORS[name](rng, truth), rng.random(n) < share
        while coin.sum() < 2:
            coin = rng.random(n) < share
        made = _bound(truth, score, coin, alpha)
        ends = {
            "bound": (float(made.low or 0.0), float(1.0 if made.high is None else made.high)),
            "believed": clopper_pearson_ends(int((score >= 0.5).sum()), n, alpha),
            "alone": clopper_pearson_ends(int(truth[coin].sum()), int(coin.sum()), alpha),
        }
        for kind, (low, high) in ends.items():
            hits[kind] += low <= rate <= high
            width[kind] += (high - low) / draws
    return {kind: (hits[kind], width[kind]) for kind in hits}


def main(write: Callable[[str], object] = print, draws: int = 300, seed: int = 1) -> int:
    """Print the table in Markdown; returns the number of cells below nominal."""
    from scipy.special import bdtr

    write(f"200 trials, a person confirms 20 %, nominal {1 - ALPHA:g}, {draws} draws, seed {seed}.")
    write("| detector | true rate | bound, coverage | width | confirmed alone, width | detector believed, coverage |")
    write("|---|---|---|---|---|---|")
    failures = 0
    for name in DETECTORS:
        for rate in (0.7, 0.95):
            made = cover_detector(name, rate, draws=draws, seed=seed)
            fails = bool(bdtr(made["bound"][0], draws, 1.0 - ALPHA) < SIGNIFICANCE)
            failures += fails
            held = f"{made['bound'][0] / draws:.3f}{' FAIL' if fails else ''}"
            widths = f"{made['bound'][1]:.3f} | {made['alone'][1]:.3f}"
            write(f"| {name} | {rate:g} | {held} | {widths} | {made['believed'][0] / draws:.3f} |")
    write(f"cells below nominal: {failures}")
    return failures


if __name__ == "__main__":
    sys.exit(main())
