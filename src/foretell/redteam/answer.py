"""What a failure search has found, in words and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.notebook import Displayed
from foretell.redteam.verify import Verified
from foretell.stats import Interval

__all__ = ["RedTeam", "Seen"]

SHOWN = 8
"""Lines of the search that the text has; all are in the JSON."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One combination in the search: a look, not a measurement."""

    arm: str
    solved: int
    n: int
    clean: int
    """Solved of the clean controls of the same n scenarios."""
    verdict: str
    expert: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        row = {"arm": self.arm, "solved": self.solved, "n": self.n, "clean": self.clean, "verdict": self.verdict}
        return row | ({"expert": {"solved": self.expert[0], "n": self.expert[1]}} if self.expert else {})


@dataclass(frozen=True, kw_only=True)
class RedTeam(Displayed):
    """The mildest combination of factors that breaks a policy, or that none was found within the budget."""

    policy: str
    task: str
    world: str
    finding: Verified | None
    why: str
    """In one sentence."""
    breaks: float
    required: float
    severity: float
    most: int
    seeds: tuple[tuple[int, int], tuple[int, int]]
    """First and last seed: of the search, and of the verification."""
    budget: int
    spent: dict[str, int]
    """Episodes: search, certificates, verification."""
    ran: int
    """Of them, those run in this call; the rest were there."""
    out: Path
    seen: tuple[Seen, ...] = ()
    """Everything looked at, in that order."""
    discarded: tuple[Seen, ...] = ()
    """Breaks the policy, but the expert cannot solve it either."""
    refuted: tuple[Verified, ...] = ()
    """Broke the policy in the search, but not surely on fresh scenarios."""
    episode: str | None = None
    """A failing episode, in the run folder `verify`."""
    scenario: Path | None = None
    commands: dict[str, str] = field(default_factory=dict)
    video: Path | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        (a, b), (c, d) = self.seeds
        return {
            "policy": self.policy,
            "task": self.task,
            "world": self.world,
            "finding": self.finding.to_dict() if self.finding else None,
            "why": self.why,
            "breaks": self.breaks,
            "required": self.required,
            "severity": self.severity,
            "most": self.most,
            "seeds": {"search": [a, b], "verification": [c, d]},
            "budget": self.budget,
            "spent": {**self.spent, "all": sum(self.spent.values())},
            "ran": self.ran,
            "out": str(self.out),
            "seen": [s.to_dict() for s in self.seen],
            "discarded": [s.to_dict() for s in self.discarded],
            "refuted": [f.to_dict() for f in self.refuted],
            "episode": self.episode,
            "scenario": str(self.scenario) if self.scenario else None,
            "commands": self.commands,
            "video": str(self.video) if self.video else None,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The answer as text."""
        lines = [self.why]
        if self.finding:
            lines += self._finding(self.finding)
        for other in self.refuted:
            lines.append(
                f"not confirmed on fresh scenarios: {other.combination.arm}, {_rate(other.broken)} "
                f"against {_rate(other.clean)} clean"
            )
        for seen in self.discarded:
            assert seen.expert is not None
            solved, n = seen.expert
            lines.append(f"discarded: {seen.arm}, because the expert solves only {solved} of {n}")
        if self.seen:
            lines.append(f"in the search (seeds {_span(self.seeds[0])}; quick checks, not measurements):")
            worst = sorted(self.seen, key=lambda s: (s.solved / s.n if s.n else 1.0, -s.n, s.arm))
            width = max(len(s.arm) for s in worst[:SHOWN])
            lines += [f"  {s.arm:<{width}}  {s.solved} of {s.n}, {s.verdict}" for s in worst[:SHOWN]]
            if len(worst) > SHOWN:
                lines.append(f"  and {len(worst) - SHOWN} more with equal or higher success")
        kinds = ", ".join(f"{n} {kind}" for kind, n in self.spent.items())
        lines.append(f"spent {sum(self.spent.values())} of {self.budget} episodes ({kinds}); {self.ran} run now")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, f"everything is in {self.out}"])

    def _finding(self, f: Verified) -> list[str]:
        solved, n = f.expert
        lines = [
            f"on {counted(f.clean.n, 'fresh scenario')} (seeds {_span(self.seeds[1])}), which the search has not seen; "
            f"{1 - f.clean.alpha:.0%} intervals:",
            f"  clean    {_rate(f.clean)}",
            f"  broken   {_rate(f.broken)}",
            f"  change   {100 * f.change.estimate:+.0f} points, {_ends(f.change, 100)}",
            f"  broken minus {self.breaks:g} x clean: {f.margin.estimate:+.2f}, at {1 - f.margin.alpha:.1%} "
            f"{_ends(f.margin, 1)}: below 0",
            f"  expert   {solved} of {n} under it, so it is solvable (required: {self.required:.0%})",
        ]
        if self.episode:
            lines.append(f"a failing episode: {self.episode}")
            lines += [f"  {what}: {command}" for what, command in self.commands.items()]
            lines += [f"  video: {self.video}"] if self.video else []
        return lines


def _span(seeds: tuple[int, int]) -> str:
    return f"{seeds[0]} to {seeds[1]}"


def _rate(interval: Interval) -> str:
    k = round(interval.estimate * interval.n)
    return f"{k} of {interval.n} ({interval.estimate:.0%}, {_ends(interval, 100)} %)"


def _ends(interval: Interval, times: float) -> str:
    assert interval.low is not None and interval.high is not None
    form = ".0f" if times == 100 else "+.2f"
    return f"{times * interval.low:{form}} to {times * interval.high:{form}}"
