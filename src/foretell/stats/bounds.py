"""Bounds on mean real performance: every method, one door.

`bound(real, sim, extra)` takes arrays of scores, one per scenario, and returns an `Interval`. Choose the
method before looking at the outcomes: taking the narrowest of several intervals forfeits the stated level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats import binomial
from foretell.stats.bank import bank, last_weights
from foretell.stats.betting import betting, hoeffding, star
from foretell.stats.blocked import blocked
from foretell.stats.control import control_variate, control_variate_split
from foretell.stats.diagnosis import Diagnosis, diagnose
from foretell.stats.interval import ALPHA, OPEN, Horizon, Interval, check_horizon
from foretell.stats.savings import TrialsSaved, WidthCurve, real_trials_saved, width_curve
from foretell.stats.scenarios import Paired, Units, by_scenario, pair_units
from foretell.stats.scores import UNIT, Range, is_binary, scores, stretch
from foretell.stats.sequence import BettingSequence, BlockedSequence, Sequence, StarSequence, sequence
from foretell.stats.strata import strata
from foretell.stats.suresim import suresim, suresim_2stage, suresim_2stage_ub, suresim_ub
from foretell.stats.united import two_valued, united

__all__ = [
    "ANYTIME", "METHODS", "REAL_ONLY", "WITH_SIMULATION", "BettingSequence", "BlockedSequence", "Diagnosis", "Paired",
    "Sequence", "StarSequence", "TrialsSaved", "Units", "WidthCurve", "bank", "betting", "blocked", "bound",
    "bound_policies", "by_scenario", "control_variate", "control_variate_split", "default_method", "diagnose",
    "hoeffding", "last_weights", "pair_units", "real_trials_saved", "sequence", "star", "strata", "suresim",
    "suresim_2stage", "suresim_2stage_ub", "suresim_ub", "weigh_design", "width_curve",
]  # fmt: skip

Design = Literal["iid", "grid", "chosen"]


def _counted(kind: Callable[[int, int, float], Interval]) -> Callable[..., Interval]:
    def on_scores(real: ArrayLike, alpha: float = ALPHA, *, within: Range = UNIT) -> Interval:
        y = scores(real, "real", within=within)
        if not is_binary(y):
            raise ValueError(f"{kind.__name__} needs binary scores at the ends of the range; use star")
        return stretch(kind(int(y.sum()), y.size, alpha), within)

    return on_scores


REAL_ONLY: dict[str, Callable[..., Interval]] = {
    "wilson": _counted(binomial.wilson),
    "clopper_pearson": _counted(binomial.clopper_pearson),
    "hoeffding": hoeffding,
    "betting": betting,
    "star": star,
}
"""Methods called as f(real, alpha, within=)."""

WITH_SIMULATION: dict[str, Callable[..., Interval]] = {
    "strata": strata,
    "blocked": blocked,
    "suresim": suresim,
    "suresim_2stage": suresim_2stage,
    "suresim_ub": suresim_ub,
    "suresim_2stage_ub": suresim_2stage_ub,
    "control_variate": control_variate,
    "control_variate_split": control_variate_split,
}
"""Methods called as f(real, sim, extra, alpha, within=, sim_within=)."""

METHODS = (*REAL_ONLY, *WITH_SIMULATION)
ANYTIME = ("betting", "star", "blocked")
"""Methods that take a horizon: their intervals may then be looked at after every trial."""
DEALT = ("blocked", "suresim", "suresim_2stage", "suresim_ub", "suresim_2stage_ub")
"""Methods with simulation that bet trial by trial, so that the order of rows counts."""

MANY = 300
"""Extra simulated scenarios below which `auto` leaves `strata`: the share solved is then known too badly."""
RATIO = 3
"""Extra simulated scenarios for each real trial that `auto` wants for `strata`."""
STRATA_TRIALS = (30, 3000)
"""Real trials from which, and up to which, `auto` takes `strata`: discrete below, slow above. `blocked` is no
substitute there: a useless simulator costs it width (docs/statistics.md)."""


def enough(trials: int) -> int:
    """Extra simulated scenarios from which on `auto` takes `strata` for so many real trials. Scalars in."""
    return max(MANY, RATIO * trials)


def default_method(
    real: ArrayLike,
    sim: ArrayLike | None,
    extra: ArrayLike | None,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    horizon: Horizon = None,
) -> str:
    """Method `auto` stands for, from sizes and kinds of score alone; real, sim: shape (n,), extra: shape (N,).

    Binary real scores: `strata` where N >= max(300, 3 n) and 30 <= n <= 3000, else `clopper_pearson`. Graded ones:
    `blocked` where N >= n, else `star`. With a horizon: `blocked` where there is an extra scenario for every planned
    trial, else `star`.
    """
    y = scores(real, "real", within=within)
    alone = "clopper_pearson" if is_binary(y) and horizon is None else "star"
    if sim is None or extra is None or not np.size(extra):
        return alone
    n, total = y.size, np.size(extra)
    if horizon is not None:  # one choice for all looks
        return "blocked" if horizon == OPEN or total >= horizon else alone
    if not is_binary(y):
        return "blocked" if total >= n else alone
    return "strata" if STRATA_TRIALS[0] <= n <= STRATA_TRIALS[1] and total >= enough(n) else alone


def bound(
    real: ArrayLike,
    sim: ArrayLike | None = None,
    extra: ArrayLike | None = None,
    *,
    alpha: float = ALPHA,
    method: str = "auto",
    within: Range = UNIT,
    sim_within: Range = UNIT,
    design: Design = "iid",
    randomised: bool = False,
    horizon: Horizon = None,
    unordered: bool = False,
    shuffled: bool = False,
    diagnostics: bool = True,
) -> Interval:
    """Interval of mean real performance.

    real: shape (n,), one score per real scenario. sim: shape (n,), the simulator's scores of the same scenarios.
    extra: shape (N,), simulated scores of further scenarios. design: how scenarios came about; a `grid` counts as
    random only if `randomised` says its cells were drawn or ordered at random.

    horizon: for whoever looks more than once. The number of real trials planned before the first look, or "open" if
    there is no plan; trials stand as run, `extra` is the same at every look, and the interval is anytime-valid.
    Without it the interval is for one look, and rows are taken in canonical order, not in the order given.

    unordered: `betting` and `star` shall give the same interval for every order of the rows, which have nothing else to
    be told apart by. That is the hull over several orders (`order.several`), and wider. It is always so for scores of
    two values, where a sorted file would leave too few orders. shuffled: rows stand in an order that cannot follow
    outcomes, such as that of a hash of their ids. Where that is not known, rows of few values are taken in several
    orders too, also by `blocked` and the methods of SureSim.
    """
    notes: tuple[str, ...] = ()
    horizon = check_horizon(horizon)
    options: dict[str, Any] = {} if horizon is None else {"horizon": horizon}
    unused = None
    if method == "auto":
        method = default_method(real, sim, extra, within, sim_within, horizon)
        if method not in WITH_SIMULATION:
            given, trials = 0 if extra is None else np.size(extra), np.size(real)
            need = "no paired simulation was given"
            if sim is not None:
                graded = not is_binary(scores(real, "real", within=within))
                need = _too_few(given, trials, graded, horizon)
            notes = (f"{method} on real trials alone: {need}",)
            unused = need if given else None
    if horizon is not None and method in METHODS and method not in ANYTIME:
        raise ValueError(f"{method} is for a single look and takes no horizon; use {', '.join(ANYTIME)}")
    if method in REAL_ONLY:
        options |= {"shuffled": shuffled} if method in ANYTIME else {}
        alike = unordered or two_valued(scores(real, "real", within=within))
        if method in ANYTIME and horizon is None and alike:
            interval = united(REAL_ONLY[method], real, alpha, within)
        else:
            interval = REAL_ONLY[method](real, alpha, within=within, **options)
    elif method in WITH_SIMULATION:
        if sim is None or extra is None:
            raise ValueError(f"{method} needs sim (paired) and extra scores; without them use star")
        options |= {"shuffled": shuffled} if method in DEALT else {}
        kind = WITH_SIMULATION[method]
        interval = kind(real, sim, extra, alpha, within=within, sim_within=sim_within, **options)
    else:
        raise ValueError(f"unknown method {method!r}; choose auto or one of {', '.join(METHODS)}")
    interval = weigh_design(replace(interval, notes=interval.notes + notes), design, randomised)
    if diagnostics and sim is not None:
        used = method if method in ("strata", "blocked") else None
        known = interval.width / (within[1] - within[0]) if used else None
        diagnosis = diagnose(
            real,
            sim,
            extra,
            alpha=alpha,
            within=within,
            sim_within=sim_within,
            method=used,
            width_sim=known,
            unused=unused,
            horizon=horizon,
        )
        interval = replace(interval, diagnostics=diagnosis.to_dict())
    return interval


def _too_few(extra: int, trials: int, graded: bool, horizon: Horizon = None) -> str:
    """Why simulation is not used although pairs were given. graded: whether real scores are."""
    few = f"{f'only {extra}' if extra else 'no'} extra simulated scenarios"
    if isinstance(horizon, int):
        return f"{few}, and blocked needs at least {horizon}, one for each planned trial"
    if graded:
        return f"{few}, and blocked needs at least {trials}, one for each real trial"
    least, most = STRATA_TRIALS
    if trials < least:
        return f"the default uses it for a success rate only from {least} real trials on: there are {trials}"
    if trials > most:
        return f"the default uses it for a success rate only up to {most} real trials: there are {trials}"
    return f"{few}, and with fewer than {enough(trials)} the default uses none for a success rate"


def weigh_design(interval: Interval, design: str, randomised: bool) -> Interval:
    """Lower the guarantee when scenarios were not random."""
    if design not in ("iid", "grid", "chosen"):
        raise ValueError(f"design must be iid, grid or chosen, got {design!r}")
    if design == "iid" or (design == "grid" and randomised):
        return interval
    why = (
        "scenarios were chosen by hand, not drawn"
        if design == "chosen"
        else "scenarios form a grid whose cells were neither drawn nor ordered at random"
    )
    return replace(interval, guarantee="asymptotic", reason=why)


def bound_policies(
    policies: Mapping[str, tuple[ArrayLike, ArrayLike | None, ArrayLike | None]],
    *,
    alpha: float = ALPHA,
    method: str = "auto",
    family: bool = True,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    design: Design = "iid",
    randomised: bool = False,
) -> dict[str, Interval]:
    """Intervals of several policies; policies: name -> (real, sim or None, extra or None), shapes (n,), (n,), (N,).

    family: all intervals hold at once with probability 1 - alpha, each getting alpha / (number of policies);
    this needs no independence, so policies may share scenarios.
    """
    if not policies:
        raise ValueError("policies is empty")
    share = alpha / len(policies) if family else alpha
    note = (f"one of {len(policies)} held together at alpha {alpha:g}",) if family else ()
    made = {}
    for name, (real, sim, extra) in policies.items():
        interval = bound(
            real, sim, extra, alpha=share, method=method, within=within, sim_within=sim_within,
            design=design, randomised=randomised,
        )  # fmt: skip
        made[name] = replace(interval, notes=interval.notes + note)
    return made
