"""How time passes while the policy thinks. Inference latency belongs here, and nowhere else.

`sync`: the world waits for the policy. A clock is data; the drivers in `foretell.rollout` carry it out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from foretell.errors import UsageError, suggest

__all__ = ["CLOCKS", "Clock", "Sync", "parse"]


@dataclass(frozen=True)
class Clock:
    """Base of all clocks. Frozen, so that an episode's key can include it."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The clock as it stands in an episode's row."""
        return {"kind": self.kind, **vars(self)}

    @property
    def label(self) -> str:
        """A short name for tables."""
        options = ", ".join(f"{k} {v}" for k, v in vars(self).items())
        return f"{self.kind} ({options})" if options else self.kind


@dataclass(frozen=True)
class Sync(Clock):
    """Observe, act, command, advance one action period: the world waits."""

    kind: ClassVar[str] = "sync"


CLOCKS: dict[str, type[Clock]] = {"sync": Sync}


def parse(value: Any) -> Clock:
    """A clock from a study: `sync`, or `{name: {option: value}}`."""
    if isinstance(value, Clock):
        return value
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
