"""AsyncRoboSim, Tables 1 to 6 and the fits of Figure 4."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from foretell.papers import Printed, table, text
from foretell.reproduction.figure import Ledger
from foretell.stats import pairwise_accuracy, pearson, spearman, wilson
from foretell.stats.latency_fit import tenfold

__all__ = ["asynchronous"]

TASKS = ("lift", "can", "square", "transport", "tool hang")
SUITES = ("spatial", "object", "goal", "long")
MODES = ("sync", "async")
METRICS = ("pearson", "spearman", "pairwise accuracy")
mean = partial(np.mean, axis=-1)


def asynchronous() -> Ledger:
    """Every figure of the paper that its tables determine."""
    book = Ledger("async")
    _correlations(book)
    _robomimic(book)
    _intervals(book, "Table 3", table("async", "3"), lambda r: f"{r['task']}, {r['policy']}")
    _libero(book)
    for name, task in (("5", "can"), ("6", "square")):
        _intervals(book, f"Table {name}", table("async", name), lambda r, task=task: f"{task}, {r['policy']}")
    _latency(book)
    return book


def _correlations(book: Ledger) -> None:
    """Table 1 from Tables 5 and 6: the nine policies that ran on the robot."""
    printed = {(r["task"], r["condition"]): r for r in table("async", "1")}
    for name, task in (("5", "can"), ("6", "square")):
        rows = [r for r in table("async", name) if r["real"] is not None]
        real = np.array([r["real"] for r in rows], dtype=float)
        correlations: dict[str, list[float]] = {}
        for mode in MODES:
            sim = np.array([r[mode] for r in rows], dtype=float)
            literal = float(pairwise_accuracy(real, sim, ties="strict"))
            ordinal = _no_ties(real, sim)
            ours = [float(f(real, sim)) for f in (pearson, spearman, pairwise_accuracy)]
            correlations[mode] = ours
            notes = (
                f"Section 3 calls it squared; r squared is {ours[0] ** 2:.3f}",
                f"ties share ranks; the formula as printed gives {ordinal:.3f}",
                f"pairs tied in real or sim left out; the formula as printed gives {literal:.3f}",
            )
            for metric, value, note in zip(METRICS, ours, notes, strict=True):
                book.value("Table 1", f"{metric} of {task}, {mode}", printed[task, mode][metric], value, note)
        for i, metric in enumerate(METRICS):
            gain = correlations["async"][i] - correlations["sync"][i]
            why = "the difference of the two rounded values is printed"
            book.value("Table 1", f"gain in {metric} of {task}", printed[task, "improvement"][metric], gain, why=why)


def _no_ties(real: Any, sim: Any) -> float:
    """The printed formula of Spearman's rho, with average ranks put into it."""
    from foretell.stats.predictivity import ranks

    n = real.size
    return float(1.0 - 6.0 * ((ranks(real) - ranks(sim)) ** 2).sum() / (n * (n * n - 1)))


def _drop(sync: Any, asyn: Any) -> Any:
    return sync.mean(axis=-1) - asyn.mean(axis=-1)


def _averages(book: Ledger, name: str, row: dict[str, Any], tasks: tuple[str, ...]) -> None:
    policy = row["policy"]
    rates = {m: np.array([row[f"{t} {m}"] for t in tasks], dtype=float) for m in MODES}
    for mode in MODES:
        book.value(name, f"mean {mode} success of {policy}", row[f"average {mode}"], float(rates[mode].mean()))
    book.value(name, f"drop of {policy}", row["drop"], -float(_drop(rates["sync"], rates["async"])))
    exact = 100.0 * float(_drop(rates["sync"], rates["async"]) / rates["sync"].mean())
    rounded = 100.0 * float(1.0 - row["average async"] / row["average sync"])
    why = f"the printed, rounded means give {rounded:.2f}"
    book.value(name, f"relative drop of {policy}", row["relative drop"], exact, why=why)


