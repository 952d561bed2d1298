"""Run a study. Run the same command to resume it.

Examples:
    foretell run study.yaml  # run it again to resume
    foretell run study.yaml --dry-run
    foretell run study.yaml --shard 3/64  # then: foretell merge runs/study
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

from foretell.cli._flags import Json, OutRun, Slots, Study, Switch, Workers, named

if TYPE_CHECKING:
    from foretell.study.status import Progress, Run

__all__ = ["main"]


def main(
    *,
    study: Study,
    out: OutRun,
    workers: Workers,
    slots: Slots,
    limit: Annotated[int | None, named("N")],
    pair_with: Annotated[Path | None, named("RUN")],
    dry_run: Switch = False,
    watch: Switch,
    large: Switch,
    add: Switch,
    retire: Switch,
    unblind: Switch,
    engine: Annotated[str | None, named("ENGINE", default="as in the study")],
    shard: Annotated[str | None, named("I/N")],
    pull: Switch,
    json_: Json = False,
) -> None:
    """Run a study. Run the same command to resume it: no finished episode runs twice.

    Args:
        limit: Run at most this many episodes now.
        pair_with: Run the scenarios of this run folder instead of the study's own.
        dry_run: Run nothing. Print the number of episodes, the time and the disk space.
        watch: Show episodes under the realtime clock in MuJoCo's viewer. This needs a screen.
        large: Allow more than 1,000,000 episodes. Without it, foretell asks on a terminal and refuses elsewhere.
        add: The run folder holds another study. Run this study beside it.
        retire: The run folder holds another study. Replace it by this study. Finished episodes stay, and the rest of
            the other study is given up.
        unblind: Run nothing. Show the names of a blind study before all its trials are in. foretell asks first, and
            every report says so from then on.
        engine: What runs the episodes: `processes`, or `here` (this process).
        shard: Run one share of the study, such as 3/64, beside other machines. /64 takes the number from Slurm.
        pull: Run batches of the study, as long as some are left, beside other processes that do the same.
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
            print(f"{error}. Continue? [y/N] ", end="", file=sys.stderr, flush=True)
            large = sys.stdin.readline().strip().lower() in ("y", "yes")
    if dry_run:
        say = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
        with _of(study):
            cost = estimate(study, out=out, workers=workers, slots=slots, pair_with=pair_with, large=large, notify=say)
        print(json.dumps(asdict(cost)) if json_ else cost.text())
        return
    if unblind:
        _ask_to_unblind()
    last: Progress | None = None

    def progress(state: Progress) -> None:
        nonlocal last
        last = state
        bar.update(state)

    # where the world asks a person on the terminal, a bar must not be drawn over its questions
    with _of(study), Bar(live=not asks_person(load_study(study).world)) as bar:
        done = run(
            study,
            out=out,
            workers=workers,
            slots=slots,
            limit=limit,
            pair_with=pair_with,
            progress=progress,
            notify=bar.say,
            watch=watch,
            large=large,
            add=add,
            retire=retire,
            unblind=unblind,
            engine=engine,
            shard=shard,
            pull=pull,
        )
    if json_:
        print(json.dumps({**asdict(done), "path": str(done.path)}))
    else:
        _say(done, last)
    if done.failing:
        names = ", ".join(map(repr, done.failing))
        raise ForetellError(f"every episode of {names} ended in an error, so its success rate is unknown")


def _ask_to_unblind() -> None:
    """Raises UsageError unless a person at the terminal wants it."""
    from foretell.errors import UsageError

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("unblind: asks a person at a terminal, and there is none here")
    print("Show which policy is which before all trials are in? It is recorded. [y/N] ", end="", file=sys.stderr)
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("unblind: nothing was changed; the study stays blind")


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
    from foretell.answers.show import counted_figures, remarks, show, table
    from foretell.tasks.variants import SHIFTS

    # what was counted on the way need not be read again, unless the folder has more than this study, or there may be an
    # aggregate, which pairs scenarios
    entries = counted_figures(last.tally) if last is not None and last.alone else []
    again = not entries or any(entry["arm"] in SHIFTS for entry in entries)
    table(show(done.path) if again else entries, remarks(done.path))
    print(done.text())
