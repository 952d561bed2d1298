"""Run a study into a run folder; the same command again resumes it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    study: Annotated[Path, tyro.conf.Positional],
    out: Path | None = None,
    workers: int | None = None,
    slots: int = 32,
    limit: int | None = None,
    pair_with: Path | None = None,
    dry_run: bool = False,
    watch: bool = False,
    add: bool = False,
    retire: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Run a study. The same command again resumes it: finished episodes are never run twice.

    Args:
        study: A study file (YAML).
        out: The run folder; default runs/NAME.
        workers: Processes; default one per core; 0 runs everything in this process.
        slots: Episodes side by side in each worker. Rows do not depend on it.
        limit: Run at most this many episodes in this call.
        pair_with: A run folder whose scenarios are run instead of the study's own.
        dry_run: Only say how many episodes, how long, and how much disk.
        watch: Show episodes under the realtime clock in MuJoCo's viewer, where there is a screen.
        add: Run this study beside the other one that the run folder holds.
        retire: Let this study take the place of the other one. Its finished episodes stay; the rest is given up.
        json_: Print the summary as JSON.
    """
    from foretell.study.estimate import estimate
    from foretell.study.progress import Bar
    from foretell.study.run import run

    if dry_run:
        found = estimate(study, out=out, workers=workers, slots=slots, pair_with=pair_with)
        print(json.dumps(asdict(found)) if json_ else found.text())
        return
    with Bar() as bar:
        done = run(
            study,
            out=out,
            workers=workers,
            slots=slots,
            limit=limit,
            pair_with=pair_with,
            progress=bar.update,
            told=bar.say,
            watch=watch,
            add=add,
            retire=retire,
        )
    if json_:
        print(json.dumps({**asdict(done), "path": str(done.path)}))
        return
    from foretell.summary import show, table

    table(show(done.path))
    for note in done.notes:
        print(f"note: {note}")
    earlier = f", {done.skipped} were there already" if done.skipped else ""
    left = f", {done.left} left by --limit" if done.left else ""
    episodes = "1 episode" if done.ran == 1 else f"{done.ran} episodes"
    print(f"{episodes} run{earlier}{left}; everything is in {done.path}")
