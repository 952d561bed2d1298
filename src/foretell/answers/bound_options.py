"""What `bound` refuses before it reads or computes anything."""

from __future__ import annotations

from typing import Any

from foretell.answers.inputs import Source
from foretell.answers.units import Measured
from foretell.errors import UsageError, suggest
from foretell.stats import METHODS

__all__ = ["check_counts", "check_detector", "check_method", "only", "require_two", "tried_only"]


def check_counts(real: Source, *others: object) -> None:
    """Refuse what counts have no use for."""
    if any(given is not None for given in others):
        raise UsageError(
            f"real: {real} is a pair of counts: it has no scenarios to pair, no names to choose from and no order"
        )


def check_detector(*others: object) -> None:
    """Refuse what a detector's bound has no use for."""
    if any(given not in (None, "success") for given in others):
        raise UsageError("detector: it bounds success at one look: leave sim, extra, metric and horizon out")


def check_method(method: str, sim: Source | None, extra: Source | None) -> None:
    """Refuse options that make no sense, before any file is read."""
    if method not in ("auto", "all", *METHODS):
        raise UsageError(f"method {method!r} is not known; {suggest(method, ('auto', 'all', *METHODS))}")
    if extra is not None and sim is None:
        raise UsageError("extra simulations need simulations of the real scenarios: give sim too")


def only(source: Any) -> Any:
    """The source of a list of one."""
    if isinstance(source, (list, tuple)):
        if len(source) > 1:
            raise UsageError(f"extra: {len(source)} sources are given, and sim is one: give one for each simulator")
        return source[0] if source else None
    return source


def require_two(count: int, name: str) -> None:
    """Refuse what tells nothing of how trials vary."""
    if count < 2:
        raise UsageError(f"{name} has {count} scenario that counts; a bound needs at least 2")


def tried_only(sim: Measured, real: Measured, extra: Measured | None) -> Measured:
    """The simulated scenarios that were tried, for a bound that holds at every look."""
    if extra is None:
        raise UsageError(
            "horizon with sim needs extra: simulated scenarios that will never be tried for real "
            "(those of sim may be tried next, and then the bound would not hold at every look)"
        )
    return sim.only(set(real.ids))
