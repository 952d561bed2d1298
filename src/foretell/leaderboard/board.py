"""The leaderboard: who succeeds most under perturbation, in cells that can be solved, and what each factor costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell import stats
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.leaderboard.entries import Entry, entries_of, read_runs
from foretell.leaderboard.ground import Ground, common_ground
from foretell.leaderboard.metrics import (
    arm_rows,
    cell_rows,
    charged,
    columns_of,
    curves,
    ends,
    factor_rows,
    score,
    weighted,
)
from foretell.leaderboard.worlds import alignment
from foretell.notebook import Displayed

__all__ = ["Leaderboard", "leaderboard"]

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Displayed):
    """Policies on one test set, best first; those without a score last."""

    ground: Ground
    world: str
    clock: str
    alpha: float
    entries: list[Row]
    pairs: list[Row]
    """Every two policies with a score: the verdict on a against b, and p, adjusted by Holm over all of them."""
    curves: list[Row]
    """Success against severity, where the test set has several."""
    worlds: Row | None
    """The same policies in a second world, where one was given."""
    notes: tuple[str, ...]

    @property
    def not_certified(self) -> list[str]:
        """Cells that are shown, and not charged."""
        return [f"{c.task} {c.arm} {c.rate:.0%}" for c in self.ground.certificates.values() if not c.certified]

    @property
    def family(self) -> str | None:
        """Which tests ranks and verdicts rest on, in words; None where no two policies are compared."""
        if not self.pairs:
            return None
        how = "McNemar's exact test for successes, betting for partial credit"
        over = f"all {len(self.pairs)} pairs" if len(self.pairs) > 1 else "the one pair"
        return f"the paired test of `foretell compare` ({how}) with Holm's adjustment over {over} of policies"

    def open_ranks(self) -> str:
        """What ranks in brackets are, as a sentence."""
        left = (
            f"the ranks that remain possible after {self.family}"
            if self.family
            else "none, as no two policies are compared"
        )
        return f"Ranks in brackets: {left}."

    def to_dict(self) -> Row:
        """JSON-able form."""
        ground, header = self.ground, self.ground.header
        about: Row = {
            "id": ground.id,
            "name": header.name if header else None,
            "tasks": ground.versions,
            "arms": ground.arms,
            "episodes": ground.n,
            "cells": len(ground.columns),
            "certified": sum(c.certified for c in ground.certificates.values()) if ground.certificates else None,
            "not_certified": self.not_certified,
            "protocol": header.protocol.model_dump(mode="json") if header else None,
        }
        return {
            "testset": about,
            "world": self.world,
            "clock": self.clock,
            "alpha": self.alpha,
            "entries": self.entries,
            "pairs": self.pairs,
            "family": self.family,
            "curves": self.curves,
            "worlds": self.worlds,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """Tables for a terminal."""
        from foretell.leaderboard.text import text

        return text(self)


def leaderboard(
    *runs: str | Path,
    testset: str | Path | None = None,
    real: Sequence[str | Path] | str | Path = (),
    clock: str | None = None,
    alpha: float = stats.ALPHA,
    seed: int = 0,
) -> Leaderboard:
    """Rank the policies of run folders that hold the same test set, in one world and under one clock.

    `testset`: the file that says what is certified, for runs that ran its scenarios without it. `real`: runs of the
    same test set in another world, to set beside. `seed` is that of the resampling.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha}, it must be between 0 and 1")
    others = [real] if isinstance(real, (str, Path)) else list(real)
    rows, shared, notes = read_runs(runs, clock)
    file = Path(testset) if testset is not None else None
    ground = common_ground(rows, file)
    entries, more_notes = entries_of(rows, ground)
    notes += more_notes
    worlds = None
    if others:
        their_rows, theirs, more = read_runs(others, clock)
        if theirs["world_hash"] == shared["world_hash"]:
            raise UsageError(f"real: {others[0]} also has the world {shared['world']!r}: there is nothing to compare")
        _same_ground(ground, common_ground(their_rows, file))
        beside, more_notes = entries_of(their_rows, ground)
        worlds = {"sim": shared["world"], "real": theirs["world"], **alignment(ground, entries, beside, alpha, seed)}
        notes += [*more, *(f"{theirs['world']}: {note}" for note in more_notes)]
        notes += [
            f"{theirs['world']}: {e.policy} has {counted(e.missing, 'episode')} missing" for e in beside if e.missing
        ]
    ranked, pairs = _ranked(entries, ground, alpha)
    notes += _notes(entries, ground)
    order = [row["policy"] for row in ranked]
    lines = [row for e in sorted(entries, key=lambda e: order.index(e.policy)) for row in curves(e, ground, alpha)]
    more_notes = list(dict.fromkeys(notes))
    return Leaderboard(
        ground=ground,
        world=shared["world"],
        clock=shared["clock"],
        alpha=alpha,
        entries=ranked,
        pairs=pairs,
        curves=lines,
        worlds=worlds,
        notes=tuple(more_notes),
    )


