"""Recompute the published figures of a paper.

Examples:
    foretell reproduce simpler
    foretell reproduce suresim --full
"""

from __future__ import annotations

import json
from typing import Annotated

import tyro

from foretell.cli._flags import Json, Switch, choice

__all__ = ["main"]


def main(
    *,
    paper: Annotated[str, tyro.conf.Positional, choice("simpler", "async", "srcc", "suresim")],
    brief: Switch = False,
    full: Switch,
    json_: Json = False,
) -> None:
    """Recompute the figures of a paper from published numbers, and print them beside the paper's. Differences are
    explained.

    Args:
        paper: SIMPLER, AsyncRoboSim, Sim2Real Predictivity (SRCC) or SureSim.
        brief: Print only figures that differ or have a note.
        full: Draw more random data (suresim only). This takes minutes instead of seconds.
    """
    from foretell.reproduction import reproduce, show

    rows = reproduce(paper, full=full)
    if json_:
        print(json.dumps(rows, indent=2))
    else:
        show(rows, brief=brief)
