"""Groups: which episodes of a report's runs a question may be asked of, and what is to be said besides."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, dropwhile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell import clock as nouns
from foretell.answers.compare import Compared, compare
from foretell.counting import counted
from foretell.digest import digest
from foretell.episodes.columns import cells, codes, grouped, spread
from foretell.episodes.planned import CELL, is_retired, planned_rows
from foretell.episodes.provenance import design_of, weakest
from foretell.errors import UsageError
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Block, Words
from foretell.stats import Interval, betting, bound
from foretell.stats.order import by_id

__all__ = ["Group", "chosen", "distinct", "first_groups", "groups", "noted", "unfinished"]

COLUMNS = (
    "episode", "world", "world_hash", "task", "policy", "policy_hash", "policy_options", "scenario", "parent", "base",
    "trial", "arm", "severity", "clock", "success", "score", "blame",
)  # fmt: skip
NOTES = 4


@dataclass(frozen=True)
class Group:
    """Episodes of one world, task, clock and arm, of all runs: what a question may be asked of."""

    world: str
    task: str
    clock: str
    """Its name in tables; latencies that were measured count as one clock, whatever each policy's are."""
    arm: str
    real: bool
    """Whether they stand for reality."""
    design: str
    """How scenarios came about: iid, grid or chosen."""
    table: pa.Table
    """In the order planned. Policies that are not one although two runs call them so bear the run's name."""
    missing: int = 0
    """Episodes planned that are still to come."""
    leading: frozenset[str] = frozenset()
    """Where some are: the scenarios before the first that lacks one. How soon an episode ends depends on its outcome,
    so only these may be looked at before the end."""

    @cached_property
    def policies(self) -> list[str]:
        return [name for (name,) in grouped([self.table["policy"]])[1]]

    @cached_property
    def counted(self) -> pa.Table:
        """The episodes that may be looked at: all, or while some are missing the leading scenarios'."""
        if not self.missing:
            return self.table
        return self.table.filter(pa.array([unit in self.leading for unit in _units(self.table)], pa.bool_()))

    @cached_property
    def compared(self) -> Compared | str:
        """What `foretell.compare` says of its policies, or why it says nothing. While episodes are missing, by bets:
        those may be looked at whenever one likes."""
        if len(self.policies) < 2:
            return "there is one policy only"
        if self.missing and len(self.leading) < 2:
            return (
                f"too few scenarios are complete, {counted(self.missing, 'episode is', 'episodes are')} still to come"
            )
        try:
            return compare(self.counted, test="betting" if self.missing else "auto")
        except UsageError as error:
            return str(error).partition("\n")[0]

    @cached_property
    def rates(self) -> dict[str, Interval]:
        """Success of each policy with an episode that counts, with the interval that `foretell.show` gives it."""
        judged: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
        columns = ("policy", "parent", "scenario", "success")
        for policy, parent, own, success in zip(*(cells(self.counted[c]) for c in columns), strict=True):
            if success is not None:
                judged[policy][parent or own].append(success)
        if self.missing:
            return {p: betting([sum(x) / len(x) for x in found.values()]) for p, found in judged.items()}
        means = {}
        for policy, found in judged.items():
            units = list(found)
            means[policy] = [sum(found[units[i]]) / len(found[units[i]]) for i in by_id(units)]  # as `bound` takes them
        return {policy: bound(found) for policy, found in means.items()}

    def within(self, others: Sequence[Group]) -> str:
        """Task, and what else tells it from the other groups, in words."""
        return f"{self.task} in {self.world}" if len({g.world for g in others}) > 1 else self.task


def groups(runs: Runs) -> list[Group]:
    """All groups, task by task, worlds that stand for reality first. Made once for each `runs`."""
    kept: list[Group] | None = vars(runs).get("_groups")
    if kept is None:
        kept = vars(runs)["_groups"] = _groups(runs)
    return kept


def first_groups(runs: Runs) -> list[Group]:
    """Of every world and task one group: the clean arm and the clock `sync`, or what comes first without them."""
    found: dict[tuple[str, str], Group] = {}
    for group in sorted(groups(runs), key=lambda g: (g.arm != "none", g.clock != "sync")):
        found.setdefault((group.world, group.task), group)
    return [g for g in groups(runs) if found[g.world, g.task] is g]


