"""Latencies that depend on the policy, settled before the first episode: measured ones, and those of a device.

A profile is a YAML file, device -> latency. The latency of a device is one for all policies, one per policy
(`{bc: 0.01, dp/8: 0.5}`; `dp/8` is `dp` with `execute: 8`), per task and policy (`{can: {bc: 0.01}}`), or
`{scale: 4}`: so many times what is measured here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import queue
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from foretell.clock import Clock, Virtual
from foretell.digest import digest
from foretell.document import load_yaml, parse_yaml
from foretell.errors import UsageError, suggest
from foretell.latency.latency import Latency, parse_latency
from foretell.latency.trace import read_trace, rounded
from foretell.process import end, listen, start
from foretell.study.config import PolicyEntry, Study, TaskEntry
from foretell.zoo.card import read_card

__all__ = ["Settle", "Settler"]

CALLS = 100
"""Inferences that a measured trace holds."""

Settle = Callable[[Clock, str, TaskEntry], Clock]
"""(clock, policy, task) -> the clock with a latency that can be drawn from."""


class Settler:
    """Settles the clocks of a study. Traces are kept in the run folder: a study that is resumed must not measure again.
    `notify` is called with a message about slow steps."""

    def __init__(self, study: Study, folder: Path, notify: Callable[[str], None] = lambda text: None):
        self._study, self._folder, self._notify = study, folder / "latency", notify
        self.fresh: dict[str, list[float]] = {}
        """File name -> trace measured in this call. They are written once the run folder is locked."""

    def __call__(self, clock: Clock, policy: str, task: TaskEntry) -> Clock:
        if not isinstance(clock, Virtual) or clock.latency.settled:
            return clock
        latency = clock.latency
        if latency.kind == "measured":
            drawn = replace(parse_latency({"trace": self._measured(policy, task)}), name="measured")
        else:
            device, given = _device(latency)
            scale = _scale(given, device)
            if scale is not None:
                drawn = parse_latency({"trace": [scale * s for s in self._measured(policy, task)]})
            else:
                drawn = parse_latency(_of_policy(given, device, policy, self._study.policies[policy], task.use))
            drawn = replace(drawn, name=device)
        return replace(clock, latency=drawn)

    def _measured(self, policy: str, task: TaskEntry) -> list[float]:
        """The trace of a policy on this machine: the one that is kept, or a fresh one."""
        words = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{policy}-{task.use}")[:100]
        name = f"{words}-{_whose(self._study, policy, task)}.txt"
        trace = self.fresh.get(name) or read_trace(self._folder / name)
        if trace is None:
            self._notify(f"measuring the latency of {policy} on {task.use}")
            # as it will be read: what is resumed must have the same clock
            trace = self.fresh[name] = rounded(_measure(self._study, policy, task))
        return trace


def _scale(given: Any, device: str) -> float | None:
    if not isinstance(given, dict) or set(given) != {"scale"}:
        return None
    scale = given["scale"]
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < float("inf"):
        raise UsageError(f"latency: device {device!r}: scale is {scale!r}, it should be a number above 0")
    return float(scale)


def _device(latency: Latency) -> tuple[str, Any]:
    """The device that a study names, and its entry in the profile."""
    known = files("foretell") / "profiles" / f"{latency.name}.yaml"
    try:
        shipped = "/" not in latency.name and known.is_file()
        contents = parse_yaml(known.read_text(), latency.name) if shipped else load_yaml(latency.name)
    except (UsageError, OSError, ValueError) as error:
        names = sorted(p.name.removesuffix(".yaml") for p in (files("foretell") / "profiles").iterdir())
        raise UsageError(f"latency: profile: {error}; it is a file, or one of {', '.join(names)}") from None
    if not isinstance(contents, dict) or not contents:
        raise UsageError(f"latency: profile {latency.name!r} should be a mapping of devices to latencies")
    if not latency.device and len(contents) > 1:
        raise UsageError(f"latency: profile {latency.name!r}: give `device`, one of {', '.join(map(str, contents))}")
    contents = {str(device): given for device, given in contents.items()}
    device = latency.device or next(iter(contents))
    if device not in contents:
        raise UsageError(f"latency: profile {latency.name!r}: device {device!r}: {suggest(device, list(contents))}")
    return device, contents[device]


def _of_policy(given: Any, device: str, name: str, entry: PolicyEntry, task: str) -> Any:
    """What a device's latency is for this policy on this task."""
    source, _, kind = entry.use.rpartition(":")
    execute = entry.execute
    if execute is None and source == "zoo":
        with contextlib.suppress(OSError, ValueError):  # there is none of that name
            card = read_card(kind, task)
            execute = card.latency.execute if card.latency else None
    names = [name, *([f"{kind}/{execute}"] if execute else []), kind, entry.use]
    for _ in range(2):
        if not isinstance(given, dict) or "kind" in given:
            return given
        if task in given:
            given = given[task]
            continue
        for known in names:
            if known in given:
                return given[known]
        if len(given) == 1 and not isinstance(next(iter(given.values())), dict):
            try:
                parse_latency(given)
            except UsageError:
                pass
            else:
                return given
        break
    have = sorted(map(str, given)) if isinstance(given, dict) else []
    raise UsageError(
        f"latency: device {device!r} has no latency for policy {name!r} ({' or '.join(dict.fromkeys(names))}) on task "
        f"{task!r}; it has {', '.join(have)}"
    )


def _whose(study: Study, policy: str, task: TaskEntry) -> str:
    """Names what a trace was measured of: another policy under the same name, or other weights, take another time."""
    entry = study.policies[policy]
    weights = [hashlib.sha256(Path(f).read_bytes()).hexdigest() for f in entry.use.split(":") if Path(f).is_file()]
    return digest([entry.model_dump(mode="json"), weights, task.model_dump(mode="json"), study.world])


def _measure(study: Study, policy: str, task: TaskEntry) -> list[float]:
    """In a process of its own: a policy may crash or hang."""
    request = {
        "task": task.use,
        "controller": task.controller,
        "world": study.world,
        "policy": study.policies[policy].model_dump(),
        "calls": CALLS,
    }
    child = start("foretell.study.stopwatch", one_thread=True)
    answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    listen(child, answers.put)
    assert child.stdin is not None
    answer: dict[str, Any] | None = {"refused": "it hung"}
    try:
        with contextlib.suppress(BrokenPipeError):  # it has died; the pipe from it says so
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
        with contextlib.suppress(queue.Empty):
            answer = answers.get(timeout=60 + study.policy_timeout * 10)
    finally:
        code = end(child, patience=0.0 if answer else 1.0)
    if answer is None:
        answer = {"refused": f"its process ended with code {code}"}
    if "refused" in answer:
        raise UsageError(f"latency of policy {policy!r} on {task.use}: {answer['refused']}")
    return [float(s) for s in answer["seconds"]]
