"""A run folder: what must be in it, and what may not be."""

from __future__ import annotations

from pathlib import Path

from foretell.errors import UsageError

__all__ = ["FOLDERS", "check_folders", "check_run"]

FOLDERS = ("journal", "episodes", "videos", "events", "errors", "latency", "steps", "frames", "desk", "verdicts")


def check_run(run: Path | str) -> Path:
    run = Path(run)
    if not run.is_dir():
        raise UsageError(f"{run} is not a run folder: {'it is a file' if run.exists() else 'there is no such folder'}")
    if not any((run / name).exists() for name in ("study.yaml", "journal", "episodes")):
        raise UsageError(f"{run} is not a run folder: it has no study.yaml, journal/ or episodes/")
    check_folders(run)
    return run


def check_folders(run: Path) -> None:
    """Raises UsageError where a folder of a run is a link: in a run of someone else's it could lead anywhere."""
    for name in FOLDERS:
        path = run / name
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            what = "a link" if path.is_symlink() else "no folder"
            raise UsageError(f"run {run.name} ({run}): {name} is {what}: put the folder itself there")
