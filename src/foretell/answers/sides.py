"""Base and candidate of a gate: the rows of one policy each, on the same tasks, tried in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foretell.answers.choice import Choice, choose, labels, meaning
from foretell.answers.inputs import PROTOCOL, Source, Table, open_table
from foretell.answers.words import plain
from foretell.errors import UsageError

__all__ = ["check_alike", "of_task", "one_policy", "shared_tasks", "simulations_of"]

ROLES = ("base", "candidate")


def one_policy(source: Source, what: str, metric: str | None) -> Table:
    """The rows of one policy. "RUN:POLICY" chooses one of several."""
    policy = None
    if isinstance(source, (str, Path)) and not Path(source).exists():
        path, colon, name = str(source).rpartition(":")
        if colon and name and Path(path).exists():
            source, policy = path, name
    rows = open_table(source, what, metric=metric)
    names = labels(rows, "policy")
    if policy is None and len(names) > 1:
        listed = ", ".join(map(plain, names[:20]))
        raise UsageError(
            f"{what}: {rows.name} has several policies ({listed}): choose one, as in {rows.name}:{plain(names[0])}"
        )
    if policy is None:
        return rows
    if not names:
        raise UsageError(f"{what}: {rows.name} has no column 'policy', so {plain(policy)!r} cannot be chosen")
    wanted = meaning(rows, "policy", names, policy)
    return rows.keep([i for i, cell in enumerate(rows.columns["policy"]) if str(cell) == wanted])


def simulations_of(sim: Source | Sequence[Source], sides: Sequence[Table], metric: str | None) -> list[Table]:
    """Simulations of base and candidate; none where none are given."""
    sources = list(sim) if isinstance(sim, (list, tuple)) else [sim] if sim is not None else []
    if not sources:
        return []
    if len(sources) > 2:
        raise UsageError(f"sim: give one source with both policies, or two, not {len(sources)}")
    if len(sources) == 2:
        return [one_policy(source, f"sim of the {what}", metric) for source, what in zip(sources, ROLES, strict=True)]
    both = open_table(sources[0], "sim", metric=metric)
    names = [labels(side, "policy") for side in sides]
    if not all(names) or names[0] == names[1] or not labels(both, "policy"):
        raise UsageError(
            f"sim: {both.name} does not tell base and candidate apart: give two sources, first the base's simulations"
        )
    return [choose([both], Choice(policy=name[0]), ("policy",))[0][0] for name in names]


def shared_tasks(sides: Sequence[Table], wanted: Sequence[str]) -> tuple[list[str | None], list[str]]:
    """The tasks to decide on, and notes; [None] where rows do not name a task. A task that only the base has is an
    error: a gate must not pass because a task was left out."""
    base, mine = (labels(side, "task") for side in sides)
    if wanted:
        if not base or not mine:
            raise UsageError(f"task: one of base and candidate has no column 'task', so {wanted[0]!r} cannot be chosen")
        return list(dict.fromkeys(meaning(s, "task", labels(s, "task"), name) for name in wanted for s in sides)), []
    if not base or not mine:
        if max(len(base), len(mine)) > 1:
            raise UsageError("task: one of base and candidate has several tasks, and the other does not name its task")
        return [None], []
    missing = [name for name in base if name not in mine]
    if missing:
        raise UsageError(
            f"candidate: {sides[1].name} has no episodes of task {plain(missing[0])!r}, which the base has: run it, or "
            "choose tasks with --task"
        )
    more = [name for name in mine if name not in base]
    return list(base), [f"task {plain(name)!r} is left out: only the candidate has it" for name in more]


def of_task(side: Table, task: str | None) -> Table:
    """The rows of one task."""
    if task is None or not labels(side, "task"):
        return side
    rows = side.keep([i for i, cell in enumerate(side.columns["task"]) if str(cell) == task])
    if not len(rows):
        raise UsageError(f"{side.name} has no episodes of task {plain(task)!r}")
    return rows


def check_alike(sides: Sequence[Table]) -> list[str]:
    """Raises UsageError where base and candidate had another task or world: the decision would mean nothing. What
    people judged has its own rules, and gets a note."""
    notes = []
    people = all(labels(side, "judge") == ["person"] for side in sides)
    columns = {**{name: f"task's {words}" for name, words in PROTOCOL.items()}, "world": "world"}
    for column, words in {**columns, "world_hash": "version of the world"}.items():
        known = [labels(side, column) for side in sides]
        if not all(known) or set(known[0]) == set(known[1]):
            continue
        listed = "; ".join(
            f"{', '.join(map(plain, names))} in {side.name}" for names, side in zip(known, sides, strict=True)
        )
        text = f"the {words} is not the same for base and candidate ({listed})"
        if not people:
            raise UsageError(f"{text}: run both again under one version")
        notes.append(text)
    weights = [[h for h in labels(side, "policy_hash") if h] for side in sides]
    if all(weights) and weights[0] == weights[1] and labels(sides[0], "version") == labels(sides[1], "version"):
        notes.append("base and candidate are the same policy with the same weights")
    return notes
