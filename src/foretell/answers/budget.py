"""How many real trials next? For a wanted width of the bound, or a wanted chance of telling two policies apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from foretell import stats
from foretell.answers.choice import Choice
from foretell.answers.inputs import Source
from foretell.answers.next_trials import NextTrials, next_trials
from foretell.answers.pilot import Pilot, read_pilot
from foretell.answers.words import level, noted, sentence, table
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.notebook import Displayed
from foretell.stats.bounds import STRATA_TRIALS, enough

__all__ = ["Budget", "budget"]


@dataclass(frozen=True, kw_only=True)
class Budget(Displayed):
    """Forecasts, not bounds: within about 30 % where they were checked (docs/statistics.md)."""

    question: str
    """width or power"""
    asked: dict[str, Any]
    """The wanted width, or power and difference, and what was assumed."""
    real_only: int | None
    """Real scenarios needed without simulation, each with one trial of every policy; None: more than a million, or
    never."""
    with_simulation: int | None
    """Real scenarios needed with `n_extra` simulated scenarios, or endless ones where that is None."""
    if_correlation_low: int | None
    """The same if the true correlation lies at the low end of the pilot's interval; None without a pilot."""
    worth: dict[str, Any] | None
    """What more simulation buys at `with_simulation` real trials, and where that stops."""
    pilot: Pilot | None = None
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "question": self.question,
            **self.asked,
            "real_only": self.real_only,
            "with_simulation": self.with_simulation,
            "trials_real_only": self._total(self.real_only),
            "trials_with_simulation": self._total(self.with_simulation),
            **({"if_correlation_low": self.if_correlation_low, "pilot": vars(self.pilot)} if self.pilot else {}),
            **({"worth": self.worth} if self.worth else {}),
            "sentence": self._sentence(),
            "notes": list(self.notes),
        }

    def _total(self, scenarios: int | None) -> int | None:
        """Real trials in so many scenarios: each policy is tried in each."""
        return None if scenarios is None else scenarios * (2 if self.question == "power" else 1)

    def _needs(self, scenarios: int | None) -> str:
        if self.question == "width" or scenarios is None:
            return f"{_about(scenarios)} real trials"
        return f"about {scenarios} real scenarios x two policies = {self._total(scenarios)} real trials"

    def _sentence(self) -> str:
        a = self.asked
        goal = (
            f"a {level(a['alpha'])} bound {a['width']:g} wide at a mean score of {a['rate']:.3g}"
            if self.question == "width"
            else f"telling {a['rate'] + a['difference']:.3g} from {a['rate']:.3g} with a chance of {a['power']:.0%}"
        )
        if a["correlation"] == 0.0 and self.pilot is None:
            return sentence(f"{goal} takes {self._needs(self.real_only)} alone")
        extra = "unlimited" if a["n_extra"] is None else str(a["n_extra"])
        return sentence(
            f"{goal} takes {self._needs(self.real_only)} alone, or {self._with(self.with_simulation)} with "
            f"{extra} simulated scenarios, at a correlation of {a['correlation']:.2f} between real and sim"
        )

    def _with(self, scenarios: int | None) -> str:
        """Briefly, after what real trials alone need."""
        if self.question == "width" or scenarios is None:
            return _trials(scenarios)
        return f"{scenarios} x two = {self._total(scenarios)}"

    def text(self) -> str:
        """The plan in plain sentences, and what simulation buys."""
        parts = [self._sentence()]
        if self.pilot is not None and self.asked["correlation"] == self.pilot.correlation:
            p = self.pilot
            ends = f"{p.correlation_low:.2f} to {p.correlation_high:.2f}"
            parts.append(
                f"The pilot's correlation comes from {counted(p.n, 'pair')} and may be {ends}; "
                f"at the low end it takes {self._with(self.if_correlation_low)}."
            )
        if self.worth is not None:
            w = self.worth
            rows = [
                [str(size), f"{width:.3f}", _trials(trials or None)]
                for size, width, trials in zip(w["n_extra"], w["width"], w["real_trials_alone"], strict=True)
            ]
            parts.append(f"What simulation adds to {counted(w['n'], 'real trial')}:")
            parts.append(table(["simulated", "width", "as many real trials alone"], rows))
            stop = f"; beyond {w['stops_at']} more hardly helps" if w["stops_at"] else ""
            parts.append(f"No number of simulated scenarios makes it narrower than {w['floor']:.3f}{stop}.")
        parts.append("These are forecasts for planning, not bounds.")
        return "\n".join(parts + noted(self.notes))


