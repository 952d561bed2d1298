"""One line per policy, real beside simulated: read from a table, or made from trials on common scenarios."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretell.answers.averaged import averaged
from foretell.answers.choice import Choice, choose, labels
from foretell.answers.held_out import held_out
from foretell.answers.inputs import Source, Table, open_table, refuse
from foretell.answers.reality import check_roles
from foretell.answers.units import measure
from foretell.answers.weights import other_weights
from foretell.answers.words import plain
from foretell.episodes.stopped import FIXED
from foretell.errors import UsageError, suggest
from foretell.reality.sheet import plain_name
from foretell.stats import kruskal_wallis
from foretell.tasks.variants import AGGREGATES, members

__all__ = ["Scoreboard", "against_clean", "arms_of", "from_rates", "from_trials"]


@dataclass(frozen=True, kw_only=True)
class Scoreboard:
    """Policies of one task; arrays have shape (P,)."""

    policies: tuple[str, ...]
    real: Any
    sim: Any
    n_real: Any | None = None
    """Trials behind each real rate, where known."""
    n_sim: Any | None = None
    real_outcomes: tuple[Any, ...] | None = None
    """Scores of each policy, one per scenario, where known."""
    sim_outcomes: tuple[Any, ...] | None = None
    same: bool = False
    """Whether the i-th score of every policy is of one scenario."""
    runs: tuple[str, ...] | None = None
    """Training run that each policy comes from, where known: checkpoints of one run are not independent policies."""

    def apart(self) -> dict[str, dict[str, float]]:
        """Each policy's real and simulated value and, where outcomes are known, whether they differ."""
        rows = {
            policy: {"real": float(a), "sim": float(b)}
            for policy, a, b in zip(self.policies, self.real, self.sim, strict=True)
        }
        if self.real_outcomes is not None and self.sim_outcomes is not None:
            for row, test in zip(rows.values(), kruskal_wallis(self.real_outcomes, self.sim_outcomes), strict=True):
                row["kruskal_wallis_p"] = test.p_value
        return rows

    def pairs(self) -> tuple[int, int]:
        """Pairs of policies that sim orders as real does, and pairs with an order in both."""
        signs = [
            np.sign(np.subtract.outer(side, side))[np.triu_indices(len(side), 1)] for side in (self.real, self.sim)
        ]
        return int((signs[0] * signs[1] > 0).sum()), int((signs[0] * signs[1] != 0).sum())

    def negated(self) -> Scoreboard:
        """For a proxy of which less is better."""
        outcomes = None if self.sim_outcomes is None else tuple(-scores for scores in self.sim_outcomes)
        return replace(self, sim=-self.sim, sim_outcomes=outcomes)


def from_rates(source: Source, proxy: str | None) -> tuple[dict[str, Scoreboard], bool, list[str]]:
    """Task -> scoreboard, whether the table has tasks, and notes. Columns policy, real, sim; n_real, n_sim, task,
    run."""
    table = open_table(source, "table", measured=False)
    if table.episodes:
        raise UsageError(f"{table.name} holds episodes: give two sets of them, real and sim (--real and --sim)")
    sim = plain_name(proxy) if proxy else "sim"
    for column in ("policy", "real", sim):
        if column not in table.columns:
            near = suggest(column, table.columns) if proxy else "columns policy, real and sim are needed"
            raise UsageError(f"{table.name} has no column {column!r}; {near}")
    tasks = "task" in table.columns
    counts = ["n_real"] + (["n_sim"] if sim == "sim" else [])
    numbers = [c for c in ("real", sim, *counts) if c in table.columns]
    rows: dict[str, dict[str, list[float]]] = {}
    trained: dict[str, str] = {}
    seen: dict[tuple[str, str], int] = {}
    faults = []
    for i in range(len(table)):
        names = {c: table.columns[c][i] for c in ("policy", "task", "run") if c in table.columns}
        blank = next((c for c, name in names.items() if name is None), None)
        if blank is not None:
            faults.append(f"{table.place(i)}, {blank!r}: expected a name; given: nothing")
            continue
        task, policy = str(names.get("task", "")), str(names["policy"])
        trained[policy] = str(names.get("run", ""))
        before = seen.setdefault((task, policy), i)
        if before != i:
            problem = f"policy {plain(policy)!r} is already in {table.kind} {table.marks[before]}"
            faults.append(
                f"{table.place(i)}: {problem}" + ("" if tasks else "; add a column `task` if there are several tasks")
            )
            continue
        cells = [_number(table, column, i, faults) for column in numbers]
        rows.setdefault(task, {})[policy] = cells
    refuse(faults)
    made = {}
    for task, by_policy in rows.items():
        columns = dict(zip(numbers, np.array(list(by_policy.values())).T, strict=True))
        made[task] = Scoreboard(
            policies=tuple(by_policy),
            real=columns["real"],
            sim=columns[sim],
            n_real=columns.get("n_real"),
            n_sim=columns.get("n_sim"),
            runs=tuple(trained[policy] for policy in by_policy) if "run" in table.columns else None,
        )
        if len(by_policy) < 2:
            where = f" of task {plain(task)!r}" if tasks else ""
            raise UsageError(f"{table.name} has {len(by_policy)} policy{where}; at least 2 are needed")
    return made, tasks, []


