"""A policy's spec as a message or a table has it, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from foretell.bridges.conventions import named
from foretell.errors import UsageError, suggest
from foretell.policy import PolicySpec
from foretell.spec import ActionSpec, DimSpec, Stream
from foretell.tasks.task import Task

__all__ = ["spec_from", "spec_of", "spec_to"]

KEYS = ("reads", "action", "action_rate", "chunk", "execute", "batch", "seeded")


def spec_to(spec: PolicySpec) -> dict[str, Any]:
    """A spec as a message has it."""
    reads = {name: dataclasses.asdict(stream) for name, stream in spec.reads.items()}
    dims = [dataclasses.asdict(dim) for dim in spec.action.dims]
    return {
        "reads": reads,
        "action": {"name": spec.action.name, "dims": dims},
        "action_rate": spec.action_rate,
        "chunk": spec.chunk,
        "execute": spec.executes,
        "seeded": spec.seeded,
    }


def spec_from(given: Mapping[str, Any]) -> PolicySpec:
    """Inverse of `spec_to`, for one robot at a time. Raises UsageError where a server of another version says other
    things."""
    try:
        reads = {
            str(name): Stream(tuple(s["shape"]) if s["shape"] is not None else None, s["rate"], int(s["history"]))
            for name, s in given["reads"].items()
        }
        dims = [DimSpec(**{k: _tuple(v) for k, v in dim.items()}) for dim in given["action"]["dims"]]
        return PolicySpec(
            reads=reads,
            action=ActionSpec(str(given["action"]["name"]), tuple(dims)),
            action_rate=float(given["action_rate"]),
            chunk=int(given["chunk"]),
            execute=int(given["execute"]),
            batch=1,
            seeded=bool(given["seeded"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"the server declares its policy in another way ({type(error).__name__}: {error}): run the same version of "
            "foretell on both sides"
        ) from None


def spec_of(given: Mapping[str, Any], wanted: ActionSpec, task: Task, who: str) -> PolicySpec:
    """The spec that a class states as a table. What it leaves out is as `PolicySpec` has it; the action may be the
    name of a controller, and a stream its shape alone. Raises UsageError."""
    for name in given:
        if name not in KEYS:
            raise UsageError(f"{who}: spec: {name!r:.60} is not known; {suggest(str(name), KEYS)}")
    own = dict(given)
    action = own.pop("action", None)
    try:
        reads = {str(name): _stream(value) for name, value in dict(own.pop("reads", {})).items()}
        if isinstance(action, Mapping):
            dims = [DimSpec(**{k: _tuple(v) for k, v in dim.items()}) for dim in action["dims"]]
            spoken = ActionSpec(str(action["name"]), tuple(dims))
        else:
            spoken = wanted if action is None else named(str(action), wanted, task, f"{who}: spec: action")
        return PolicySpec(reads=reads, action=spoken, **own)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{who}: its spec cannot be read ({type(error).__name__}: {error}): {given!r:.300}") from None


def _stream(value: Any) -> Stream:
    """Of a shape, or of a table with `shape`, `rate` and `history`."""
    if isinstance(value, Mapping):
        shape = value.get("shape")
        return Stream(None if shape is None else tuple(shape), value.get("rate"), int(value.get("history", 1)))
    return Stream(None if value is None else tuple(value))


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
