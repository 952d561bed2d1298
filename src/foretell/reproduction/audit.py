"""The audit: what published pairs of simulated and real success show, with intervals, regret and reach of the claim.

Every panel gets the correlation that papers print, with an interval, and the decision that they seldom print: which
policy simulation picks, what that costs, and how far the claim reaches. Regret is by means over tasks, each alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from foretell.answers.picked import Picked, over_tasks, picked
from foretell.papers import Printed, audit_printed
from foretell.reproduction.audit_data import Matrix, matrices
from foretell.reproduction.figure import SLACK, Figure, Ledger
from foretell.stats import ALPHA, Interval, mmrv, pearson, spearman, with_interval

__all__ = ["REACHES", "Audited", "audit"]

REACHES = ("the next policy from the same family", "these policies only", "too few to say", "nothing is picked")
"""How far claims reach, furthest first."""
METRICS: dict[str, Callable[..., Any]] = {
    "pearson": pearson,
    "spearman": spearman,
    "mmrv": partial(mmrv, ties="code"),
    "mmrv sim": partial(mmrv, ties="code", gap="sim"),
}
"""As papers print them: with the authors' rule for ties, and the gap in real success, or in simulated success."""
WHY = {
    ("gemini-veo", "", "pearson"): "points are read from pixels; 0.888 would be cut off, not rounded",
    ("gemini-veo", "", "mmrv"): "points are read from pixels, which decide which pairs are in order",
    ("mem-world", "", "pearson"): "points are read from pixels to 0.02",
    ("realm", "V-VIEW", "mmrv"): "the figure has 14 of 21 cells",
    ("weaver", "WEAVER-FT", "spearman"): "two markers lie off the grid of 1/20; on it the value is 0.870",
    ("weaver", "WEAVER-FT", "mmrv"): "neither tie rule nor gap gives it",
    ("wm-policyeval", "Cosmos", "pearson"): "a mean of several runs, by its former appendix; the figure has one",
    ("wm-policyeval", "IRASim", "pearson"): "a mean of several runs, by its former appendix; the figure has one",
    ("wm-policyeval", "IRASim", "mmrv"): "its former appendix has 0.213 here, and 0.610 as Pearson",
}


@dataclass(frozen=True, kw_only=True)
class Audited:
    """One panel of a paper."""

    matrix: Matrix
    pearson: Interval
    """Over all points of the panel, as papers compute it: policies and tasks pooled."""
    picked: Picked | None
    """None where one policy was tried."""
    figures: tuple[Figure, ...]
    """Printed coefficients beside ours."""

    @property
    def reach(self) -> str:
        """How far the claim reaches."""
        return REACHES[-1] if self.picked is None else self.picked.decision.claim.reach

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.matrix.paper, self.matrix.panel) if part)

    def trials(self) -> str:
        """Real trials of a value, as far as the paper says."""
        counts = self.matrix.trials("real")
        if counts is None:
            return "unknown"
        least, most = int(counts.min()), int(counts.max())
        return f"{least}" if least == most else f"{least} to {most}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        matrix = self.matrix
        ends = {"value": self.pearson.estimate, "low": self.pearson.low, "high": self.pearson.high}
        return {
            "paper": matrix.paper,
            "cited": matrix.cited,
            "panel": matrix.panel,
            "policies": len(matrix.policies),
            "runs": len(matrix.runs),
            "tasks": len(matrix.tasks),
            "real_trials": self.trials(),
            "pearson": ends | {"method": self.pearson.method, "reason": self.pearson.reason},
            "reach": self.reach,
            "decision": None if self.picked is None else self.picked.to_dict(),
            "figures": [figure.to_dict() for figure in self.figures],
        }


def audit(alpha: float = ALPHA) -> list[Audited]:
    """Every panel, furthest claim first, and then by the regret that is left possible."""
    return [*_panels(alpha)]


@cache
def _panels(alpha: float) -> tuple[Audited, ...]:
    printed = audit_printed()
    return tuple(sorted((_audited(matrix, printed, alpha) for matrix in matrices()), key=_place))


def _place(row: Audited) -> tuple[int, bool, float, str]:
    regret = None if row.picked is None else row.picked.decision.regret
    if regret is None:
        return REACHES.index(row.reach), True, 0.0, row.name
    if not row.picked or not row.picked.points:
        return REACHES.index(row.reach), True, 1e9, row.name
    most = regret.estimate if regret.high is None else regret.high
    return REACHES.index(row.reach), regret.high is None, most, row.name


def _audited(matrix: Matrix, printed: dict[tuple[str, str, str], Printed], alpha: float) -> Audited:
    boards = matrix.boards()
    chosen: Picked | None = None
    if len(matrix.policies) > 1 and boards:
        options: dict[str, Any] = {"top": None, "alpha": alpha, "seed": 0}
        only = next(iter(boards.values()))
        chosen = picked(only, **options) if len(boards) == 1 else over_tasks(boards, **options)
    return Audited(matrix=matrix, pearson=_pearson(matrix, alpha), picked=chosen, figures=_figures(matrix, printed))


def _pearson(matrix: Matrix, alpha: float) -> Interval:
    """Over trials where their numbers are known; else over points, as if they were independent."""
    real, sim = (np.array(matrix.points(side), dtype=float) for side in ("real", "sim"))
    n_real, n_sim = matrix.trials("real"), matrix.trials("sim")
    if n_real is None:
        return with_interval(pearson, real, sim, over="policies", alpha=alpha)
    return with_interval(pearson, real, sim, n_real=n_real, n_sim=n_sim, alpha=alpha)


def _figures(matrix: Matrix, printed: dict[tuple[str, str, str], Printed]) -> tuple[Figure, ...]:
    book = Ledger("audit")
    for (paper, panel, metric), value in printed.items():
        if (paper, panel) != (matrix.paper, matrix.panel):
            continue
        part, function = matrix, METRICS[metric.partition(" of ")[0]]
        if " of " in metric:
            task = metric.partition(" of ")[2]
            cells = tuple(cell for cell in matrix.cells if cell["task"] == task)
            part = Matrix(paper=paper, cited=matrix.cited, panel=panel, cells=cells)
        inputs = part.points("real"), part.points("sim")
        ours = float(function(*(np.array(side, dtype=float) for side in inputs)))
        figure = ", ".join(filter(None, (metric, panel)))
        why = WHY.get((paper, panel, metric), "")
        if abs(ours - value) <= value.half + SLACK:
            book.value(paper, figure, value, ours)
        else:
            book.check(paper, figure, value, function, *inputs, why=why)
    return tuple(book.figures)
