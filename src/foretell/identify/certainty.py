"""How certain fitted parameters are: intervals, and what the recordings cannot tell.

Residuals of one recording are not independent, so recordings are the units. At the optimum, residuals are taken as
linear in the parameters, each recording is left out in turn (the jackknife), and the spread of the answers gives the
interval, with Student's quantile for the number of recordings less one. Fewer than four recordings give none: blocks of
one recording hang together, and intervals from them cover too seldom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from foretell.arrays import Floats
from foretell.counting import counted
from foretell.identify.parameter import Parameter
from foretell.stats import ALPHA

__all__ = ["Certainty", "Ratio", "certainty"]

FEWEST = 4
"""Recordings below which there are no intervals."""
VAGUE = 2.0
"""A multiplier whose interval spans more than this times its estimate either way is not identified."""
BLIND = 1e-9
"""A combination of parameters whose effect, squared, is below this share of the strongest is not seen at all."""
ALIKE = 0.95
"""Two parameters whose estimates correlate more than this cannot be told apart."""


@dataclass(frozen=True, kw_only=True)
class Certainty:
    """What the recordings say of one parameter."""

    name: str
    unit: str
    before: float
    value: float
    low: float
    high: float
    effect: float
    """Root mean square that the residuals change by if the parameter changes by a tenth (of a multiplier) or by its
    step of the search."""
    identified: bool
    why: str
    """Why it is not identified; empty where it is."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Two multipliers of which the recordings tell only the ratio."""

    names: tuple[str, str]
    value: float
    low: float
    high: float


def certainty(
    parameters: Sequence[Parameter], x: Floats, slopes: Sequence[Floats], residuals: Sequence[Floats]
) -> tuple[list[Certainty], list[Ratio]]:
    """Of each parameter at x, and of pairs of which only the ratio is known. `slopes` (T, outputs, parameters) and
    `residuals` (T, outputs) of each recording."""
    units = _units(slopes, residuals)
    squares = np.array([s.T @ s for s, _ in units])
    pulls = np.array([s.T @ r for s, r in units])
    whole = squares.sum(axis=0)
    size = np.sqrt(np.maximum(np.diag(whole), 0.0))
    seen = size > 1e-9 * max(float(size.max()), 1e-300)
    spread, alike = np.full((len(x), len(x)), np.inf), np.eye(len(x))
    if seen.any() and len(units) >= FEWEST:
        spread[np.ix_(seen, seen)], alike[np.ix_(seen, seen)] = _spread(squares, pulls, size, seen)
    student = float(stdtrit(max(1, len(units) - 1), 1 - ALPHA / 2))
    half = student * np.sqrt(np.diag(spread))
    count = sum(r.size for _, r in units)
    answers = []
    for k, parameter in enumerate(parameters):
        # a search knows nothing beyond its own range
        low, high = (
            max(x[k] - half[k], parameter.coded(parameter.low)),
            min(x[k] + half[k], parameter.coded(parameter.high)),
        )
        changed = np.log(1.1) if parameter.log else parameter.step
        identified, why = _verdict(parameter, parameters, k, half, alike, bool(seen[k]), len(units))
        answers.append(
            Certainty(
                name=parameter.name,
                unit=parameter.unit,
                before=parameter.value,
                value=parameter.decoded(x[k]),
                low=parameter.decoded(low),
                high=parameter.decoded(high),
                effect=float(changed * size[k] / np.sqrt(count)),
                identified=identified,
                why=why or _bound(parameter, x[k]),
            )
        )
    return answers, _ratios(parameters, x, spread, alike, answers, student)


def _ratios(
    parameters: Sequence[Parameter],
    x: Floats,
    spread: Floats,
    alike: Floats,
    answers: Sequence[Certainty],
    student: float,
) -> list[Ratio]:
    ratios = []
    for i, first in enumerate(parameters):
        for k, second in enumerate(parameters[i + 1 :], i + 1):
            if answers[i].identified or answers[k].identified or not (first.log and second.log) or alike[i, k] < ALIKE:
                continue
            half = student * float(np.sqrt(max(0.0, spread[i, i] + spread[k, k] - 2 * spread[i, k])))
            apart = float(x[i] - x[k])
            if half < np.log(VAGUE):
                low, high = np.exp(apart - half), np.exp(apart + half)
                ratios.append(Ratio(names=(first.name, second.name), value=float(np.exp(apart)), low=low, high=high))
    return ratios


def _units(slopes: Sequence[Floats], residuals: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
    """Slopes (rows, parameters) and residuals (rows,) of each unit."""
    return [(s.reshape(-1, s.shape[2]), r.ravel()) for s, r in zip(slopes, residuals, strict=True)]


def _spread(squares: Floats, pulls: Floats, size: Floats, seen: np.ndarray) -> tuple[Floats, Floats]:
    """Covariance (by the jackknife) and correlation (by the slopes) of the estimates that are `seen`."""
    scale = size[seen]
    squares = squares[:, seen][:, :, seen] / np.outer(scale, scale)
    pulls = pulls[:, seen] / scale
    count, whole = len(squares), squares.sum(axis=0)
    ridge = 1e-10 * np.eye(len(scale))  # keeps what cannot be told apart finite
    left = np.array([-np.linalg.solve(whole - squares[u] + ridge, pulls.sum(axis=0) - pulls[u]) for u in range(count)])
    apart = left - left.mean(axis=0)
    variance = (count - 1) / count * (apart.T @ apart) / np.outer(scale, scale)
    strength, ways = np.linalg.eigh(whole)
    for way in (ways / scale[:, None]).T[strength < BLIND * strength[-1]]:  # the recordings say nothing along it
        variance += 1e4 * np.outer(way, way) / (way @ way)
    inverse = np.linalg.inv(whole + ridge)
    deviation = np.sqrt(np.diag(inverse))
    return variance, inverse / np.outer(deviation, deviation)


def _verdict(
    parameter: Parameter, others: Sequence[Parameter], k: int, half: Floats, alike: Floats, seen: bool, units: int
) -> tuple[bool, str]:
    if not seen:
        return False, "no recorded motion depends on it"
    if units < FEWEST:
        return False, f"{counted(units, 'recording')} cannot tell how certain it is; {FEWEST} are needed"
    vague = half[k] > np.log(VAGUE) if parameter.log else half[k] > 0.5 * (parameter.high - parameter.low)
    if not vague:
        return True, ""
    row = np.abs(alike[k])
    row[k] = 0.0
    partner = int(row.argmax())
    if row[partner] > ALIKE:
        return False, f"the recordings tell only how it relates to {others[partner].name}"
    return False, "its effect is too small beside what no parameter explains"


def _bound(parameter: Parameter, x: float) -> str:
    ends = {"highest": parameter.high} | ({"lowest": parameter.low} if parameter.log else {})
    for end, number in ends.items():
        if abs(x - parameter.coded(number)) < 1e-9:
            return f"it ended at the {end} value that was allowed ({number:g})"
    return ""
