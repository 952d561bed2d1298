"""Published pairs of simulated and real success as matrices: those of `papers/audit`, and of the papers with tables.

A panel is one comparison of a paper: policies on tasks, in one simulator or world model. `n_real` and `n_sim` are
blank where the paper does not say how many trials a value rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.answers.scoreboard import Scoreboard
from foretell.papers import Printed, audit, audited, table, text

__all__ = ["Matrix", "matrices"]

Cell = dict[str, Any]
"""task, policy, run, real, sim, n_real, n_sim."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """One panel."""

    paper: str
    cited: str
    panel: str
    cells: tuple[Cell, ...]

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(cell["policy"] for cell in self.cells))

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(cell["task"] for cell in self.cells))

    @property
    def runs(self) -> list[str]:
        """Training runs, as far as the paper tells which policies come from one of them."""
        return list(dict.fromkeys(cell["run"] or cell["policy"] for cell in self.cells))

    def points(self, side: str) -> list[Printed]:
        """One value of every cell: real or sim."""
        return [cell[side] for cell in self.cells]

    def trials(self, side: str) -> Any:
        """Trials of every cell, or None where some are unknown."""
        counts = [cell[f"n_{side}"] for cell in self.cells]
        return None if None in counts else np.array(counts, dtype=float)

    def boards(self) -> dict[str, Scoreboard]:
        """Task -> its scoreboard, of tasks on which every policy was tried."""
        made = {}
        for task in self.tasks:
            rows = {cell["policy"]: cell for cell in self.cells if cell["task"] == task}
            if set(rows) != set(self.policies):
                continue
            rows = {policy: rows[policy] for policy in self.policies}
            part = Matrix(paper=self.paper, cited=self.cited, panel=self.panel, cells=tuple(rows.values()))
            made[task] = Scoreboard(
                policies=tuple(rows),
                real=np.array(part.points("real"), dtype=float),
                sim=np.array(part.points("sim"), dtype=float),
                n_real=part.trials("real"),
                n_sim=part.trials("sim"),
                runs=tuple(str(cell["run"] or cell["policy"]) for cell in part.cells),
            )
        return made


def matrices() -> Iterator[Matrix]:
    """Every panel of every paper."""
    for name in audited():
        cited, rows = audit(name)
        for panel in dict.fromkeys(row["panel"] for row in rows):
            cells = tuple(row for row in rows if row["panel"] == panel)
            yield Matrix(paper=name, cited=cited, panel=panel or "", cells=cells)
    yield from _simpler()
    yield from _srcc()
    yield from _async()


def _cell(policy: str, task: str, real: Printed, sim: Printed, n_real: float | None, n_sim: float | None) -> Cell:
    values = {"policy": policy, "task": task, "run": policy, "real": real, "sim": sim}
    return {**values, "n_real": n_real, "n_sim": n_sim}


def _simpler() -> Iterator[Matrix]:
    """Whole tasks of Tables IV and V; the simulated trials are four times the real ones, of variants unknown."""
    size = text("simpler")
    cited = "SIMPLER (arXiv 2405.05941), Tables IV and V"
    for name, robot in (("4", "Google robot"), ("5", "WidowX")):
        rows = {(row["setup"], row["policy"]): row for row in table("simpler", name)}
        tasks = [t for t in list(table("simpler", name)[0])[2:] if f"trials {t}" in size and t != "drawer average"]
        tasks = [t for t in tasks if not t.startswith("coke ") or t == "coke average"]
        policies = [p for setup, p in rows if setup == "real"]
        for setup in dict.fromkeys(setup for setup, _ in rows if setup != "real"):
            times = 4.0 if setup == "visual matching" else None
            cells = [
                _cell(p, t, rows["real", p][t], rows[setup, p][t], n, None if times is None else times * n)
                for t in tasks
                for n in [30.0 if "eggplant" in t else float(size[f"trials {t}"])]
                for p in policies
            ]
            yield Matrix(paper="simpler", cited=cited, panel=f"{robot}, {setup}", cells=tuple(cells))


def _srcc() -> Iterator[Matrix]:
    """SPL of 45 real episodes each. SPL is graded: as successes of as many trials it varies at most so much."""
    words = text("srcc")
    n = float(words["rooms"] * words["legs"] * words["trials"])
    rows = table("srcc", "1")
    for column, panel in (("coda chall", "challenge settings"), ("coda test", "tuned settings")):
        cells = [_cell(f"{r['sensor']} {r['noise']} {r['sliding']}", "", r["reality"], r[column], n, n) for r in rows]
        cited = "Sim2Real Predictivity (Kadian et al. 2020), Table I, SPL"
        yield Matrix(paper="srcc", cited=cited, panel=panel, cells=tuple(cells))


def _async() -> Iterator[Matrix]:
    words = text("async")
    sizes = float(words["real trials"]), float(words["simulated trials Robomimic"])
    for mode, panel in (("sync", "synchronous"), ("async", "asynchronous")):
        cells = [
            _cell(r["policy"], task, _share(r["real"]), _share(r[mode]), *sizes)
            for name, task in (("5", "can"), ("6", "square"))
            for r in table("async", name)
            if r["real"] is not None
        ]
        cited = "AsyncRoboSim (Song et al.), Tables 5 and 6"
        yield Matrix(paper="async", cited=cited, panel=panel, cells=tuple(cells))


def _share(percent: Printed) -> Printed:
    return Printed(f"{float(percent) / 100.0:.{len(percent.text.partition('.')[2]) + 2}f}")
