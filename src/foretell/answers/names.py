"""What tables call policies, worlds and clocks, and the other words that mean the same.

A user copies a name from whatever a verb printed. So every label that some table prints is accepted.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from foretell.clock import safe_label
from foretell.digest import digest

__all__ = ["clock_names", "other_words", "task_names", "versions"]


def versions(names: list[str], hashes: list[str], within: Sequence[Hashable] | None = None) -> list[str]:
    """Names; one that stands for several versions (`within` the same task) gets the beginning of its hash."""
    rows = list(zip(within or [""] * len(names), names, hashes, strict=True))
    each = set(rows)  # few: a name is made once for all its rows
    several = Counter((place, name) for place, name, _ in each)
    made = {row: row[1] if several[row[:2]] == 1 else f"{row[1]}#{row[2][:6]}" for row in each}
    return [made[row] for row in rows]


def task_names(columns: Mapping[str, list[Any]]) -> list[str]:
    """Tasks, with a hash where one name stands for several versions or sources. What a person judged has neither."""
    rows = list(zip(columns["task"], columns["task_version"], columns["task_hash"], columns["judge"], strict=True))
    each = set(rows)
    known = {(task, version, source or "") for task, version, source, judge in each if judge != "person"}
    several = Counter(task for task, *_ in known)
    made = {
        row: row[0]
        if row[3] == "person" or several[row[0]] == 1
        else f"{row[0]}#{digest([str(row[1]), str(row[2] or '')])[:6]}"
        for row in each
    }
    return [made[row] for row in rows]


def clock_names(texts: list[str], tasks: list[str], policies: list[str]) -> list[str]:
    """Labels of the clocks (JSON) of rows. Two clocks of one policy that share a label get their hash."""
    known = {text: (safe_label(text), digest(text)) for text in set(texts)}
    within = list(zip(tasks, policies, strict=True))
    return versions([known[text][0] for text in texts], [known[text][1] for text in texts], within)


def other_words(
    columns: Mapping[str, list[Any]], given: Mapping[str, list[str]]
) -> dict[str, dict[str, frozenset[str]]]:
    """Column -> word -> the names that it may mean. `given` has these columns as the rows hold them."""
    clocks = set()
    for text, name in {*zip(given["clock"], columns["clock"], strict=True)}:
        clocks |= {(text, name), (str(json.loads(text)["kind"]), name), (safe_label(text), name)}
    policies = set()
    marks = [columns[c] for c in ("policy_hash", "policy_options", "controller") if c in columns]
    each = {*zip(given["policy"], columns["version"], columns["policy"], *marks, strict=True)}
    for name, mark, label, *told in each:
        leaderboards = digest(told)  # the controller counts there too
        policies |= {(name, label), (f"{name}#{mark[:6]}", label), (f"{name}#{leaderboards[:6]}", label)}
    worlds = set()
    for name, mark, label in {*zip(given["world"], columns["world_hash"], columns["world"], strict=True)}:
        worlds |= {(name, label), (f"{name}#{mark[:6]}", label)}
    tasks = set(zip(given["task"], columns["task"], strict=True))
    if {"task_version", "task_hash"} <= columns.keys():
        for task, version, source, label in {
            *zip(given["task"], columns["task_version"], columns["task_hash"], columns["task"], strict=True)
        }:
            tasks.add((f"{task}#{digest([str(version), str(source or '')])[:6]}", label))
    pairs = {"clock": clocks, "policy": policies, "world": worlds, "task": tasks, "arm": {("clean", "none")}}
    return {column: _gathered(found) for column, found in pairs.items()}


def _gathered(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for word, name in pairs:
        found[word].add(name)
    return {word: frozenset(meant) for word, meant in found.items()}
