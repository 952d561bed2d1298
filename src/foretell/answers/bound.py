"""How good is this policy really? A bound on its mean score, from few real trials and many simulated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from foretell import stats
from foretell.answers.bound_options import check_counts, check_detector, check_method, only, require_two, tried_only
from foretell.answers.choice import Choice, choose
from foretell.answers.counts import bound_counts, read_counts
from foretell.answers.draw import EstimateShift, shift_of, unlike
from foretell.answers.held_out import as_evidence
from foretell.answers.inputs import Source, Table, open_table
from foretell.answers.more_trials import more_trials
from foretell.answers.reality import check_roles, check_sources
from foretell.answers.same import unlike_policies
from foretell.answers.selected import selected_bound, unequally_chosen
from foretell.answers.stopped import check_fixed, planned_horizon
from foretell.answers.units import measure, pair
from foretell.answers.words import (
    ANYTIME,
    DRAWN,
    amount,
    contradiction,
    level,
    noted,
    of_counts,
    of_scenarios,
    plain,
    sentence,
    table,
)
from foretell.counting import counted
from foretell.episodes.selection import Chosen
from foretell.errors import UsageError, suggest
from foretell.notebook import Displayed
from foretell.stats import METHODS, Interval
from foretell.stats.bounds import REAL_ONLY, default_method
from foretell.stats.interval import CONTRADICTION, Horizon

__all__ = ["Bound", "Design", "bound", "design_of"]

Design = Literal["iid", "grid", "chosen"]

UNDRAWN = {
    "chosen": "were chosen, not drawn",
    "grid": "form a grid whose cells were neither drawn nor ordered at random",
}
"""Design that may leave no guarantee -> what is wrong with its scenarios."""

CHOOSE = (
    "Choose the method, and whether to use simulation, before you look at outcomes: the better of two answers does not "
    "have the stated confidence."
)


@dataclass(frozen=True, kw_only=True)
class Bound(Displayed):
    """An interval, or with method `all` one by each method that applies."""

    intervals: tuple[Interval, ...]
    every: bool
    """Whether all methods were asked for."""
    default: str
    """Method that `auto` stands for on these data."""
    not_applicable: dict[str, str]
    """Method -> why it was left out of `all`."""
    real: dict[str, Any]
    """What the real scores are: source, world, policy, task, clock, metric, rows, scenarios."""
    sim: dict[str, Any] | None
    extra: dict[str, Any] | None
    mean: float
    """Mean of the real scores."""
    design: str
    """How scenarios came about: iid, grid or chosen."""
    notes: tuple[str, ...]
    alone: Interval | None = None
    """What real trials alone would give, where a method with simulation was used and is wider."""
    shift: EstimateShift | None = None
    """How simulation moves the estimate, where there are extra scenarios."""
    more_trials: dict[str, Any] | None = None
    """What simulating each scenario more often would buy; None where it is not known."""

    def to_dict(self) -> dict[str, Any] | list[dict[str, Any]]:
        """JSON-able form: one object, or with method `all` a list of them."""
        made = []
        for interval in self.intervals:
            row = {**interval.to_dict(), "mean": self.mean, "diagnostics": dict(interval.diagnostics)}
            row["design"] = self.design
            row["notes"] = [*interval.notes, *self.notes]
            row["shift"] = self.shift.to_dict() if self.shift is not None and interval.n_extra else None
            row |= {"more_trials": self.more_trials} if self.more_trials else {}
            made.append({**row, "real": self.real, "sim": self.sim, "extra": self.extra})
        return made if self.every else made[0]

    def text(self) -> str:
        """The answer in a few plain sentences."""
        first = contradiction(self.intervals, self.mean, self.real["metric"])
        parts = [*([first] if first else []), self._table() if self.every else self._sentence()]
        diagnostics = self.intervals[0].diagnostics
        if diagnostics:
            more = ": --extra RUN, or run more of them in the sim run" if diagnostics["width_sim"] is None else ""
            parts.append(sentence(str(diagnostics["sentence"]) + more))
        if self.alone is not None:
            ends = " to ".join(amount(v, self.real["metric"]) for v in (self.alone.low, self.alone.high))
            warning = "" if self._undrawn(self.alone) else "valid, but "
            warning += f"wider than real trials alone would give ({ends}, {self.alone.method})"
            parts.append(sentence(warning))
        interval = next((i for i in self.intervals if i.method == self.default), self.intervals[0])
        moved = self.shift.sentence(interval.estimate, self.real["metric"]) if self.shift and interval.n_extra else None
        if moved is not None:
            parts.append(sentence(moved))
        if interval.anytime:
            parts.append(ANYTIME)
        fails = [a for a in interval.assumes if a == DRAWN and self._undrawn(interval)]
        parts.append(sentence("this relies on: " + "; ".join(a for a in interval.assumes if a not in fails)))
        if fails:
            parts.append(sentence(f"it also requires {fails[0]}, which does not hold here"))
        if self.every and self._undrawn(interval):
            parts.append(sentence(self._worth(interval)))
        elif interval.reason and not self._undrawn(interval):
            parts.append(sentence(f"no finite-sample guarantee: {interval.reason}"))
        if self.sim is not None and not self.every:
            parts.append(CHOOSE)
        known = None if interval.contradiction is None else CONTRADICTION.format(interval.contradiction)
        notes = [*(note for note in interval.notes if note != known and not self.every), *self.notes]
        return "\n".join(parts + noted(notes))

    def _undrawn(self, interval: Interval) -> bool:
        """Whether no guarantee is left, because of how scenarios came about."""
        return self.design in UNDRAWN and interval.reason is not None

    def _worth(self, interval: Interval) -> str:
        """Guarantee in words; the JSON field has only two values."""
        if self._undrawn(interval):
            return f"no guarantee: the scenarios {UNDRAWN[self.design]}"
        return interval.guarantee

    def _subject(self) -> str:
        names = [f"{c} {plain(str(self.real[c]))}" for c in ("policy", "task", "world") if c in self.real]
        return f"{self.real['metric']} of {', '.join(names)}" if names else f"mean {self.real['metric']}"

    def _from(self, interval: Interval) -> str:
        if "scenarios" not in self.real:
            return f"from {counted(interval.n, 'trial')}"
        source = f"from {counted(interval.n, 'real scenario')}"
        if interval.n_extra:
            source += f" and {interval.n_extra} simulated ones without a real partner"
        if self.sim and "world" in self.sim:
            source += f" (simulated in world {plain(str(self.sim['world']))})"
        return source

    def _sentence(self) -> str:
        interval, metric = self.intervals[0], self.real["metric"]
        return sentence(
            f"{self._subject()}: between {amount(interval.low, metric)} and {amount(interval.high, metric)} with "
            f"{level(interval.alpha)} confidence ({interval.method}, {self._worth(interval)}); estimate "
            f"{amount(interval.estimate, metric)}, {self._from(interval)}"
        )

    def _table(self) -> str:
        metric = self.real["metric"]
        rows = [
            [
                i.method + ("*" if i.method == self.default else ""),
                *(amount(v, metric) for v in (i.low, i.high, i.width, i.estimate)),
                "none" if self._undrawn(i) else i.guarantee,
            ]
            for i in sorted(self.intervals, key=lambda i: i.width)
        ]
        head = sentence(f"{self._subject()}, {level(self.intervals[0].alpha)} confidence, {self._from(self._widest())}")
        left = "".join(f"\n{name} does not apply: {plain(why)}" for name, why in self.not_applicable.items())
        tail = (
            "Choose the method before you look at outcomes: the narrowest interval does not have the stated confidence."
        )
        header = ["method", "low", "high", "width", "estimate", "guarantee"]
        return f"{head}\n{table(header, rows)}\n* the default here. {tail}{left}"

    def _widest(self) -> Interval:
        return max(self.intervals, key=lambda i: i.n_extra)


def bound(
    real: Source,
    sim: Source | Sequence[Source] | None = (),
    extra: Source | Sequence[Source] | None = (),
    *,
    method: str = "auto",
    alpha: float = stats.ALPHA,
    policy: str | None = None,
    task: str | None = None,
    clock: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    design: Design | None = None,
    randomised: bool = False,
    stand_in: bool = False,
    fitted: bool = False,
    horizon: Horizon = None,
    detector: str | None = None,
) -> Bound:
    """Bound mean real performance. Sources are CSV or Parquet files, run folders, or tables in memory.

    `real` may also be counts, such as "14/20". `stand_in`: a simulated world plays reality in `real`.
    `fitted`: real trials that the simulator was fitted to count as evidence, and the notes say so.
    `sim` may be a list of simulators: they are used together, with weights that are learned as trials come in (`bank`).
    `extra` adds simulated scenarios to those of `sim` that have no real partner; with several, one for each. `metric`
    defaults to `score`, or `success`; in run folders to `success`. `design` says how scenarios came about where the
    source does not.

    horizon: for whoever looks more than once: the number of real trials planned before the first look, or "open".
    Real rows must then stand in the order in which they were run, and scenarios that only simulation has come from
    `extra`, the same at every look: those of `sim` may be tried next.

    detector: a detector that judged the films of the run folder `real` (`foretell judge --detector`). Its verdicts on
    all episodes take the place of simulation, and a person's on a random share that of reality.
    """
    if isinstance(sim, (list, tuple)) and len(sim) > 1:
        from foretell.answers.bank import bound_by_bank

        asked = Choice(task, policy, clock, arm), (design, randomised), (metric, stand_in, fitted)
        return bound_by_bank(real, sim, extra, method, alpha, *asked, horizon=horizon, detector=detector)
    sim, extra = only(sim), only(extra)
    check_method(method, sim, extra)
    if detector is not None:
        from foretell.answers.detector_bound import bound_by_detector

        choice = Choice(task, policy, clock, arm)
        check_detector(sim, extra, horizon, metric)
        return bound_by_detector(
            real, detector, choice, method=method, alpha=alpha, design=design, randomised=randomised
        )
    options: dict[str, Any] = {"alpha": alpha, "design": design or "iid", "randomised": randomised}
    if (counts := read_counts(real)) is not None:
        check_counts(real, sim, extra, policy, task, clock, arm, metric, horizon)
        return _of_counts(counts, method, options)
    given = {"real": real, "sim": as_evidence(sim, metric, fitted), "extra": as_evidence(extra, metric, fitted)}
    opened = [open_table(source, name, metric=metric) for name, source in given.items() if source is not None]
    tables, notes = choose(opened, Choice(task, policy, clock, arm))
    notes += check_roles(tables[0], tables[1] if sim is not None else None, stand_in)
    check_sources(real, sim)
    if (chosen := unequally_chosen(tables[0], sim, method, horizon is not None or extra is not None)) is not None:
        return _of_selected(chosen, tables, notes, options, design)
    horizon, more_notes = planned_horizon(tables[0], horizon, method, sim is None)
    notes += more_notes
    check_fixed(tables[1:])
    tried = measure(tables[0]) if horizon is None else measure(tables[0]).as_run()
    kept, more_notes = design_of(tables, design)
    simulated = measure(tables[1], whole=True) if sim is not None else None
    more = measure(tables[2], whole=True) if extra is not None else None
    if horizon is not None and simulated is not None:
        simulated = tried_only(simulated, tried, more)
    for part in (tried, simulated, more):
        notes += part.notes() if part is not None else []
    y, f, e, shift = tried.units.scores, None, None, None
    worth: dict[str, Any] | None = None
    if simulated is not None:
        notes += unlike_policies(tried, simulated)
        paired, lost = pair(tried, simulated, more)
        y, f, e = paired.real, paired.sim, paired.extra if paired.extra.size else None
        shift = shift_of(paired)
        notes += lost + unlike(paired, simulated, more)
        if e is not None:
            worth, note = more_trials(simulated, y, f, e.size, alpha)
            notes += [note] if note else []
    require_two(y.size, tables[0].name)
    options |= {"design": kept, "horizon": horizon, "unordered": tried.alone > 0, "shuffled": not tried.alone}
    try:
        intervals, left = _intervals(method, y, f, e, options)
        alone = None
        if method != "all" and intervals[0].method in ("strata", "blocked"):
            alone = stats.bound(y, method=default_method(y, None, None, horizon=horizon), **options)
    except ValueError as error:
        raise UsageError(str(error)) from None
    intervals, alone = tuple(map(of_scenarios, intervals)), None if alone is None else of_scenarios(alone)
    about, about_extra = (None if part is None else part.about() for part in (simulated, more))
    default = default_method(y, f, e, horizon=horizon)
    wider = alone is not None and intervals[0].width > alone.width
    used = next((i for i in intervals if i.n_extra and (i.method == default or len(intervals) == 1)), None)
    if shift is not None and used is not None:
        notes += shift.warnings(used.estimate, tried.table.metric)
    return Bound(
        intervals=intervals,
        every=method == "all",
        default=default,
        not_applicable=left,
        mean=float(y.mean()),
        real=tried.about(),
        sim=about,
        extra=about_extra,
        design=kept,
        notes=(*notes, *more_notes),
        alone=alone if wider else None,
        shift=shift,
        more_trials=worth,
    )


def _of_selected(
    chosen: Chosen, tables: list[Table], notes: list[str], options: dict[str, Any], asked: str | None
) -> Bound:
    """The bound of a study that chose its scenarios with unequal chances. Its design is that of the simulated run."""
    tried, simulated = measure(tables[0]), measure(tables[1], whole=True)
    kept, more_notes = design_of(tables[1:], asked)
    interval, remarks = selected_bound(chosen, tried, simulated, options["alpha"])
    if kept != "iid":
        interval = replace(interval, guarantee="asymptotic", reason=f"the scenarios {UNDRAWN[kept]}")
    return Bound(
        intervals=(interval,),
        every=False,
        default=interval.method,
        not_applicable={},
        mean=float(tried.units.scores.mean()),
        real=tried.about(),
        sim=simulated.about(),
        extra=None,
        design=kept,
        notes=(*notes, *tried.notes(), *simulated.notes(), *remarks, *more_notes),
    )


def _of_counts(counts: tuple[int, int], method: str, options: dict[str, Any]) -> Bound:
    about = {"source": "{}/{}".format(*counts), "metric": "success", "rows": counts[1]}
    try:
        intervals, left = bound_counts(counts, method, options)
    except ValueError as error:
        raise UsageError(str(error)) from None
    every, intervals = method == "all", tuple(map(of_counts, intervals))
    return Bound(
        intervals=intervals,
        every=every,
        default="clopper_pearson",
        not_applicable=left,
        mean=counts[0] / counts[1],
        real=about,
        sim=None,
        extra=None,
        design=options["design"],
        notes=(),
    )


def _intervals(
    method: str, y: Any, f: Any, e: Any, options: dict[str, Any]
) -> tuple[tuple[Interval, ...], dict[str, str]]:
    if method != "all":
        return (stats.bound(y, f, e, method=method, **options),), {}
    made, left = [], {}
    for name in METHODS if f is not None else REAL_ONLY:
        try:
            made.append(stats.bound(y, f, e, method=name, diagnostics=False, **options))
        except ValueError as error:
            left[name] = str(error)
    if not made:
        raise ValueError("; ".join(dict.fromkeys(left.values())))
    if f is not None:
        diagnosis = stats.bound(y, f, e, **options).diagnostics  # of the default: one table, one advice
        made = [replace(i, diagnostics=diagnosis) for i in made]
    return tuple(made), left


def design_of(tables: list[Table], asked: str | None) -> tuple[Design, list[str]]:
    """The least random of the tables' designs, unless the user says how scenarios came about; files cannot know."""
    recorded = [t.design for t in tables if t.design is not None]
    order: tuple[Design, ...] = get_args(Design)
    worst: Design = max((d for d in order if d in recorded), key=order.index, default="iid")
    if asked is None:
        return worst, []
    if asked not in order:
        raise UsageError(f"design {asked!r} is not known; {suggest(asked, order)}")
    notes = [f"scenarios count as {asked}, as you asked; the run recorded {worst}"] if recorded else []
    return next(d for d in order if d == asked), notes if asked != worst else []
