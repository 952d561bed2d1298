"""Sections of a report, and what is in them, for tests of what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foretell.report.runs import Runs
from foretell.report.section import Section

__all__ = ["block", "section_of"]


def section_of(module: Any, *paths: Path) -> Section:
    """The section that a module of the report makes of these runs."""
    found = module.section(Runs.open(paths))
    assert found is not None
    return found


def block(section: Section | None, name: str) -> Any:
    """Its chart or table of that name."""
    assert section is not None
    return next(b for b in section.blocks if getattr(b, "name", "") == name)
