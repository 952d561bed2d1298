"""Toyota's large behaviour models: success with intervals, letters beside the published ones, and simulation against
hardware where both exist.

Letters are of Barnard's test of every pair, adjusted by Holm over the pairs of a panel and task, at 5 %. The paper's
own test is not repeated, so single letters may differ.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from foretell.answers.picked import Picked, over_tasks, picked
from foretell.answers.scoreboard import Scoreboard
from foretell.reproduction.figure import Ledger
from foretell.reproduction.lbm_data import Rollouts, read_lbm
from foretell.stats import ALPHA, clopper_pearson, compare_all, pearson, with_interval

__all__ = ["lbm"]

PAIRS = {
    "nominal": ("Fig2A_HW_Seen_Nominal", "Fig2A_Sim_Seen_Nominal"),
    "under distribution shift": ("Fig2B_HW_Seen_DistShift", "Fig2B_Sim_Seen_DistShift"),
}
"""Setting -> the panel on hardware, and the one in simulation."""


def lbm(folder: str | Path | None, alpha: float = ALPHA) -> Ledger:
    """Every published rate and letter, and what simulation says of hardware."""
    book = Ledger("lbm")
    rows = read_lbm(folder)
    cells: dict[tuple[str, str], list[Rollouts]] = {}
    for row in rows:
        cells.setdefault((row.panel, row.task), []).append(row)
    for (panel, task), methods in cells.items():
        for row in methods:
            _rate(book, panel, task, row, alpha)
        if len(methods) > 1:
            _letters(book, panel, task, methods, alpha)
    for setting, panels in PAIRS.items():
        _predicts(book, setting, panels, cells, alpha)
    return book


def _rate(book: Ledger, panel: str, task: str, row: Rollouts, alpha: float) -> None:
    solved, total = int(row.outcomes.sum()), row.outcomes.size
    ends = clopper_pearson(solved, total, alpha)
    note = f"{solved} of {total}, {ends.low:.1%} to {ends.high:.1%}"
    why = "the list of rollouts gives another rate"
    book.value(panel, f"success of {row.method}, {task}", row.rate, solved / total, note, why)


def _letters(book: Ledger, panel: str, task: str, methods: list[Rollouts], alpha: float) -> None:
    """Two displays agree where the same methods share a letter; which letter it is does not matter."""
    scores = {row.method: row.outcomes for row in methods}
    made = compare_all(scores, alpha=alpha)
    ours = dict(zip(made.names, made.letters, strict=True))
    published = {row.method: row.letter for row in methods}
    apart = [
        (a, b)
        for a, b in combinations(published, 2)
        if bool(set(published[a]) & set(published[b])) != bool(set(ours[a]) & set(ours[b]))
    ]
    p = {frozenset((a, b)): made.p_values[made.names.index(a), made.names.index(b)] for a, b in apart}
    note = "; ".join(
        f"{a} and {b} {'differ' if set(published[a]) & set(published[b]) else 'do not differ'} here, "
        f"p = {p[frozenset((a, b))]:.2g}"
        for a, b in apart
    )
    names = ", ".join(published)
    words = tuple(" ".join(letters[name] for name in published) for letters in (published, ours))
    book.worded(panel, f"letters of {names}, {task}", *words, agrees=not apart, note=note)


def _predicts(
    book: Ledger, setting: str, panels: tuple[str, str], cells: dict[tuple[str, str], list[Rollouts]], alpha: float
) -> None:
    """What simulation says of the methods that both ran: the decision over all tasks, and on each."""
    tasks = [task for panel, task in cells if panel == panels[0] and (panels[1], task) in cells]
    boards = {task: _board(cells[panels[0], task], cells[panels[1], task]) for task in tasks}
    options: dict[str, Any] = {"top": None, "alpha": alpha, "seed": 0}
    table = f"Simulation against hardware, {setting}"
    whole = over_tasks(boards, **options)
    assert whole is not None
    _decided(book, table, f"all {len(tasks)} tasks", whole)
    points = [np.concatenate([getattr(board, side) for board in boards.values()]) for side in ("real", "sim")]
    counts = [np.concatenate([getattr(board, side) for board in boards.values()]) for side in ("n_real", "n_sim")]
    r = with_interval(pearson, *points, n_real=counts[0], n_sim=counts[1], alpha=alpha)
    ends = "no interval" if r.low is None or r.high is None else f"{r.low:.3f} to {r.high:.3f}"
    book.ours(table, f"pearson of {points[0].size} cells", r.estimate, ends)
    for task, board in boards.items():
        _decided(book, table, task, picked(board, **options))


def _decided(book: Ledger, table: str, task: str, made: Picked) -> None:
    book.ours(
        table, f"regret in points, {task}", 100.0 * made.decision.regret.estimate, f"{made.line()} {made.claim()}"
    )


def _board(real: list[Rollouts], sim: list[Rollouts]) -> Scoreboard:
    simulated = {row.method: row for row in sim}
    tried = [row for row in real if row.method in simulated]
    sides = tried, [simulated[row.method] for row in tried]
    rates = [np.array([row.outcomes.mean() for row in rows]) for rows in sides]
    sizes = [np.array([row.outcomes.size for row in rows], dtype=float) for rows in sides]
    names = tuple(row.method for row in tried)
    return Scoreboard(policies=names, real=rates[0], sim=rates[1], n_real=sizes[0], n_sim=sizes[1])
