"""Scores of every value of θ that was asked for, each from an ordinary run folder, with the real ones beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foretell.answers.choice import Choice, choose, labels
from foretell.answers.inputs import open_table
from foretell.answers.reality import check_roles
from foretell.answers.units import measure
from foretell.answers.words import plain
from foretell.arrays import Floats, Ints
from foretell.clock import Realtime
from foretell.counting import counted
from foretell.digest import digest
from foretell.episodes.fitted import note_fitted
from foretell.episodes.units import unit_of
from foretell.errors import UsageError
from foretell.study.config import Record, ScenarioSource, Study
from foretell.study.engine import Engine
from foretell.study.run import run
from foretell.study.session import Opened
from foretell.tune.engine import GuardedEngine
from foretell.tune.space import Point, SearchSpace

__all__ = ["Landscape", "Tried"]

Scores = dict[tuple[str, str], dict[str, tuple[float, float]]]
"""(task, policy) -> scenario -> real and simulated score."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One value of θ."""

    point: Point
    run: Path
    scores: Floats | None
    """(P, S), as those of reality; None where an episode could not be run."""
    why: str = ""


class RealTrial(NamedTuple):
    """A real episode of a policy of the study."""

    episode: str
    unit: str
    """What it counts for: its scenario, or of a child its parent."""
    task: str
    policy: str


