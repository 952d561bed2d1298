"""A study whose worlds stay open: one policy object after another runs on it, in this process, without a run folder.

For training loops. Opening a world, drawing scenarios and compiling their models take seconds, and happen once.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import Any

from foretell.clock import Clock, Realtime
from foretell.episode import Episode
from foretell.errors import UsageError
from foretell.policies.make import bind, construct
from foretell.rollout import Job, Outcome
from foretell.rollout.able import check_able
from foretell.study.config import PolicyEntry, Study, TaskEntry
from foretell.study.jobs import asked_of
from foretell.study.plan import JobGroup, Planned, check_size, perturb_scenarios, plan, resolve_scenarios
from foretell.study.record import Record
from foretell.study.rows import check_distinct, name_all, row_of
from foretell.study.session import Opened, Session
from foretell.world_file import attended, slots_of

__all__ = ["OpenStudy"]


class OpenStudy:
    """The scenarios and worlds of a study, for policies that are Python objects."""

    def __init__(self, study: Study, name: str, slots: int):
        _check(study)
        self.name, self._slots = name, slots
        alone = {"policies": {name: PolicyEntry(use=f"object:{name}")}, "record": Record(video=0)}
        self.study = study.model_copy(update=alone)
        check_size(self.study)
        clean, self.design = resolve_scenarios(self.study)
        perturbed = perturb_scenarios(self.study, clean)
        self._episodes = plan(self.study, clean, _settled, perturbed)
        self._sessions: dict[JobGroup, Session] = {}

    def run(self, policy: Any) -> Iterator[Episode]:
        """Run every episode of the study with a policy, an object or a class. Gives the rows as they end."""
        policy = construct(policy) if isinstance(policy, type) else policy
        opened = {group: self._bound(group, policy) for group in dict.fromkeys(e.group for e in self._episodes)}
        check_distinct(opened)
        named = name_all(self._episodes, opened)
        for group, session in self._sessions.items():
            jobs = deque(_job(name, episode) for name, episode in named.items() if episode.group is group)
            source = lambda jobs=jobs: jobs.popleft() if jobs else None  # noqa: E731
            outcomes: Iterator[tuple[Job, Outcome]] = session.run(source)
            for job, outcome in outcomes:
                yield row_of(self.study, job.key, named[job.key], opened[group], outcome)

    def _bound(self, group: JobGroup, policy: Any) -> Opened:
        """The world of a group, opened before or now, with the policy bound to it."""
        if group not in self._sessions:
            asked = asked_of(self.study, group, {self.name: policy})
            count = sum(episode.group is group for episode in self._episodes)
            slots = slots_of(asked["world"], max(1, min(self._slots, count)))
            self._sessions[group] = Session(**asked, slots=slots, threads=os.cpu_count() or 1)
        else:
            session = self._sessions[group]
            session.policies = {self.name: bind(policy, session.world, self.name)}
            check_able(session.world, session.clock, {self.name: session.policies[self.name].spec})
        return self._sessions[group].opened

    def close(self) -> None:
        while self._sessions:
            self._sessions.popitem()[1].close()


def _job(name: str, episode: Planned) -> Job:
    return Job(policy=episode.policy, scenario=episode.scenario, trial=episode.trial, key=name)


def _check(study: Study) -> None:
    """Raises UsageError for what cannot run in a training loop."""
    if attended(study.world):
        raise UsageError("world: a person or a robot takes part in it; use `foretell run`, and gate its run folder")
    if study.until is not None:
        raise UsageError("until: the study must have a fixed number of scenarios here: leave it out")
    if any(isinstance(clock, Realtime) for clock in study.clocks):
        raise UsageError(
            "clocks: realtime runs a policy in a process of its own, and here it is an object: use virtual"
        )


def _settled(clock: Clock, policy: str, task: TaskEntry) -> Clock:
    latency = getattr(clock, "latency", None)
    if latency is not None and not latency.settled:
        raise UsageError(
            f"clocks: latency {latency.kind} depends on the policy, which is an object here: give it in seconds, as in "
            "`virtual: {latency: 0.05}`"
        )
    return clock
