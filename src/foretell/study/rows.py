"""Rows of a study: the names of its episodes, its plan as a table, and the row of an episode that has ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.episode import Episode, keys
from foretell.episodes.columns import spread
from foretell.episodes.planned import CELL, PLAN, SPARED
from foretell.errors import UsageError
from foretell.factors.arms import severity_of
from foretell.rollout import Outcome
from foretell.study.config import Study
from foretell.study.jobs import video_of
from foretell.study.patience import Patience
from foretell.study.plan import JobGroup, Planned
from foretell.study.rounds import Rounds
from foretell.study.session import Opened
from foretell.world_file import params_of

__all__ = ["check_distinct", "name_all", "plan_table", "row_of"]

WORDS = 4000
"""Characters that a row keeps of an error or a reason."""


def check_distinct(opened: dict[JobGroup, Opened]) -> None:
    """Two tasks of one name could not be told apart in tables."""
    uses: dict[tuple[str, str], str] = {}
    for group, session in opened.items():
        use = uses.setdefault((session.task, session.controller), group.task.use)
        if use != group.task.use:
            raise UsageError(
                f"tasks: {use!r} and {group.task.use!r} are both {session.task!r}, version {session.task_version}; "
                "give one of them another `name`"
            )


def name_all(
    episodes: list[Planned], opened: dict[JobGroup, Opened], notify: Callable[[str], None] = lambda text: None
) -> dict[str, Planned]:
    """Key -> episode, in the order of the plan."""
    named: dict[str, Planned] = {}
    patience = Patience(notify)
    for alike in _by_cell(episodes):
        name, ids = _namer(alike[0], opened[alike[0].group]), alike[0].scenarios.names
        for start in range(0, len(alike), 1000):
            patience(f"naming episodes: {len(named):,} of {len(episodes):,}")
            named.update((name(ids[e.index], e.trial), e) for e in alike[start : start + 1000])
    return named


def _namer(episode: Planned, opened: Opened) -> Callable[[str, int], str]:
    return keys(
        world_hash=opened.world_hash,
        task=f"{opened.task}/{opened.controller}",
        task_version=opened.task_version,
        policy=episode.policy,
        policy_hash=opened.policies[episode.policy]["hash"],
        policy_options=opened.policies[episode.policy]["options"],
        arm=episode.arm,
        clock=episode.group.clock.to_dict(),
        task_hash=opened.task_hash,
    )


def plan_table(named: dict[str, Planned], opened: dict[JobGroup, Opened], rounds: Rounds) -> pa.Table:
    """Every episode to be, as `Store.write_plan` takes it."""
    cells: dict[tuple[int, str, str], int] = {}
    columns: list[dict[str, Any]] = []
    index: list[int] = []
    units: list[str] = []
    names, rules = list(named), rounds.rules()
    for alike in _by_cell(named.values()):
        cell = (id(alike[0].group), alike[0].policy, alike[0].arm)
        if cell not in cells:
            cells[cell] = len(columns)
            columns.append({**_columns(alike[0], opened[alike[0].group]), "until": rules.get(names[len(index)], "")})
            columns[-1]["task_version"] = str(opened[alike[0].group].task_version)
        index += [cells[cell]] * len(alike)
        pairs = alike[0].scenarios.units
        units += [pairs[episode.index] for episode in alike]
    shared = pa.Table.from_pylist(columns, schema=pa.schema([PLAN.field(c) for c in (*CELL, "until")]))
    shared = shared.take(pa.array(index, pa.int64()))
    spared = np.array([name in rounds.spared for name in names], dtype=np.int64)
    shared = shared.append_column("retired", spread(["", SPARED], spared))
    shared = shared.append_column("unit", pa.array(units, pa.string()))
    return shared.append_column("episode", pa.array(names, pa.string()))


def _by_cell(episodes: Iterable[Planned]) -> Iterator[list[Planned]]:
    """Episodes of one group, policy, arm and set of scenarios, as they follow each other: a plan goes cell by cell."""
    alike: list[Planned] = []
    first = None
    for episode in episodes:
        if first is not None and (
            episode.scenarios is first.scenarios
            and episode.group is first.group
            and episode.policy == first.policy
            and episode.arm == first.arm
        ):
            alike.append(episode)
            continue
        if alike:
            yield alike
        first, alike = episode, [episode]
    if alike:
        yield alike


def row_of(study: Study, name: str, episode: Planned, opened: Opened, outcome: Outcome) -> Episode:
    """The row of an episode that has ended."""
    scenario = episode.scenario
    shown = outcome.end != "error" and not (study.record.video == "failures" and outcome.success)
    video = video_of(name, episode, opened.task) if episode.video and shown else None
    return Episode(
        episode=name,
        study=study.name,
        real=opened.real,
        stands_in=opened.stands_in,
        world_params=json.dumps(params_of(opened.params, scenario), sort_keys=True),
        robot=opened.robot,
        task_version=opened.task_version,
        scenario=scenario.id,
        parent=scenario.parent,
        base=scenario.base,
        trial=episode.trial,
        factors=json.dumps(dict(scenario.factors), sort_keys=True),
        severity=severity_of(episode.arm),
        success_rule=opened.success_rule,
        video=str(video) if video else outcome.film,
        **_columns(episode, opened),
        **{**vars(outcome), "error": _cut(outcome.error), "failure_reason": _cut(outcome.failure_reason)},
    )


def _cut(text: str | None) -> str | None:
    """What a policy says of its error may be as long as it likes, and a row is read with all others."""
    return text if text is None or len(text) <= WORDS else f"{text[:WORDS]}... ({len(text):,} characters)"


def _columns(episode: Planned, opened: Opened) -> dict[str, Any]:
    """The columns `CELL`, known before it runs."""
    return {
        "world": opened.world,
        "world_hash": opened.world_hash,
        "task": opened.task,
        "task_hash": opened.task_hash,
        "controller": opened.controller,
        "policy": episode.policy,
        "policy_hash": opened.policies[episode.policy]["hash"],
        "policy_options": json.dumps(opened.policies[episode.policy]["options"], sort_keys=True),
        "clock": json.dumps(episode.group.clock.to_dict(), sort_keys=True),
        "arm": episode.arm,
    }