class Landscape:
    """Real scores, and simulated ones by θ. Every θ runs the same scenarios and seeds: differences are paired."""

    def __init__(
        self,
        study: Study,
        *,
        space: SearchSpace,
        real: Path,
        of: str,
        stand_in: bool,
        out: Path,
        engine: Engine,
        notify: Callable[[str], None],
        **how: Any,
    ):
        _check(study)
        self.study, self.space, self.out, self.of = study, space, out, of
        self._count = study.scenarios.count if study.scenarios.like is not None else None
        self._real, self._stand_in, self._notify = real, stand_in, notify
        self._how = {**how, "engine": GuardedEngine(engine, self._check_version)}
        self.tried: dict[str, Tried] = {}
        """Hash of a world -> its scores."""
        self._base = space.file.hash
        self._hashes: dict[str, str] = {}
        """Point -> hash of its world."""
        self._table = open_table(real, "real", metric=of)
        check_roles(self._table, None, stand_in)
        self._check_policies()
        self.policies = tuple(study.policies)
        self._trials = self._real_trials()

    def start(self) -> None:
        """Run the world as it is. Before this, nothing is run."""
        folder = self._run({})
        pairs, roles = self._pairs(folder)
        self.task_names, self.ids, self.tasks, self.notes = self._common(pairs)
        self.notes = [*roles, *self.notes]
        self.real = self._array(pairs, 0)
        self.tried[self._base] = Tried(point={}, run=folder, scores=self._array(pairs, 1))

    @property
    def base(self) -> Floats:
        """(P, S): scores in the world as it is."""
        return self.scores({})

    def scores(self, point: Point) -> Floats:
        """(P, S): scores of a point that could run every episode, as the best of a search always could."""
        scores = self.at(point).scores
        assert scores is not None
        return scores

    def at(self, point: Point) -> Tried:
        """The scores of a point, run if need be."""
        asked = digest(dict(point))
        if asked not in self._hashes:
            self._hashes[asked] = self.space.world(point).hash
        key = self._hashes[asked]
        if key not in self.tried:
            folder = self._run(point)
            try:
                scores, why = self._array(self._pairs(folder)[0], 1), ""
            except KeyError as lost:
                scores, why = None, f"the world could not run scenario {lost.args[0]} with this θ"
            self.tried[key] = Tried(point=point, run=folder, scores=scores, why=why)
        return self.tried[key]

    def episodes(self, ids: Sequence[str], policies: Sequence[str]) -> tuple[str, ...]:
        """The real episodes of some scenarios and policies."""
        known = set(ids)
        return tuple(trial.episode for trial in self._trials if trial.unit in known and trial.policy in policies)

    @property
    def tried_scenarios(self) -> tuple[list[str], Ints]:
        """Scenarios that were tried in reality, and the number of each one's task."""
        tasks = {unit: task for _, unit, task, _ in self._trials}
        names = sorted(set(tasks.values()))
        return list(tasks), np.array([names.index(task) for task in tasks.values()], dtype=int)

    def _real_trials(self) -> list[RealTrial]:
        """Those of the study's policies."""
        columns, none = self._table.columns, [None] * len(self._table)
        names = zip(columns["task"], columns["policy"], columns["scenario"], columns.get("parent") or none, strict=True)
        return [
            RealTrial(str(mark), unit_of(parent, scenario, str(mark)) or "", str(task), str(policy))
            for mark, (task, policy, scenario, parent) in zip(self._table.marks, names, strict=True)
            if policy in self.policies
        ]

    def _run(self, point: Point) -> Path:
        world = self.space.world(point)
        folder = self.out / f"theta-{world.hash}"
        setting = ", ".join(f"{name.removeprefix('theta.')} {_short(value)}" for name, value in point.items())
        self._notify(f"θ {len(self.tried) + 1}: {setting or 'as it is'}")
        study = self.study.model_copy(
            update={
                "name": f"{self.study.name[:70]}-{world.hash}",
                "world": self.space.contents(point),
                "scenarios": ScenarioSource(like=self._real, count=self._count),
                "record": Record(video=0),
            }
        )
        if world.hash != self._base:  # the world as it is was chosen by nobody here
            folder.mkdir(parents=True, exist_ok=True)
            note_fitted(folder, [trial.unit for trial in self._trials], [trial.episode for trial in self._trials])
        run(study, out=folder, notify=self._notify, **self._how)
        return folder

    def _check_policies(self) -> None:
        """Raises UsageError where reality has not tried a policy of the study."""
        known = labels(self._table, "policy")
        if missing := [name for name in self.study.policies if name not in known]:
            listed = ", ".join(map(plain, known))
            raise UsageError(
                f"tune: real: {self._table.name} has no episodes of policy {missing[0]!r}; it has {listed}. The "
                "study and the real episodes must have the same policies, under the same names"
            )

    def _check_version(self, opened: Opened) -> None:
        """Raises UsageError where a policy of the study is another one than in reality. People seldom note a
        version."""
        columns = self._table.columns
        of = columns["task"], columns["policy"], columns.get("policy_hash") or [None] * len(self._table)
        rows = zip(*of, columns.get("version") or [""] * len(self._table), strict=True)
        tried: dict[str, set[str]] = {}
        for task, policy, weights, version in rows:
            if task == opened.task and weights:
                tried.setdefault(str(policy), set()).add(str(version))
        for name, made in opened.policies.items():
            own = digest([made["hash"], json.dumps(made["options"], sort_keys=True)])
            if name in tried and tried[name] != {own}:
                raise UsageError(
                    f"tune: real: the episodes of policy {name!r} in {self._table.name} are of other weights or "
                    "options than the study's; policies stay as they are while a simulator is tuned"
                )

    def _pairs(self, folder: Path) -> tuple[Scores, list[str]]:
        """Scores of scenarios that real and simulated episodes share, and what is to be said of who plays reality."""
        sim = open_table(folder, "sim", metric=self.of)
        roles = check_roles(self._table, sim, self._stand_in)
        shared = [name for name in labels(self._table, "task") if name in labels(sim, "task")]
        if not shared:
            raise UsageError(
                f"tune: real: {self._table.name} has no task of the study; it has "
                f"{', '.join(map(plain, labels(self._table, 'task')))}"
            )
        pairs: Scores = {}
        for task in shared:
            tables, _ = choose([self._table, sim], Choice(task=task), ("task", "clock", "arm"))
            for policy in self.policies:
                both, _ = choose(tables, Choice(policy=policy), ("policy",))
                unit_range = self.of in ("success", "score")
                tried, simulated = (measure(table, unit_range=unit_range) for table in both)
                broken = simulated.broken | tried.broken
                common = [u for u in tried.ids if u in set(simulated.ids) and u not in broken]
                scores = zip(tried.of(common).tolist(), simulated.of(common).tolist(), strict=True)
                pairs[task, policy] = dict(zip(common, scores, strict=True))
        return pairs, roles

    def _common(self, pairs: Scores) -> tuple[list[str], list[str], Ints, list[str]]:
        """Tasks, scenarios that all policies have, the task of each, and what is left out."""
        names = list(dict.fromkeys(task for task, _ in pairs))
        ids: list[str] = []
        tasks: list[int] = []
        notes = []
        for number, task in enumerate(names):
            every = [pairs[task, policy] for policy in self.policies]
            common = [unit for unit in every[0] if all(unit in scores for scores in every)]
            lost = len({unit for scores in every for unit in scores}) - len(common)
            if not common:
                raise UsageError(
                    f"tune: real: no scenario of task {plain(task)!r} was tried with all of the study's policies"
                )
            if lost:
                few = counted(lost, "scenario is", "scenarios are")
                notes.append(f"task {plain(task)}: {few} left out, because not all policies have an episode there")
            ids += common
            tasks += [number] * len(common)
        return names, ids, np.array(tasks), notes

    def _array(self, pairs: Scores, side: int) -> Floats:
        """(P, S). Raises KeyError with a scenario that is not there."""
        of = [self.task_names[task] for task in self.tasks]
        return np.array(
            [
                [pairs[task, policy][unit][side] for task, unit in zip(of, self.ids, strict=True)]
                for policy in self.policies
            ]
        )


def _check(study: Study) -> None:
    for field, entries in (("clocks", study.clocks), ("arms", study.arms)):
        if len(entries) > 1:
            raise UsageError(f"tune: {field}: the study has {len(entries)}; a simulator is tuned under one")
    if isinstance(study.clocks[0], Realtime):
        raise UsageError("tune: clocks: `realtime` does not reproduce; use `sync` or `virtual`")
    if study.until is not None:
        raise UsageError("tune: until: every θ runs the scenarios of the real episodes; leave `until` out")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