def _about(count: int | None) -> str:
    return "more than a million" if count is None else f"about {count}"


def _trials(count: int | None) -> str:
    return "more than a million" if count is None else str(count)


def budget(
    real: Source | None = None,
    sim: Source | None = None,
    *,
    width: float | None = None,
    power: float | None = None,
    difference: float | None = None,
    rate: float | None = None,
    correlation: float | None = None,
    agreement: float | None = None,
    variance: float | None = None,
    n_extra: int | None = None,
    alpha: float = stats.ALPHA,
    policy: str | Sequence[str] = (),
    task: str | None = None,
    clock: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    stand_in: bool = False,
    next: int | None = None,
    rule: str = "uniform",
    seed: int = 0,
) -> Budget | NextTrials:
    """Plan real trials for a `width` of the bound, or for `power` to see a `difference` between two policies.

    A pilot (`real` and `sim`, as for `bound`; for power with two policies) gives the rate, the correlation and the
    rest; what is given outright goes before it. Without either, real trials alone are planned. `n_extra`: simulated
    scenarios to come; default endless. `stand_in`: a simulated world plays reality in `real`.

    `next`: plan no number, but choose about so many scenarios of the run `sim` to run for real, by coins. `rule`:
    `uniform`, `stratified` or `active` (see `study.select`); `seed`: of the coins.
    """
    if next is not None:
        return next_trials(sim, next, rule, seed, (policy,) if isinstance(policy, str) else policy, task)
    _check(width, power, difference, n_extra)
    policies = (policy,) if isinstance(policy, str) else tuple(policy)
    pilot: Pilot | None = None
    notes: list[str] = []
    if real is not None or sim is not None:
        if real is None or sim is None:
            raise UsageError("a pilot needs both real and sim")
        if width is not None and len(policies) > 1:
            raise UsageError("a width is planned for one policy")
        pilot, notes = read_pilot(real, sim, Choice(task, None, clock, arm), metric, policies, stand_in)
        if power is not None and len(policies) < 2 and correlation is None:
            notes.append("the pilot has one policy: its correlation is used for the difference of two policies")
    elif policies:
        raise UsageError("policy needs a pilot: give real and sim too")
    unknown = correlation is None and pilot is None
    if unknown:
        notes.append(
            "no correlation of real and sim is known, so this plan has real trials alone; "
            "give --correlation or a pilot (--real and --sim) to see what simulation would save"
        )
    plan = _TrialPlan(
        rate=rate if rate is not None else pilot.rate if pilot else 0.5,
        correlation=correlation if correlation is not None else pilot.correlation if pilot else 0.0,
        correlation_low=None if pilot is None or correlation is not None else max(0.0, pilot.correlation_low),
        n_extra=n_extra,
        alpha=alpha,
        pilot=pilot,
        notes=tuple(notes),
    )
    try:
        if width is not None:
            from_pilot = pilot.variance if pilot and rate is None else None
            return plan.for_width(width, variance if variance is not None else from_pilot, known=not unknown)
        assert power is not None and difference is not None
        alike = agreement if agreement is not None else pilot.agreement if pilot else 0.0
        return plan.for_power(power, difference, alike)
    except ValueError as error:
        raise UsageError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class _TrialPlan:
    """What is assumed of the trials to come."""

    rate: float
    correlation: float
    correlation_low: float | None
    """The low end of the pilot's interval; None without a pilot, or where the user gives the correlation."""
    n_extra: int | None
    alpha: float
    pilot: Pilot | None
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not -1.0 <= self.correlation <= 1.0:
            raise UsageError(f"correlation must lie in [-1, 1], got {self.correlation:g}")

    @property
    def assumed(self) -> dict[str, Any]:
        """For the answer."""
        return {"rate": self.rate, "correlation": self.correlation, "alpha": self.alpha, "n_extra": self.n_extra}

    def _counts(self, trials: Callable[[float, float], int | None]) -> list[int | None]:
        """Trials needed without simulation, with it, and with it at the low correlation. trials: from the correlation
        and the number of simulated scenarios."""
        size = math.inf if self.n_extra is None else float(self.n_extra)
        low = self.correlation_low
        return [trials(0.0, 0.0), trials(self.correlation, size), None if low is None else trials(low, size)]

    def for_width(self, width: float, variance: float | None, *, known: bool) -> Budget:
        """For a width of the bound. known: whether a correlation was given or measured."""

        def trials(rho: float, size: float) -> int | None:
            return stats.trials_for_width(
                width, correlation=rho, extra=size, rate=self.rate, variance=variance, alpha=self.alpha
            )

        alone, *counts = self._counts(trials)
        notes: list[str] = []
        binary = variance is None or variance >= self.rate * (1.0 - self.rate) - 1e-9
        if binary:
            counts, notes = _as_bound_does(alone, counts, self.n_extra)
        with_sim, at_low = counts
        worth = None
        if with_sim and with_sim != alone:
            worth = self._worth(with_sim, variance, enough(with_sim) if binary else 0)
        elif known and not notes:
            notes.append("simulation saves nothing at this correlation")
        return Budget(
            question="width",
            asked={"width": width, "variance": variance, **self.assumed},
            real_only=alone,
            with_simulation=with_sim,
            if_correlation_low=at_low,
            worth=worth,
            pilot=self.pilot,
            notes=(*self.notes, *notes),
        )

    def for_power(self, power: float, difference: float, agreement: float) -> Budget:
        """For the power to see a difference between two policies."""
        if not 0.0 < abs(difference) <= 1.0 or not 0.0 <= self.rate + difference <= 1.0:
            sum_ = f"{self.rate:g} + {difference:g}"
            raise UsageError(f"rate + difference must lie in [0, 1] and difference must not be 0, got {sum_}")
        if not -1.0 <= agreement <= 1.0:
            raise UsageError(f"agreement must lie in [-1, 1], got {agreement:g}")

        def trials(rho: float, size: float) -> int | None:
            return stats.trials_for_power(
                self.rate + difference, self.rate, power,
                agreement=agreement, correlation=rho, extra=size, alpha=self.alpha,
            )  # fmt: skip

        alone, with_sim, at_low = self._counts(trials)
        return Budget(
            question="power",
            asked={"power": power, "difference": difference, "agreement": agreement, **self.assumed},
            real_only=alone,
            with_simulation=with_sim,
            if_correlation_low=at_low,
            worth=None,
            pilot=self.pilot,
            notes=self.notes,
        )

    def _worth(self, n: int, variance: float | None, least: int) -> dict[str, Any]:
        """What simulation saves for n real trials, from `least` simulated scenarios on."""
        sizes = sorted({max(n * k, least) for k in (1, 2, 5, 10, 20, 50, 100, 1000)})
        worth = stats.simulation_worth(n, self.rate, self.correlation, sizes, variance=variance, alpha=self.alpha)
        return {
            "n": n,
            "n_extra": worth.sizes.tolist(),
            "width": worth.widths.tolist(),
            "real_trials_alone": worth.trials.tolist(),
            "floor": worth.floor,
            "stops_at": worth.stops_at,
        }


