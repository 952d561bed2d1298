"""Recompute the published figures of a paper.

Examples:
    foretell reproduce simpler
    foretell reproduce suresim --full
    foretell reproduce audit -o audit.html
    foretell reproduce lbm --data tri_lbm
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from foretell.cli._flags import Json, OutFile, Switch, choice, named

__all__ = ["main"]


def main(
    *,
    paper: Annotated[str, tyro.conf.Positional, choice("simpler", "async", "srcc", "suresim", "audit", "lbm")],
    data: Annotated[Path | None, named("FOLDER")],
    out: Annotated[OutFile, named(None)] = None,
    brief: Switch = False,
    full: Switch,
    json_: Json = False,
) -> None:
    """Recompute the figures of a paper from published numbers, and print them beside the paper's. Differences are
    explained. `audit` is of 24 papers: what picking by simulation costs in each, with intervals.

    Args:
        paper: SIMPLER, AsyncRoboSim, Sim2Real Predictivity (SRCC), SureSim, the audit, or Toyota's LBM.
        data: The folder of rollouts that lbm needs (doi.org/10.5061/dryad.xd2547dxc). They are not part of foretell.
        out: A page to write (audit only).
        brief: Print only figures that differ or have a note.
        full: Draw more random data (suresim only). This takes minutes instead of seconds.
    """
    from foretell.errors import UsageError
    from foretell.reproduction import audit, reproduce, show, show_audit

    if out is not None and paper != "audit":
        raise UsageError(f"--out writes the page of the audit; {paper} has none")
    if paper == "audit" and not json_ and data is None:
        rows = audit()
        if out is not None:
            from foretell.report.audited import write_audit

            print(f"page: {write_audit(rows, out)}")
        else:
            show_audit(rows, brief=brief)
        return
    if out is not None:
        raise UsageError("--json prints the rows, and --out writes a page: give one of them")
    figures = reproduce(paper, full=full, data=data)
    if json_:
        print(json.dumps(figures, indent=2))
    else:
        show(figures, brief=brief)
