"""Shared by all tests: a skip for machines that cannot draw, and small helpers to run episodes."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from foretell.policies.make import bind
from foretell.rollout import Job, Outcome, run_sync
from foretell.scenario import Scenario
from foretell.sim.world import MujocoWorld


@functools.cache
def _can_draw() -> bool:
    """In a process of its own: a broken driver may crash it."""
    code = "from foretell.sim.render import shared_renderer; shared_renderer()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120).returncode == 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    drawing = [item for item in items if item.get_closest_marker("gl")]
    if drawing and not _can_draw():
        for item in drawing:
            item.add_marker(pytest.mark.skip(reason="no OpenGL here: install libegl1 and libgl1-mesa-dri"))


def episodes(
    task: Any, policy: Any, scenarios: Sequence[Scenario], *, world: Any = "mujoco", slots: int = 8, threads: int = 1
) -> list[Outcome]:
    """Outcomes of one policy on some scenarios, in their order."""
    built = MujocoWorld(task, world, slots=slots, threads=threads)
    jobs = iter([Job("policy", scenario, 0, str(i)) for i, scenario in enumerate(scenarios)])
    done = run_sync(built, {"policy": bind(policy, built, "policy")}, lambda: next(jobs, None))
    found = {job.key: outcome for job, outcome in done}
    return [found[str(i)] for i in range(len(scenarios))]


def reproducible(outcome: Outcome) -> dict[str, Any]:
    """All of an outcome that must be the same every time."""
    return {name: value for name, value in vars(outcome).items() if not name.startswith("wall_")}
