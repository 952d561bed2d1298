"""Does simulation help here? Numbers and one plain sentence, from the pairs at hand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foretell.stats.betting import star
from foretell.stats.binomial import clopper_pearson_ends
from foretell.stats.blocked import blocked
from foretell.stats.interval import ALPHA, Horizon
from foretell.stats.savings import real_trials_saved
from foretell.stats.scores import UNIT, Floats, Range, check_alpha, is_binary, scores
from foretell.stats.strata import strata
from foretell.stats.united import two_valued, united

WORTH = 0.97
"""Simulation is said to help when the bound shrinks below this share of the real-only one."""

FLAT = 1e-24
"""Rounding leaves a constant score in [0, 1] with a variance near 1e-33."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """How much the simulator tells about reality on the paired scenarios. Advice, not a test."""

    n: int
    n_extra: int
    real_variance: float
    """Variance of the real scores."""
    rectifier_variance: float
    """Variance of real - sim: what is left if the simulator is taken at its word."""
    residual_variance: float
    """Variance of real - beta sim at the best beta: what is left if it is used as a control."""
    correlation: float | None
    """Pearson correlation of real and sim on the pairs; None when one of them never varies."""
    bias: float
    """Mean of sim - real on the pairs."""
    width_real: float
    """Width from real trials alone: by clopper_pearson where real scores are binary, else (and with a horizon) star."""
    width_sim: float | None
    """Width of `method`; None without extra simulations."""
    method: str
    """Method with simulation that was compared: `strata` or `blocked`."""
    helps: bool
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return asdict(self)


def real_only_width(y: Floats, alpha: float, horizon: Horizon = None) -> float:
    """Width without simulation: by `clopper_pearson` for binary unit scores y, shape (n,), else by `star`. With a
    horizon always by `star`, because the other is for a single look."""
    if horizon is not None:
        return star(y, alpha, horizon=horizon).width
    if not is_binary(y):
        return (united(star, y, alpha) if two_valued(y) else star(y, alpha, shuffled=True)).width
    low, high = clopper_pearson_ends(int(y.sum()), y.size, alpha)
    return high - low


def diagnose(
    real: ArrayLike,
    sim: ArrayLike,
    extra: ArrayLike | None = None,
    *,
    alpha: float = ALPHA,
    within: Range = UNIT,
    sim_within: Range = UNIT,
    method: str | None = None,
    width_sim: float | None = None,
    unused: str | None = None,
    horizon: Horizon = None,
) -> Diagnosis:
    """Diagnosis of paired scores real and sim, shape (n,), n >= 2, with extra of shape (N,) or None.

    method: `strata` or `blocked`; by default `strata` where real scores are binary. width_sim: its width on these data
    as a share of the range, if already known. unused: why the bound at hand leaves simulation out, if it does. horizon:
    that of the bound at hand (as in `bounds.bound`); real trials alone are then looked at as often.
    """
    check_alpha(alpha)
    y = scores(real, "real", within=within, at_least=2)
    f = scores(sim, "sim", within=sim_within, at_least=2)
    if y.size != f.size:
        raise ValueError(f"real and sim must pair one to one, got {y.size} and {f.size} values")
    e = scores(extra, "extra", within=sim_within) if extra is not None and np.size(extra) else np.empty(0)
    vy, vf = float(np.var(y, ddof=1)), float(np.var(f, ddof=1))
    rectifier = float(np.var(y - f, ddof=1))
    cov = float(np.cov(y, f, ddof=1)[0, 1])
    varies = min(vy, vf) > FLAT
    rho = float(np.clip(cov / np.sqrt(vy * vf), -1.0, 1.0)) if varies else None
    residual = vy - cov * cov / vf if varies else vy
    width_real = real_only_width(y, alpha, horizon)
    if method is None:
        method = "strata" if is_binary(y) and horizon is None else "blocked"
    if e.size and width_sim is None:
        by = strata(y, f, e, alpha) if method == "strata" else blocked(y, f, e, alpha, horizon=horizon, shuffled=True)
        width_sim = by.width
    helps = width_sim is not None and width_sim < WORTH * width_real and unused is None
    flat = " and ".join(name for name, v in (("simulation", vf), ("reality", vy)) if v <= FLAT)
    facts = (
        f"{flat} gave the same score in all {y.size} pairs"
        if rho is None
        else f"correlation {rho:.2f} on {y.size} pairs"
    ) + f", rectifier variance {rectifier:.3g} against {vy:.3g} for real trials"
    if width_sim is None:
        sentence = f"simulation cannot help yet ({facts}): add simulated scenarios beyond the real ones"
    elif unused is not None:
        sentence = f"simulation is not used here: {unused} ({facts})"
    elif helps:
        worth = real_trials_saved(y, width_sim, alpha).best
        sentence = (
            f"simulation helps here: {facts}; the bound is {width_sim:.3f} wide instead of {width_real:.3f}, "
            f"about what {worth} real trials alone would give"
        )
    else:
        sentence = f"simulation does not help: use real trials only ({facts})"
    return Diagnosis(
        n=y.size,
        n_extra=e.size,
        real_variance=vy,
        rectifier_variance=rectifier,
        residual_variance=max(residual, 0.0),
        correlation=rho,
        bias=float(f.mean() - y.mean()),
        width_real=width_real,
        width_sim=width_sim,
        method=method,
        helps=helps,
        sentence=sentence,
    )
