"""Print the batch script of a Slurm array that runs a study.

Examples:
    foretell slurm study.yaml -n 64  # > array.sh, then: sbatch array.sh
    foretell slurm study.yaml -n 64 --cores 4 --setup "module load python"
    foretell slurm study.yaml -n 64 --container foretell.sif
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from foretell.cli._flags import Json, OutRun, Study, named

__all__ = ["main"]


def main(
    *,
    study: Study,
    shards: Annotated[int, named("N", short="-n")],
    out: OutRun,
    cores: Annotated[int, named("N")],
    time: Annotated[str, named("TIME")],
    setup: Annotated[tuple[str, ...], named("LINE ...", default="none")],
    container: Annotated[Path | None, named("IMAGE", default="the virtual environment of this command")],
    json_: Json = False,
) -> None:
    """Print the batch script of a Slurm array: each task runs one shard of the study. Nothing is submitted.

    Args:
        shards: Number of tasks.
        cores: Cores of each task.
        time: Time limit of each task, as Slurm writes it.
        setup: Lines of shell that come first, such as `module load python`.
        container: Apptainer image that has foretell.
    """
    from foretell.study.slurm import slurm

    script = slurm(study, shards=shards, out=out, cores=cores, time=time, setup=setup, container=container)
    print(json.dumps({"script": script}) if json_ else script, end="")
