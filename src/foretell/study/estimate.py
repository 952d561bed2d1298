"""What a study would take: episodes, time and disk, from a short trial of each task."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foretell.clock import Clock, Realtime, Virtual
from foretell.counting import counted
from foretell.errors import UsageError
from foretell.latency.latency import Latency
from foretell.notebook import Displayed
from foretell.rollout import Job
from foretell.rollout.video import FRAME_S, every
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.study.config import Study, load_study
from foretell.study.films import at_most
from foretell.study.patience import Patience
from foretell.study.plan import JobGroup, Planned, check_size, make_task, plan, resolve_scenarios
from foretell.study.run import SLOTS
from foretell.study.session import Session
from foretell.world_file import attended, slots_of

__all__ = ["Estimate", "estimate"]

ROW_BYTES = 120
"""A sealed row and its share of the scenarios; the demo's 600 rows and 150 scenarios take 67 kB."""
VIDEO_BYTES = 560_000
"""A film of 400 actions, the larger of two measured; a solved episode's is a tenth of that."""
STEP_BYTES = 610
"""The steps of one action: the mean of 11,890 actions of three tasks. States hardly compress."""
BETWEEN_S = 0.3
"""Wall seconds between two episodes in real time."""
TRIAL_S = 1.5
"""Wall seconds given to each task's trial."""


@dataclass(frozen=True, kw_only=True)
class Estimate(Displayed):
    """Upper bounds: as if every episode ran to its time limit."""

    episodes: int
    seconds: float
    bytes: int
    per_task: dict[str, float]
    """Task -> seconds of its episodes."""
    until: bool = False
    """Whether cells stop by a rule, so that there may be fewer episodes."""
    films: int = 0
    """Episodes that are filmed at most."""
    unfilmed: str | None = None
    """Why nothing can be filmed."""
    early: bool = True
    """Whether all episodes end when they are solved. Those of a task that is judged at its end do not."""

    def text(self) -> str:
        sooner = " (solved episodes end sooner)" if self.early else ""
        films = f", with up to {counted(self.films, 'film')}" if self.films else ""
        note = f"\nnote: nothing will be filmed: {self.unfilmed}" if self.unfilmed else ""
        minutes = f"{self.seconds / 60:.1f} min" if self.seconds > 90 else f"{self.seconds:.0f} s"
        return (
            f"{'at most ' * self.until}{counted(self.episodes, 'episode')}, at most {minutes} here{sooner}{films}, "
            f"about {self.bytes / 1e6:.1f} MB{note}"
        )


def estimate(
    study: Study | dict[str, Any] | str | Path,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    slots: int = SLOTS,
    pair_with: str | Path | None = None,
    large: bool = False,
    notify: Callable[[str], None] = lambda text: None,
) -> Estimate:
    """Time a few actions of each task in this process and scale them up. Write nothing, and draw only the scenarios
    that are timed. `notify` is called with a message about slow steps."""
    study = load_study(study)
    if pair_with is not None:
        study = study.paired(pair_with)
    check_size(study, large)
    patience = Patience(notify)
    scenarios, _ = resolve_scenarios(study)
    check_size(study, large, scenarios)
    episodes = plan(study, scenarios, notify=notify)
    cores = os.cpu_count() or 1
    crew = max(1, cores if workers is None else workers)
    untried = attended(study.world)  # nothing is tried on a robot for an estimate
    early = all(make_task(entry.use).success_rule == "any" for entry in study.tasks)
    films = left = at_most(study.record, episodes)
    unfilmed: str | None = None
    per_task: dict[str, float] = {}
    by_group: dict[JobGroup, list[Planned]] = {}
    for episode in episodes:
        by_group.setdefault(episode.group, []).append(episode)
    for number, (group, mine) in enumerate(by_group.items()):
        patience(f"timing {group.task.use}: {number} of {len(by_group)} groups of policies done")
        width = min(slots_of(study.world, slots), max(1, math.ceil(len(mine) / crew)))
        used = per_task.get(group.task.use, 0.0)
        if untried or isinstance(group.clock, Realtime):  # one after the other, by the clock on the wall
            limit = make_task(group.task.use, group.task.time_limit).time_limit
            speed = group.clock.speed if isinstance(group.clock, Realtime) else 1.0
            per_task[group.task.use] = used + len(mine) * (limit / speed + BETWEEN_S)
            continue
        session = Session(
            task=group.task.use,
            controller=group.task.controller,
            time_limit=group.task.time_limit,
            world=study.world,
            clock=_without_latency(group.clock),
            policies={name: study.policies[name] for name in group.policies},
            slots=width,
            threads=1,
        )
        mixed = mine[:: max(1, len(mine) // width)][:width]
        actions = _actions_per_second(
            session, [Job(policy=e.policy, scenario=e.scenario, trial=e.trial) for e in mixed]
        )
        limit = session.world.task.time_limit * session.world.task.action_rate
        filmed = min(left, at_most(study.record, mine))
        left -= filmed
        frames = limit / every(session.world.task.action_rate, session.world.task.time_limit)
        filming = filmed * (frames * FRAME_S + limit / actions)
        per_task[group.task.use] = used + (len(mine) * limit / actions + filming) / min(crew, cores)
        if films and unfilmed is None:
            unfilmed = _undrawn(session)
        session.close()
    films = 0 if unfilmed else films
    size = len(episodes) * ROW_BYTES + films * VIDEO_BYTES + _steps_bytes(episodes)
    return Estimate(
        episodes=len(episodes),
        seconds=sum(per_task.values()),
        bytes=size,
        per_task=per_task,
        until=study.until is not None,
        early=early,
        films=films,
        unfilmed=unfilmed,
    )


def _undrawn(session: Session) -> str | None:
    """Why the scene of a session cannot be drawn, such as meshes that are missing; None where it can."""
    if not isinstance(session.world, MujocoWorld):
        return None
    try:
        _ = Bench.on(session.world).drawn
    except UsageError as error:
        return str(error)
    return None


def _steps_bytes(episodes: list[Planned]) -> int:
    """The size of all steps that are kept."""
    kept = Counter(e.group.task for e in episodes if e.steps)
    tasks = {entry: make_task(entry.use, entry.time_limit) for entry in kept}
    return sum(round(n * tasks[entry].time_limit * tasks[entry].action_rate) * STEP_BYTES for entry, n in kept.items())


def _without_latency(clock: Clock) -> Clock:
    """Latency costs no time here, and may have to be measured first."""
    return replace(clock, latency=Latency()) if isinstance(clock, Virtual) and not clock.latency.settled else clock


def _actions_per_second(session: Session, jobs: list[Job]) -> float:
    """Episode actions per wall second, over a mix of the study's policies."""
    calls = 0
    began = time.perf_counter()

    class TimedEnough(Exception):  # noqa: N818 - not an error
        pass

    def watch(doing: str, called: list[Job]) -> None:
        nonlocal calls
        if doing == "policy":
            calls += sum(session.policies[job.policy].spec.executes for job in called)
            if time.perf_counter() - began > TRIAL_S:
                raise TimedEnough

    source = iter(jobs)
    try:
        for _ in session.run(lambda: next(source, None), watch):
            pass
    except TimedEnough:
        pass
    return max(calls, 1) / (time.perf_counter() - began)
