"""The answer of `tune`: which θ predicts reality best, how much better it does on data it was not fitted to, and
whether that is shown."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from foretell.answers.words import level, noted, plain, sentence, table
from foretell.arrays import Floats
from foretell.counting import counted
from foretell.notebook import Displayed
from foretell.stats import Interval
from foretell.tune.landscape import Tried
from foretell.tune.objective import Objective
from foretell.tune.space import Point, Tunable
from foretell.world_file import FITTED

__all__ = ["FEW", "Tuned"]

FEW = 5
"""Policies below which nothing is recommended: many values of θ put so few in the right order by luck."""
CLAIMS = {
    "family": "shown for these policies, and for others like them",
    "policies": "shown for these policies, on other scenarios; not for other policies",
    "none": "not shown",
}
"""How far the improvement reaches -> in words."""


@dataclass(frozen=True, kw_only=True)
class Tuned(Displayed):
    """The result of a search, and the check of it."""

    study: str
    objective: Objective
    of: str
    way: str
    policies: tuple[str, ...]
    tasks: tuple[str, ...]
    scenarios: int
    parameters: tuple[Tunable, ...]
    point: Point
    """The best θ; empty where the world as it is predicts best."""
    chosen: tuple[Point, ...]
    """The θ of each fold."""
    fitted: tuple[float, float]
    """The metric before and after, on the data that `point` was fitted to: too good to be true."""
    held_out: tuple[float, float]
    """The metric before and after, on data that the worlds were not fitted to."""
    improvement: Interval
    """On these data, for these policies. Positive is better."""
    for_others: Interval
    """The same for policies like these."""
    tried: Sequence[tuple[Tried, float]]
    """Every θ that was evaluated on all data, with the metric there."""
    rates: Mapping[str, tuple[Floats, Floats, Floats]]
    """Task -> mean scores of the policies (P,) that judge: real, simulated before, and simulated after."""
    judging: tuple[str, ...]
    """The policies of `rates`."""
    checked: str
    """How data were held out, in words."""
    world: Mapping[str, Any]
    """The contents of the world file, with the scenarios that it was fitted to."""
    real_episodes: tuple[str, ...]
    """The real episodes that θ was fitted to."""
    notes: tuple[str, ...]
    out: Path
    file: Path | None = None
    """The world file; None where nothing was written."""

    @property
    def claim(self) -> str:
        """`family`, `policies` or `none`: for whom the improvement is shown."""
        if self.improvement.low is None or self.improvement.low <= 0.0:
            return "none"
        return "family" if self.for_others.low is not None and self.for_others.low > 0.0 else "policies"

    @property
    def recommended(self) -> bool:
        """Whether held-out data show that the tuned world predicts better, with policies enough."""
        return self.claim != "none" and len(self.policies) >= FEW

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "metric": self.objective.metric,
            "of": self.of,
            "way": self.way,
            "policies": list(self.policies),
            "tasks": list(self.tasks),
            "scenarios": self.scenarios,
            "theta": dict(self.point),
            "before": {p.name: p.start for p in self.parameters},
            "recommended": self.recommended,
            "claim": CLAIMS[self.claim],
            "fitted": dict(zip(("before", "after"), map(_finite, self.fitted), strict=True)),
            "held_out": dict(zip(("before", "after"), map(_finite, self.held_out), strict=True)),
            "improvement": _of(self.improvement),
            "improvement_for_other_policies": _of(self.for_others),
            "checked": self.checked,
            "folds": [dict(point) for point in self.chosen],
            "tried": [
                {
                    "theta": dict(t.point),
                    "value": _finite(value),
                    "run": str(t.run),
                    **({"why": t.why} if t.why else {}),
                }
                for t, value in self.tried
            ],
            "rates": {
                task: {
                    policy: dict(zip(("real", "before", "after"), map(float, row), strict=True))
                    for policy, *row in zip(self.judging, *sides, strict=True)
                }
                for task, sides in self.rates.items()
            },
            "world": dict(self.world),
            "file": None if self.file is None else str(self.file),
            "real_episodes": list(self.real_episodes),
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The answer in a few lines and two small tables."""
        metric = self.objective.metric
        head = (
            f"{metric} of {plain(self.of)}, {counted(len(self.policies), 'policy', 'policies')}, "
            f"{counted(self.scenarios, 'scenario')} of {', '.join(map(plain, self.tasks))}; "
            f"{counted(len(self.tried), 'value')} of θ ({self.way})"
        )
        rows = [
            ["on the data it was fitted to", *map(_number, self.fitted), ""],
            ["on held-out data", *map(_number, self.held_out), self.change(self.improvement)],
        ]
        columns = ["", "before", "tuned", f"improvement, {level(self.improvement.alpha)} interval"]
        parts = [head, table(columns, rows), f"Held out: {self.checked}."]
        parts.append(f"For policies like these, not these alone: {self.change(self.for_others)}.")
        reasons = [interval.reason for interval in (self.improvement, self.for_others) if interval.reason]
        parts += [sentence(f"why: {reason}") for reason in dict.fromkeys(reasons)] or ["Intervals are asymptotic."]
        parts += [self.verdict(), table(["parameter", "before", "tuned", "in the folds"], self.theta_rows())]
        return "\n".join([*parts, *noted(self.notes)])

    def verdict(self) -> str:
        """Whether to use the tuned world, in a sentence."""
        if self.recommended:
            where = f": {self.file}" if self.file else ""
            return f"Recommended{where}. The improvement is {CLAIMS[self.claim]}."
        if not self.point:
            return "Not recommended: no value of θ that was tried predicts better than the world as it is."
        written = f" It was written to {self.file} because you asked for it." if self.file else ""
        if self.claim != "none":
            return (
                f"Not recommended: {counted(len(self.policies), 'policy is', 'policies are')} fewer than {FEW}, and "
                f"many values of θ put so few in the right order by luck.{written}"
            )
        return (
            "Not recommended: the improvement is not shown on data that θ was not fitted to. The better value on the "
            f"data it was fitted to may be luck.{written}"
        )

    def change(self, interval: Interval) -> str:
        """An improvement and its ends."""
        if not math.isfinite(interval.estimate):
            return "-"
        ends = (
            "" if interval.low is None or interval.high is None else f" ({interval.low:+.3f} to {interval.high:+.3f})"
        )
        return f"{interval.estimate:+.3f}{ends}" if ends else f"{interval.estimate:+.3f}, without interval"

    def theta_rows(self) -> list[list[str]]:
        """Each parameter before and after, and what the folds chose."""
        return [
            [
                p.name,
                _cell(p.start),
                _cell(self.point.get(p.name, p.start)),
                ", ".join(dict.fromkeys(_cell(point.get(p.name, p.start)) for point in self.chosen)),
            ]
            for p in self.parameters
        ]

    def write(self) -> None:
        """Write `tune.json`, and the world file where there is one."""
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "tune.json").write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
        if self.file is not None:
            lines: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 110}
            text = yaml.safe_dump({k: v for k, v in self.world.items() if k not in FITTED}, **lines)
            text += yaml.safe_dump({k: self.world[k] for k in FITTED}, default_flow_style=None, **lines)
            self.file.write_text(text, encoding="utf-8")


def _of(interval: Interval) -> dict[str, Any]:
    return {**interval.to_dict(), "estimate": _finite(interval.estimate)}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "undefined"


def _cell(value: Any) -> str:
    return "as it is" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
