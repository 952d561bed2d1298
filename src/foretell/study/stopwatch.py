"""Timing a policy's calls, one robot at a time; also a program of its own: JSON in, JSON out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.errors import ForetellError, UsageError
from foretell.policies.make import make_policy
from foretell.process import serve
from foretell.rollout import Job
from foretell.study.config import PolicyEntry
from foretell.study.session import Session

__all__ = ["WARM_UP", "time_calls"]

WARM_UP = 10
"""Calls that are not counted: the first ones load, compile and fill caches."""


def time_calls(
    policy: PolicyEntry | Any, calls: int, *, task: str, world: Any, controller: str | None = None
) -> tuple[list[float], int]:
    """Wall seconds of `calls` inferences in the course of real episodes, and how many actions of each are run.

    A policy that takes a `batch` is timed with 1, as on a robot, unless its options say otherwise."""
    if isinstance(policy, PolicyEntry):
        execute = policy.execute
        policy = make_policy(policy.use, policy.options, alone=True)
    else:
        execute = None
    session = Session(
        task=task, controller=controller, world=world, policies={"policy": policy}, slots=1, threads=1, execute=execute
    )
    if "reset" not in session.world.can:
        session.close()
        raise UsageError(
            f"a latency is measured over many episodes, and world {session.world.name!r} cannot reset by itself: "
            "measure in simulation, or give the latency"
        )
    bound = session.policies["policy"]
    act, taken = bound.act, []

    def timed(slots: np.ndarray, observations: Mapping[str, Any]) -> Any:
        began = time.perf_counter()
        answer = act(slots, observations)
        taken.append(time.perf_counter() - began)
        return answer

    class Enough(Exception):  # noqa: N818 - not an error
        pass

    def watch(doing: str, jobs: list[Job]) -> None:
        if len(taken) >= calls + WARM_UP:
            raise Enough

    bound.act = timed  # type: ignore[method-assign]
    seeds = iter(range(1_000_000))
    try:
        for _, outcome in session.run(
            lambda: Job(policy="policy", scenario=session.world.task.scenario(next(seeds))), watch
        ):
            if outcome.blame == "policy":
                raise UsageError(f"the policy failed: {outcome.error}")
    except Enough:
        pass
    finally:
        session.close()
    return taken[WARM_UP : WARM_UP + calls], bound.spec.executes


def main() -> None:
    """Time the policy that a request on standard input names."""
    wire, orders = serve()
    request = json.loads(os.fdopen(orders).readline())
    entry = PolicyEntry.model_validate(request.pop("policy"))
    try:
        answer: dict[str, Any] = {"seconds": time_calls(entry, request.pop("calls"), **request)[0]}
    except ForetellError as error:
        answer = {"refused": str(error)}
    wire.write(json.dumps(answer) + "\n")
    wire.flush()


if __name__ == "__main__":
    main()
