"""Which scenarios to run for real next: the choice that a study with `scenarios: select` would make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.answers.inputs import Source
from foretell.answers.words import noted, table
from foretell.counting import counted
from foretell.episodes.selection import Chosen
from foretell.errors import UsageError, suggest
from foretell.notebook import Displayed
from foretell.stats.sampling import Rule
from foretell.study.select import Select, clean_scenarios, record, select

__all__ = ["NextTrials", "next_trials"]

RULES: tuple[Rule, ...] = ("uniform", "stratified", "active")
SHOWN = 20
"""Scenarios of each task that are listed; the rest are counted."""


@dataclass(frozen=True, kw_only=True)
class NextTrials(Displayed):
    """Scenarios to run for real, of each task."""

    asked: Select
    tasks: dict[str, Chosen]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, as `selection.json` of a run folder."""
        return record(self.asked, self.tasks)

    def text(self) -> str:
        """The choice in words, and the lines of a study that makes it."""
        parts = []
        for task, chosen in self.tasks.items():
            parts.append(f"{task}: {len(chosen.ids)} of {counted(len(chosen.pool), 'scenario')} came up.")
            chance = dict(zip(chosen.pool, chosen.selection.probability.tolist(), strict=True))
            rows = [[unit, f"{chance[unit]:.1%}"] for unit in chosen.ids[:SHOWN]]
            parts.append(table(["scenario", "chance"], rows))
            if len(chosen.ids) > SHOWN:
                parts.append(f"and {len(chosen.ids) - SHOWN} more; --json lists all")
        a = self.asked
        lines = f"scenarios: {{select: {{from: {a.source}, budget: {a.budget}, rule: {a.rule}, seed: {a.seed}}}}}"
        parts.append(f"A study chooses the same scenarios, and keeps their chances, with\n  {lines}")
        uneven = "unequal chances widen the bound more often than not: see docs/statistics.md"
        return "\n".join(parts + noted([uneven] if a.rule != "uniform" else []))


def next_trials(
    sim: Source | None, budget: int, rule: str, seed: int, policies: Sequence[str] = (), task: str | None = None
) -> NextTrials:
    """Choose among the scenarios of a simulated run. policies: whose scores are weighed; none: those of all."""
    if sim is None or not isinstance(sim, str | Path) or not Path(sim).is_dir():
        raise UsageError("next needs sim, a run folder with simulated scenarios: such as --next 40 --sim runs/sim")
    if rule not in RULES:
        raise UsageError(f"rule {rule!r} is not known; {suggest(rule, RULES)}")
    if budget < 1 or seed < 0:
        raise UsageError(f"next is {budget} and seed is {seed}: next must be 1 or more, and seed 0 or more")
    known = list(dict.fromkeys(s.task for s in clean_scenarios(sim)))
    if task is not None and task not in known:
        raise UsageError(f"task {task!r} is not in {sim}; {suggest(task, known)}")
    asked = Select.model_validate({"from": Path(sim), "budget": budget, "rule": rule, "seed": seed})
    tasks = known if task is None else [task]
    return NextTrials(asked=asked, tasks={name: select(asked, name, policies)[0] for name in tasks})
