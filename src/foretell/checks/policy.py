"""Checks of a policy: can it be made, does it agree with the task, and what does a short rollout show?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from foretell.adapters import unwrapped
from foretell.checks.playback import EPISODES, Playback
from foretell.checks.probes import probe
from foretell.checks.report import Report
from foretell.checks.setting import called, made, task_of, world_of
from foretell.checks.situations import EPISODES as SITUATIONS
from foretell.errors import ForetellError
from foretell.fingerprint.loaded import remember
from foretell.policies.make import BoundPolicy, bind, covers
from foretell.policy import PolicySpec, observed
from foretell.spec import compare
from foretell.tasks.task import Task
from foretell.world import World

__all__ = ["check_policy"]

SHOWN = 5
"""Files that are named; the rest are counted."""


def check_policy(
    policy: Any,
    task: str | Task | type[Task] = "lift",
    world: Any = "mujoco",
    options: Mapping[str, Any] | None = None,
    controller: str | None = None,
    probes: bool = False,
) -> Report:
    """Check a policy, by name or class (with its `options`) or as an object, on a task in a world.

    `probes`: compare its conventions with the scripted expert's too. That is always done for a policy that another
    process or a server holds, whose conventions somebody declared by hand."""
    report = Report(f"policy {called(policy)}")
    parts: list[Any] = []

    def constructs() -> tuple[bool, str]:
        parts.append(made(policy, options))
        made_task = task_of(task)
        parts.append(world_of(made_task, world, slots=EPISODES, controller=controller))
        return True, f"{type(parts[0]).__name__} was made, for task {made_task.name!r} in world {parts[1].name!r}."

    if report.look("constructs", constructs):
        bound = _bind(report, *parts)
        if bound is not None:
            report.look("fingerprint", lambda: _fingerprint(bound))
            playback = Playback(report, parts[1], bound)
            playback.run()
            if probes or getattr(unwrapped(bound.policy), "elsewhere", False):
                probe(report, bound, world_of(task_of(task), world, slots=SITUATIONS, controller=controller))
            if late := _late(bound, playback.recorder.opened):
                report.look("files", lambda: (False, late))
    return report


def _bind(report: Report, policy: Any, world: World) -> BoundPolicy | None:
    """Bind as a study does; where that fails, say which part of the agreement does not hold."""
    bound, failure = None, None
    try:
        bound = bind(policy, world, type(policy).__name__)
    except ForetellError as error:
        failure = error
    spec = getattr(policy, "spec", None) if bound is None else bound.spec
    if not isinstance(spec, PolicySpec):
        report.look("binds", lambda: (False, str(failure)))
        return None
    report.look(
        "binds",
        lambda: (
            True,
            f"it states what it reads ({', '.join(spec.reads) or 'nothing'}); its batch is {spec.batch or 'any'}.",
        ),
    )
    sound = report.look("spec", lambda: _spec(spec, world))
    agrees = report.look("action", lambda: _action(spec, world))
    if bound is None and sound and agrees:
        report.look("streams", lambda: (False, str(failure)))
    elif bound is not None:
        report.look("streams", lambda: _streams(spec, world))
    return bound if report.ok else None


def _fingerprint(bound: BoundPolicy) -> tuple[bool, str]:
    """What makes it another policy: told, not judged."""
    covered = covers(bound.policy)
    if covered is None:
        what = f"is what {type(bound.policy).__name__}.fingerprint returns; nothing is added to it."
    else:
        what = covered.text()
    return True, f"{bound.hash[:12]} {what}"


def _late(bound: BoundPolicy, opened: set[Path]) -> str:
    """What to do about files that were read too late for the hash: other contents would be taken for the same policy.
    Empty where there are none, or where the class says itself what it is known by."""
    before = covers(bound.policy)
    if before is None or before.declared:
        return ""
    remember(bound.policy, opened)
    after = covers(bound.policy)
    known = {file.path for file in before.files}
    names = [file.path.name for file in (after.files if after else ()) if file.path not in known]
    if not names:
        return ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (
        f"it read {', '.join(names[:SHOWN])}{more} in `act` or `reset`, which its hash does not cover: load files in "
        "`__init__` or `bind`, or declare them in `files`."
    )


def _spec(spec: PolicySpec, world: World) -> tuple[bool, str]:
    spec.validate("spec")
    most = 1.0 / world.tick
    return spec.action_rate <= most, (
        f"{spec.action_rate:g} actions per s (the world ticks {most:g} times), "
        f"chunks of {spec.chunk} of which {spec.executes} are run."
    )


def _action(spec: PolicySpec, world: World) -> tuple[bool, str]:
    compare(spec.action, world.action)
    return True, f"both use {world.action.name!r}: {world.action.size} numbers, same units, scales and frames."


def _streams(spec: PolicySpec, world: World) -> tuple[bool, str]:
    slot = np.array([0], dtype=np.int32)
    world.reset(slot, [world.task.scenario(0)], [0])
    reads = observed(spec.reads)
    seen = world.observe(slot, reads)
    for name, stream in reads.items():
        shape = np.shape(seen[name])[1:]
        if stream.shape is not None and shape != tuple(stream.shape):
            return False, f"stream {name!r}: its shape is {stream.shape}, the world gave {shape}."
    return True, f"{len(reads)} of {len(reads)} streams are there, in the shapes asked for."
