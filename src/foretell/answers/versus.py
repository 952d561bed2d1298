"""One policy against another: which scenarios are compared, by which test, with simulation as control or without."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from foretell import stats
from foretell.answers.draw import LEVEL
from foretell.answers.units import Measured
from foretell.answers.words import plain
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats import Interval
from foretell.stats.compare import Test, Verdict
from foretell.stats.compare import compare as test_of
from foretell.stats.family import Expected
from foretell.stats.interval import Horizon

__all__ = ["Versus", "common_scenarios", "versus"]


@dataclass(frozen=True, kw_only=True)
class Versus:
    """Policy a against policy b."""

    a: str
    b: str
    verdict: Verdict
    difference: Interval
    """Interval of mean(a) - mean(b), for this pair alone."""
    p_value: float
    p_adjusted: float
    """Adjusted for all pairs, by Holm or in the order of a forecast; the verdict uses it."""
    test: str
    paired: bool
    n_a: int
    n_b: int
    mean_a: float
    """Over the scenarios compared."""
    mean_b: float
    anytime: bool
    """Whether the p-value may be read after every trial."""
    notes: tuple[str, ...] = ()
    expected: Expected | None = None
    """Direction that a forecast expects and on which most of the level is spent; None: both directions alike."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        names = ("a", "b", "verdict", "p_value", "p_adjusted", "test", "paired", "n_a", "n_b", "mean_a")
        return {
            **{name: getattr(self, name) for name in (*names, "mean_b", "anytime")},
            **({"expected": self.expected} if self.expected is not None else {}),
            "difference": self.difference.to_dict(),
        }


def versus(
    first: tuple[str, Measured],
    second: tuple[str, Measured],
    control: tuple[Measured, Measured] | None,
    *,
    test: Test,
    unpaired: bool,
    effect: float,
    alpha: float,
    aim: float,
    expected: Expected | None = None,
    horizon: Horizon = None,
) -> Versus:
    """Compare two policies on the scenarios both have; without two in common as independent trials."""
    (a, mine), (b, theirs) = first, second
    notes = []
    common = common_scenarios(first, second) if not unpaired else []
    paired = len(common) >= 2
    if horizon is not None and not paired and not unpaired:  # the same comparison at every look
        raise UsageError(
            f"{plain(a)} and {plain(b)} have {len(common)} scenarios in common; with a horizon at least 2 are needed, "
            "or `--unpaired` from the first look on"
        )
    if control is not None:
        if not paired or test not in ("auto", "betting"):
            raise UsageError("simulation as control needs common scenarios and the test betting")
        return _controlled(a, b, mine.of(common), theirs.of(common), common, control, effect, alpha, aim, expected)
    x, y = (mine.of(common), theirs.of(common)) if paired else (mine.units.scores, theirs.units.scores)
    if min(x.size, y.size) < 2:
        short = mine if x.size < 2 else theirs
        raise UsageError(f"{short.table.name} has {min(x.size, y.size)} scenario that counts; at least 2 are needed")
    lost = len(mine.units.ids) + len(theirs.units.ids) - 2 * len(common)
    if paired and lost:
        notes.append(
            f"{plain(a)} and {plain(b)}: {counted(lost, 'scenario is', 'scenarios are')} left out, "
            f"because only one of the two ran there"
        )
        if 2 * len(common) < min(len(mine.ids), len(theirs.ids)):
            notes.append(
                f"{plain(a)} and {plain(b)} have only {counted(len(common), 'scenario')} in common: "
                "`--unpaired` compares all of their scenarios as independent trials"
            )
    result = test_of(
        x,
        y,
        paired=paired,
        test=test,
        alpha=alpha,
        aim=aim,
        effect=effect,
        expected=expected,
        horizon=horizon,
        shuffled=not (mine.alone or theirs.alone),
    )
    return Versus(
        a=a,
        b=b,
        verdict=result.verdict,
        difference=result.interval,
        p_value=result.p_value,
        p_adjusted=result.p_value,
        test=result.test,
        paired=paired,
        n_a=result.n_a,
        n_b=result.n_b,
        mean_a=float(x.mean()),
        mean_b=float(y.mean()),
        anytime=result.anytime,
        notes=tuple(notes),
        expected=expected,
    )


def common_scenarios(first: tuple[str, Measured], second: tuple[str, Measured]) -> list[str]:
    """Scenarios that both policies have: in canonical order or, if scenarios stand as run, as their pairs became
    complete. Raises UsageError where that is not known."""
    (a, mine), (b, theirs) = first, second
    known = set(theirs.ids)
    common = [unit for unit in mine.ids if unit in known]
    if mine.turn is None or theirs.turn is None:
        return common
    turns = [(mine.turn[unit], theirs.turn[unit]) for unit in common]
    if mine.table.name == theirs.table.name:  # turns of one source compare
        return [common[i] for i in sorted(range(len(common)), key=lambda i: max(turns[i]))]
    # Where both have one order, pairs became complete in it, whichever policy was tried first.
    if any(before[1] > after[1] for before, after in pairwise(turns)):
        raise UsageError(
            f"{plain(a)} and {plain(b)} were not tried on their scenarios in the same order, and {mine.table.name} and "
            f"{theirs.table.name} do not show which pair was complete first. With a horizon, give one file with both, "
            "lines in the order run"
        )
    return common


def _controlled(
    a: str,
    b: str,
    x: Any,
    y: Any,
    common: list[str],
    control: tuple[Measured, Measured],
    effect: float,
    alpha: float,
    aim: float,
    expected: Expected | None,
) -> Versus:
    known = set(control[1].ids)
    shared = [unit for unit in control[0].ids if unit in known]
    both = set(shared)
    missing = next((unit for unit in common if unit not in both), None)
    if missing is not None:
        raise UsageError(f"scenario {plain(missing)!r} was not simulated with both {plain(a)!r} and {plain(b)!r}")
    tried = set(common)
    extra = [unit for unit in shared if unit not in tried]
    if not extra:
        raise UsageError("simulation as control needs simulated scenarios without a real partner; there are none")
    for side in control:
        if len(set(side.units.counts)) > 1:
            counts = sorted(set(side.units.counts))
            raise UsageError(
                f"{side.table.name}: simulated scenarios must average the same number of rows, not {counts}"
            )
    sims, extras = [side.of(common) for side in control], [side.of(extra) for side in control]
    result = stats.paired_betting(x, y, *sims, *extras, alpha=alpha, aim=aim, expected=expected, shuffled=True)
    notes = []
    gaps = sims[0] - sims[1], extras[0] - extras[1]
    if (p := stats.same_draw(*gaps)) <= LEVEL:
        tried_gap, other_gap = (f"{100 * gap.mean():+.1f}" for gap in gaps)
        notes.append(
            f"warning: simulation puts {plain(a)} {tried_gap} points before {plain(b)} in the tried scenarios and "
            f"{other_gap} in the others (permutation test, p = {max(p, 1e-4):.1g}): if the others were drawn otherwise "
            "than the tried ones, the verdict may be wrong"
        )
    word = stats.verdict(result.p_value, result.interval, alpha, effect, float(x.mean() - y.mean()))
    return Versus(
        a=a,
        b=b,
        verdict=word,
        difference=result.interval,
        p_value=result.p_value,
        p_adjusted=result.p_value,
        test="betting with simulation as control",
        paired=True,
        n_a=x.size,
        n_b=y.size,
        mean_a=float(x.mean()),
        mean_b=float(y.mean()),
        anytime=False,
        notes=tuple(notes),
        expected=expected,
    )