def _check(width: float | None, power: float | None, difference: float | None, n_extra: int | None) -> None:
    """What was asked for makes sense; before any file is read."""
    if width is not None and not 0.0 < width < 1.0:
        raise UsageError(f"width must lie in (0, 1), got {width:g}")
    if power is not None and not 0.0 < power < 1.0:
        raise UsageError(f"power must lie in (0, 1), got {power:g}")
    if width is None and power is None and difference is None:
        raise UsageError(
            "nothing to plan for: give a width of the bound, for example --width 0.2 --rate 0.5 --correlation 0.6, "
            "or power and a difference, for example --power 0.8 --difference 0.2"
        )
    if width is not None and (power is not None or difference is not None):
        raise UsageError("give a width, or power and a difference, not both")
    if width is None and (power is None or difference is None):
        given, lacks = ("difference", "power") if power is None else ("power", "difference")
        raise UsageError(f"{given} needs {lacks} too, for example --power 0.8 --difference 0.2")
    if n_extra is not None and n_extra < 0:
        raise UsageError(f"n_extra must be 0 or more, got {n_extra}")


def _as_bound_does(
    alone: int | None, counts: list[int | None], n_extra: int | None
) -> tuple[list[int | None], list[str]]:
    """Plans for success rates as the default of `bound` will meet them: it uses no simulation below 30 real trials,
    nor with too few simulated scenarios. Returns the plans, and notes."""
    least = STRATA_TRIALS[0]
    need = enough(least)
    if n_extra is not None and n_extra < need:
        note = (
            f"`foretell bound` needs {need} simulated scenarios before it uses them by default: {n_extra} save nothing"
        )
        return [None if count is None else alone for count in counts], [note]
    if counts[0] is None or counts[0] >= least or (alone is not None and alone <= counts[0]):
        return counts, []
    raised = [None if count is None else max(count, min(least, alone or least)) for count in counts]
    note = f"`foretell bound` needs {least} real trials before it uses simulation by default, so fewer are not planned"
    return raised, [note]
