"""What tables call policies, worlds, tasks and clocks: one cell has one name, wherever it is printed.

A name that stands for several versions gets `#` and the beginning of a hash:

- a world, where rows have it with several parameters;
- a task, where rows have several versions or sources of it. What a person judged has neither, and gets no hash. A task
  that ran with several controllers has these in its name too;
- a policy, where it ran with several weights or options on one task. Scripted ones are others on every task;
- an arm, wherever a factor of one's own is in it: that is its name in the rows too;
- a clock, where one policy ran one task in one world under two clocks of one label.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from foretell.clock import label, safe_label
from foretell.digest import digest
from foretell.episode import unmarked
from foretell.episodes.cells import Cell
from foretell.errors import UsageError

__all__ = ["MARK", "Name", "family", "family_label", "marked", "names_of", "other_words", "with_controller"]

MARK = 6
"""Hex digits of a hash in a name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Name:
    """The printed names of a cell."""

    world: str
    task: str
    policy: str
    clock: str
    arm: str


COLUMNS = tuple(field.name for field in fields(Name))
"""Columns that have a printed name."""


def names_of(cells: Sequence[Cell], besides: Iterable[Cell] = ()) -> list[Name]:
    """The names of cells of one table. `besides`: cells of other runs on the same page. These count when worlds and
    tasks are named; policies and clocks are named run by run, and a page tells them apart by their run."""
    worlds: dict[str, set[str]] = defaultdict(set)
    tasks: dict[str, set[str]] = defaultdict(set)
    controllers: dict[str, set[str]] = defaultdict(set)
    for cell in (*cells, *besides):
        worlds[cell.world].add(cell.world_hash)
        if cell.task_version:
            tasks[cell.task].add(cell.task_source)
        if cell.controller:
            controllers[cell.task].add(cell.controller)
    policies: dict[tuple[str, str], set[str]] = defaultdict(set)
    versions = [cell.policy_version for cell in cells]
    for cell, version in zip(cells, versions, strict=True):
        policies[cell.task, cell.policy].add(version)
    names = []
    clocks: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for cell, version in zip(cells, versions, strict=True):
        world = marked(cell.world, cell.world_hash, len(worlds[cell.world]) > 1)
        task = marked(cell.task, cell.task_source, len(tasks[cell.task]) > 1)
        if cell.controller and len(controllers[cell.task]) > 1:
            task = with_controller(task, cell.controller)
        policy = marked(cell.policy, version, len(policies[cell.task, cell.policy]) > 1)
        name = Name(world=world, task=task, policy=policy, clock=_label(cell.clock), arm=cell.arm)
        names.append(name)
        clocks[world, task, policy, name.clock].add(cell.clock)
    return [
        name
        if len(clocks[name.world, name.task, name.policy, name.clock]) == 1
        else replace(name, clock=marked(name.clock, digest(cell.clock)))
        for cell, name in zip(cells, names, strict=True)
    ]


def marked(name: str, version: str, several: bool = True) -> str:
    """The name with the beginning of its version's hash, if there are several. An unknown version has no hash."""
    return f"{name}#{version[:MARK]}" if several and version else name


def with_controller(name: str, controller: str) -> str:
    """The name of a task that ran with several controllers, or in a leaderboard that of its policy."""
    return f"{name} (controller {controller})"


def family(clock: str) -> str:
    """The clock (JSON) as the study wrote it: a latency that was measured, or has a name, differs among policies."""
    value = json.loads(clock)
    given = value.get("latency")
    if isinstance(given, dict) and (given.get("name") or given.get("kind") == "trace"):
        value["latency"] = given.get("name") or "trace"
    return json.dumps(value, sort_keys=True)


def family_label(text: str) -> str:
    """The label of a `family` whose clocks have several names."""
    value = json.loads(text)
    name = value.get("latency")
    if isinstance(name, str):
        value["latency"] = {"kind": "constant", "values": [0.0], "name": name}
    with suppress(UsageError):
        return label(json.dumps(value))
    return str(value["kind"])


def other_words(
    cells: Sequence[Cell], names: Sequence[Name], controllers: Iterable[tuple[int, str]] = ()
) -> dict[str, dict[str, frozenset[str]]]:
    """Column -> word -> the names that it may mean. A user copies a word from whatever was printed, maybe of other
    runs, so every word that some table may print for a cell is accepted. controllers: (cell, its controller); a
    leaderboard prints them where a policy has several."""
    meanings: dict[str, dict[str, set[str]]] = {column: defaultdict(set) for column in COLUMNS}
    for cell, name in zip(cells, names, strict=True):
        short = _label(cell.clock)
        words = {
            "world": (cell.world, marked(cell.world, cell.world_hash)),
            "task": _task_words(cell),
            "policy": (cell.policy, marked(cell.policy, cell.policy_version)),
            "clock": (cell.clock, short, marked(short, digest(cell.clock)), str(json.loads(cell.clock)["kind"])),
            "arm": (cell.arm, unmarked(cell.arm)),
        }
        for column in COLUMNS:
            for word in words[column]:
                meanings[column][word].add(getattr(name, column))
    for number, controller in controllers:
        cell, policy = cells[number], names[number].policy
        for word in (cell.policy, marked(cell.policy, cell.policy_version)):
            meanings["policy"][with_controller(word, controller)].add(policy)
    meanings["arm"]["clean"].add("none")
    return {column: {word: frozenset(meant) for word, meant in by.items()} for column, by in meanings.items()}


def _task_words(cell: Cell) -> tuple[str, ...]:
    words = (cell.task, marked(cell.task, cell.task_source))
    return (*words, *(with_controller(word, cell.controller) for word in words)) if cell.controller else words


_label = lru_cache(maxsize=1000)(safe_label)
