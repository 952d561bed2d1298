"""Outcomes of combinations, run as ordinary studies: rows are kept, resumed, and never run twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.clock import Sync
from foretell.episode import unmarked
from foretell.episodes.read import read
from foretell.errors import UsageError
from foretell.factors import arms
from foretell.redteam.search import Combination
from foretell.scenario import Scenario
from foretell.study.config import PolicyEntry, Record, ScenarioSource, Study
from foretell.study.plan import make_task
from foretell.study.run import Progress, run

__all__ = ["Looks", "Settings"]

SAME = ("policy_hash", "policy_options", "world_hash", "task_version", "task_hash", "clock")
"""What must be the same in all rows of a policy that are put together."""


class Settings:
    """What all looks of one search share: the study's one task and policy, where rows go, and the budget."""

    def __init__(
        self,
        study: Study,
        *,
        out: Path,
        budget: int,
        policies: Mapping[str, Any] | None = None,
        progress: Callable[[Progress], None] = lambda state: None,
        notify: Callable[[str], None] = lambda text: None,
        **how: Any,
    ):
        self.study, self.out, self.budget, self.how = study, out, budget, how
        self.policies, self.progress, self.notify = dict(policies or {}), progress, notify
        self.task = make_task(study.tasks[0].use)
        self.asked: set[tuple[str, str, str, int]] = set()
        """(run folder, policy, arm, seed) of every episode that was needed, whether it was there already or not."""
        self.ran = 0
        self.first = study.scenarios.seed

    @property
    def spent(self) -> int:
        return len(self.asked)


class Looks:
    """Outcomes on the scenarios of seeds `start` on. `reserve` episodes of the budget are left for what comes after.

    The policy's rows go into the run folder `name`, the expert's into `expert`; the expert always runs under `sync`,
    as a certificate asks whether a thing can be done, not how fast.
    """

    def __init__(self, settings: Settings, name: str, start: int, reserve: int = 0):
        self.settings, self.name, self.start, self.reserve = settings, name, start, reserve
        self._rows: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
        self._keys: dict[tuple[Combination, int], tuple[str, str]] = {}

    def policy(self, wanted: Sequence[Combination], n: int) -> dict[Combination, np.ndarray]:
        study = self.settings.study
        (name,) = study.policies
        return self._look(wanted, n, self.name, name, study)

    def expert(self, wanted: Sequence[Combination], n: int) -> dict[Combination, np.ndarray]:
        changes = {"policies": {"expert": PolicyEntry(use="expert")}, "clocks": [Sync()]}
        return self._look(wanted, n, "expert", "expert", self.settings.study.model_copy(update=changes))

    def row(self, c: Combination, seed: int) -> dict[str, Any]:
        """The policy's row of a scenario that was looked at."""
        return self._rows[self.name][self._key(c, seed)]

    def seeds(self, n: int) -> range:
        return range(self.start, self.start + n)

    def scenario(self, c: Combination, seed: int) -> Scenario:
        """The scenario of a seed under a combination."""
        (arm,) = arms.expand([c.arm], self.settings.task)
        return arm.on(self.settings.task.scenario(seed), self.settings.task)

    def _key(self, c: Combination, seed: int) -> tuple[str, str]:
        if (c, seed) not in self._keys:
            self._keys[c, seed] = c.arm, self.scenario(c, seed).id
        return self._keys[c, seed]

    def _look(
        self, wanted: Sequence[Combination], n: int, folder: str, policy: str, study: Study
    ) -> dict[Combination, np.ndarray]:
        s, paid = self.settings, []
        for c in wanted:
            new = {(folder, policy, c.arm, seed) for seed in self.seeds(n)} - s.asked
            if s.spent + len(new) > s.budget - self.reserve:
                break  # one that is cheaper, further down the list, is no better a guess
            s.asked |= new
            paid.append(c)
        if not paid:
            return {}
        keys = {c: [self._key(c, seed) for seed in self.seeds(n)] for c in paid}
        known = self._rows.setdefault(folder, {})
        if any(key not in known for mine in keys.values() for key in mine):
            self._run(paid, n, folder, policy, study)
        known = self._rows[folder]
        solved = {True: 1.0, False: 0.0, None: np.nan}
        return {c: np.array([solved[known[key]["success"]] for key in keys[c]]) for c in paid}

    def _run(self, looked: Sequence[Combination], n: int, folder: str, policy: str, study: Study) -> None:
        s = self.settings
        wanted = study.model_copy(
            update={
                "arms": [arms.parse(c.arm) for c in looked],
                "scenarios": ScenarioSource(count=n, seed=self.start),
                "trials": 1,
                "record": Record(video=0),
            }
        )
        here = s.policies if policy in s.policies else None
        before, ran = s.spent - len(looked) * n, s.ran

        def progress(state: Progress) -> None:
            s.ran = ran + state.ran
            if state.ran:
                s.progress(Progress(planned=s.budget, done=before + state.done, ran=s.ran))

        run(wanted, out=s.out / folder, policies=here, progress=progress, notify=s.notify, add=True, **s.how)
        rows = [row for row in read(s.out / folder).to_pylist() if row["policy"] == policy]
        for column in SAME:
            if len(values := {row[column] for row in rows}) > 1:
                raise UsageError(
                    f"{s.out / folder} holds rows of {len(values)} kinds of {policy!r} (column {column}): "
                    "it changed since then; give another folder with --out"
                )
        self._rows[folder] = {(unmarked(row["arm"]), row["scenario"]): row for row in rows}
