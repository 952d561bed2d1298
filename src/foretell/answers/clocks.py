"""What does thinking cost? Success under asynchronous clocks beside `sync`: gaps, trends, latency budgets, ranks."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from foretell import stats
from foretell.answers.clock_pairs import ClockPair, clock_pairs
from foretell.answers.clock_words import text_of
from foretell.answers.inputs import Source
from foretell.errors import UsageError
from foretell.notebook import Displayed
from foretell.stats import Interval
from foretell.stats.compare import compare as test_of
from foretell.stats.latency_fit import latency_budget, tenfold_interval
from foretell.stats.retention import relative_drop, retention
from foretell.stats.robustness import paired_change
from foretell.stats.trend import trend

__all__ = ["Clocks", "clocks"]

VERDICTS = {"better": "loses", "worse": "gains"}
"""Word of `stats.verdict` for sync against async -> what async does."""
NO_TREND = "no trend shown"
RANKED = ("rank_reversals", "pairwise_accuracy", "kendall", "spearman")
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Clocks(Displayed):
    """Every task, policy and asynchronous clock set beside `sync`. Rows are JSON-able; times are simulated seconds."""

    cells: list[Row]
    """Per task, policy and clock: both success rates, gap, relative drop, retention, latency, age, starvation."""
    against_latency: list[Row]
    """Per task, policy and way of running chunks: success at each latency, and one test for a trend."""
    against_speed: list[Row]
    """Per task, policy and latency that was tried at several speeds: the same by speed."""
    fits: list[Row]
    """Per task: points of success lost per tenfold latency, over all policies and clocks."""
    budgets: list[Row]
    """Per task, policy and way of running chunks: the latency up to which `keep` of sync success is kept."""
    ranks: list[Row]
    """Per task and clock with two policies or more: which pairs change places between sync and async."""
    keep: float
    alpha: float
    notes: tuple[str, ...]

    def to_dict(self) -> Row:
        """JSON-able form."""
        return {**vars(self), "notes": list(self.notes)}

    def text(self) -> str:
        """Tables, and a plain sentence for every answer."""
        return text_of(self)


def clocks(
    *sources: Source,
    policy: str | Sequence[str] = (),
    task: str | Sequence[str] = (),
    arm: str | None = None,
    keep: float = 0.95,
    alpha: float = stats.ALPHA,
    seed: int = 0,
) -> Clocks:
    """What latency costs each policy: run folders (or Parquet, Arrow tables) with episodes under `sync` and others.

    Episodes are paired by policy, task, arm, scenario and trial. `keep`: share of synchronous success that a latency
    budget must keep. `policy` and `task` choose some; default all. `seed`: seed of the resampling.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha}, it must be between 0 and 1")
    if not 0.0 < keep <= 1.0:
        raise UsageError(f"keep is {keep}, it must be above 0 and at most 1: the share of success to keep")
    cells, notes = clock_pairs(sources, _names(task), _names(policy), arm)
    lines: dict[tuple[str, str, str], list[ClockPair]] = defaultdict(list)
    speeds: dict[tuple[str, str, str], list[ClockPair]] = defaultdict(list)
    for cell in cells:
        speeds[cell.task, cell.policy, cell.without("speed")].append(cell)
        if cell.latency is None:
            notes.append(f"{cell.policy} on {cell.task} under {cell.label}: its latency is not known")
        else:
            lines[cell.task, cell.policy, cell.without("latency", "speed")].append(cell)
    ways = _ways(list(lines))
    if any(not cell.constant for cell in cells):
        notes.append("latency varies within a clock: its median stands for it")
    return Clocks(
        cells=_rows(cells, alpha),
        against_latency=[_trend(group, ways[key], "latency_s", alpha, seed) for key, group in lines.items()],
        against_speed=[_trend(group, "", "speed", alpha, seed) for group in speeds.values() if len(group) > 1],
        fits=_fits(cells, alpha, seed),
        budgets=[_budget(group, ways[key], keep, alpha) for key, group in lines.items()],
        ranks=_ranks(cells, alpha, seed),
        keep=keep,
        alpha=alpha,
        notes=tuple(dict.fromkeys(notes)),
    )


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _ways(keys: list[tuple[str, str, str]]) -> dict[tuple[str, str, str], str]:
    """How clocks of one policy and task differ besides latency and speed, in words; empty for most."""
    options = {key: json.loads(key[2]) for key in keys}
    named = {}
    for key, mine in options.items():
        others = [options[k] for k in keys if k[:2] == key[:2]]
        shared = [o for o in mine if all(o in other for other in others)]  # others go with the kind
        apart = [o for o in shared if len({json.dumps(other[o]) for other in others}) > 1]
        named[key] = ", ".join(str(mine[o]) if o in ("kind", "chunks") else f"{o} {mine[o]}" for o in apart)
    return named


