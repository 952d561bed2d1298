"""Bring the rows of shards together.

Examples:
    foretell merge runs/study
    foretell merge copied/1-of-2 copied/2-of-2 --out runs/study
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from foretell.cli._flags import Json, Runs, named

__all__ = ["main"]


def main(
    *,
    runs: Runs,
    out: Annotated[Path | None, named("RUN", default="that of the first shard", short="-o")],
    json_: Json = False,
) -> None:
    """Bring the rows of shards (`foretell run STUDY --shard 3/64` or `--pull`) into their run folder, and tell which
    episodes are missing. It takes nothing away, so it can be done at any time and again.

    Args:
        runs: Run folders that have shards, or single shards.
        out: The run folder to write.
    """
    from foretell.study.merge import merge

    done = merge(runs, out=out)
    print(json.dumps({**asdict(done), "path": str(done.path)}) if json_ else done.text())
