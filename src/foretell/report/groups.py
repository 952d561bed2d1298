"""Groups: which episodes of a report's runs a question may be asked of, and what is to be said besides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.answers.compare import Compared, compare
from foretell.counting import counted
from foretell.episodes.cells import Cell, cells_of, given_up, still_to_come, turns_of
from foretell.episodes.columns import cells, codes, grouped, spread
from foretell.episodes.names import family, family_label, marked
from foretell.episodes.planned import planned_rows
from foretell.episodes.provenance import design_of, weakest
from foretell.episodes.stopped import FIXED, HORIZON, has_rule, in_turn
from foretell.episodes.units import by_unit, units
from foretell.errors import UsageError
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Block, Words
from foretell.stats import Interval, betting, bound
from foretell.stats.until import interval_at

__all__ = ["RowGroup", "chosen", "distinct", "first_groups", "groups", "noted", "unfinished"]

COLUMNS = (
    "episode", "world", "world_hash", "world_params", "task", "policy", "policy_hash", "policy_options", "scenario",
    "parent", "base", "trial", "arm", "severity", "clock", "success", "score", "blame",
)  # fmt: skip
NOTES = 4
NAMED = "named"
"""Column of the clock's name, until groups are made."""


@dataclass(frozen=True, kw_only=True)
class RowGroup:
    """Episodes of one world, task, clock and arm, of all runs: what a question may be asked of."""

    world: str
    task: str
    clock: str
    """Its name in tables; latencies that were measured count as one clock, whatever each policy's are."""
    arm: str
    real: bool
    """Whether they stand for reality."""
    stands_in: bool
    """Whether a simulated world plays reality in some of them."""
    design: str
    """How scenarios came about: iid, grid or chosen."""
    table: pa.Table
    """In the order planned. Policies that are not one although two runs call them so bear the run's name."""
    missing: int = 0
    """Episodes planned that are still to come."""
    leading: frozenset[str] = frozenset()
    """Where some are: the scenarios before the first that lacks one. How soon an episode ends depends on its outcome,
    so only these may be looked at before the end."""
    planned: int = 0
    """Where some are: scenarios of the plan."""

    @cached_property
    def policies(self) -> list[str]:
        return [name for (name,) in grouped([self.table["policy"]])[1]]

    @cached_property
    def counted(self) -> pa.Table:
        """The episodes that may be looked at: all, or while some are missing the leading scenarios'."""
        if not self.missing:
            return self.table
        return self.table.filter(pc.is_in(units(self.table), pa.array(list(self.leading), pa.string())))

    @cached_property
    def compared(self) -> Compared | str:
        """What `foretell.compare` says of its policies, or why it says nothing. While episodes are missing, by bets:
        those may be looked at whenever one likes."""
        if len(self.policies) < 2:
            return "there is only one policy"
        if self.missing and len(self.leading) < 2:
            return (
                f"too few scenarios are complete, {counted(self.missing, 'episode is', 'episodes are')} still to come"
            )
        try:
            return compare(self.counted, horizon=self.planned if self.missing and not self.horizons else None)
        except UsageError as error:
            return str(error).partition("\n")[0]

    @cached_property
    def horizons(self) -> dict[str, int]:
        """Policies that stop by a rule -> the largest number of their scenarios."""
        pairs = grouped([self.table["policy"], self.table[HORIZON]])[1]
        return {policy: int(most) for policy, most in pairs if most is not None}

    @cached_property
    def rates(self) -> dict[str, Interval]:
        """Success of each policy with an episode that counts, with the interval that `foretell.show` gives it."""
        table = self.counted.filter(self.counted["success"].is_valid())
        group, names = grouped([table["policy"]])
        unit, solved = units(table), table["success"].to_numpy().astype(np.float64)
        intervals = {}
        for number, (policy,) in enumerate(names):
            mine = np.flatnonzero(group == number)
            rule = self.horizons.get(policy)
            means = by_unit(unit.take(pa.array(mine)), sort=not (self.missing or rule)).means(solved[mine])
            if rule:
                intervals[policy] = interval_at(means, rule)
            else:
                running = self.missing > 0
                intervals[policy] = betting(means, horizon=self.planned) if running else bound(means, shuffled=True)
        return intervals

    def within(self, others: Sequence[RowGroup]) -> str:
        """Task, and what else tells it from the other groups, in words."""
        return f"{self.task} in {self.world}" if len({g.world for g in others}) > 1 else self.task