def _mean(scores: Any, alpha: float) -> Interval:
    """What `foretell bound` gives: of successes Clopper-Pearson's interval, of means of several trials `star`'s."""
    return _bound(np.asarray(scores, dtype=np.float64).tobytes(), alpha)


@lru_cache(maxsize=256)
def _bound(scores: bytes, alpha: float) -> Interval:
    """One policy's synchronous scores stand beside every clock, and of many scenarios this takes a second."""
    return stats.bound(np.frombuffer(scores), alpha=alpha, shuffled=True)


def _end(interval: Interval | None, reason: str | None = None, scale: float = 1.0) -> Row:
    """An interval as a row; nulls and the reason where there is none."""
    if interval is None:
        return {"estimate": None, "low": None, "high": None, "reason": reason}
    ends = {k: getattr(interval, k) for k in ("estimate", "low", "high")}
    row: Row = {k: None if v is None or not math.isfinite(v) else v * scale for k, v in ends.items()}
    row |= {"alpha": interval.alpha, "method": interval.method, "guarantee": interval.guarantee, "n": interval.n}
    return row if interval.reason is None else {**row, "reason": interval.reason}


def _about(cell: ClockPair) -> Row:
    return {"task": cell.task, "policy": cell.policy, "clock": cell.label, "speed": cell.speed}


def _rows(cells: list[ClockPair], alpha: float) -> list[Row]:
    tests = [test_of(c.sync, c.asyn, paired=True, alpha=alpha, aim=alpha / len(cells)) for c in cells]
    rows = []
    for cell, test, p in zip(cells, tests, stats.holm([t.p_value for t in tests]), strict=True):
        gap = paired_change([cell.sync], [cell.asyn], alpha, shuffled=True)  # scenarios stand by hashes of their ids
        kept = retention(cell.asyn, cell.sync, alpha, shuffled=True)
        none = "synchronous success is 0: there is no ratio"
        verdict = stats.verdict(float(p), gap, alpha)
        rows.append(
            {
                **_about(cell),
                "pairs": cell.pairs,
                "scenarios": len(cell.units),
                "sync": _end(_mean(cell.sync, alpha)),
                "async": _end(_mean(cell.asyn, alpha)),
                "gap_points": _end(gap, scale=100.0),
                "p_value": test.p_value,
                "p_adjusted": float(p),
                "test": test.test,
                "verdict": VERDICTS.get(verdict, verdict),
                "relative_drop": _end(relative_drop(kept) if kept else None, none),
                "retention": _end(kept, none),
                "latency_s": cell.latency,
                **cell.metrics,
            }
        )
    return rows


def _trend(group: list[ClockPair], way: str, by: str, alpha: float, seed: int) -> Row:
    """Success in order of latency or speed: its shape, one test for a trend in it, and the largest rise, untested."""
    ordered = sorted(group, key=lambda c: (c.latency or 0.0) if by == "latency_s" else c.speed)
    points: list[Row] = []
    for cell in ordered:
        mean = _mean(cell.asyn, alpha)
        at = cell.latency if by == "latency_s" else cell.speed
        points.append({by: at, "clock": cell.label, "success": mean.estimate, "low": mean.low, "high": mean.high})
    row: Row = {"task": group[0].task, "policy": group[0].policy, "way": way, "points": points}
    row |= {"p_value": None, "verdict": NO_TREND, "rise": None}
    if by == "speed":
        row["latency_s"] = None if ordered[0].latency is None else ordered[0].latency / ordered[0].speed
        row["clock"] = ordered[0].label.replace(f", speed {ordered[0].speed:g}", "")
    if len(points) < 2:
        return {**row, "trend": "one point only"}
    rates = [float(p["success"]) for p in points]
    steps = [b - a for a, b in pairwise(rates)]
    test = trend([float(p[by]) for p in points], _matrix(ordered)[1], seed=seed)
    row["p_value"] = test.p_value
    if test.p_value is not None and test.p_value <= alpha:
        row["verdict"] = "rises" if test.value > 0.0 else "falls"
    if max(steps) <= 0:
        return {**row, "trend": "falls" if min(steps) < 0 else "does not change"}
    if min(steps) >= 0:
        row["trend"] = "rises"
    else:
        row["trend"] = "falls with a rise" if rates[-1] < rates[0] else "rises and falls"
    i, j = max(combinations(range(len(points)), 2), key=lambda ij: rates[ij[1]] - rates[ij[0]])
    row["rise"] = {"from": points[i], "to": points[j]}
    return row


