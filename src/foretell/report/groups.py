"""Groups: which episodes of a report's runs a question may be asked of, and what is to be said besides."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, dropwhile

import pyarrow as pa

from foretell import clock as nouns
from foretell.answers.compare import Compared, compare
from foretell.errors import UsageError
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Block, Words
from foretell.scenario import digest
from foretell.stats import Interval, betting, bound
from foretell.stats.order import by_id
from foretell.study.parts import DamagedError, read_parquet
from foretell.study.running import CELL

__all__ = ["Group", "chosen", "distinct", "first_groups", "groups", "noted", "unfinished"]

COLUMNS = (
    "episode", "world", "world_hash", "task", "policy", "policy_hash", "policy_options", "scenario", "parent", "base",
    "trial", "arm", "severity", "clock", "success", "score", "blame",
)  # fmt: skip
NOTES = 4
DESIGNS = ("iid", "grid", "chosen")


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
        return list(dict.fromkeys(self.table["policy"].to_pylist()))

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
            return f"too few scenarios are complete, {self.missing} episodes are still to come"
        try:
            return compare(self.counted, test="betting" if self.missing else "auto")
        except UsageError as error:
            return str(error).partition("\n")[0]

    @cached_property
    def rates(self) -> dict[str, Interval]:
        """Success of each policy with an episode that counts, with the interval that `foretell.show` gives it."""
        judged: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
        columns = ("policy", "parent", "scenario", "success")
        for policy, parent, own, success in zip(*(self.counted[c].to_pylist() for c in columns), strict=True):
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
    left = 0
    for run in runs.each:
        there = set(run.table["episode"].to_pylist())
        left += sum(entry["episode"] not in there and not entry["retired"] for entry in run.plan)
    are = "1 episode is" if left == 1 else f"{left:,} episodes are"
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
        for world, version in {*zip(*(run.table[c].to_pylist() for c in ("world", "world_hash")), strict=True)}:
            hashes[world].add(version)
    made: dict[tuple[str, ...], list[tuple[OneRun, pa.Table]]] = defaultdict(list)
    ahead: dict[tuple[str, ...], list[tuple[int, set[str]]]] = defaultdict(list)
    seen: set[str] = set()
    for run in runs.each:
        table, rows = _named(run, runs.tasks_of(run), hashes), defaultdict(list)
        episodes, *keys = (table[c].to_pylist() for c in ("episode", "world", "task", "clock", "arm"))
        retired = _retired(run)
        for i in _planned(run):
            if episodes[i] not in seen and episodes[i] not in retired:
                rows[tuple(column[i] for column in keys)].append(i)
        for key, left in _ahead(run, set(episodes), runs.task_names(run), hashes).items():
            ahead[key].append(left)
        seen.update(episodes)
        for key, mine in rows.items():
            made[key].append((run, table.take(mine)))
    found = [_group(key, parts, ahead[key]) for key, parts in made.items()]
    order = list(dict.fromkeys(group.task for group in found))
    return sorted(found, key=lambda g: (order.index(g.task), not g.real))


def _ahead(
    run: OneRun, there: set[str], tasks: dict[str, str], worlds: dict[str, set[str]]
) -> dict[tuple[str, ...], tuple[int, set[str]]]:
    """World, task, clock and arm of which episodes are still to come -> how many, and the scenarios from the first on
    that lacks one."""
    plan = [entry for entry in run.plan if not entry["retired"]]
    if all(entry["episode"] in there for entry in plan):
        return {}
    units: dict[tuple[str, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    families: dict[str, str] = {}
    for entry in plan:
        world, task, clock = entry["world"], entry["task"], entry["clock"]
        name = world if len(worlds[world]) < 2 else f"{world}#{entry['world_hash'][:6]}"
        key = (name, tasks.get(task, task), families.setdefault(clock, _family(clock)), entry["arm"])
        units[key][entry["unit"]] += entry["episode"] not in there
    return {
        key: (sum(left.values()), set(dropwhile(lambda unit: not left[unit], left)))  # noqa: B023 - used at once
        for key, left in units.items()
        if any(left.values())
    }


def _retired(run: OneRun) -> set[str]:
    """Episodes of cells whose plan was given up half-way: success rates show them, questions are not asked of them."""
    given_up = {tuple(e[c] for c in CELL) for e in run.plan if e["retired"]}
    return {e["episode"] for e in run.plan if tuple(e[c] for c in CELL) in given_up} if given_up else set()


def _group(key: tuple[str, ...], parts: list[tuple[OneRun, pa.Table]], ahead: list[tuple[int, set[str]]]) -> Group:
    world, task, clock, arm = key
    apart = _apart([table for _, table in parts])
    tables = []
    for run, table in parts:
        names = [f"{p} ({run.name})" if p in apart else p for p in table["policy"].to_pylist()]
        tables.append(_with(table, policy=names))
    known = [d if (d := str(run.provenance.get("design"))) in DESIGNS else "chosen" for run, _ in parts]
    real = all(run.real for run, _ in parts)
    table, design = pa.concat_tables(tables), max(known, key=DESIGNS.index)
    late = {unit for _, units in ahead for unit in units}
    leading = frozenset(_units(table)) - late if ahead else frozenset()
    return Group(world, task, _label(clock), arm, real, design, table, sum(left for left, _ in ahead), leading)


def _apart(tables: Sequence[pa.Table]) -> set[str]:
    """Policies that runs have under one name and that cannot be one: weights or options differ, or a trial is there
    twice. All others were tried in several runs, which are put together."""
    versions: dict[str, tuple[str, str]] = {}
    owners: dict[tuple[str, str, int], int] = {}
    found = set()
    columns = ("policy", "policy_hash", "policy_options", "scenario", "trial")
    for i, table in enumerate(tables):
        for policy, weights, options, scenario, trial in zip(*(table[c].to_pylist() for c in columns), strict=True):
            one = versions.setdefault(policy, (weights, options)) == (weights, options)
            first = scenario is None or owners.setdefault((policy, scenario, trial), i) == i
            if not (one and first):
                found.add(policy)
    return found


def _units(table: pa.Table) -> list[str]:
    """The scenario that each row counts for."""
    return [parent or own for parent, own in zip(*(table[c].to_pylist() for c in ("parent", "scenario")), strict=True)]


def _with(table: pa.Table, **columns: list[str]) -> pa.Table:
    for name, cells_ in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(cells_, pa.string()))
    return table


def _named(run: OneRun, tasks: list[str], worlds: dict[str, set[str]]) -> pa.Table:
    """The columns that answers need; names that stand for several versions get their hash, as `foretell.show` does."""
    table = run.table.select(list(COLUMNS))
    names = ("policy", "policy_hash", "policy_options", "world", "world_hash", "clock")
    policy, weights, options, world, version, clock = (table[c].to_pylist() for c in names)
    known = {pair: digest(list(pair)) for pair in {*zip(weights, options, strict=True)}}
    marks = [known[pair] for pair in zip(weights, options, strict=True)]
    several: dict[tuple[str, str], set[str]] = defaultdict(set)
    for t, p, mark in zip(tasks, policy, marks, strict=True):
        several[t, p].add(mark)
    families = {text: _family(text) for text in set(clock)}
    return _with(
        table.append_column("metrics", pa.nulls(len(table), run.table.schema.field("metrics").type)),
        task=tasks,
        policy=[p if len(several[t, p]) == 1 else f"{p}#{m[:6]}" for t, p, m in zip(tasks, policy, marks, strict=True)],
        world=[w if len(worlds[w]) == 1 else f"{w}#{v[:6]}" for w, v in zip(world, version, strict=True)],
        clock=[families[text] for text in clock],
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


def _planned(run: OneRun) -> list[int]:
    """Rows in the order planned, as answers take them: bets see trials one by one."""
    try:
        ids = list(map(str, read_parquet(run.path / "scenarios.parquet", ["id"])["id"].to_pylist()))
    except (DamagedError, OSError, LookupError):
        ids = []
    at = {name: i for i, name in enumerate(ids)}
    scenarios = run.table["scenario"].to_pylist()
    return sorted(range(len(scenarios)), key=lambda row: at.get(scenarios[row], len(at)))
