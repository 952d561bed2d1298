"""Published figures recomputed from published numbers, beside what the papers print.

    foretell.reproduce("simpler")    one dict per figure: paper, table, figure, published, recomputed, difference,
                                     agrees, note, quoted

`figure` has the rule for agreement; one module per paper has the figures.
"""

from __future__ import annotations

from typing import Any

from foretell.errors import UsageError, suggest
from foretell.papers import PAPERS
from foretell.reproduction.figure import Figure, Ledger
from foretell.reproduction.page import show, summary

__all__ = ["PAPERS", "Figure", "Ledger", "reproduce", "show", "summary"]


def _simpler(full: bool) -> Ledger:
    from foretell.reproduction import simpler_policies, simpler_shifts

    book = Ledger("simpler")
    simpler_policies.policies(book)
    simpler_shifts.vision(book)
    simpler_shifts.shifts(book)
    simpler_shifts.kruskal(book)
    return book


def _async(full: bool) -> Ledger:
    from foretell.reproduction.asynchronous import asynchronous

    return asynchronous()


def _srcc(full: bool) -> Ledger:
    from foretell.reproduction.srcc import srcc

    return srcc()


def _suresim(full: bool) -> Ledger:
    from foretell.reproduction.suresim import suresim

    return suresim(full)


_BOOKS = {"simpler": _simpler, "async": _async, "srcc": _srcc, "suresim": _suresim}


def reproduce(paper: str, *, full: bool = False) -> list[dict[str, Any]]:
    """Every published figure of `paper` (`simpler`, `async`, `srcc` or `suresim`) beside ours.

    `full` uses more random draws where a paper's data is not published and data of the same moments is drawn
    instead (`suresim` only). In each dict `published` is None where the paper has a curve but no number,
    `recomputed` is None where its inputs are not published or not readable, and `agrees` is None in both cases.
    A figure that follows from other printed figures only is `quoted`: `recomputed` is None, and the note says what
    they give.
    """
    if paper not in _BOOKS:
        raise UsageError(f"no paper {paper!r} to reproduce; {suggest(paper, _BOOKS)}")
    return [figure.to_dict() for figure in _BOOKS[paper](full).figures]
