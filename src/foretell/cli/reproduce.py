"""Recompute the published figures of a paper and print them beside the paper's.

Examples:
    foretell reproduce simpler
    foretell reproduce suresim --full
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

import tyro

__all__ = ["main"]


def main(
    paper: Annotated[Literal["simpler", "async", "srcc", "suresim"], tyro.conf.Positional],
    brief: bool = False,
    full: bool = False,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Published figures, recomputed from published numbers; differences are shown with their reason.

    Args:
        paper: SIMPLER, AsyncRoboSim, Sim2Real Predictivity (SRCC) or SureSim.
        brief: Leave out figures that agree without remark.
        full: More random draws where data is drawn (suresim; minutes instead of seconds).
        json_: Print a list of objects instead of tables.
    """
    from foretell.reproduction import reproduce, show

    rows = reproduce(paper, full=full)
    if json_:
        print(json.dumps(rows, indent=2))
    else:
        show(rows, brief=brief)
