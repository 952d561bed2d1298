"""A Slurm array that runs a study: the script for `sbatch`, as text. Nothing is submitted."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from foretell.errors import UsageError
from foretell.study.config import load_study
from foretell.study.share import share_of

__all__ = ["slurm"]

CORES = 8
"""Cores of a task, where nothing else is asked for."""


def slurm(
    study: str | Path,
    *,
    shards: int,
    out: str | Path | None = None,
    cores: int = CORES,
    time: str = "04:00:00",
    setup: Sequence[str] = (),
    container: str | Path | None = None,
) -> str:
    """The batch script of a Slurm array that runs one shard of a study in each task, and how to merge them.

    `shards` is the number of tasks, and `cores` what each asks for; `time` is their limit, as Slurm writes it. `setup`
    are lines of shell that come first, such as `module load python`. `container` is an Apptainer image that has
    foretell; without it, the script uses the virtual environment that this call runs in, if there is one.
    """
    if shards < 1 or cores < 1:
        raise UsageError(f"shards ({shards}) and cores ({cores}) must be at least 1")
    file = Path(study).absolute()
    whole = load_study(file)
    run = Path(out).absolute() if out is not None else Path("runs").absolute() / whole.name
    share_of(run, whole, shard=f"1/{shards}", pull=False, limit=None)  # refuses what cannot be shared
    command = ["foretell", "run", str(file), "--out", str(run), "--shard", f"/{shards}", "--workers", str(cores)]
    lines = list(setup)
    if container is not None:
        image = Path(container).absolute()
        if not image.exists():
            raise UsageError(f"container: there is no image {image}")
        folders = dict.fromkeys([str(Path.cwd()), str(file.parent), str(run.parent)])
        command = ["apptainer", "exec", *(word for f in folders for word in ("--bind", f)), str(image), *command]
    elif sys.prefix != sys.base_prefix:
        lines.append(f"source {shlex.quote(os.path.join(sys.prefix, 'bin', 'activate'))}")
    return "\n".join(
        [
            "#!/bin/bash",
            f"#SBATCH --job-name={shlex.quote(whole.name)}",
            f"#SBATCH --array=1-{shards}",
            f"#SBATCH --cpus-per-task={cores}",
            f"#SBATCH --time={time}",
            f"#SBATCH --chdir={shlex.quote(str(Path.cwd()))}",
            "#SBATCH --requeue",
            "# Submit it with sbatch. A task that is killed goes on where it stopped when it runs again.",
            "# When all have ended:",
            f"#   {shlex.join(['foretell', 'merge', str(run)])}",
            "set -euo pipefail",
            *lines,
            f"exec {shlex.join(command)}",
            "",
        ]
    )