def chosen(runs: Runs, found: Sequence[Group]) -> str:
    """Which clock and arm groups are of, in words; nothing where there is nothing to choose from."""
    said = []
    for name, plain, words in (("clock", "sync", "under the clock {}"), ("arm", "none", "under the perturbation {}")):
        mine, every = ({getattr(g, name) for g in some} for some in (found, groups(runs)))
        if mine == {"none"}:
            words = "without perturbation"
        if mine != {plain} or len(every) > 1:
            said.append(words.format(", ".join(sorted(mine))))
    return " and ".join(said)


def unfinished(runs: Runs) -> list[Block]:
    """A warning, where episodes are still to come, for sections with intervals."""
    left = sum(len(run.to_come) for run in runs.each)
    are = counted(left, "episode is", "episodes are")
    said = f"{are} still to come: intervals here are those of a finished study, so do not stop by them."
    return [Words(said, "caution")] if left else []


def noted(notes: Iterable[str]) -> list[Block]:
    """Notes as a paragraph: each once, and not too many."""
    found = list(dict.fromkeys(notes))
    more = (
        [f"And {len(found) - NOTES} more notes; the verb of the same name prints them all."]
        if len(found) > NOTES
        else []
    )
    return [Words("\n".join([*(f"Note: {note.rstrip('.')}." for note in found[:NOTES]), *more]))] if found else []


def distinct(blocks: Iterable[Block]) -> list[Block]:
    """The same, no two of one name: tasks and policies may differ in signs that a name leaves out."""
    taken: set[str] = set()
    found = []
    for block in blocks:
        if not isinstance(block, Words):
            names = (block.name if n == 1 else f"{block.name}-{n}" for n in count(1))
            block = replace(block, name=next(name for name in names if name not in taken))
            taken.add(block.name)
        found.append(block)
    return found


def _groups(runs: Runs) -> list[Group]:
    hashes: dict[str, set[str]] = defaultdict(set)
    for run in runs.each:
        for row in run.counts("world", "world_hash"):
            hashes[row["world"]].add(row["world_hash"])
    made: dict[tuple[str, ...], list[tuple[OneRun, pa.Table]]] = defaultdict(list)
    ahead: dict[tuple[str, ...], list[tuple[int, set[str]]]] = defaultdict(list)
    seen: set[str] = set()
    for run in runs.each:
        table = _named(run, runs.tasks_of(run), hashes).take(pa.array(planned_rows(run.path, run.table["scenario"])))
        if len(given_up := _retired(run)):
            table = table.filter(pc.invert(pc.is_in(table["episode"], given_up)))
        for key, left in _ahead(run, runs.task_names(run), hashes).items():
            ahead[key].append(left)
        if seen:
            table = table.filter(pc.invert(pc.is_in(table["episode"], pa.array(list(seen), pa.string()))))
        group, keys = grouped([table[c] for c in ("world", "task", "clock", "arm")])
        for number, key in enumerate(keys):
            made[key].append((run, table if len(keys) == 1 else table.filter(pa.array(group == number))))
        if run is not runs.each[-1]:
            seen |= set(run.table["episode"].to_pylist())
    found = [_group(key, parts, ahead[key]) for key, parts in made.items()]
    order = list(dict.fromkeys(group.task for group in found))
    return sorted(found, key=lambda g: (order.index(g.task), not g.real))