def _robomimic(book: Ledger) -> None:
    """Table 2: means, drops and latency per executed action, the latter from Table 3."""
    detail = {(r["task"], r["policy"]): r for r in table("async", "3")}
    for row in table("async", "2"):
        policy = row["policy"]
        _averages(book, "Table 2", row, TASKS)
        chunk = int(policy.partition("chunk=")[2].rstrip(")") or 1)
        times = [detail[t, policy]["latency"] for t in TASKS]
        note = "mean over tasks of Table 3" + (f", over {chunk} executed actions" if chunk > 1 else "")
        figure = f"latency of {policy} in ms"
        why = "the last digits do not follow from Table 3"
        book.check("Table 2", figure, row["latency"], lambda t, c=chunk: t.mean(axis=-1) / c, times, note=note, why=why)


def _intervals(book: Ledger, name: str, rows: list[dict[str, Any]], label: Any) -> None:
    """Wilson ends and drops of Tables 3, 5 and 6."""
    size = text("async")
    n = {
        "sync": size["simulated trials Robomimic"],
        "async": size["simulated trials Robomimic"],
        "real": size["real trials"],
    }
    for row in rows:
        for mode in (*MODES, "real"):
            if row.get(mode) is None:
                continue
            trials = int(n[mode])
            interval = wilson(round(float(row[mode]) * trials / 100), trials)
            for side, end in (("low", interval.low), ("high", interval.high)):
                figure = f"{mode} {side} of {label(row)}"
                book.value(name, figure, row[f"{mode} {side}"], 100.0 * float(end or 0.0))
        book.value(name, f"drop of {label(row)}", row["drop"], float(row["sync"] - row["async"]))


def _libero(book: Ledger) -> None:
    """Table 4, and the shares retained that the text repeats."""
    words = text("async")
    for row in table("async", "4"):
        _averages(book, "Table 4", row, SUITES)
        kept = 100.0 * float(np.mean([row[f"{t} async"] for t in SUITES]) / np.mean([row[f"{t} sync"] for t in SUITES]))
        why = f"the printed, rounded means give {100.0 * row['average async'] / row['average sync']:.2f}"
        book.value("Table 4", f"retention of {row['policy']}", row["retention"], kept, why=why)
        if f"retention of {row['policy']}" in words:
            figure = f"retention of {row['policy']}"
            book.value("Section 3", figure, words[figure], kept, why=why)


def _fit(latency: list[Printed], drop: list[float]) -> tuple[float, float]:
    """Slope in points per factor of ten of latency, and the correlation behind it."""
    slope, r = tenfold([float(v) for v in latency], drop)
    return float(slope), float(r)


def _latency(book: Ledger) -> None:
    """Figure 4: drop in points against the logarithm of latency. Its slopes are printed in the picture only."""
    detail = table("async", "3")
    strengths: dict[str, list[float]] = {"Robomimic": [], "LIBERO": []}
    note = "points per tenfold latency, r = {:.2f}; the paper's slope is in the picture only"
    for task in TASKS:
        rows = [r for r in detail if r["task"] == task]
        slope, r = _fit([x["latency"] for x in rows], [float(x["sync"] - x["async"]) for x in rows])
        strengths["Robomimic"].append(r)
        book.ours("Fig. 4", f"slope of {task}, latency per inference", slope, note.format(r))
    rows = table("async", "4")
    for suite in SUITES:
        slope, r = _fit([x["latency"] for x in rows], [float(x[f"{suite} sync"] - x[f"{suite} async"]) for x in rows])
        strengths["LIBERO"].append(r)
        book.ours("Fig. 4", f"slope of {suite}", slope, note.format(r))
    a, b = (float(np.mean(strengths[k])) for k in ("Robomimic", "LIBERO"))
    holds = 0.0 < b < a
    book.claim("Fig. 4", "drop grows with latency, less clearly on LIBERO", holds, f"mean r {a:.2f} and {b:.2f}")
