"""The processes beside a `realtime` world: `python -m foretell.study.companion` becomes a thinker or an eye.

In, one JSON message a line:  {"open": {...}}, {"reset": n, ...}, {"go": n}, {"end": n}
Out:                          {"opened": true} or {"refused": "..."}, {"reset": n}, {"failed": n, "error": "..."},
                              {"ended": n}
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from foretell.process import leave, serve

__all__ = ["main"]


def main() -> None:
    """Serve until standard input ends, which it does when the world's process dies, however it dies."""
    wire, orders = serve()
    reader = os.fdopen(orders, "rb", buffering=0)

    def say(message: dict[str, Any]) -> None:
        wire.write(json.dumps(message) + "\n")

    def order() -> dict[str, Any]:
        line = b""
        while not line.endswith(b"\n"):  # unbuffered, so that `select` sees what is left
            byte = reader.read(1)
            if not byte:
                leave()
            line += byte
        return dict(json.loads(line))

    from foretell.errors import ForetellError

    try:
        made = _make(order()["open"])
    except ForetellError as error:
        say({"refused": str(error)})
        return
    except Exception:
        say({"refused": traceback.format_exc()})
        return
    say({"opened": True})
    while True:
        message = order()
        if "reset" in message:
            _reset(made, message, say)
        elif "go" in message:
            made.run(orders, say)
        elif "end" in message:  # it is free for the next episode
            say({"ended": message["end"]})


def _reset(made: Any, message: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> None:
    from foretell.errors import raised, traced
    from foretell.scenario import Scenario

    number = message["reset"]
    try:
        if "seed" in message:
            made.reset(number, message["instruction"], message["seed"])
        else:
            made.reset(number, Scenario.model_validate(message["scenario"]), message["trial"])
    except Exception as error:
        say({"failed": number, "error": f"reset raised {raised(error)}", "trace": traced(error)})
    else:
        say({"reset": number, "drives": getattr(made, "drives", False)})


def _make(opening: dict[str, Any]) -> Any:
    from foretell.factors import adopt
    from foretell.policies.make import bind, make_policy
    from foretell.rollout.eye import PolicyEye
    from foretell.rollout.shared import Latest, Queue
    from foretell.rollout.thinker import ANSWERS, Thinker
    from foretell.spec import ActionSpec, DimSpec, Feature, Stream
    from foretell.study.policy_entry import PolicyEntry
    from foretell.tasks.make import make_task
    from foretell.world_file import make_world

    for target in opening["factors"]:
        adopt(target)
    task = make_task(opening["task"], opening["time_limit"])
    shapes = {
        name: {field: (tuple(dims), dtype) for field, (dims, dtype) in shape.items()}
        for name, (shape, _) in opening["memory"].items()
    }
    fds: dict[str, int] = {name: fd for name, (_, fd) in opening["memory"].items()}
    latest = {name: Latest(shape, fd=fds[name]) for name, shape in shapes.items() if name != "answers"}
    if opening["role"] == "eye":
        cameras = {n: Stream(tuple(s["shape"]), s["rate"], s["history"]) for n, s in opening["cameras"].items()}
        world = make_world(opening["world"], task, slots=1, threads=1, controller=opening["controller"])
        viewer = world.viewer() if opening["view"] else None
        return PolicyEye(
            world,
            cameras=cameras,
            snapshots=latest["snapshots"],
            frames=latest["frames"],
            wake=opening["wake"],
            viewer=viewer,
        )
    if task.action_rate != opening["action_rate"]:
        task.action_rate = opening["action_rate"]
    entry = PolicyEntry.model_validate(opening["policy"])
    made = make_policy(entry.use, entry.options, alone=True)
    # the world itself is not made a second time: there is one robot, and one person to talk to
    dims = tuple(DimSpec(**_tuples(dim)) for dim in opening["action"]["dims"])
    features = {name: Feature(**_tuples(feature)) for name, feature in opening["features"].items()}
    world = SimpleNamespace(task=task, action=ActionSpec(opening["action"]["name"], dims), features=features)
    policy = bind(made, world, opening["name"], entry.execute, entry.options)
    answers = Queue(shapes["answers"], ANSWERS, fd=fds["answers"])
    return Thinker(policy, sight=latest["sight"], frames=latest.get("frames"), answers=answers, wake=opening["wake"])


def _tuples(given: dict[str, Any]) -> dict[str, Any]:
    """Fields of a frozen dataclass, as they were before they went through JSON."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


if __name__ == "__main__":
    main()
