"""What a question takes into account of a study that stopped by `until`: the horizon that its plan fixed."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.answers.inputs import Table
from foretell.errors import UsageError
from foretell.stats.bounds import ANYTIME
from foretell.stats.interval import Horizon

__all__ = ["check_fixed", "compared_horizon", "planned_horizon"]


def planned_horizon(real: Table, asked: Horizon, method: str, alone: bool = True) -> tuple[Horizon, list[str]]:
    """The horizon of a bound on these rows, and what to say of it. `asked`: what the user gave. `alone`: without
    simulation, which would need scenarios besides."""
    planned = real.horizon
    if planned is None:
        return _early([real], asked, alone and method in ("auto", "all", *ANYTIME))
    if asked not in (None, planned):
        raise UsageError(
            f"horizon: {asked} was given, and the study in {real.name} fixed {planned} (`until`): leave it out"
        )
    if method not in ("auto", "all", *ANYTIME):
        raise UsageError(
            f"method: {method} needs a number of trials fixed in advance, and the study in {real.name} stopped by "
            f"`until`: use {', '.join(ANYTIME)}"
        )
    return planned, [_words(real.name, planned)]


def compared_horizon(tables: Sequence[Table], asked: Horizon, test: str) -> tuple[Horizon, list[str]]:
    """The horizon of a comparison of these policies, and what to say of it."""
    planned = {table.horizon: table.name for table in tables if table.horizon is not None}
    if not planned:
        return _early(tables, asked, test in ("auto", "betting"))
    most = max(planned)
    name = planned[most]
    if asked not in (None, most):
        raise UsageError(f"horizon: {asked} was given, and the study in {name} fixed {most} (`until`): leave it out")
    if test not in ("auto", "betting"):
        raise UsageError(
            f"test: {test} needs a number of trials fixed in advance, and the study in {name} stopped by `until`: use "
            "betting"
        )
    return most, [_words(name, most)]


def check_fixed(sims: Sequence[Table]) -> None:
    """Raises UsageError if simulations stopped by a rule: how many there are then depends on their outcomes."""
    for table in sims:
        if table.horizon is not None:
            raise UsageError(
                f"{table.name} stopped by `until`, so how many scenarios were simulated depends on outcomes. A bound "
                "needs a fixed number: simulate without `until`"
            )


def _early(tables: Sequence[Table], asked: Horizon, can: bool) -> tuple[Horizon, list[str]]:
    """The horizon of real trials of which some are still to come. can: whether the method holds at any stop."""
    planned = {table.early: table.name for table in tables if table.early is not None}
    if not planned or asked is not None:
        return asked, []
    most = max(planned)
    begun = f"{planned[most]}: not all of the {most} planned scenarios have their real trials"
    if can:
        return most, [f"{begun}, so the bets are those planned for {most} scenarios, which hold wherever one stops"]
    return None, [f"warning: {begun}. This answer assumes that nobody looked at outcomes before stopping: run the rest"]


def _words(name: str, planned: int) -> str:
    return f"{name}: the study stopped by `until`, so the bets are those planned for {planned} scenarios"