def _number(table: Table, column: str, row: int, faults: list[str]) -> float:
    cell = table.columns[column][row]
    value = table.number(cell)
    wanted = "a number"
    if column in ("n_real", "n_sim"):
        wanted, sound = "a whole number, 1 or more", value is not None and value >= 1 and value == round(value)
    elif f"n_{column}" in table.columns:  # a rate of so many trials
        wanted, sound = f"a rate from 0 to 1, as 'n_{column}' is given", value is not None and 0 <= value <= 1
    else:
        sound = value is not None
    if not sound or value is None:
        given = "nothing" if cell is None else plain(repr(cell))[:60]
        faults.append(f"{table.place(row)}, {column!r}: expected {wanted}; given: {given}")
        return 0.0
    return value


def arms_of(sim: Table) -> dict[str, tuple[str, ...]]:
    """What can be compared with real trials without perturbation -> the arms that it is the mean of: every arm of the
    table, and the aggregates of which it has every arm."""
    names = labels(sim, "arm")
    whole = {name: members(name, names) for name in AGGREGATES}
    return {name: (name,) for name in names} | {name: arms for name, arms in whole.items() if arms}


def against_clean(real: Table, sim: Table, arm: str) -> tuple[Table, Table]:
    """Real trials without perturbation, and sim under an arm or an aggregate, with the names of the clean scenarios."""
    known = arms_of(sim)
    if arm not in known:
        have = ", ".join(map(plain, labels(sim, "arm"))) or "no arms"
        raise UsageError(f"arm {plain(arm)!r} is the mean over its arms, and needs all of them; {sim.name} has {have}")
    if len(arms := labels(real, "arm")) > 1:
        if "none" not in arms:
            raise UsageError(f"{real.name} has no arm 'none', with which arm {plain(arm)!r} is compared")
        real = real.keep([i for i, cell in enumerate(real.columns["arm"]) if cell == "none"])
    return real, averaged(sim, arm, known[arm])


def from_trials(
    real: Source, sim: Source, choice: Choice, metric: str | None, proxy: str | None, stand_in: bool = False
) -> tuple[dict[str, Scoreboard], bool, list[str]]:
    """Task -> scoreboard of the policies that both sources have, each on the scenarios that both have of it."""
    opened = [open_table(real, "real", metric=metric), open_table(sim, "sim", metric=proxy or metric)]
    for table in opened:
        if "policy" not in table.columns:
            raise UsageError(f"{table.name} has no column 'policy', so there is nothing to rank")
    more = [name for name, arms in arms_of(opened[1]).items() if len(arms) > 1] if choice.arm is None else []
    if choice.arm in AGGREGATES:
        opened = list(against_clean(opened[0], opened[1], choice.arm))
        choice = replace(choice, arm=None)
    shared = [name for name in labels(opened[0], "task") if name in labels(opened[1], "task")]
    several = choice.task is None and len(shared) > 1
    # A proxy may well be measured in the very trials whose outcome it is to predict.
    roles = check_roles(opened[0], opened[1] if proxy is None else None, stand_in)
    made, notes = {}, [*roles, *opened[0].notes, *opened[1].notes]
    notes += [f"{opened[1].name} has every arm of {name}: --arm {name} ranks policies by their mean" for name in more]
    notes += [f"{table.name}: {FIXED}" for table in opened if table.horizon is not None]
    for task in shared if several else [choice.task]:
        tables, about = choose(opened, replace(choice, task=task, policy=None), ("task", "clock", "arm"))
        board, left = _board(tables, proxy)
        made[task or ""] = board
        notes += about + left
    return made, several, list(dict.fromkeys(notes))


def _board(tables: list[Table], proxy: str | None) -> tuple[Scoreboard, list[str]]:
    names, others = (labels(table, "policy") for table in tables)
    notes: list[str] = []
    scores: dict[str, tuple[Any, Any]] = {}
    met: set[tuple[str, ...]] = set()
    only = [n for n in names if n not in others] + [n for n in others if n not in names]
    if only:
        notes.append(f"policies without a partner are left out: {', '.join(map(plain, only))}")
    for name in names:
        if name not in others:
            continue
        both, _ = choose(tables, Choice(policy=name), ("policy",))
        notes += other_weights(name, both[0], both[1])
        a, b, _, about = held_out(measure(both[0]), measure(both[1], unit_range=proxy is None))
        notes += a.notes() + b.notes() + about
        known = set(b.ids)
        common = [u for u in a.ids if u in known]
        if not common:
            notes.append(f"policy {plain(name)!r} is left out: real and sim have no scenario in common")
            continue
        scores[name] = (a.of(common), b.of(common))
        met.add(tuple(common))
    if len(scores) < 2:
        reasons = "\n".join(f"  {note}" for note in notes)
        have = "1 policy has" if scores else "no policy has"
        raise UsageError(
            f"{have} scenarios in common in {tables[0].name} and {tables[1].name}; "
            f"at least 2 are needed\n{reasons}".rstrip()
        )
    tried, simulated = (tuple(pair[side] for pair in scores.values()) for side in (0, 1))
    size = np.array([x.size for x in tried])
    rates = [np.array([x.mean() for x in side]) for side in (tried, simulated)]
    if len(set(size.tolist())) > 1:
        notes.append(f"policies were tried on different numbers of scenarios, {size.min()} to {size.max()}")
    return Scoreboard(
        policies=tuple(scores),
        real=rates[0],
        sim=rates[1],
        n_real=size,
        n_sim=size,
        real_outcomes=tried,
        sim_outcomes=simulated,
        same=len(met) == 1,
    ), notes
