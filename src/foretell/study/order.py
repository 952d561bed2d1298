"""In which order the episodes of a study start.

On a robot the order matters: motors warm up, light changes, a gripper wears, and the person learns. An order that is
drawn at random spreads this over all policies alike. Rows do not depend on the order.

- `planned`: policy by policy, as the study lists them.
- `random`: scenario by scenario, in random order. All episodes of a scenario follow each other, in random order too:
  policies meet the same table within minutes, so the table is set once and the comparison is paired.
- `mixed`: every episode has a random turn of its own.

Tasks follow each other as listed. A study that stops by `until` is looked at after fixed numbers of scenarios, and only
the scenarios between two looks change places: each look sees the scenarios that were planned for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from foretell.digest import digest
from foretell.stats.until import looks

if TYPE_CHECKING:
    from foretell.study.config import Study
    from foretell.study.plan import Planned
    from foretell.study.scenarios import Scenarios

__all__ = ["Order", "in_order", "task_by_task"]


class Order(BaseModel):
    """How the order is drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["planned", "random", "mixed"]
    seed: int = Field(default=0, ge=0, le=2**62)
    """Another seed gives another order. Two studies have different orders with the same seed."""

    @model_validator(mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        """`order: random` is `order: {kind: random}`."""
        return {"kind": value} if isinstance(value, str) else value

    def recorded(self, key: str) -> dict[str, Any]:
        """As the provenance has it. key: of the study, with which the seed draws."""
        return {"kind": self.kind} if self.kind == "planned" else {"kind": self.kind, "seed": self.seed, "key": key}


def in_order(episodes: Sequence[Planned], study: Study, order: Order, key: str) -> list[Planned]:
    """The episodes of a plan in the order in which they start. key: names the study. An episode's turn is a hash of the
    key, the seed and the episode, so a study that is resumed has the same order."""
    if order.kind == "planned":
        return list(episodes)
    draw = [key, order.seed, "order"]
    tasks = {entry.use: number for number, entry in enumerate(study.tasks)}
    turns: dict[int, list[int]] = {}
    blocks: dict[int, list[int]] = {}

    def place(episode: Planned) -> tuple[Any, ...]:
        scenarios, task = episode.scenarios, tasks[episode.group.task.use]  # its path would tie the order to a folder
        if id(scenarios) not in turns:
            turns[id(scenarios)] = _unit_numbers(scenarios)
            blocks[id(scenarios)] = _block_numbers(study, max(turns[id(scenarios)], default=-1) + 1)
        unit = turns[id(scenarios)][episode.index]
        mine = [*draw, task, unit, episode.index, episode.policy, episode.arm, episode.trial, episode.group.clock.label]
        together = digest([*draw, task, unit]) if order.kind == "random" else ""
        return task, blocks[id(scenarios)][unit], together, digest(mine)

    return sorted(episodes, key=place)


def _unit_numbers(scenarios: Scenarios) -> list[int]:
    """Scenario -> the number of its unit. Children of one parent are one unit. The scenarios of two arms have the same
    numbers, because an arm changes them one by one."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(unit, len(numbers)) for unit in scenarios.units]


def _block_numbers(study: Study, units: int) -> list[int]:
    """Unit -> the number of the look that counts it first."""
    if study.until is None or not units:
        return [0] * units
    ends = looks(units, study.until.every)
    return [next(number for number, end in enumerate(ends) if unit < end) for unit in range(units)]


def task_by_task(episodes: dict[str, Planned]) -> dict[str, Planned]:
    """Of episodes that may start now, those of the first task: a person sets up one task after the other."""
    for _, alike in groupby(episodes.items(), lambda item: item[1].group.task.use):
        return dict(alike)
    return {}
