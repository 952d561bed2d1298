"""A bound on success from a detector's verdicts on all trials and a person's on a random share of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from foretell import stats
from foretell.answers.bound import Bound, design_of
from foretell.answers.choice import Choice, choose
from foretell.answers.detected import Detection, detected
from foretell.answers.inputs import Source, open_table
from foretell.answers.reality import simulated
from foretell.answers.units import measure, pair
from foretell.answers.words import amount, noted, of_scenarios, plain, sentence
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.stats import METHODS, Interval
from foretell.stats.interval import ALIKE, PAIRS, UNFITTED

__all__ = ["DetectedBound", "bound_by_detector"]

USUAL = "blocked"
"""Method of `auto`: the narrowest where detector and person agree in 9 of 10 trials (docs/statistics.md)."""
WORDS = {
    PAIRS: "confirmed trials drawn by coins that know nothing of outcomes",
    ALIKE: "confirmed and other trials drawn from the same distribution",
    UNFITTED: "a detector that was not fitted to these verdicts",
}
"""What is assumed of simulation -> the same of a detector."""


@dataclass(frozen=True, kw_only=True)
class DetectedBound(Bound):
    """A bound with a detector as the cheap side."""

    detection: Detection
    confirmed_alone: Interval
    """What the confirmed trials alone give."""

    def to_dict(self) -> dict[str, Any] | list[dict[str, Any]]:
        """JSON-able form."""
        made = super().to_dict()
        more = {"detector": self.detection.to_dict(), "confirmed_alone": self.confirmed_alone.to_dict()}
        return [{**row, **more} for row in made] if isinstance(made, list) else {**made, **more}

    def text(self) -> str:
        """The answer in a few plain sentences."""
        interval, alone, metric = self.intervals[0], self.confirmed_alone, self.real["metric"]
        parts = [self._table() if self.every else self._sentence(), self.detection.sentence()]
        ends = " to ".join(amount(value, metric) for value in (alone.low, alone.high))
        gain = interval.width / alone.width - 1.0
        parts.append(
            f"Without the detector the confirmed trials alone give {ends} ({alone.method}): the detector makes the "
            f"bound {abs(gain):.0%} {'wider' if gain > 0 else 'narrower'}."
        )
        parts.append(sentence("this relies on: " + "; ".join(interval.assumes)))
        if interval.reason:
            parts.append(sentence(f"no finite-sample guarantee: {interval.reason}"))
        return "\n".join(parts + noted(self.notes))

    def _from(self, interval: Interval) -> str:
        trials = counted(interval.n, "scenario that a person confirmed", "scenarios that a person confirmed")
        return f"from {trials} and {interval.n_extra} that only the detector judged"


def bound_by_detector(
    run: Source, detector: str, choice: Choice, *, method: str, alpha: float, design: str | None, randomised: bool
) -> DetectedBound:
    """Bound mean success of one policy of a run folder. Trials of a scenario are averaged first."""
    (rows,), notes = choose([open_table(run, "real", metric="success")], choice)
    if rows.horizon is not None or rows.early is not None:
        raise UsageError(
            "detector: the study stopped by `until`, or was cut short; the bound needs a fixed number of trials"
        )
    if (world := simulated(rows)) is not None:
        notes.append(f"world {plain(world)!r} is simulated: the bound is on success there")
    detection = detected(rows, detector)
    if not len(detection.real):
        raise UsageError(f"detector: the coins gave no episode to a person: {len(rows)} are too few")
    real, cheap = measure(detection.real), measure(detection.cheap, whole=True)
    paired, lost = pair(real, cheap, None)
    kept, more_notes = design_of([rows], design)
    if paired.real.size < 2:
        raise UsageError(f"{rows.name} has {paired.real.size} confirmed scenario; a bound needs at least 2")
    options: dict[str, Any] = {"alpha": alpha, "design": kept, "randomised": randomised, "diagnostics": False}
    alone = stats.bound(paired.real, **options)
    chosen = list(METHODS) if method == "all" else [USUAL if method == "auto" else method]
    made, left = [], {}
    extra = paired.extra if paired.extra.size else None
    if extra is None:  # a person confirmed everything
        chosen, notes = [alone.method], [*notes, "a person has judged every trial: the detector adds nothing"]
    for name in chosen:
        try:
            made.append(stats.bound(paired.real, paired.sim, extra, method=name, shuffled=True, **options))
        except ValueError as error:
            left[name] = str(error)
    if not made:
        raise UsageError("; ".join(dict.fromkeys(left.values())))
    return DetectedBound(
        intervals=tuple(map(_worded, made)),
        every=method == "all",
        default=USUAL,
        not_applicable=left,
        mean=float(paired.real.mean()),
        real=real.about(),
        sim=cheap.about(),
        extra=None,
        design=kept,
        notes=(*notes, *real.notes(), *lost, *more_notes),
        detection=detection,
        confirmed_alone=of_scenarios(alone),
    )


def _worded(interval: Interval) -> Interval:
    """Its assumptions in words for a detector."""
    return of_scenarios(replace(interval, assumes=tuple(WORDS.get(words, words) for words in interval.assumes)))
