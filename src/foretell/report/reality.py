"""Simulation against reality: how well does simulation predict real outcomes?"""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import pyarrow as pa

from foretell import stats
from foretell.answers.predictivity import Predictivity, charged, pairs_told, predictivity
from foretell.answers.scoreboard import Scoreboard
from foretell.answers.words import listed
from foretell.errors import UsageError
from foretell.report.charts import dots, scatter, slopes, slug
from foretell.report.groups import RowGroup, distinct, first_groups, groups, noted, unfinished
from foretell.report.picking import picking, sentence
from foretell.report.runs import Runs
from foretell.report.section import Block, Chart, Section, Sheet, Words
from foretell.report.verdict import MECHANISM
from foretell.stats import Interval

__all__ = ["section", "worlds"]

NAMES = {
    "mmrv": "MMRV",
    "pearson": "Pearson (SRCC)",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "pairwise_accuracy": "PRA",
    "rank_reversals": "rank reversals",
    "r_squared": "R²",
    "success_gap": "success gap",
}
MEANING = {
    "mmrv": "0 is best: how much real success a wrong order costs",
    "pearson": "1 is best: correlation of the rates",
    "spearman": "1 is best: correlation of the ranks",
    "kendall": "1 is best: pairs in order minus pairs out of order",
    "pairwise_accuracy": "1 is best: share of pairs in the same order",
    "rank_reversals": "0 is best: pairs in opposite order",
    "r_squared": "1 is best: share of real variance explained",
    "success_gap": "0 is best: mean difference of success",
}
IN_SIM = "0 is best: how much simulated success a wrong order costs, as some papers print it"
DRAWN = ("mmrv", "pearson", "spearman", "pairwise_accuracy")
PLACES = ("keeps its place", "changes places")
PAIR = tuple[RowGroup, RowGroup]


def worlds(runs: Runs) -> dict[tuple[str, str], list[PAIR]]:
    """(real world, simulated world) -> the groups of each task that both have, real first: of the clean arm under
    `sync` where both have that, else of any clock and arm that both have, else what comes first in each."""
    pairs: dict[tuple[str, str], list[PAIR]] = {}
    plain = sorted(groups(runs), key=lambda g: (g.arm != "none", g.clock != "sync"))
    for first, other in product(first_groups(runs), repeat=2):
        if first.real and not other.real and first.task == other.task:
            both = [
                (r, s)
                for r, s in product(plain, repeat=2)
                if (r.world, r.task, s.world, s.task) == (first.world, first.task, other.world, other.task)
                and (r.clock, r.arm) == (s.clock, s.arm)
            ]
            pairs.setdefault((first.world, other.world), []).append(both[0] if both else (first, other))
    return pairs


def section(runs: Runs) -> Section | None:
    """Picks, scatter, metrics, reversals and leave-one-out of every pair of a real and a simulated world."""
    pairs = worlds(runs)
    if not pairs:
        return None
    blocks: list[Block] = []
    sentences = []
    for (real, sim), of_tasks in pairs.items():
        tail = [f"{sim} {real}"] if len(pairs) > 1 else []
        try:
            answer = predictivity(
                real=pa.concat_tables([r.table for r, _ in of_tasks]),
                sim=pa.concat_tables([s.table for _, s in of_tasks]),
                stand_in=True,
            )
        except UsageError as error:
            blocks.append(Words(f"{sim} against {real}: {str(error).partition(chr(10))[0]}.", "caution"))
            continue
        sentences.append(f"{sentence(answer, sim)} {_says(answer, sim, real)}")
        blocks += _blocks(answer, of_tasks, sim, real, tail)
    if sentences:
        blocks = [*unfinished(runs), *blocks]
    if any(tried.stands_in for both in pairs.values() for tried, _ in both):
        blocks.insert(0, Words(MECHANISM, "caution"))
    says = " ".join(sentences) or "Too few policies ran in both worlds to say how well simulation ranks them."
    return Section("reality", "Simulation against reality", says, distinct(blocks))


def _says(answer: Predictivity, sim: str, real: str) -> str:
    overall = answer.mean or answer.metrics[""]
    accuracy, gap = overall["pairwise_accuracy"], overall["success_gap"]
    many = f"; means over {len(answer.metrics)} tasks" if answer.mean else ""
    apart = f"success differs by {100 * gap.estimate:.0f} points on average"
    each = {task: metrics["pairwise_accuracy"].estimate for task, metrics in answer.metrics.items()}
    known = {task: value for task, value in each.items() if math.isfinite(value)}
    if not known:
        tied = "on every task all" if answer.mean else "all"
        return (
            f"It is unknown how {sim} ranks policies, because {tied} have the same success in one of the worlds; "
            f"{apart}{many}."
        )
    order = f"of the pairs of policies in the same order as {real}"
    if len(known) < len(each):  # the mean over all tasks is not defined
        level = (
            f"on {listed([task for task in each if task not in known])} all have the same success in one of the worlds"
        )
        mean = sum(known.values()) / len(known)
        return f"{sim} puts {mean:.0%} {order} on {listed(list(known))} ({level}), and {apart} over {len(each)} tasks."
    counts = [board.pairs() for board in answer.scoreboards.values()]
    if max(counted for _, counted in counts) == 1:  # one pair is no percentage
        share = pairs_told(sum(same for same, _ in counts), len(counts))
        return f"{sim} puts {share} of policies in the same order as {real}, and {apart}{many}."
    ends = "" if accuracy.low is None or accuracy.high is None else f" ({accuracy.low:.0%} to {accuracy.high:.0%})"
    return f"{sim} puts {accuracy.estimate:.0%}{ends} {order}, and {apart}{many}."


