"""Which scenarios of a simulated run a real study runs: each is decided by a coin of known chance.

    scenarios: {select: {from: runs/sim, budget: 40, rule: stratified, seed: 0}}

`uniform` gives every scenario the same chance, `stratified` spreads real trials over all simulated scores, and `active`
prefers scenarios on which simulation is unsure: those that sometimes succeed. The chances go into the run folder
(`episodes.selection`), and `foretell bound --sim runs/sim` uses them, so that unequal chances bias nothing. The number
of trials is random; its mean is about the budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from foretell.episodes.columns import cells
from foretell.episodes.read import read_columns
from foretell.episodes.scenarios import read_scenarios
from foretell.episodes.selection import Chosen
from foretell.errors import UsageError
from foretell.scenario import Scenario
from foretell.stats.order import by_id
from foretell.stats.sampling import Rule, next_scenarios

__all__ = ["Select", "clean_scenarios", "record", "select"]


class Select(BaseModel):
    """A choice among the scenarios of a run."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    budget: int = Field(ge=1)
    """Real trials of each policy and task, on average."""
    source: Path = Field(alias="from")
    """A run folder with the scenarios, simulated."""
    rule: Rule = "uniform"
    seed: int = Field(default=0, ge=0, le=2**62)
    """Of the coins."""


def clean_scenarios(run: Path | str) -> list[Scenario]:
    """The scenarios of a run, without those that its arms made of others."""
    scenarios = read_scenarios(run)
    clean = {s.base for s in scenarios if not s.factors}
    return [s for s in scenarios if not s.factors or s.base not in clean]


def select(
    chosen: Select, task: str, policies: Collection[str] = (), count: int | None = None
) -> tuple[Chosen, list[Scenario]]:
    """Flip the coins for a task: what was chosen, and the scenarios to run. policies: whose simulated scores are
    weighed, where the run has them; else those of all its policies. count: the first so many scenarios only."""
    run = chosen.source
    try:
        listed = [s for s in clean_scenarios(run) if s.task == task][:count]
        scores = _scores(run, {s.id: s.pair for s in listed}, policies)
    except UsageError as error:
        raise UsageError(f"scenarios: select: from: {error}") from None
    pool = [unit for unit in dict.fromkeys(s.pair for s in listed) if unit in scores]
    if not pool:
        raise UsageError(f"scenarios: select: from: {run} has no simulated episode of task {task!r}")
    pool = [pool[i] for i in by_id(pool)]  # not in the order of a file, which may follow outcomes
    if chosen.budget > len(pool):
        raise UsageError(
            f"scenarios: select: budget is {chosen.budget}, and {run} has {len(pool)} scenarios of task {task!r}"
        )
    mean, unsure = (np.array([scores[unit][i] for unit in pool]) for i in (0, 1))
    drawn = next_scenarios(mean, chosen.budget, rule=chosen.rule, uncertainty=unsure, seed=chosen.seed)
    result = Chosen(pool=pool, selection=drawn)
    picked = set(result.ids)
    if not picked:
        raise UsageError(f"scenarios: select: no scenario of task {task!r} came up: raise `budget`, or change `seed`")
    return result, [s for s in listed if s.pair in picked]


def record(chosen: Select, tasks: Mapping[str, Chosen]) -> dict[str, Any]:
    """What `selection.json` is to hold. tasks: the name of each task, as rows have it -> its choice."""
    about = {"from": str(chosen.source), "rule": chosen.rule, "budget": chosen.budget, "seed": chosen.seed}
    return {**about, "tasks": {task: mine.to_dict() for task, mine in tasks.items()}}


def _scores(run: Path, units: Mapping[str, str], policies: Collection[str]) -> dict[str, tuple[float, float]]:
    """Unit -> mean of its simulated successes, and how unsure they are: the spread of a success with that rate. One
    success and one failure are added for the latter, so that no scenario is thought certain."""
    rows = read_columns(run, ["scenario", "policy", "success"])
    names = set(cells(rows["policy"])) & set(policies)
    judged: dict[str, list[bool]] = defaultdict(list)
    for scenario, policy, success in zip(*(cells(rows[c]) for c in ("scenario", "policy", "success")), strict=True):
        if success is not None and scenario in units and (policy in names or not names):
            judged[units[scenario]].append(bool(success))
    made = {}
    for unit, outcomes in judged.items():
        rate = (sum(outcomes) + 1) / (len(outcomes) + 2)
        made[unit] = (sum(outcomes) / len(outcomes), float(np.sqrt(rate * (1.0 - rate))))
    return made
