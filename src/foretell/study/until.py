"""When a cell of a study stops: its interval is narrow enough, or two policies are told apart."""

from __future__ import annotations

import json
from collections.abc import Collection

from pydantic import BaseModel, ConfigDict, Field, model_validator

from foretell.errors import UsageError, suggest
from foretell.stats.until import EVERY

__all__ = ["Until"]


class Until(BaseModel):
    """A stopping rule: `width` or `decided`, looked at after fixed numbers of scenarios."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: float | None = Field(default=None, gt=0, lt=1)
    """A cell stops when the interval of its success rate is at most so wide (0.14 is 14 points)."""
    decided: tuple[str, str] | None = None
    """Two policies, which stop together when the paired test tells them apart, for each task, clock and arm."""
    max: int | None = Field(default=None, ge=1)
    """Scenarios after which a cell stops in any case. None: `scenarios.count`, or all that are listed."""
    every: int = Field(default=EVERY, ge=1)
    """Scenarios between two looks."""
    confidence: float = Field(default=0.95, gt=0, lt=1)

    @model_validator(mode="after")
    def _one_rule(self) -> Until:
        if (self.width is None) == (self.decided is None):
            raise ValueError("should have either `width`, such as {width: 0.14, max: 200}, or `decided`: [a, b]")
        if self.decided is not None and self.decided[0] == self.decided[1]:
            raise ValueError(f"`decided` should name two policies, not {self.decided[0]!r} twice")
        return self

    @property
    def alpha(self) -> float:
        return round(1.0 - self.confidence, 12)

    def check(self, policies: Collection[str]) -> None:
        """Raises UsageError if `decided` names a policy that the study lacks."""
        for name in self.decided or ():
            if name not in policies:
                raise UsageError(f"until: decided: {name!r} is no policy of this study; {suggest(name, policies)}")

    def applies_to(self, policy: str) -> bool:
        """Whether cells of this policy stop by it. Policies that `decided` leaves out run to the end."""
        return self.decided is None or policy in self.decided

    def recorded(self, horizon: int) -> str:
        """The rule of a cell with so many scenarios, as the plan has it."""
        rule = {"width": self.width} if self.decided is None else {"decided": list(self.decided)}
        return json.dumps({**rule, "horizon": horizon, "every": self.every, "alpha": self.alpha}, sort_keys=True)
