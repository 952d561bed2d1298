"""Jobs of a study: what an engine opens for a group of episodes, and the job of each episode with its files."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.clock import Realtime
from foretell.factors.arms import targets
from foretell.rollout import Job
from foretell.study import films
from foretell.study.config import Study
from foretell.study.engine import Batch
from foretell.study.plan import JobGroup, Planned
from foretell.study.session import Opened

__all__ = ["asked_of", "batches_of", "keeps_steps", "video_of"]


def asked_of(
    study: Study,
    group: JobGroup,
    policies: Mapping[str, Any] | None = None,
    watch: bool = False,
) -> dict[str, Any]:
    """What an engine opens for a group, as `Batch.open` has it."""
    return {
        "task": group.task.use,
        "controller": group.task.controller,
        "time_limit": group.task.time_limit,
        "world": study.world,
        "factors": targets(study.arms),
        "clock": group.clock,
        "policies": {name: (policies or {}).get(name, study.policies[name]) for name in group.policies},
        "video": study.record.video not in (0, "few"),
        "steps": study.record.steps != 0,
        "patience": study.policy_timeout,
        "view": watch,
    }


def video_of(name: str, episode: Planned, task: str) -> Path:
    """Path of an episode's video within its run folder; names that a file system may not like are smoothed. A judge may
    see the names of files, so those of real episodes do not name the policy."""
    words = re.sub(r"[^A-Za-z0-9._-]+", "_", task if episode.group.real else f"{task}-{episode.policy}")[:80]
    return Path("videos") / f"{words}-{name}.mp4"


def _events(name: str) -> Path:
    return Path("events") / f"{name}.parquet"


def keeps_steps(episode: Planned, opened: Opened) -> bool:
    """What is filmed has them beside the film; what is real cannot run again."""
    return episode.steps or episode.video or opened.real


def batches_of(
    chosen: dict[str, Planned],
    opened: dict[JobGroup, Opened],
    asked: dict[JobGroup, dict[str, Any]],
    folder: Path,
) -> list[Batch]:
    """The episodes to run, group by group. Where somebody attends to the world, groups alternate as the order has it:
    a group is opened again for its next episodes."""
    batches: list[Batch] = []
    known: dict[JobGroup, Batch] = {}
    last: JobGroup | None = None
    for name, episode in chosen.items():
        group = episode.group
        if group not in known or (group.real and group != last):
            opening = {**asked[group], "folder": str(folder)} if opened[group].real else asked[group]
            known[group] = Batch(opening, opened[group], deque(), isinstance(group.clock, Realtime))
            batches.append(known[group])
        last = group
        known[group].jobs.append(
            Job(
                policy=episode.policy,
                scenario=episode.scenario,
                trial=episode.trial,
                key=name,
                video=folder / video_of(name, episode, episode.scenario.task) if episode.video else None,
                events=folder / _events(name) if episode.events else None,
                steps=folder / films.steps(name) if keeps_steps(episode, opened[group]) else None,
            )
        )
    return batches