def _matrix(cells: list[ClockPair]) -> tuple[Any, Any]:
    """Sync and async scores, (scenarios, cells), NaN where a cell lacks the scenario."""
    at = {unit: i for i, unit in enumerate(dict.fromkeys(u for c in cells for u in c.units))}
    sync, asyn = np.full((2, len(at), len(cells)), np.nan)
    for k, cell in enumerate(cells):
        rows = [at[u] for u in cell.units]
        sync[rows, k], asyn[rows, k] = cell.sync, cell.asyn
    return sync, asyn


def _fits(cells: list[ClockPair], alpha: float, seed: int) -> list[Row]:
    rows = []
    for task in dict.fromkeys(c.task for c in cells):
        mine = [c for c in cells if c.task == task and (c.latency or 0.0) > 0.0]
        row: Row = {"task": task, "points": len(mine), "policies": len({c.policy for c in mine})}
        if len({c.latency for c in mine}) < 2:
            none = _end(None, "a fit needs two latencies or more above 0")
            rows.append({**row, "points_per_tenfold": none, "correlation": None})
            continue
        fit = tenfold_interval([c.latency or 0.0 for c in mine], *_matrix(mine), alpha, seed=seed)
        strength = fit.diagnostics["correlation"]
        rows.append({**row, "points_per_tenfold": _end(fit, scale=100.0), "correlation": strength})
    return rows


def _budget(group: list[ClockPair], way: str, keep: float, alpha: float) -> Row:
    sync, asyn = _matrix(group)
    latency = [c.latency or 0.0 for c in group]
    budget = latency_budget(latency, sync, asyn, keep=keep, alpha=alpha).to_dict()
    ends = {f"{k}_s": budget.pop(k) for k in ("estimate", "low", "high", "kept_at", "lost_at")}
    tried = sorted(set(latency))
    return {"task": group[0].task, "policy": group[0].policy, "way": way, **ends, "tried_s": tried, **budget}


def _ranks(cells: list[ClockPair], alpha: float, seed: int) -> list[Row]:
    groups: dict[tuple[str, str], list[ClockPair]] = defaultdict(list)
    for cell in cells:
        groups[cell.task, cell.family()].append(cell)
    rows = []
    for (task, family), pairs in groups.items():
        names = [c.policy for c in pairs]
        if len(names) < 2 or len(set(names)) < len(names):
            continue
        common = set(pairs[0].units).intersection(*(c.units for c in pairs[1:]))
        if len(common) < 2:
            continue
        kept = [[i for i, u in enumerate(c.units) if u in common] for c in pairs]
        order = [np.argsort([c.units[i] for i in rows_]) for c, rows_ in zip(pairs, kept, strict=True)]
        picks = [np.array(rows_)[o] for rows_, o in zip(kept, order, strict=True)]
        sync = [c.sync[p] for c, p in zip(pairs, picks, strict=True)]
        asyn = [c.asyn[p] for c, p in zip(pairs, picks, strict=True)]
        rates = [np.array([x.mean() for x in side]) for side in (asyn, sync)]
        metrics = stats.all_metrics(
            *rates, real_outcomes=asyn, sim_outcomes=sync, alpha=alpha, seed=seed,
            metrics={name: stats.METRICS[name] for name in RANKED},
        )  # fmt: skip
        value = json.loads(family)
        labels = {c.label for c in pairs}
        speed = "" if pairs[0].speed == 1 else f", speed {pairs[0].speed:g}"
        label = labels.pop() if len(labels) == 1 else f"{value['kind']} {value['latency']}{speed}"
        rows.append(
            {
                "task": task,
                "clock": label,
                "scenarios": len(common),
                "policies": {
                    n: {"sync": float(s), "async": float(a)} for n, a, s in zip(names, rates[0], rates[1], strict=True)
                },
                **{name: _end(metric) for name, metric in metrics.items()},
                "reversals": _reversals(names, sync, asyn, alpha),
            }
        )
    return rows


def _reversals(names: list[str], sync: list[Any], asyn: list[Any], alpha: float) -> list[Row]:
    """Pairs that change places. Shown: both orders are, each by a paired test, after Holm over all pairs of policies.

    A pair that does not change places shows no change of places: its p-value is 1, without a test.
    """
    pairs = list(combinations(range(len(names)), 2))
    moved = {}
    for i, j in pairs:
        before, after = sync[i].mean() - sync[j].mean(), asyn[i].mean() - asyn[j].mean()
        if before * after < 0:
            tests = [test_of(side[i], side[j], paired=True, alpha=alpha) for side in (sync, asyn)]
            moved[i, j] = before, max(t.p_value for t in tests)
    reversals = []
    for pair, p in zip(pairs, stats.holm([moved[ij][1] if ij in moved else 1.0 for ij in pairs]), strict=True):
        if pair in moved:
            a, b = pair if moved[pair][0] > 0 else pair[::-1]
            row = {"ahead_sync": names[a], "ahead_async": names[b], "p_adjusted": float(p), "shown": bool(p <= alpha)}
            reversals.append(row)
    return reversals
