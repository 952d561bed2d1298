"""Published figures recomputed from published numbers, beside what the papers print.

    foretell.reproduce("simpler")    one dict per figure: paper, table, figure, published, recomputed, difference,
                                     agrees, note, quoted
    foretell.reproduce("audit")      one dict per panel of 24 papers: correlation, decision, regret, reach of the claim

`figure` has the rule for agreement; one module per paper has the figures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foretell.errors import UsageError, suggest
from foretell.papers import PAPERS
from foretell.reproduction.audit import audit
from foretell.reproduction.audit_page import show_audit
from foretell.reproduction.figure import Figure, Ledger
from foretell.reproduction.page import show, summary

__all__ = ["PAPERS", "Figure", "Ledger", "audit", "reproduce", "show", "show_audit", "summary"]


def _simpler(full: bool, data: str | Path | None) -> Ledger:
    from foretell.reproduction import simpler_policies, simpler_shifts

    book = Ledger("simpler")
    simpler_policies.policies(book)
    simpler_shifts.vision(book)
    simpler_shifts.shifts(book)
    simpler_shifts.kruskal(book)
    return book


def _async(full: bool, data: str | Path | None) -> Ledger:
    from foretell.reproduction.asynchronous import asynchronous

    return asynchronous()


def _srcc(full: bool, data: str | Path | None) -> Ledger:
    from foretell.reproduction.srcc import srcc

    return srcc()


def _suresim(full: bool, data: str | Path | None) -> Ledger:
    from foretell.reproduction.suresim import suresim

    return suresim(full)


def _lbm(full: bool, data: str | Path | None) -> Ledger:
    from foretell.reproduction.lbm import lbm

    return lbm(data)


_BOOKS = {"simpler": _simpler, "async": _async, "srcc": _srcc, "suresim": _suresim, "lbm": _lbm}


def reproduce(paper: str, *, full: bool = False, data: str | Path | None = None) -> list[dict[str, Any]]:
    """Every published figure of `paper` (`simpler`, `async`, `srcc`, `suresim` or `lbm`) beside ours; or `audit`.

    `audit` is of published pairs of simulated and real success, and has other dicts, one for each panel: `paper`,
    `panel`, `pearson`, `decision` as `predictivity` has it, `reach` of the claim, and the panel's `figures`.
    `data` is the folder of rollouts that `lbm` needs; other papers take none.

    `full` uses more random draws where a paper's data is not published and data of the same moments is drawn
    instead (`suresim` only). In each dict `published` is None where the paper has a curve but no number,
    `recomputed` is None where its inputs are not published or not readable, and `agrees` is None in both cases.
    A figure that follows from other printed figures only is `quoted`: `recomputed` is None, and the note says what
    they give.
    """
    if paper not in PAPERS:
        raise UsageError(f"no paper {paper!r} to reproduce; {suggest(paper, PAPERS)}")
    if data is not None and paper != "lbm":
        raise UsageError(f"data is for lbm only; the numbers of {paper} are part of foretell")
    if paper == "audit":
        return [row.to_dict() for row in audit()]
    return [figure.to_dict() for figure in _BOOKS[paper](full, data).figures]
