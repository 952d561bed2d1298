"""Run folders made of rows that were never rolled out, for tests of what reads them: written through the store."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from foretell.digest import digest
from foretell.episode import Episode
from foretell.episodes.provenance import provenance
from foretell.scenario import Scenario
from foretell.study.store import Store
from foretell.tasks.lift import Lift

STAGES = ("reach", "grasp", "lift")


def row(policy: str, scenario: Scenario, success: bool | None = True, **changes: Any) -> Episode:
    """An episode of `lift`; a failure dies after a stage that depends on its scenario."""
    given = {"clock": '{"kind": "sync"}', "arm": "none", "trial": 0, "world": "mujoco", **changes}
    key = digest([policy, scenario.id, *(str(given[k]) for k in ("clock", "arm", "trial", "world"))])
    died = int(digest([scenario.id, policy])[:2], 16) % len(STAGES)
    reached = STAGES if success else STAGES[:died]
    values = {
        "episode": key,
        "study": "made",
        "world_params": "{}",
        "world_hash": "w" * 16,
        "robot": "panda",
        "controller": "ee_delta",
        "task": "lift",
        "task_version": Lift.version,
        "policy": policy,
        "policy_hash": digest(policy),
        "scenario": scenario.id,
        "base": scenario.base,
        "success": success,
        "success_any": success,
        "success_end": success,
        "score": None if success is None else len(reached) / len(STAGES),
        "stages": {name: 0.9 + 0.4 * i for i, name in enumerate(reached)},
        "steps": 40 if success else 400,
        "sim_s": 2.0 if success else 20.0,
        "end": "success" if success else "time_limit",
        "failure_reason": None if success or success is None else f"no {STAGES[died]}",
        "wall_started": 1.7e9,
        "wall_s": 1.0,
        **given,
    }
    return Episode(**values)


def rows(rates: dict[str, float], count: int, **changes: Any) -> tuple[list[Scenario], list[Episode]]:
    """`count` scenarios, and an episode of each policy on each, of which so many succeed."""
    task = Lift()
    scenarios = [task.scenario(i) for i in range(count)]
    draw = random.Random(0)
    return scenarios, [row(p, s, draw.random() < rate, **changes) for p, rate in rates.items() for s in scenarios]


def run(path: Path, scenarios: Iterable[Scenario], episodes: Iterable[Episode], **study: Any) -> Path:
    """A run folder of those, as a study leaves it."""
    episodes = list(episodes)
    policies = {name: {"use": "random"} for name in dict.fromkeys(e.policy for e in episodes)}
    with Store(path) as store:
        resolved = {"name": path.name, "tasks": [{"use": "lift"}], "policies": policies, **study}
        store.write_study(yaml.safe_dump(resolved, sort_keys=False))
        store.write_scenarios(scenarios)
        store.write_provenance({"study": path.name, "design": "iid", **provenance()})
        for start in range(0, len(episodes), 1000):
            store.append(episodes[start : start + 1000])
    return path
