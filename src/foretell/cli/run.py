"""Run a study into a run folder; the same command again resumes it.

Examples:
    foretell run study.yaml                               # again: goes on where it stopped
    foretell run study.yaml --dry-run
    foretell run study.yaml -o runs/standin --pair-with runs/real --workers 4
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from foretell.study.run import Progress, Run

__all__ = ["main"]


def main(
    study: Annotated[Path, tyro.conf.Positional],
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    workers: int | None = None,
    slots: int = 32,
    limit: int | None = None,
    pair_with: Path | None = None,
    dry_run: bool = False,
    watch: bool = False,
    large: bool = False,
    add: bool = False,
    retire: bool = False,
    engine: str | None = None,
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
        large: Allow more than 1,000,000 episodes. Without it, a terminal is asked, and anything else is refused.
        add: Run this study beside the other one that the run folder holds.
        retire: Let this study take the place of the other one. Its finished episodes stay; the rest is given up.
        engine: Who runs the episodes: processes, or here (in this process). Default: what the study says.
        json_: Print the summary as JSON.
    """
    from foretell.errors import ForetellError
    from foretell.study.config import load_study
    from foretell.study.estimate import estimate
    from foretell.study.plan import TooLarge, check_size
    from foretell.study.progress import Bar
    from foretell.study.run import run
    from foretell.world_file import asks_person

    if not large and sys.stdin.isatty() and sys.stderr.isatty():
        try:
            check_size(load_study(study))
        except TooLarge as error:
            print(f"{error}. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
            large = sys.stdin.readline().strip().lower() in ("y", "yes")
    if dry_run:
        say = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
        with _of(study):
            found = estimate(study, out=out, workers=workers, slots=slots, pair_with=pair_with, large=large, told=say)
        print(json.dumps(asdict(found)) if json_ else found.text())
        return
    last: Progress | None = None

    def progress(state: Progress) -> None:
        nonlocal last
        last = state
        bar.update(state)

    # where the world talks to a person, nothing may be drawn over what it says
    with _of(study), Bar(live=not asks_person(load_study(study).world)) as bar:
        done = run(
            study,
            out=out,
            workers=workers,
            slots=slots,
            limit=limit,
            pair_with=pair_with,
            progress=progress,
            told=bar.say,
            watch=watch,
            large=large,
            add=add,
            retire=retire,
            engine=engine,
        )
    if json_:
        print(json.dumps({**asdict(done), "path": str(done.path)}))
    else:
        _say(done, last)
    if done.failing:
        names = ", ".join(map(repr, done.failing))
        raise ForetellError(f"every episode of {names} ended in an error, so nothing is known of how well it does")


@contextmanager
def _of(file: Path) -> Iterator[None]:
    """Errors about a field of the study name its file too."""
    from foretell.errors import UsageError
    from foretell.study.config import Study

    try:
        yield
    except UsageError as error:
        if str(error).partition(":")[0] in Study.model_fields:
            raise UsageError(f"{file}: {error}") from error.__cause__
        raise


def _say(done: Run, last: Progress | None) -> None:
    from foretell.answers.show import counted_figures, show, table

    # what was counted on the way need not be read again, unless the folder has more than this study
    table(counted_figures(last.tally) if last is not None and last.alone else show(done.path))
    print(done.text())
