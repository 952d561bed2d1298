"""Which episodes run next: all at once, or block by block where cells stop by a rule.

A cell of a study with `until` is looked at after fixed numbers of its scenarios, in the order planned. The scenarios
between two looks, a block, start only if the look before them did not stop the cell. The blocks of all cells that go on
make a round, and the episodes of a round run side by side. So what runs depends on outcomes alone, not on workers,
slots or the moment at which a study was cut off: looks are taken again from the rows that are there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa

from foretell.episodes.columns import cells
from foretell.rollout import Outcome
from foretell.stats.until import is_decided, is_narrow, looks
from foretell.study.order import task_by_task
from foretell.study.plan import Planned
from foretell.study.until import Until

__all__ = ["Execute", "Rounds"]

Execute = Callable[[dict[str, Planned]], Iterator[tuple[str, Outcome]]]
"""Runs episodes, side by side, and yields (key, outcome) as each ends."""
RERUN = "machine"
"""Blame of an episode that is worth another try."""


@dataclass(eq=False)
class _Entrant:
    """Scenarios of one task, policy, clock and arm: of each the episodes, in the order planned."""

    policy: str
    units: dict[str, list[str]] = field(default_factory=dict)

    def names(self, first: int, last: int) -> list[str]:
        """Episodes of these units."""
        return [name for unit in list(self.units)[first:last] for name in self.units[unit]]


class _Race:
    """Cells that stop together: one, or those of two policies on the same scenarios."""

    def __init__(self, cells: list[_Entrant], until: Until | None) -> None:
        self.cells, self.until = cells, until
        self.horizon = max(len(cell.units) for cell in cells)
        self.looks = looks(self.horizon, until.every if until is not None else self.horizon)
        self.look = 0
        self.stopped = False

    def block(self) -> list[str]:
        """Episodes up to the coming look."""
        return [name for cell in self.cells for name in cell.names(0, self.looks[self.look])]

    def spared(self) -> list[str]:
        """Episodes that are not needed."""
        if not self.stopped:
            return []
        return [name for cell in self.cells for name in cell.names(self.looks[self.look], self.horizon)]

    def stops(self, success: Mapping[str, bool | None]) -> bool:
        """Whether the rule stops at the coming look. success: of the episodes that have ended, None if not judged."""
        if self.until is None:
            return False
        end = self.looks[self.look]
        scores = [_scores(cell, end, success) for cell in self.cells]
        if self.until.width is not None:
            return is_narrow([*scores[0].values()], self.until.width, self.horizon, self.until.alpha)
        common = [unit for unit in scores[0] if unit in scores[1]]
        a, b = ([mine[unit] for unit in common] for mine in scores)
        return is_decided(a, b, self.horizon, self.until.alpha)


def _scores(cell: _Entrant, end: int, success: Mapping[str, bool | None]) -> dict[str, float]:
    """Unit -> share of its judged episodes that succeeded, of the first so many units that have one."""
    scores = {}
    for unit in list(cell.units)[:end]:
        judged = [value for name in cell.units[unit] if (value := success.get(name)) is not None]
        if judged:
            scores[unit] = sum(judged) / len(judged)
    return scores


class Rounds:
    """The episodes of a study in the order in which they may start.

    named: key -> episode, in the order of the plan. done: key -> blame, of the rows that are there. rows: these rows,
    with `episode` and `success`; only a rule reads them.
    """

    def __init__(
        self,
        *,
        until: Until | None,
        named: Mapping[str, Planned],
        done: Mapping[str, str | None],
        rows: pa.Table | None = None,
        one_task: bool = False,
    ) -> None:
        """one_task: the episodes of a task start when those of the task before have ended."""
        self.until, self._named, self._one_task = until, named, one_task
        self._ended = {name for name in named if done.get(name, RERUN) != RERUN}
        self._success: dict[str, bool | None] = {}
        self.spared: set[str] = set()
        """Episodes that will not run, because their cells stopped before."""
        if until is not None and rows is not None:
            self._success = dict(zip(cells(rows["episode"]), cells(rows["success"]), strict=True))
        self._races = list(self._entrants()) if until is not None else []
        self.look()

    def _entrants(self) -> Iterator[_Race]:
        """Cells of the plan, those together that stop together."""
        assert self.until is not None
        entrants: dict[tuple[int, str, str], _Entrant] = {}
        kept: dict[tuple[str, str], dict[str, list[_Entrant]]] = defaultdict(lambda: defaultdict(list))
        for name, episode in self._named.items():
            key = (id(episode.group), episode.policy, episode.arm)
            if key not in entrants:
                entrants[key] = _Entrant(episode.policy)
                kept[episode.group.task.use, episode.arm][episode.policy].append(entrants[key])
            entrants[key].units.setdefault(episode.scenarios.units[episode.index], []).append(name)
        for policies in kept.values():  # of one task and arm; the clocks of each policy follow each other
            for policy, mine in policies.items():
                if not self.until.applies_to(policy):
                    yield from (_Race([cell], None) for cell in mine)
                elif self.until.decided is None:
                    yield from (_Race([cell], self.until) for cell in mine)
                elif policy == self.until.decided[0]:
                    yield from (
                        _Race([*pair], self.until) for pair in zip(mine, policies[self.until.decided[1]], strict=True)
                    )

    def look(self) -> list[str]:
        """Look at every cell whose block has ended. Gives the episodes that this spares."""
        spared: list[str] = []
        for race in self._races:
            while not race.stopped and self._ended.issuperset(race.block()):
                if race.look == len(race.looks) - 1 or race.stops(self._success):
                    race.stopped = True
                    spared += [name for name in race.spared() if name not in self._success]
                else:
                    race.look += 1
        self.spared.update(spared)
        return spared

    def run(
        self, execute: Execute, limit: int | None, spare: Callable[[list[str]], None]
    ) -> Iterator[tuple[str, Outcome]]:
        """Run round after round, at most `limit` episodes. Yields (key, outcome) as each ends. `spare` is called with
        the episodes that looks make needless."""
        ran = 0
        while (ready := self.next()) and ran != limit:
            before, most = ran, None if limit is None else limit - ran
            for name, outcome in execute(dict(islice(ready.items(), most))):
                ran += 1
                self._ended.add(name)  # it is not tried again in this call
                self._success[name] = outcome.success
                yield name, outcome
            if spared := self.look():
                spare(spared)
            if ran == before:  # other processes run the rest
                return

    def next(self) -> dict[str, Planned]:
        """The episodes that may start now: of cells that go on, those up to the coming look."""
        ready = self._named.keys() if self.until is None else {name for race in self._races for name in race.block()}
        waiting = {name: e for name, e in self._named.items() if name in ready and name not in self._ended}
        return task_by_task(waiting) if self._one_task else waiting

    @property
    def ended(self) -> int:
        """Episodes that have ended, in this call or before."""
        return len(self._ended)

    @property
    def planned(self) -> int:
        """Episodes that have run or may still run: at most so many."""
        return len(self._named) - len(self.spared)

    def rules(self) -> dict[str, str]:
        """Episode -> the rule by which its cell stops, as the plan has it."""
        return {
            name: race.until.recorded(race.horizon)
            for race in self._races
            if race.until is not None
            for cell in race.cells
            for name in cell.names(0, race.horizon)
        }