def _ahead(
    run: OneRun, tasks: dict[str, str], worlds: dict[str, set[str]]
) -> dict[tuple[str, ...], tuple[int, set[str]]]:
    """World, task, clock and arm of which episodes are still to come -> how many, and the scenarios from the first on
    that lacks one."""
    if not len(run.to_come):
        return {}
    missing = set(run.to_come["episode"].to_pylist())
    units: dict[tuple[str, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    families: dict[str, str] = {}
    columns = ("world", "world_hash", "task", "clock", "arm", "unit", "episode")
    for world, version, task, clock, arm, unit, episode in zip(*(cells(run.active[c]) for c in columns), strict=True):
        name = world if len(worlds[world]) < 2 else f"{world}#{version[:6]}"
        if clock not in families:
            families[clock] = _family(clock)
        units[name, tasks.get(task, task), families[clock], arm][unit] += episode in missing
    return {
        key: (sum(left.values()), set(dropwhile(lambda unit: not left[unit], left)))  # noqa: B023 - used at once
        for key, left in units.items()
        if any(left.values())
    }


def _retired(run: OneRun) -> pa.Array:
    """Episodes of cells whose plan was given up half-way: success rates show them, questions are not asked of them."""
    group, names = grouped([run.plan[c] for c in CELL])
    given_up = np.bincount(group[is_retired(run.plan)], minlength=len(names)) > 0
    return run.plan["episode"].combine_chunks().filter(pa.array(given_up[group]))


def _group(key: tuple[str, ...], parts: list[tuple[OneRun, pa.Table]], ahead: list[tuple[int, set[str]]]) -> Group:
    world, task, clock, arm = key
    apart = _apart([table for _, table in parts])
    tables = []
    for run, table in parts:
        index, policies = codes(table["policy"])
        names = [f"{p} ({run.name})" if p in apart else p for p in policies]
        tables.append(_with(table, policy=spread(names, index)))
    real = all(run.real for run, _ in parts)
    table, design = pa.concat_tables(tables), weakest(design_of(run.provenance) for run, _ in parts)
    late = {unit for _, units in ahead for unit in units}
    leading = frozenset(_units(table)) - late if ahead else frozenset()
    return Group(world, task, _label(clock), arm, real, design, table, sum(left for left, _ in ahead), leading)


def _apart(tables: Sequence[pa.Table]) -> set[str]:
    """Policies that runs have under one name and that cannot be one: weights or options differ, or a trial is there
    twice. All others were tried in several runs, which are put together."""
    if len(tables) == 1:
        return set()
    versions: dict[str, tuple[str, str]] = {}
    owners: dict[tuple[str, str, int], int] = {}
    found = set()
    columns = ("policy", "policy_hash", "policy_options", "scenario", "trial")
    for i, table in enumerate(tables):
        for policy, weights, options, scenario, trial in zip(*(cells(table[c]) for c in columns), strict=True):
            one = versions.setdefault(policy, (weights, options)) == (weights, options)
            first = scenario is None or owners.setdefault((policy, scenario, trial), i) == i
            if not (one and first):
                found.add(policy)
    return found


def _units(table: pa.Table) -> list[str]:
    """The scenario that each row counts for."""
    return [parent or own for parent, own in zip(*(cells(table[c]) for c in ("parent", "scenario")), strict=True)]


def _with(table: pa.Table, **columns: pa.ChunkedArray) -> pa.Table:
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _named(run: OneRun, tasks: pa.ChunkedArray, worlds: dict[str, set[str]]) -> pa.Table:
    """The columns that answers need; names that stand for several versions get their hash, as `foretell.show` does."""
    table = _with(run.table.select(list(COLUMNS)), task=tasks)
    names = ("task", "policy", "policy_hash", "policy_options", "world", "world_hash", "clock")
    group, found = grouped([table[c] for c in names])
    marks = [digest([weights, options]) for _, _, weights, options, *_ in found]
    several: dict[tuple[str, str], set[str]] = defaultdict(set)
    for (task, policy, *_), mark in zip(found, marks, strict=True):
        several[task, policy].add(mark)
    policies, kinds, clocks = [], [], []
    for (task, policy, _, _, world, version, clock), mark in zip(found, marks, strict=True):
        policies.append(policy if len(several[task, policy]) == 1 else f"{policy}#{mark[:6]}")
        kinds.append(world if len(worlds[world]) == 1 else f"{world}#{version[:6]}")
        clocks.append(_family(clock))
    return _with(
        table.append_column("metrics", pa.nulls(len(table), run.table.schema.field("metrics").type)),
        policy=spread(policies, group),
        world=spread(kinds, group),
        clock=spread(clocks, group),
    )


def _family(text: str) -> str:
    """The clock as the study wrote it: a latency that was measured, or has a name, differs among policies."""
    value = json.loads(text)
    given = value.get("latency")
    if isinstance(given, dict) and (given.get("name") or given.get("kind") == "trace"):
        value["latency"] = given.get("name") or "trace"
    return json.dumps(value, sort_keys=True)


def _label(family: str) -> str:
    value = json.loads(family)
    name = value.get("latency")
    if isinstance(name, str):
        value["latency"] = {"kind": "constant", "values": [0.0], "name": name}
    with suppress(UsageError):
        return nouns.label(json.dumps(value))
    return str(value["kind"])
