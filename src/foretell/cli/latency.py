"""Time a policy's inference for the virtual clock to replay.

Examples:
    foretell latency onnx:model.onnx --task can
    foretell latency my_policy.py:MyPolicy --calls 200 -o trace.txt
"""

from __future__ import annotations

import json
from typing import Annotated

import tyro

from foretell.cli._flags import Json, OutFile, World, named

__all__ = ["main"]


def main(
    *,
    policy: Annotated[str, tyro.conf.Positional, named("POLICY")],
    task: Annotated[str, named("TASK")],
    world: World,
    calls: Annotated[int, named("N")],
    out: OutFile,
    json_: Json = False,
) -> None:
    """Time a policy's inference, for one robot at a time. Leave the machine idle meanwhile.

    Args:
        policy: A policy, as a study names it: expert, onnx:model.onnx or file.py:Class.
        task: The task that the policy runs.
        world: The world in which it runs.
        calls: Number of inferences to time. The first ten are not counted.
        out: The trace to write, in seconds, one inference per line. A study reads it by `latency: {trace: FILE}`.
    """
    from foretell.study.measure import latency

    answer = latency(policy, task, world=world, calls=calls, out=out).to_dict()
    if json_:
        print(json.dumps(answer))
        return
    middle, high, most, each = (answer[k] * 1000 for k in ("median", "p95", "max", "median_per_action"))
    print(
        f"{answer['calls']} inferences: median {middle:.3g} ms, 95 % below {high:.3g} ms, longest {most:.3g} ms; "
        f"{each:.3g} ms per executed action"
    )
    if out is not None:
        print(f"trace in {out}; in a study: clocks: [{{virtual: {{latency: {{trace: {out}}}}}}}]")
