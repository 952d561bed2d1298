"""Why episodes fail, in the words of the judge, and whose errors there were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foretell.answers.words import listed
from foretell.report.bars import bars
from foretell.report.runs import Runs, place
from foretell.report.section import Block, Chart, Section, Sheet

__all__ = ["section"]

REASONS = 12
"""Reasons that the chart keeps apart. Rarer reasons are counted together."""
SERIES = 8
OTHER = "other reasons"
BLAME = {
    "policy": "counted as a failure",
    "world": "left out of n",
    "machine": "left out of n; run the same command to try again",
}

Row = Mapping[str, Any]
"""Episodes that are alike in `COLUMNS`, and how many they are (`count`)."""


COLUMNS = ("world", "task", "policy", "clock", "arm", "success", "blame", "failure_reason", "error")


def section(runs: Runs) -> Section | None:
    rows = [row for run in runs.each for row in replace(run, table=runs.named(run)).counts(*COLUMNS)]
    failed = [row for row in rows if row["success"] is False]
    wrong = [row for row in rows if row["blame"]]
    if not failed and not wrong:
        return None
    blocks: list[Block] = []
    if failed:
        names = dict.fromkeys(row["policy"] for row in rows)
        blocks.append(_chart(failed, sorted(names, key=lambda name: place(name, runs.policies))))
    if wrong:
        blocks.append(_errors(wrong))
    return Section("failures", "Failures", _says(rows), blocks)


def _says(rows: Sequence[Row]) -> str:
    """How many fail, world by world, and what is counted together within each."""
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    parts, excluded = [], 0
    for world in worlds:
        mine = [row for row in rows if row["world"] == world]
        failed = [row for row in mine if row["success"] is False]
        out = _total(row for row in mine if row["blame"] not in (None, "policy"))
        excluded += out
        where = f" in {world}" if len(worlds) > 1 else ""
        sentence = f"{_total(failed):,} of {_total(mine) - out:,} judged episodes{where} fail"
        if failed:
            reason, count = _counted(failed, _reason).most_common(1)[0]
            sentence += f", {'all' if count == _total(failed) else f'{count:,} of them'} for “{reason}”"
        parts.append(sentence)
    names = {"clock": "clocks", "arm": "perturbations"}
    together = [words for name, words in names.items() if len({row[name] for row in rows}) > 1]
    if together:
        parts.append(f"{listed(together)} are counted together")
    if excluded:
        parts.append(f"{excluded:,} more ended in an error of the world or the machine and are left out")
    return f"{'; '.join(parts)}."


def _total(rows: Iterable[Row]) -> int:
    return sum(row["count"] for row in rows)


def _counted(rows: Iterable[Row], named: Callable[[Row], Any]) -> Counter[Any]:
    """Episodes by what `named` calls them."""
    counts: Counter[Any] = Counter()
    for row in rows:
        counts[named(row)] += row["count"]
    return counts


def _reason(row: Row) -> str:
    return str(row["failure_reason"] or "no reason given")


def _chart(failed: Sequence[Row], policies: Sequence[str]) -> Chart:
    several = [name for name in ("world", "task") if len({row[name] for row in failed}) > 1]

    def named(row: Row) -> str:
        where = ", ".join(row[name] for name in several)
        return f"{where}: {_reason(row)}" if where else _reason(row)

    cells: Counter[tuple[str, str]] = Counter()
    shown = policies if len(policies) <= SERIES else None
    counts = _counted(failed, named)
    kept = {reason for reason, _ in counts.most_common(REASONS)}
    for row in failed:
        reason = named(row)
        cells[reason if reason in kept else OTHER, row["policy"] if shown else ""] += row["count"]
    lines = [*(reason for reason, _ in counts.most_common(REASONS)), *([OTHER] if len(counts) > REASONS else [])]
    rows = [
        {"reason": reason, "policy": policy, "episodes": cells[reason, policy]}
        for reason in lines
        for policy in (shown or [""])
        if cells[reason, policy]
    ]
    tips = {"reason": ("reason", ""), "policy": ("policy", ""), "episodes": ("episodes", "d")}
    parts: dict[str, Any] = {"parts": "policy", "order": shown} if shown and len(shown) > 1 else {}
    if not shown:
        tips.pop("policy")
        rows = [{k: v for k, v in row.items() if k != "policy"} for row in rows]
    spec = bars(rows, y="reason", x="episodes", title="failed episodes", tips=tips, **parts)
    about = "The first stage that was missed, or what the judge wrote."
    return Chart(name="failures", title="Failures by reason", spec=spec, rows=rows, about=about)


def _errors(wrong: Sequence[Row]) -> Sheet:
    counts = _counted(wrong, lambda row: (row["blame"], row["policy"], str(row["error"] or "").partition("\n")[0]))
    lines = [[*names, count, BLAME.get(names[0], "")] for names, count in counts.most_common()]
    columns = ["blame", "policy", "error", "episodes", "counts as"]
    about = "An error is blamed on the policy (raised, not a number, wrong shape), the world (diverged) or the machine."
    return Sheet(name="errors", title="Errors by blame", columns=columns, rows=lines, right=("episodes",), about=about)
