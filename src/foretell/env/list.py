"""Which environments foretell makes, and which are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foretell.bridges.simulators.environment import KNOWN, Made, home, record_of

__all__ = ["KnownEnvironment", "list"]


@dataclass(frozen=True, kw_only=True)
class KnownEnvironment:
    """One environment."""

    name: str
    about: str
    made: Made | None
    """None where it is not there."""
    why_not: str | None
    """Why foretell does not make it."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        made = None if self.made is None else self.made.to_dict()
        return {"name": self.name, "about": self.about, "made": made, "why_not": self.why_not}

    def text(self) -> str:
        """A line."""
        if self.made is not None:
            state = f"made: {self.made.path}"
        else:
            state = f"foretell does not make it: {self.why_not}" if self.why_not else "not made"
        return f"{self.name:<20}{self.about}\n{'':<20}{state}"


def list() -> tuple[KnownEnvironment, ...]:
    """Every environment that foretell knows."""
    return tuple(
        KnownEnvironment(name=name, about=known.about, made=record_of(home() / name), why_not=known.why_not)
        for name, known in KNOWN.items()
    )