def groups(runs: Runs) -> list[RowGroup]:
    """All groups, task by task, worlds that stand for reality first. Made once for each `runs`."""
    kept: list[RowGroup] | None = vars(runs).get("_groups")
    if kept is None:
        kept = vars(runs)["_groups"] = _groups(runs)
    return kept


def first_groups(runs: Runs) -> list[RowGroup]:
    """One group for each world and task: the clean arm under the clock `sync`, or else the first group."""
    first: dict[tuple[str, str], RowGroup] = {}
    for group in sorted(groups(runs), key=lambda g: (g.arm != "none", g.clock != "sync")):
        first.setdefault((group.world, group.task), group)
    return [g for g in groups(runs) if first[g.world, g.task] is g]


def chosen(runs: Runs, these: Sequence[RowGroup]) -> str:
    """Which clock and arm groups are of, in words; nothing where there is nothing to choose from."""
    phrases = []
    for name, plain, words in (("clock", "sync", "under the clock {}"), ("arm", "none", "under the perturbation {}")):
        mine, every = ({getattr(g, name) for g in some} for some in (these, groups(runs)))
        if mine == {"none"}:
            words = "without perturbation"
        if mine != {plain} or len(every) > 1:
            phrases.append(words.format(", ".join(sorted(mine))))
    return " and ".join(phrases)


def unfinished(runs: Runs) -> list[Block]:
    """Warnings for sections with intervals, where episodes are still to come or cells stopped by a rule."""
    left = sum(len(run.to_come) for run in runs.each)
    are = counted(left, "episode is", "episodes are")
    sentence = (
        f"{are} still to come: these intervals are valid only for a finished study. Do not use them to decide when to "
        "stop."
    )
    stopped = any(has_rule(run.plan) for run in runs.each)
    return [
        *([Words(sentence, "caution")] if left else []),
        *([Words(f"{FIXED[:1].upper()}{FIXED[1:]}.", "caution")] if stopped else []),
    ]


def noted(notes: Iterable[str]) -> list[Block]:
    """Notes as a paragraph: each once, and not too many."""
    listed = list(dict.fromkeys(notes))
    more = (
        [f"And {len(listed) - NOTES} more notes; the command of the same name prints all of them."]
        if len(listed) > NOTES
        else []
    )
    return [Words("\n".join([*(f"Note: {note.rstrip('.')}." for note in listed[:NOTES]), *more]))] if listed else []


def distinct(blocks: Iterable[Block]) -> list[Block]:
    """The same, no two of one name: tasks and policies may differ in signs that a name leaves out."""
    taken: set[str] = set()
    kept = []
    for block in blocks:
        if not isinstance(block, Words):
            names = (block.name if n == 1 else f"{block.name}-{n}" for n in count(1))
            block = replace(block, name=next(name for name in names if name not in taken))
            taken.add(block.name)
        kept.append(block)
    return kept


def _groups(runs: Runs) -> list[RowGroup]:
    made: dict[tuple[str, ...], list[tuple[OneRun, pa.Table]]] = defaultdict(list)
    ahead: dict[tuple[str, ...], list[Ahead]] = defaultdict(list)
    seen: set[str] = set()
    for run in runs.each:
        table = in_turn(run.path, _named(runs, run).take(pa.array(planned_rows(run.path, run.table["scenario"]))))
        if (retired := given_up(run.plan)).any():
            episodes = run.plan["episode"].combine_chunks().filter(pa.array(retired))
            table = table.filter(pc.invert(pc.is_in(table["episode"], episodes)))
        for key, left in _ahead(runs, run).items():
            ahead[key].append(left)
        if seen:
            table = table.filter(pc.invert(pc.is_in(table["episode"], pa.array(list(seen), pa.string()))))
        group, keys = grouped([table[c] for c in ("world", "task", "clock", "arm")])
        for number, key in enumerate(keys):
            made[key].append((run, table if len(keys) == 1 else table.filter(pa.array(group == number))))
        if run is not runs.each[-1]:
            seen |= set(run.table["episode"].to_pylist())
    listed = [_group(key, parts, ahead[key]) for key, parts in made.items()]
    order = list(dict.fromkeys(group.task for group in listed))
    return sorted(listed, key=lambda g: (order.index(g.task), not g.real))


class Ahead(NamedTuple):
    """What is still to come of a world, task, clock and arm."""

    episodes: int
    late: set[str]
    """Scenarios from the first on that lacks one."""
    planned: int
    """Scenarios of the plan."""


