"""SIMPLER's aggregates: the mean over the clean control and its variants, and what each shift changes.

A scenario runs under every arm, so outcomes of one scenario are not independent. It counts once, by its mean over the
arms, and intervals are those of such means. Scenarios that lack an outcome under one arm are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.answers.words import level, plain, table
from foretell.episodes.cells import cells_of
from foretell.episodes.names import names_of
from foretell.episodes.units import by_unit
from foretell.stats import ALPHA, Interval, bound
from foretell.stats.order import by_id
from foretell.stats.robustness import delta_success, paired_change
from foretell.tasks.variants import AGGREGATES, APART, SHIFTS, members

__all__ = ["Aggregate", "ShiftChange", "aggregate_entries", "aggregates", "outcomes", "shift_table"]

Outcomes = Mapping[str, float]
"""Scenario -> mean success of its trials."""
NAMES = ("world", "task", "policy", "clock")


@dataclass(frozen=True, kw_only=True)
class ShiftChange:
    """What one kind of change costs: SIMPLER's equation 6."""

    name: str
    arms: tuple[str, ...]
    change: Interval
    """Mean over the variants of success less that of the control, paired by scenario."""
    absolute: float
    """Mean over the variants of the absolute change, which SIMPLER's Table VI prints."""

    @property
    def apart(self) -> bool:
        """Whether it is no part of the aggregate."""
        return self.name == APART


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """Mean success over arms of equal weight."""

    name: str
    arms: tuple[str, ...]
    success: Interval
    shifts: tuple[ShiftChange, ...]


def outcomes(rows: pa.Table) -> dict[str, float]:
    """Scenario -> mean success of its judged rows (columns base, parent, success). A parent stands for its children."""
    judged = rows.filter(rows["success"].is_valid())
    names = pc.coalesce(judged["parent"].cast(pa.string()), judged["base"].cast(pa.string()))
    scenarios = by_unit(names, sort=False)
    return dict(zip(scenarios.names, scenarios.means(judged["success"].to_numpy()).tolist(), strict=True))


def aggregates(by_arm: Mapping[str, Outcomes], alpha: float = ALPHA) -> list[Aggregate]:
    """The aggregates that outcomes of one policy on one task allow: those of which every arm is there."""
    made = []
    for name in AGGREGATES:
        arms = members(name, by_arm)
        common = _common([by_arm[arm] for arm in arms])
        if not common:
            continue
        scores = np.mean([[by_arm[arm][unit] for unit in common] for arm in arms], axis=0)
        shifts = {SHIFTS[arm] for arm in arms if arm != "none"} | ({APART} if name == "aggregate" else set())
        made.append(
            Aggregate(
                name=name,
                arms=arms,
                success=bound(scores, alpha=alpha, shuffled=True),
                shifts=tuple(
                    shift
                    for each in dict.fromkeys(SHIFTS.values())
                    if each in shifts and (shift := _shift(each, by_arm, alpha)) is not None
                ),
            )
        )
    return made


def _common(each: Sequence[Outcomes]) -> list[str]:
    """Scenarios that all have, in the order of a hash, which cannot follow outcomes."""
    names = [unit for unit in each[0] if all(unit in other for other in each)] if each else []
    return [names[i] for i in by_id(names)]


def _shift(name: str, by_arm: Mapping[str, Outcomes], alpha: float) -> ShiftChange | None:
    arms = [arm for arm, shift in SHIFTS.items() if shift == name and arm in by_arm]
    common = _common([by_arm[arm] for arm in ("none", *arms)]) if arms else []
    if not common:
        return None
    clean = np.array([by_arm["none"][unit] for unit in common])
    shifted = np.array([[by_arm[arm][unit] for unit in common] for arm in arms])
    size = float(delta_success(shifted.mean(axis=1), clean.mean(), absolute=True))
    change = paired_change([shifted.mean(axis=0)], [clean], alpha, shuffled=True)
    return ShiftChange(name=name, arms=tuple(arms), change=change, absolute=size)


def aggregate_entries(rows: pa.Table, entries: Iterable[Mapping[str, Any]], alpha: float) -> list[dict[str, Any]]:
    """The aggregates of a run as entries of `foretell.show`, with `arms` and `shifts`. entries: those of single arms.
    While episodes of one arm are still to come, and where arms stop by a rule, an aggregate has no interval: which
    scenarios are complete may then depend on outcomes."""
    group, known = cells_of(rows)
    by: dict[tuple[str, ...], dict[str, Outcomes]] = {}
    for number, name in enumerate(names_of(known)):
        if name.arm == "none" or name.arm in SHIFTS:
            key = tuple(str(getattr(name, column)) for column in NAMES)
            by.setdefault(key, {})[name.arm] = outcomes(rows.filter(pa.array(group == number)))
    of = {(*(str(entry[column]) for column in NAMES), entry["arm"]): entry for entry in entries}
    return [
        _entry(dict(zip(NAMES, key, strict=True)), made, [of[*key, arm] for arm in made.arms], alpha)
        for key, by_arm in by.items()
        for made in aggregates(by_arm, alpha)
    ]


def _entry(names: dict[str, str], made: Aggregate, each: Sequence[Mapping[str, Any]], alpha: float) -> dict[str, Any]:
    total = {key: sum(entry[key] for entry in each) for key in ("finished", "planned")}
    flags = {key: any(entry[key] for entry in each) for key in ("running", "retired", "stopped")}
    final = not any(flags.values()) and not any(entry["until"] for entry in each)
    ends = (made.success.low, made.success.high, made.success.method) if final else (None, None, None)
    return {
        **names,
        "arm": made.name,
        "n": made.success.n,
        "successes": None,
        "rate": made.success.estimate,
        **dict(zip(("low", "high", "method"), ends, strict=True)),
        "alpha": alpha,
        "errors": {},
        "events": {},
        **flags,
        **total,
        "until": None,
        "arms": list(made.arms),
        "shifts": {
            shift.name: {
                "arms": list(shift.arms),
                "change": shift.change.estimate,
                "low": shift.change.low if final else None,
                "high": shift.change.high if final else None,
                "absolute": shift.absolute,
                "in_aggregate": not shift.apart,
            }
            for shift in made.shifts
        },
    }


def shift_table(entries: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """What each shift changes, as lines of text. names: the columns that tell entries apart."""
    rows = []
    for entry in entries:
        for name, shift in entry.get("shifts", {}).items():
            low, high = shift["low"], shift["high"]
            ends = "-" if low is None or high is None else f"{100 * low:+.0f} to {100 * high:+.0f}"
            where = [plain(str(entry[column])) for column in names if column != "arm"]
            note = "" if shift["in_aggregate"] else "left out of the aggregate"
            cells_ = [f"{100 * shift['change']:+.1f}", ends, f"{100 * shift['absolute']:.1f}", len(shift["arms"]), note]
            rows.append([*where, name, *map(str, cells_)])
    if not rows:
        return []
    header = [
        *(column for column in names if column != "arm"),
        "shift",
        "change",
        f"{level(entries[0]['alpha'])} interval",
    ]
    lines = table([*header, "mean absolute", "variants", ""], rows).splitlines()
    about = "Change of success by shift, in points, paired by scenario (mean absolute: over the shift's variants):"
    return [about, *lines]