def _same_ground(first: Ground, second: Ground) -> None:
    if first.id != second.id:
        raise UsageError(
            "two worlds can be compared on one test set only, and these are two:\n"
            f"  {first.source} is {first.label()}\n  {second.source} is {second.label()}"
        )


def _ranked(entries: list[Entry], ground: Ground, alpha: float) -> tuple[list[Row], list[Row]]:
    """A row for every policy, best first, and one for every two that are compared."""
    scores = {entry.policy: score(entry, ground, alpha) for entry in entries}
    values = {policy: interval.estimate for policy, (interval, _) in scores.items() if interval}
    able = [entry for entry in entries if entry.policy in values]
    ranges, pairs = _compared(able, ground, alpha)
    rows = []
    for entry in entries:
        interval, why = scores[entry.policy]
        above = [v for v in values.values() if interval and v > interval.estimate + 1e-12]
        arms = arm_rows(entry, ground, alpha)
        percents = [row.get("percent_change") for row in arms if row["factor"] and row["tasks"]]
        defined = [p["estimate"] for p in percents if p]
        rows.append(
            {
                "rank": 1 + len(above) if interval else None,
                "rank_range": ranges.get(entry.policy),
                "policy": entry.policy,
                "score": {**(ends(interval) or {}), "guarantee": interval.guarantee} if interval else None,
                "reason": why,
                "episodes": entry.episodes,
                "missing": entry.missing,
                "left_out": entry.left_out,
                "percent_change_mean": float(np.mean(defined)) if defined and len(defined) == len(percents) else None,
                "arms": arms,
                "factors": factor_rows(entry, ground),
                "cells": cell_rows(entry, ground, alpha),
            }
        )
    return sorted(rows, key=lambda row: (row["rank"] is None, row["rank"], row["policy"])), pairs


def _compared(able: list[Entry], ground: Ground, alpha: float) -> tuple[dict[str, list[int]], list[Row]]:
    """Ranks that paired comparisons of the scores leave open, and the verdicts; the tests are those of `compare`."""
    if len(able) < 2:
        return {}, []
    common = np.logical_and.reduce([columns_of(entry, ground) for entry in able])
    if common.sum() < 2:
        return {}, []
    answer = stats.compare_all({e.policy: weighted(e, ground, common) for e in able}, paired=True, alpha=alpha)
    at = {name: i for i, name in enumerate(answer.names)}
    pairs = [
        {"a": a, "b": b, "verdict": word, "p_adjusted": float(answer.p_values[at[a], at[b]]), "n": int(common.sum())}
        for (a, b), word in answer.verdicts.items()
    ]
    return {name: [int(r[0]), int(r[1])] for name, r in zip(answer.names, answer.ranks, strict=True)}, pairs


def _notes(entries: list[Entry], ground: Ground) -> list[str]:
    notes = []
    if not ground.certificates:
        notes.append(
            "no score: it is unknown which cells can be solved. Build the test set with the same tasks, arms, episodes "
            "and seed (`foretell testset build`) and give it with --testset"
        )
    for entry in entries:
        if entry.left_out:
            why = ", ".join(f"{count} {blame}" for blame, count in entry.left_out.items())
            notes.append(
                f"{entry.policy}: {counted(sum(entry.left_out.values()), 'episode does', 'episodes do')} "
                f"not count ({why})"
            )
        if charged(ground) and not entry.missing and not (columns := columns_of(entry, ground)).all():
            notes.append(
                f"{entry.policy}: its score covers the {int(columns.sum())} of {ground.n} scenarios in which all "
                "its episodes count"
            )
    return notes
