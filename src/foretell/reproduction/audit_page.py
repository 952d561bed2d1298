"""The audit as text: one line for each panel, in groups by how far the claim reaches, and a line that sums up."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.answers.words import listed, table
from foretell.reproduction.audit import REACHES, Audited
from foretell.stats import Interval

__all__ = ["COLUMNS", "apart", "line", "show_audit", "totals"]

COLUMNS = ("paper", "pick", "regret (95% interval)", "Pearson (95% interval)", "policies", "tasks", "real trials")
RULE = (
    "Pearson: over the points of a panel, as papers print it. Its interval is over trials where their numbers are "
    "known, else over points, in square brackets: these are no independent policies. Regret: points of real success "
    "lost by simulation's pick, by means over tasks."
)


def _number(interval: Interval, factor: float, digits: int, brackets: str) -> str:
    value = f"{factor * interval.estimate:.{digits}f}"
    if interval.low is None or interval.high is None:
        return value
    ends = f"{factor * interval.low:.{digits}f} to {factor * interval.high:.{digits}f}"
    return f"{value} {brackets[0]}{ends}{brackets[1]}"


def line(row: Audited) -> list[str]:
    """Cells of a panel, in the order of `COLUMNS`."""
    matrix = row.matrix
    policies, runs = len(matrix.policies), len(matrix.runs)
    of = f"{policies}" if runs == policies else f"{policies} of {runs} run{'s' if runs > 1 else ''}"
    brackets = "()" if matrix.trials("real") is not None else "[]"
    cells = [_number(row.pearson, 1.0, 2, brackets), of, f"{len(matrix.tasks)}", row.trials()]
    if row.picked is None:
        return [row.name, "-", "-", *cells]
    made = row.picked.decision
    shown = "" if made.shown == "open" else "shown "
    best = f"{shown}not the best; that is {listed(row.picked.names(made.winners))}"
    pick = f"{listed(row.picked.names(made.picks))}: {f'{shown}the best' if made.agrees else best}"
    factor, digits = (100.0, 1) if row.picked.points else (1.0, 2)
    return [row.name, pick, _number(made.regret, factor, digits, "()"), *cells]


def totals(rows: Sequence[Audited]) -> str:
    """What all of it comes to."""
    chosen = [row.picked for row in rows if row.picked is not None]
    right = sum(made.decision.agrees for made in chosen)
    shown = [made.decision.shown for made in chosen]
    known = [made.decision.regret for made in chosen if made.decision.regret.high is not None]
    wide = sum(regret.high is not None and regret.high > 0.2 for regret in known)
    figures = [figure for row in rows for figure in row.figures]
    agree = sum(bool(figure.agrees) for figure in figures)
    papers = len({row.matrix.paper for row in rows})
    return (
        f"{papers} papers, {len(rows)} panels. Simulation picks the policy that did best in the real trials in {right} "
        f"of {len(chosen)} panels. It is shown to be truly the best in {shown.count('yes')}, and shown not to be in "
        f"{shown.count('no')}. {len(known)} panels have the number of real trials, without which regret has no "
        f"interval. In {wide} of these the trials leave a regret of more than 20 points possible. {agree} of "
        f"{len(figures)} printed coefficients follow from the points."
    )


def apart(rows: Sequence[Audited]) -> str:
    """Why claim level and Pearson's interval of a panel may seem to disagree, with the panels where they do."""
    far = [row.name for row in rows if row.reach == REACHES[0] and row.pearson.low is not None and row.pearson.low <= 0]
    near = [row.name for row in rows if row.reach == REACHES[2] and row.pearson.low is not None and row.pearson.low > 0]
    return (
        "Claim level and Pearson's interval answer two questions, and may seem to disagree: the claim asks whether "
        "chance would rank these policies so well, by their rates as measured; the interval asks what true rates the "
        f"trials leave possible, or how the points scatter. {len(far)} panels reach the next policy although the "
        f"interval holds 0 ({'; '.join(far)}); {len(near)} are too few to say although it lies above 0, because it "
        "pools the points of few policies on several tasks."
    )


def show_audit(rows: Sequence[Audited], brief: bool = False) -> None:
    """Print every panel, and coefficients that differ; `brief` leaves out panels where nothing is picked."""
    parts = [RULE]
    for reach in REACHES:
        mine = [line(row) for row in rows if row.reach == reach]
        if mine and not (brief and reach == REACHES[-1]):
            parts += ["", f"Claim level: {reach}", table(COLUMNS, mine)]
    differ = [
        [f"{f.table}, {f.figure}", f"{f.published}", f"{f.recomputed:.4f}", f.note]
        for row in rows
        for f in row.figures
        if not f.agrees
    ]
    parts += ["", "Printed coefficients that differ from ours", table(("what", "printed", "ours", "note"), differ)]
    print("\n".join([*parts, "", apart(rows), "", totals(rows)]))
