"""How time passes while the policy thinks. Inference latency belongs here, and nowhere else.

`sync`: the world waits for the policy. `virtual`: inference takes simulated time, and nobody sleeps. A clock is data;
the drivers in `foretell.rollout` carry it out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from foretell.errors import UsageError, suggest
from foretell.latency import Latency, parse_latency

__all__ = ["CLOCKS", "Clock", "Sync", "Virtual", "label", "parse"]


@dataclass(frozen=True)
class Clock:
    """Base of all clocks. Frozen, so that an episode's key can include it."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The clock as it stands in an episode's row."""
        options = {k: v.to_dict() if isinstance(v, Latency) else v for k, v in vars(self).items()}
        return {"kind": self.kind, **options}

    @property
    def label(self) -> str:
        """A short name for tables."""
        return self.kind


@dataclass(frozen=True)
class Sync(Clock):
    """Observe, act, command, advance one action period: the world waits."""

    kind: ClassVar[str] = "sync"


@dataclass(frozen=True)
class Virtual(Clock):
    """Physics does not wait: an inference that starts at simulated time t delivers its chunk at t + speed x latency."""

    kind: ClassVar[str] = "virtual"
    latency: Latency = Latency()  # noqa: RUF009 - frozen
    speed: float = 1.0
    """Simulated seconds per wall second: 2 makes the policy's computer half as fast."""
    chunks: str = "execute"
    """`execute`: run the first actions of a chunk, then think again. `replace`: think all the time; an answer replaces
    the plan on arrival, from the action after those that ran meanwhile."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "latency", parse_latency(self.latency))
        if not (isinstance(self.speed, (int, float)) and 0 < self.speed < float("inf")):
            raise UsageError(f"clocks: virtual: speed is {self.speed!r}, it must be above 0")
        if self.chunks not in ("execute", "replace"):
            raise UsageError(f"clocks: virtual: chunks: {suggest(str(self.chunks), ('execute', 'replace'))}")

    @property
    def label(self) -> str:
        speed = "" if self.speed == 1 else f", speed {self.speed:g}"
        chunks = "" if self.chunks == "execute" else f", {self.chunks}"
        return f"virtual {self.latency.label}{speed}{chunks}"


CLOCKS: dict[str, type[Clock]] = {"sync": Sync, "virtual": Virtual}


def label(text: str) -> str:
    """A short name of the clock in a row (JSON); of one that this foretell cannot run, its kind."""
    value = json.loads(text)
    return parse(value).label if value["kind"] in CLOCKS else str(value["kind"])


def parse(value: Any) -> Clock:
    """A clock from a study, `sync` or `{name: {option: value}}`, or from a row, `{"kind": name, option: value}`."""
    if isinstance(value, Clock):
        return value
    if isinstance(value, dict) and "kind" in value:
        value = {value["kind"]: {k: v for k, v in value.items() if k != "kind"}}
    options: dict[str, Any] = {}
    if isinstance(value, str):
        name = value
    elif isinstance(value, dict) and len(value) == 1:
        ((name, given),) = value.items()
        options = given or {}
    else:
        raise UsageError(f"clocks: {value!r} should be a name or a mapping of one name to its options")
    if name not in CLOCKS:
        raise UsageError(f"clocks: {name!r} is not a clock; {suggest(str(name), CLOCKS)}")
    try:
        return CLOCKS[name](**options)
    except TypeError:
        known = [f.name for f in fields(CLOCKS[name])]
        raise UsageError(f"clocks: {name}: options {sorted(options)} given, it takes {known or 'none'}") from None