def _blocks(answer: Predictivity, pairs: list[PAIR], sim: str, real: str, tail: list[str]) -> list[Block]:
    blocks: list[Block] = []
    tasks = {task or pairs[0][0].task: (task, board) for task, board in answer.scoreboards.items()}
    for name, (task, board) in tasks.items():
        on = f", {name}" if len(tasks) > 1 else ""
        here = [*([name] if len(tasks) > 1 else []), *tail]
        blocks.append(_scatter(board, slug("sim-real", *here), f"{sim} against {real}{on}", sim, real))
        blocks.append(_slopes(board, slug("rank-reversals", *here), f"Who changes places{on}", sim, real))
        groups_ = next((r, s) for r, s in pairs if r.task == name)
        blocks += _reversals(board, groups_, slug("reversed-pairs", *here), f"Pairs in opposite order{on}", sim, real)
        if len(board.policies) > 2:
            blocks.append(
                _left_out(board, answer.metrics[task], slug("leave-one-out", *here), f"Without one policy{on}")
            )
    measured = {**({"mean over tasks": answer.mean} if answer.mean else {})}
    measured |= {name: answer.metrics[task] for name, (task, _) in tasks.items()}
    blocks.insert(0, _metrics(measured, slug("predictivity", *tail), f"How well {sim} predicts {real}"))
    other = charged(answer, "sim")
    sides = {**({"mean over tasks": other["mean"]} if answer.mean else {})}
    sides |= {name: other[task] for name, (task, _) in tasks.items()}
    blocks.append(_sheet(measured, sides, slug("predictivity-table", *tail), "Every metric"))
    names = slug("picking", *tail), slug("regret", *tail)
    blocks = [*picking(answer, next(iter(tasks)), names), *blocks]
    return [*blocks, *noted(answer.notes)]


def _mean(scores: Any) -> Interval:
    """What `foretell bound` gives: of successes Clopper-Pearson's interval, of means of several trials `star`'s."""
    return stats.bound(scores, shuffled=True)


def _scatter(board: Scoreboard, name: str, title: str, sim: str, real: str) -> Chart:
    assert board.real_outcomes is not None and board.sim_outcomes is not None
    rows = []
    for policy, apart, y, f in zip(
        board.policies, board.apart().values(), board.real_outcomes, board.sim_outcomes, strict=True
    ):
        ends = {"real": _mean(y), "sim": _mean(f)}
        row: dict[str, Any] = {"policy": policy}
        for side, interval in ends.items():
            row |= {side: apart[side], f"{side}_low": interval.low, f"{side}_high": interval.high}
        rows.append({**row, "scenarios": int(y.size), "kruskal_wallis_p": apart.get("kruskal_wallis_p")})
    share = ".1%"
    tips = {"policy": ("policy", ""), "sim": (sim, share), "sim_low": ("from", share), "sim_high": ("to", share)}
    tips |= {"real": (real, share), "real_low": ("from ", share), "real_high": ("to ", share)}
    tips |= {"scenarios": ("scenarios", "d"), "kruskal_wallis_p": ("p-value (same success)", ".2g")}
    about = (
        "Success on the scenarios that both worlds have, with 95% confidence intervals in both directions "
        "(Clopper-Pearson; star if scenarios were tried several times). On the dashed line simulation and reality "
        "agree; below it simulation is too optimistic."
    )
    spec = scatter(rows, label="policy", titles=(f"success in {sim}", f"success in {real}"), tips=tips)
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)


def _metrics(measured: dict[str, dict[str, Interval]], name: str, title: str) -> Chart:
    rows = []
    for (task, metrics), metric in product(measured.items(), DRAWN):
        value = metrics[metric]
        if math.isfinite(value.estimate):
            row = {
                "metric": NAMES[metric],
                "task": task,
                "value": value.estimate,
                "low": value.low,
                "high": value.high,
            }
            rows.append({**row, "meaning": MEANING[metric], "n": value.n})
    tips = {"metric": ("metric", ""), "task": ("task", ""), "value": ("value", ".3f"), "low": ("from", ".3f")}
    tips |= {"high": ("to", ".3f"), "meaning": ("", "")}
    many = "task" if len(measured) > 1 else None
    spec = dots(rows, y="metric", x="value", title="value", unit="number", series=many, zero=True, tips=tips)
    about = "MMRV: 0 is best. The others: 1 is best. Bars are 95% intervals. Correlations need three policies."
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)


