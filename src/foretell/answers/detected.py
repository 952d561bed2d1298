"""A detector as the cheap side of a bound: what it says of all trials, and what a person says of a random share.

The same mathematics as with simulation and reality. Which scenarios a person confirms was decided by coins of one known
probability that know nothing of outcomes. So confirmed and other scenarios are draws of one distribution, and the bound
holds for every detector: one that errs makes it wider, not wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from foretell.answers.inputs import Table
from foretell.answers.words import plain
from foretell.counting import counted
from foretell.episodes.confirmed import PREFIX, confirmed
from foretell.episodes.units import unit_of
from foretell.episodes.verdicts import judges, newest, verdict_lines
from foretell.errors import UsageError, suggest
from foretell.judging.confirm import confirms

__all__ = ["Detection", "detected"]

SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Detection:
    """A detector's verdicts beside a person's."""

    detector: str
    confirm: float
    """Chance of every scenario to be confirmed."""
    seed: int
    real: Table
    """Trials that a person confirmed."""
    cheap: Table
    """All trials, as the detector judged them."""
    both: int
    """Confirmed trials in which the two agree."""
    rate: float
    """Mean of the detector's scores over all trials."""
    silent: int = 0
    """Trials on which the detector has no verdict and a person has: they count as 0.5."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        about = {"name": self.detector, "confirm": self.confirm, "seed": self.seed, "episodes": len(self.cheap)}
        return {**about, "confirmed": len(self.real), "agree": self.both, "rate": self.rate, "silent": self.silent}

    def sentence(self) -> str:
        """How good the detector is, where a person looked."""
        return (
            f"Detector {plain(self.detector)} judged {counted(len(self.cheap), 'episode')} ({self.rate:.1%} success), "
            f"and a person {len(self.real)} of them, drawn with a chance of {self.confirm:.0%}; the two agree in "
            f"{self.both} of {len(self.real)}."
            + (f" It has no verdict on {self.silent}, which count as a probability of 0.5." if self.silent else "")
        )


def detected(rows: Table, detector: str) -> Detection:
    """Both sides of the rows of one policy. Raises UsageError where a verdict is missing."""
    if rows.run is None or not rows.episodes:
        raise UsageError(f"detector: {rows.name} is no run folder; a detector's verdicts are in RUN/verdicts")
    known = [name.removeprefix(PREFIX) for name in judges(rows.run) if name.startswith(PREFIX)]
    if detector not in known:
        hint = suggest(detector, known) if known else f"let it judge first: foretell judge {rows.run} --detector FILE"
        raise UsageError(f"detector: {detector!r:.80} has not judged {rows.run}; {hint}")
    lines = newest(verdict_lines(rows.run, PREFIX + detector))
    people, names = confirmed(rows.run), [str(mark) for mark in rows.marks]
    counts = [i for i, blame in enumerate(rows.columns["blame"]) if blame in (None, "policy")]
    broken = {i for i in counts if rows.columns["blame"][i] == "policy"}  # a failure, whoever looks
    silent = {i for i in counts if names[i] not in lines and i not in broken}
    if missing := [names[i] for i in silent if rows.columns["judge"][i] != "person"]:
        raise UsageError(
            f"detector: {detector!r} has not judged {counted(len(missing), 'episode')} of {rows.run} ({missing[0]} is "
            f"one): foretell judge {rows.run} --detector FILE"
        )
    coin = next(((line.get("confirm"), line.get("seed")) for line in lines.values()), (None, None))
    if not isinstance(coin[0], float) or not isinstance(coin[1], int):
        raise UsageError(f"detector: the verdicts of {detector!r} do not say which episodes a person confirms")
    chosen = _chosen(rows, counts, coin[0], coin[1])
    verdicts: dict[int, bool] = dict.fromkeys(broken, False)
    for i in chosen:
        if rows.columns["judge"][i] == "person" and rows.columns["success"][i] is not None:
            verdicts[i] = bool(rows.columns["success"][i])
        if names[i] in people:
            verdicts[i] = people[names[i]]
    if waiting := [names[i] for i in chosen if i not in verdicts]:
        raise UsageError(
            f"detector: {len(waiting)} of {len(chosen)} episodes that a person confirms have no person's verdict yet "
            f"({', '.join(waiting[:SHOWN])}): foretell judge {rows.run} --detector {detector} --by NAME. Leaving "
            "some out would bias the bound"
        )
    # any score will do that does not know the coins
    unsure = {**dict.fromkeys(broken, 0.0), **dict.fromkeys(silent, 0.5)}
    scores = {i: unsure[i] if i in unsure else float(lines[names[i]]["score"]) for i in counts}
    return Detection(
        detector=detector,
        confirm=coin[0],
        seed=coin[1],
        real=_with(rows, chosen, [float(verdicts[i]) for i in chosen]),
        cheap=_with(rows, counts, [scores[i] for i in counts]),
        both=sum((scores[i] >= 0.5) == verdicts[i] for i in chosen),
        rate=sum(scores.values()) / len(scores),
        silent=len(silent),
    )


def _chosen(rows: Table, counts: list[int], share: float, seed: int) -> list[int]:
    """Rows whose scenario the coin gives to a person: flipped again, so that no line can have been edited."""
    columns = [rows.columns[name] for name in ("parent", "scenario", "episode")]
    units = [str(unit_of(*(column[i] for column in columns))) for i in counts]
    coins = {unit: confirms(unit, share, seed) for unit in units}
    return [i for i, unit in zip(counts, units, strict=True) if coins[unit]]


def _with(rows: Table, kept: list[int], values: list[float]) -> Table:
    """Rows with these values, which were judged afterwards and so count."""
    table = rows.keep(kept)
    judged: dict[str, list[Any]] = {
        "value": values,
        "success": [value >= 0.5 for value in values],
        "blame": [None] * len(kept),
    }
    columns = {name: column for name, column in table.columns.items() if name != "fitted_to"}
    return replace(table, columns={**columns, **judged})
