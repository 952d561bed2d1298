"""Measure action errors on held-out trajectories.

Examples:
    foretell offline zoo:bc runs/expert --task lift
    foretell offline runs/real runs/expert --task lift --sim runs/sim
    foretell offline onnx:model.onnx dataset --task lift
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Alpha, Confidence, Json, World, named

__all__ = ["main"]


def main(
    *,
    policy: Annotated[str, tyro.conf.Positional, named("POLICY|RUN")],
    data: Annotated[Path, tyro.conf.Positional, named("RUN|DATASET")],
    task: Annotated[str | None, named("TASK", default="the one of the run")],
    world: World,
    sim: Annotated[Path | None, named("RUN", default="none")],
    count: Annotated[int | None, named("N", default="all")],
    alpha: Alpha,
    confidence: Confidence = None,
    seed: Annotated[int, named("SEED", "The seed of the bootstrap.")],
    json_: Json = False,
) -> None:
    """Measure a policy's action error on held-out trajectories, and whether such errors rank policies as success does.

    Args:
        policy: A policy as a study names it. Or a run folder: all its policies, held against their success there.
        data: Trajectories: a run folder with recorded steps, or a LeRobot dataset that `foretell export` wrote.
        task: The task of the trajectories.
        world: The world that a dataset was made in.
        sim: The same policies in simulation, to compare what either tells.
        count: Use the first N trajectories.
    """
    from foretell.answers.offline import offline
    from foretell.cli._confidence import alpha_of

    level = alpha_of(alpha, confidence)
    done = offline(policy, data, task=task, world=world, sim=sim, count=count, alpha=level, seed=seed)
    print(json.dumps(done.to_dict(), indent=2) if json_ else done.text())