def _sheet(measured: dict[str, dict[str, Interval]], sides: dict[str, Interval], name: str, title: str) -> Sheet:
    """A line for every metric, a column for every task. sides: MMRV of each with the gap in simulation."""

    def in_words(interval: Interval) -> str:
        if not math.isfinite(interval.estimate):
            return "undefined"
        ends = "" if interval.low is None or interval.high is None else f" ({interval.low:.2f} to {interval.high:.2f})"
        return f"{interval.estimate:.3f}{ends}"

    rows = [[NAMES[m], MEANING[m], *(in_words(metrics[m]) for metrics in measured.values())] for m in NAMES]
    rows.insert(1, ["MMRV, gap in sim", IN_SIM, *map(in_words, sides.values())])
    columns = ["metric", "meaning", *measured]
    reasons = {interval.reason for metrics in measured.values() for interval in metrics.values() if interval.reason}
    about = "With 95% intervals: the range of each metric over all true rates that the trials leave plausible together."
    about += f" No value or interval: {'; '.join(sorted(reasons))}." if reasons else ""
    return Sheet(name=name, title=title, columns=columns, rows=rows, right=columns[2:], about=about)


def _reversed(board: Scoreboard) -> list[tuple[int, int]]:
    """Pairs that sim and real put in opposite order, as (ahead in sim, ahead in real)."""
    reversals = []
    for i, j in combinations(range(len(board.policies)), 2):
        if (board.sim[i] - board.sim[j]) * (board.real[i] - board.real[j]) < 0:
            reversals.append((i, j) if board.sim[i] > board.sim[j] else (j, i))
    return reversals


def _slopes(board: Scoreboard, name: str, title: str, sim: str, real: str) -> Chart:
    turned = {i for pair in _reversed(board) for i in pair}
    rows: list[dict[str, Any]] = [
        {"policy": policy, "side": side, "value": float(value), "place": PLACES[i in turned]}
        for side, values in ((sim, board.sim), (real, board.real))
        for i, (policy, value) in enumerate(zip(board.policies, values, strict=True))
    ]
    tips = {"policy": ("policy", ""), "side": ("world", ""), "value": ("success", ".1%"), "place": ("", "")}
    spec = slopes(rows, label="policy", kind="place", sides=(sim, real), title="success", tips=tips)
    return Chart(
        name=name,
        title=title,
        spec=spec,
        rows=rows,
        about="Lines that cross are policies that simulation puts in the wrong order.",
    )


def _reversals(board: Scoreboard, pair: PAIR, name: str, title: str, sim: str, real: str) -> list[Block]:
    """A table of the pairs that change places, and whether each order is shown or may be chance."""
    reversals = _reversed(board)
    if not reversals:
        return []
    rows = []
    for a, b in reversals:
        names = (board.policies[a], board.policies[b])
        rates = [f"{values[a]:.0%} against {values[b]:.0%}" for values in (board.sim, board.real)]
        rows.append([*names, rates[0], _shown(pair[1], *names), rates[1], _shown(pair[0], *reversed(names))])
    columns = [f"ahead in {sim}", f"ahead in {real}", sim, f"shown in {sim}?", real, f"shown in {real}?"]
    about = (
        "Shown: `foretell compare` finds the leading policy better in that world. Otherwise the order may be chance."
    )
    return [Sheet(name=name, title=title, columns=columns, rows=rows, about=about)]


def _shown(group: RowGroup, ahead: str, behind: str) -> str:
    answer = group.compared
    for pair in () if isinstance(answer, str) else answer.pairs:
        if (pair.a, pair.b, pair.verdict) in ((ahead, behind, "better"), (behind, ahead, "worse")):
            return "shown"
    return "may be chance"


def _left_out(board: Scoreboard, metrics: dict[str, Interval], name: str, title: str) -> Chart:
    rows = []
    for i, policy in enumerate(board.policies):
        for metric in DRAWN:
            value, whole = metrics[metric].diagnostics["leave_one_out"][i], metrics[metric].estimate
            if math.isfinite(value) and math.isfinite(whole):
                rows.append({"without": policy, "metric": NAMES[metric], "value": value, "of_all": whole})
    for row in rows:
        row |= {"low": min(row["value"], row["of_all"]), "high": max(row["value"], row["of_all"])}
    tips = {
        "without": ("without", ""),
        "metric": ("metric", ""),
        "value": ("value", ".3f"),
        "of_all": ("of all", ".3f"),
    }
    spec = dots(rows, y="without", x="value", title="value", unit="number", series="metric", tips=tips)
    about = "Each metric without one policy in turn; the bar reaches to its value with all of them."
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)
