"""How often statements about picking by simulation hold: regret, the best of a short list, ties and verdicts.

    python -m foretell.stats.coverage --decisions

Families of policies have known true rates, so that the regret of whatever was picked is known. Beside the intervals of
`decide` stands a bootstrap of the trials, which misses: it is there to be compared, and no answer uses it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.stats.decision import Decision, decide
from foretell.stats.families import FAMILIES, Family
from foretell.stats.scores import Floats

__all__ = ["DESIGNS", "Design", "Holds", "held", "print_decisions"]

RESAMPLES = 200
LIST = 2
"""Size of the short list that is tried."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """Policies with known real rates, and a way to draw their trials."""

    name: str
    real: tuple[float, ...]
    draw: Callable[[np.random.Generator], dict[str, Any]]
    """Arguments of `decide` for new trials."""
    sound: bool = True
    """False: trials depend on each other, which no interval here allows for."""


@dataclass(frozen=True, kw_only=True)
class Holds:
    """Shares of draws in which a statement held; `high`: mean upper end of the regret."""

    regret: float
    listed: float
    ties: float
    joint: int
    """Draws in which everything held."""
    bootstrap: float
    high: float
    shown: float
    """Share of draws in which the pick was shown to be the best, or shown not to be."""
    draws: int


def _counts(real: Sequence[float], sim: Sequence[float], n: int, m: int) -> Callable[..., dict[str, Any]]:
    def draw(rng: np.random.Generator) -> dict[str, Any]:
        size = len(real)
        return {
            "real": rng.binomial(n, real) / n,
            "sim": rng.binomial(m, sim) / m,
            "n_real": np.full(size, n),
            "n_sim": np.full(size, m),
        }

    return draw


def _own_luck(
    real: Sequence[float], sim: Sequence[float], n: int, share: float, rows: bool
) -> Callable[..., dict[str, Any]]:
    """Both worlds meet the same scenarios, and each policy has its own luck on each, which both worlds share."""
    from scipy.special import ndtri

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        luck = rng.standard_normal((len(real), n))
        worlds = [
            (share**0.5 * luck + (1.0 - share) ** 0.5 * rng.standard_normal(luck.shape) < ndtri(rates)[:, None]) * 1.0
            for rates in (real, sim)
        ]
        means = {"real": worlds[0].mean(axis=1), "sim": worlds[1].mean(axis=1)}
        if rows:
            return {**means, "real_outcomes": [*worlds[0]], "sim_outcomes": [*worlds[1]], "same": True}
        return {**means, "n_real": np.full(len(real), n), "n_sim": np.full(len(real), n)}

    return draw


def _grouped(real: Sequence[float], sim: Sequence[float], n: int, group: int) -> Callable[..., dict[str, Any]]:
    """Trials come in groups with one outcome, such as five of one object, and are counted as n."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        each = n // group
        given = _counts(real, sim, each, 200)(rng)
        return {**given, "n_real": np.full(len(real), n)}

    return draw


def _of(family: Family) -> Design:
    def draw(rng: np.random.Generator) -> dict[str, Any]:
        given = family.draw(rng)
        return {**given, "same": True} if "real_outcomes" in given else given

    return Design(name=family.name, real=family.real, draw=draw)


_HIDDEN = ((0.9, *(0.6,) * 7), (0.3, *(0.6,) * 7))
_CLOSE = ((0.5, 0.6, 0.7, 0.7), (0.7, 0.5, 0.6, 0.6))

DESIGNS = (
    *map(_of, FAMILIES),
    Design(name="two policies, 10 trials", real=(0.4, 0.6), draw=_counts((0.4, 0.6), (0.5, 0.5), 10, 10)),
    Design(name="four policies, 5 trials", real=_CLOSE[0], draw=_counts(*_CLOSE, 5, 20)),
    Design(name="the best is hidden, 20 trials", real=_HIDDEN[0], draw=_counts(*_HIDDEN, 20, 20)),
    Design(name="the same, luck shared by both worlds", real=_HIDDEN[0], draw=_own_luck(*_HIDDEN, 20, 0.95, True)),
    Design(name="the same, only counted", real=_HIDDEN[0], draw=_own_luck(*_HIDDEN, 20, 0.95, False)),
    Design(name="groups of five alike", real=_HIDDEN[0], draw=_grouped(*_HIDDEN, 20, 5), sound=False),
)


