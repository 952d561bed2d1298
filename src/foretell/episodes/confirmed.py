"""What people said of the episodes of a run after it ran, to confirm a detector or as second judges."""

from __future__ import annotations

from pathlib import Path

from foretell.episodes.verdicts import judges, verdict_lines

__all__ = ["PREFIX", "confirmed"]

PREFIX = "detector-"
"""Of the name of a detector's file of verdicts."""


def confirmed(run: str | Path) -> dict[str, bool]:
    """Episode -> success by the newest verdict of a person (`RUN/verdicts/NAME.jsonl`)."""
    lines = [line for judge in judges(run) for line in verdict_lines(run, judge) if line["kind"] == "person"]
    lines = [line for line in lines if line.get("episode") and line.get("success") is not None]
    return {
        str(line["episode"]): line["success"] for line in sorted(lines, key=lambda line: line.get("wall_time", 0.0))
    }
