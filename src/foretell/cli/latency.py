"""Time a policy's inference on this machine, for the virtual clock to replay.

Examples:
    foretell latency onnx:model.onnx --task can
    foretell latency my_policy.py:MyPolicy --calls 200 -o trace.txt
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    policy: Annotated[str, tyro.conf.Positional],
    task: str = "lift",
    world: str = "mujoco",
    calls: int = 100,
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Time a policy's inference, one robot at a time, on an otherwise idle machine.

    Args:
        policy: A policy, as a study names it: expert, onnx:model.onnx, file.py:Class.
        task: The task it runs meanwhile.
        world: The world it runs in.
        calls: Inferences to time; the first ten are not counted.
        out: Write the trace here, a number of seconds a line, for `latency: {trace: FILE}`.
        json_: Print JSON instead of words.
    """
    from foretell.study.measure import latency

    found = latency(policy, task, world=world, calls=calls, out=out).to_dict()
    if json_:
        print(json.dumps(found))
        return
    middle, high, most, each = (found[k] * 1000 for k in ("median", "p95", "max", "median_per_action"))
    print(
        f"{found['calls']} inferences: median {middle:.3g} ms, 95 % below {high:.3g} ms, longest {most:.3g} ms; "
        f"{each:.3g} ms per executed action"
    )
    if out is not None:
        print(f"trace in {out}; in a study: clocks: [{{virtual: {{latency: {{trace: {out}}}}}}}]")