def _truly(real: Floats, picks: Sequence[int]) -> float:
    return float(real.max() - real[list(picks)].mean())


def _within(value: float, low: float | None, high: float | None) -> bool:
    assert low is not None and high is not None
    return low <= value + 1e-12 and value - 1e-12 <= high


def _bootstrap(
    given: dict[str, Any], decision: Decision, rng: np.random.Generator, alpha: float
) -> tuple[float, float]:
    """Percentiles of the pick's regret over resampled trials; scenarios are resampled whole."""
    real = np.asarray(given["real"])
    if "real_outcomes" in given:
        scores = np.array(given["real_outcomes"])
        pick = rng.integers(scores.shape[1], size=(RESAMPLES, scores.shape[1]))
        means = scores[:, pick].mean(axis=-1).T
    else:
        n = np.asarray(given["n_real"])
        means = rng.binomial(n, real, size=(RESAMPLES, real.size)) / n
    lost = means.max(axis=1) - means[:, list(decision.picks)].mean(axis=1)
    low, high = np.quantile(lost, [alpha / 2.0, 1.0 - alpha / 2.0])
    return float(low), float(high)


def held(design: Design, draws: int, alpha: float, seed: int) -> Holds:
    """How often each statement held."""
    rng = np.random.default_rng([seed, zlib.crc32(design.name.encode())])
    real = np.array(design.real)
    best = set(np.flatnonzero(real >= real.max() - 1e-12).tolist())
    sums = dict.fromkeys(("regret", "listed", "ties", "joint", "bootstrap", "shown"), 0)
    high = 0.0
    for _ in range(draws):
        given = design.draw(rng)
        decision = decide(**given, top=(LIST,), alpha=alpha)
        assert decision.maybe_best is not None and decision.regret.high is not None
        short = decision.shortlists[0]
        truth = {
            "regret": _within(_truly(real, decision.picks), decision.regret.low, decision.regret.high),
            "listed": _within(_truly(real, short.picks), short.regret.low, short.regret.high),
            # of several that are truly best the first must stay; that any of them stays is what a reader needs
            "ties": bool(best & set(decision.maybe_best)),
        }
        words = decision.shown == "open" or (decision.shown == "yes") == (set(decision.picks) <= best)
        for name, holds in truth.items():
            sums[name] += holds
        sums["joint"] += all(truth.values()) and words
        sums["bootstrap"] += _within(_truly(real, decision.picks), *_bootstrap(given, decision, rng, alpha))
        sums["shown"] += decision.shown != "open"
        high += decision.regret.high
    share = {name: sums[name] / draws for name in ("regret", "listed", "ties", "bootstrap", "shown")}
    return Holds(**share, joint=sums["joint"], high=high / draws, draws=draws)


def print_decisions(
    draws: int, alpha: float, seed: int, significance: float, designs: Sequence[Design] = DESIGNS
) -> int:
    """Shares in Markdown; returns the number of designs of independent trials that fell below nominal."""
    from scipy.special import bdtr

    print(f"Share of draws in which a statement held, nominal {1 - alpha:g}, {draws} draws, seed {seed}.", end=" ")
    print(f"FAIL: all together below nominal by a one-sided binomial test at {significance:g}.")
    head = ["policies", "regret", f"best of {LIST}", "ties", "all together", "a bootstrap's regret", "mean upper end"]
    print("| " + " | ".join([*head, "decided"]) + " |\n|" + "---|" * (len(head) + 1))
    failures = 0
    for design in designs:
        row = held(design, draws, alpha, seed)
        fails = float(bdtr(row.joint, draws, 1.0 - alpha)) < significance
        failures += fails and design.sound
        together = f"{row.joint / draws:.3f}" + (" FAIL" if fails and design.sound else " (not independent)" * fails)
        cells = [f"{row.regret:.3f}", f"{row.listed:.3f}", f"{row.ties:.3f}", together, f"{row.bootstrap:.3f}"]
        print("| " + " | ".join([design.name, *cells, f"{row.high:.2f}", f"{row.shown:.0%}"]) + " |", flush=True)
    print(f"designs below nominal: {failures}", flush=True)
    return failures