def _ahead(runs: Runs, run: OneRun) -> dict[tuple[str, ...], Ahead]:
    """World, task, clock and arm of which episodes are still to come -> what is."""
    if not len(run.to_come):
        return {}
    owner, planned = cells_of(run.active)
    names = [(*_called(runs, run, cell), family(cell.clock), cell.arm) for cell in planned]
    keys = list(dict.fromkeys(names))
    group = np.array([keys.index(name) for name in names], dtype=np.int64)[owner]
    index, units_ = codes(run.active["unit"])
    turn = turns_of(group, index)
    left = turn.counts(still_to_come(run.active, run.table["episode"]))
    late = turn.within >= turn.leading(left, len(keys))[turn.owner]
    ahead: dict[tuple[str, ...], Ahead] = {}
    for number, key in enumerate(keys):
        mine = turn.owner == number
        if lacks := int(left[mine].sum()):
            from_here = {units_[index[row]] for row in turn.first[mine & late].tolist()}
            ahead[key] = Ahead(lacks, from_here, int(mine.sum()))
    return ahead


def _called(runs: Runs, run: OneRun, planned: Cell) -> tuple[str, str]:
    """World and task of a planned cell, by the names that rows of these versions have. A version that has no rows yet
    has a name of its own, so that rows of another do not wait for it."""
    world = runs.world_of.get((planned.world, planned.world_hash)) or marked(planned.world, planned.world_hash)
    source = (planned.task, planned.task_version, planned.task_hash, planned.controller)
    task = runs.task_of.get(source) or marked(planned.task, planned.task_source)
    mine = {name.task for cell, name in zip(run.cells[1], runs.names(run), strict=True)
            if cell.task == planned.task and planned.task_source in ("", cell.task_source)}  # fmt: skip
    if not planned.controller and len(mine) == 1:  # a plan of an older foretell, which lacks it
        (task,) = mine
    return world, runs.task_names(run).get(task, task)


def _group(key: tuple[str, ...], parts: list[tuple[OneRun, pa.Table]], ahead: list[Ahead]) -> RowGroup:
    world, task, clock, arm = key
    apart = _apart([table for _, table in parts])
    tables = []
    for run, table in parts:
        index, policies = codes(table["policy"])
        names = [f"{p} ({run.name})" if p in apart else p for p in policies]
        tables.append(_with(table, policy=spread(names, index)))
    real = all(run.real for run, _ in parts)
    table, design = pa.concat_tables(tables), weakest(design_of(run.provenance) for run, _ in parts)
    late = set().union(*(part.late for part in ahead))
    leading = frozenset(cells(units(table))) - late if ahead else frozenset()
    called = {name for (name,) in grouped([table[NAMED]])[1]}
    label = called.pop() if len(called) == 1 else family_label(clock)
    table = table.drop_columns(NAMED)
    return RowGroup(
        world=world,
        task=task,
        clock=label,
        arm=arm,
        real=real,
        stands_in=real and any(run.stands_in for run, _ in parts),
        design=design,
        table=table,
        missing=sum(part.episodes for part in ahead),
        leading=leading,
        planned=sum(part.planned for part in ahead),
    )


def _apart(tables: Sequence[pa.Table]) -> set[str]:
    """Policies that runs have under one name and that cannot be one: weights or options differ, or a trial is there
    twice. All others were tried in several runs, which are put together."""
    if len(tables) == 1:
        return set()
    versions: dict[str, tuple[str, str]] = {}
    owners: dict[tuple[str, str, int], int] = {}
    apart = set()
    columns = ("policy", "policy_hash", "policy_options", "scenario", "trial")
    for i, table in enumerate(tables):
        for policy, weights, options, scenario, trial in zip(*(cells(table[c]) for c in columns), strict=True):
            same = versions.setdefault(policy, (weights, options)) == (weights, options)
            first = scenario is None or owners.setdefault((policy, scenario, trial), i) == i
            if not (same and first):
                apart.add(policy)
    return apart


def _with(table: pa.Table, **columns: pa.ChunkedArray) -> pa.Table:
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _named(runs: Runs, run: OneRun) -> pa.Table:
    """The columns that answers need, with the names that all tables have. `clock` is that of the study, and `named`
    the clock's name."""
    group, known = run.cells
    names = runs.names(run)
    table = run.table.select(list(COLUMNS))
    table = table.append_column("metrics", pa.nulls(len(table), run.table.schema.field("metrics").type))
    table = table.append_column(NAMED, spread([name.clock for name in names], group))
    return _with(
        table,
        task=runs.tasks_of(run),
        policy=spread([name.policy for name in names], group),
        world=spread([name.world for name in names], group),
        clock=spread([family(cell.clock) for cell in known], group),
    )
