"""What a study keeps besides its rows: films, events and steps."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from foretell.errors import UsageError

__all__ = ["Record"]


def _how_many(value: Any) -> Any:
    if value == "none":
        return 0
    if value != "all" and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise ValueError("should be a whole number from 0, `none` or `all`")
    return value


HowMany = Annotated[int | Literal["all"], BeforeValidator(_how_many)]


def _how_filmed(value: Any) -> Any:
    try:
        return value if value in ("few", "failures") else _how_many(value)
    except ValueError:
        raise ValueError("should be a whole number from 0, `none`, `few`, `failures` or `all`") from None


Films = Annotated[int | Literal["few", "failures", "all"], BeforeValidator(_how_filmed)]


def _usual_films() -> Any:
    """What is filmed where a study does not say: a few episodes, or what the environment says."""
    usual = os.environ.get("FORETELL_VIDEO") or "few"
    try:
        return _how_filmed(int(usual) if usual.isdecimal() else usual)
    except ValueError as error:
        raise UsageError(f"the environment variable FORETELL_VIDEO {error}; it is {usual!r:.80}") from None


class Record(BaseModel):
    """What to keep besides the rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    video: Films = Field(default_factory=_usual_films)
    """So many videos of each task, policy, clock and arm, of failures and of successes; or of up to 20 `failures`; or
    of `all` episodes; or `few` of the whole study, where that takes little time. See `study.films`."""
    events: HowMany = 0
    """What happened when (looks, inferences, actions), of the first so many scenarios of each task and policy, or of
    `all`; see `foretell timeline`."""

    steps: HowMany = 0
    """The true state after every action, of the first so many scenarios of each task and policy (all their trials), or
    of `all`; see `foretell judge`. Filmed and real episodes always have theirs."""

    def keeps_events(self, index: int) -> bool:
        """Whether the events of the scenario with this index are kept."""
        return self.events == "all" or index < self.events

    def keeps_steps(self, index: int) -> bool:
        """Whether the steps of the scenario with this index are kept."""
        return self.steps == "all" or index < self.steps
