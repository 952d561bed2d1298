"""The answer of `clocks` in words: a table for each task, then one plain sentence for every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretell.answers.words import level, plain, sentence, table
from foretell.counting import counted

if TYPE_CHECKING:
    from foretell.answers.clocks import Clocks

__all__ = ["seconds", "text_of"]

Row = dict[str, Any]
FEW = 3
"""Answers of one kind that are told in sentences; more budgets make a table, more pairs are counted."""


def seconds(value: float | None) -> str:
    """A time as people say it."""
    if value is None:
        return "-"
    return f"{1000.0 * value:.3g} ms" if abs(value) < 0.9995 else f"{value:.3g} s"


def _percent(value: float) -> str:
    return f"{100.0 * value:.0f}%"


def _rate(interval: Row) -> str:
    if interval["estimate"] is None:
        return "-"
    return f"{_percent(interval['estimate'])} ({_ends(interval, 100.0)})"


def _ends(interval: Row, scale: float = 1.0) -> str:
    low, high = ("..." if interval[k] is None else str(round(scale * interval[k])) for k in ("low", "high"))
    return f"{low} to {high}"


def text_of(answer: Clocks) -> str:
    """All of it, task by task."""
    parts: list[str] = []
    for task in dict.fromkeys(row["task"] for row in answer.cells):

        def of(rows: list[Row], task: str = task) -> list[Row]:
            return [row for row in rows if row["task"] == task]

        parts += [f"task {plain(task)}", _table(of(answer.cells)), *_speeds(of(answer.against_speed))]
        trends = [_trend(row, "latency", answer.alpha) for row in of(answer.against_latency) if len(row["points"]) > 1]
        lists = [_clocks(row) for row in of(answer.against_latency)]  # where speed alone made latency differ
        by_speed = [row for row in of(answer.against_speed) if _clocks(row) not in lists]
        trends += [_trend(row, "speed", answer.alpha) for row in by_speed] + [_fit(row) for row in of(answer.fits)]
        budgets = of(answer.budgets)
        parts += map(sentence, trends + ([_budget(row) for row in budgets] if len(budgets) <= FEW else []))
        parts += [*([_budgets(budgets)] if len(budgets) > FEW else []), *map(sentence, _ranks(of(answer.ranks))), ""]
    parts.append(
        f"Intervals are {level(answer.alpha)}. gap: sync minus async on the same trials, in points; kept: async as a "
        "share of sync. Latency, age and starvation are in simulated time, speed included. Verdicts follow the paired "
        f"test of `foretell compare`, with Holm's adjustment over {_many(len(answer.cells))}. Each trend has one test."
    )
    return "\n".join(parts + [f"note: {plain(note)}" for note in answer.notes])


def _many(gaps: int) -> str:
    return f"all {gaps} gaps" if gaps > 1 else "the one gap"


def _clocks(row: Row) -> tuple[str, set[str]]:
    return row["policy"], {point["clock"] for point in row["points"]}


def _table(rows: list[Row]) -> str:
    header = ["policy", "clock", "n", "sync", "async", "gap", "kept", "verdict"]
    header += ["latency", "per action", "age", "starved"]
    lines = []
    for row in rows:
        gap = row["gap_points"]
        cells = [row["policy"], row["clock"], str(row["pairs"]), _rate(row["sync"]), _rate(row["async"])]
        cells += [f"{gap['estimate'] + 0.0:.0f} ({_ends(gap)})", _rate(row["retention"]), row["verdict"]]
        times = ("latency_s", "latency_per_action_s", "observation_age_s", "starvation_s")
        lines.append([*cells, *(seconds(row[name]) for name in times)])
    return table(header, lines)


def _speeds(rows: list[Row]) -> list[str]:
    """Success by speed, where a latency was tried at several."""
    if not rows:
        return []
    speeds = sorted({p["speed"] for row in rows for p in row["points"]})
    lines = []
    for row in rows:
        at = {p["speed"]: p for p in row["points"]}
        rates = [_rate({**at[s], "estimate": at[s]["success"]}) if s in at else "-" for s in speeds]
        lines.append([row["policy"], row["clock"], *rates])
    return ["", table(["policy", "success by speed", *(f"speed {s:g}" for s in speeds)], lines), ""]


def _subject(row: Row) -> str:
    way = f" ({plain(row['way'])})" if row["way"] else ""
    return f"{plain(row['policy'])} on {plain(row['task'])}{way}"


def _chance(p: float | None, alpha: float) -> str:
    if p is None:
        return "not tested"
    return f"{'more than' if p <= alpha else 'within'} chance, p {f'= {p:.2g}' if p >= 1e-4 else '< 0.0001'}"


def _trend(row: Row, by: str, alpha: float) -> str:
    def at(point: Row) -> str:
        where = seconds(point["latency_s"]) if by == "latency" else f"speed {point['speed']:g}"
        return f"{_percent(point['success'])} at {where}"

    first, last = row["points"][0], row["points"][-1]
    subject = f"success of {_subject(row)}"
    if by == "speed" and row["latency_s"] is not None:
        subject += f" with {seconds(row['latency_s'])} of latency"
    ends = f"from {at(first)} to {at(last)}"
    if row["trend"] == "does not change":
        return f"{subject} does not change with {by}, {ends}"
    chance = _chance(row["p_value"], alpha)
    if row["verdict"] not in ("falls", "rises"):
        return f"{subject} shows no trend with {by}, {ends} ({chance})"
    sentence = f"{subject} {row['verdict']} as {by} grows, {ends} ({chance})"
    if row["verdict"] == "rises":
        return sentence
    if row["rise"] is None:
        return f"{sentence}, and never rises on the way" if len(row["points"]) > 2 else sentence
    return f"{sentence}, with a rise from {at(row['rise']['from'])} to {at(row['rise']['to'])} on the way (not tested)"


def _fit(row: Row) -> str:
    slope = row["points_per_tenfold"]
    if slope["estimate"] is None:
        return f"no fit of the drop against latency on {plain(row['task'])}: {slope['reason']}"
    sign = "costs" if slope["estimate"] >= 0 else "gains"
    ends = "" if slope["low"] is None else f" ({level(slope['alpha'])}: {_ends(slope)})"
    strength = "" if row["correlation"] is None else f", r = {row['correlation']:.2f}"
    of = f"a line through {row['points']} gaps of {row['policies']} {'policies' if row['policies'] > 1 else 'policy'}"
    points = f"{abs(slope['estimate']):.0f} points of success on {plain(row['task'])}{ends}"
    return f"ten times the latency {sign} {points}; {of}{strength}"


def _budget(row: Row) -> str:
    aim = f"{100.0 * row['keep']:.10g}% of its synchronous success"
    low, high = row["low_s"], row["high_s"]
    smallest, largest = row["tried_s"][0], row["tried_s"][-1]
    sure, subject = level(row["alpha"]), f"latency budget of {_subject(row)}"
    if row["estimate_s"] is not None:
        a = f"below {seconds(smallest)}" if low is None else seconds(low)
        b = f"above {seconds(largest)}" if high is None else seconds(high)
        tried = (
            f"between {seconds(row['kept_at_s'])}, which keeps {aim}, and {seconds(row['lost_at_s'])}, which does not"
        )
        line = "by straight lines between the latencies tried"
        return f"{subject}: {tried}; {line} {seconds(row['estimate_s'])} ({sure}: {a} to {b})"
    if row["kept_at_s"] is not None:
        least = f"{sure}: perhaps below {seconds(smallest)}" if low is None else f"{sure}: at least {seconds(low)}"
        return f"{subject}: at least {seconds(largest)} ({least}); every latency tried keeps {aim}"
    if row["lost_at_s"] is not None:
        most = f"{sure}: perhaps above {seconds(largest)}" if high is None else f"{sure}: below {seconds(high)}"
        return f"{subject}: below {seconds(smallest)} ({most}); every latency tried keeps less than {aim}"
    return f"no {subject}: {row['reason']}"


def _budgets(rows: list[Row]) -> str:
    """Budgets of many policies: each within its interval, and between which latencies tried it lies."""
    lines = []
    for row in rows:
        smallest, largest = seconds(row["tried_s"][0]), seconds(row["tried_s"][-1])
        estimate = seconds(row["estimate_s"])
        if row["estimate_s"] is None and row["kept_at_s"] is not None:
            estimate = f"at least {largest}"
        elif row["estimate_s"] is None and row["lost_at_s"] is not None:
            estimate = f"below {smallest}"
        low = f"below {smallest}" if row["low_s"] is None else seconds(row["low_s"])
        high = f"above {largest}" if row["high_s"] is None else seconds(row["high_s"])
        ends = "-" if estimate == "-" else f"{low} to {high}"
        if estimate.startswith("at least") and row["low_s"] is not None:
            ends = f"at least {low}"
        elif estimate.startswith("below") and row["high_s"] is not None:
            ends = f"below {high}"
        name = f"{row['policy']} ({row['way']})" if row["way"] else row["policy"]
        lines.append([name, estimate, ends, seconds(row["kept_at_s"]), seconds(row["lost_at_s"])])
    keep = f"{100.0 * rows[0]['keep']:.10g}%"
    header = ["policy", f"latency budget to keep {keep}", f"{level(rows[0]['alpha'])} interval", "kept at", "lost at"]
    return "\n".join(["", table(header, lines), ""])


def _ranks(rows: list[Row]) -> list[str]:
    """One sentence for every clock under which policies change places, one for the others."""
    sentences = []
    for row in (r for r in rows if r["reversals"]):
        pairs = []
        for pair in sorted(row["reversals"], key=lambda r: r["p_adjusted"])[:FEW]:
            a, b = pair["ahead_sync"], pair["ahead_async"]
            rates = [" against ".join(_percent(row["policies"][n][mode]) for n in (a, b)) for mode in ("sync", "async")]
            word = "shown" if pair["shown"] else "may be chance"
            pairs.append(f"{plain(a)} is ahead of {plain(b)} sync, {rates[0]}, and behind async, {rates[1]} ({word})")
        count = len(row["policies"]) * (len(row["policies"]) - 1) // 2
        changed, shown = len(row["reversals"]), sum(pair["shown"] for pair in row["reversals"])
        head = (
            f"ranks on {plain(row['task'])} under {plain(row['clock'])}: {changed} of "
            f"{counted(count, 'pair')} changed places"
        )
        if changed > FEW:
            pairs.append(f"and {changed - FEW} more; {shown} of the {changed} are shown")
        sentences.append(f"{head}: {'; '.join(pairs)}")
    same = [row for row in rows if not row["reversals"]]
    if same:
        under = plain(same[0]["clock"]) if len(same) == 1 else f"{len(same)} {'other ' if sentences else ''}clocks"
        sentences.append(f"ranks on {plain(same[0]['task'])} under {under}: no two policies change places")
    return sentences
