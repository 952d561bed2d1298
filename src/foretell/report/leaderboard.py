"""A leaderboard as a part of a report: tables and charts, as data."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from foretell.answers.words import sentence
from foretell.leaderboard.ground import CLEAN
from foretell.leaderboard.text import about, change, percent, rate, reasons, spared
from foretell.report.charts import dots, lines, radar, slug
from foretell.report.page import needs_extra, page
from foretell.report.section import Block, Chart, Section, Sheet, Words
from foretell.stats.paired import EXACT

if TYPE_CHECKING:
    from foretell.leaderboard.board import Leaderboard
__all__ = ["contents", "leaderboard_page", "section"]

Row = dict[str, Any]
TIPS = {"success": ("success", ".1%"), "low": ("from", ".1%"), "high": ("to", ".1%"), "n": ("episodes", "d")}

CERTIFIED = {True: "yes", False: "no, so not charged", None: "nothing is"}


def contents(board: Leaderboard) -> Row:
    """What `foretell.report.page` makes a page of."""
    from foretell import __version__

    ground = board.ground
    whole = sum(entry["episodes"] for entry in board.entries)
    solved = sum(round(c["success"]["estimate"] * c["success"]["n"]) for e in board.entries for c in _cells(e))
    run = {
        "name": "leaderboard",
        "path": ground.source,
        "study": "leaderboard",
        "world": board.world,
        "real": False,
        "tasks": ground.tasks,
        "policies": [entry["policy"] for entry in board.entries],
        "episodes": whole,
        "judged": whole,
        "successes": solved,
        "errors": {},
    }
    return {
        "title": "Leaderboard" + (f" of test set {ground.header.name}" if ground.header else ""),
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "foretell": __version__,
        "runs": [run],
        "sections": [section(board).to_dict()],
        "episodes": {"count": 0},
        "videos": {},
        "notes": list(board.notes),
    }


def leaderboard_page(board: Leaderboard) -> str:
    """One page of HTML that opens from disk."""
    needs_extra()
    return page(contents(board))


def _cells(entry: Row) -> list[Row]:
    return [cell for cell in entry["cells"] if cell["success"]]


def section(board: Leaderboard) -> Section:
    """The ranking, success and change by factor, curves over severity, and a second world where there is one."""
    blocks: list[Block] = [Words(" ".join(map(sentence, about(board)))), _ranking(board)]
    blocks += [_success(board), _changes(board)]
    if len(_arms(board)) > 2:
        blocks.append(_radar(board))
    blocks.append(_sheet(board))
    blocks += _curves(board)
    if board.worlds:
        blocks += [_worlds(board), _alignment(board)]
    return Section("leaderboard", "Leaderboard", _says(board), blocks)


def _says(board: Leaderboard) -> str:
    ranked = [entry for entry in board.entries if entry["rank"] is not None]
    if not ranked:
        return f"No policy has a score: {board.entries[0]['reason']}."
    first = [entry["policy"] for entry in ranked if entry["rank"] == 1]
    score = f"{ranked[0]['score']['estimate']:.0%}"
    lead = f"{' and '.join(first)} {'lead' if len(first) > 1 else 'leads'} with a score of {score}"
    shown = {frozenset((p["a"], p["b"])) for p in board.pairs if p["verdict"] in ("better", "worse")}
    others = [entry["policy"] for entry in ranked if entry["policy"] not in first]
    rivals = [other for other in others if any(frozenset((leader, other)) not in shown for leader in first)]
    if rivals:
        return f"{lead}; {' and '.join(rivals)} {'are' if rivals[1:] else 'is'} not shown to be worse."
    return (
        f"{lead}, ahead of {'all others' if len(ranked) > 2 else ranked[-1]['policy']}." if ranked[1:] else f"{lead}."
    )


def _arms(board: Leaderboard) -> list[str]:
    return [arm for arm in board.ground.arms if board.ground.of(arm)]


def _ranking(board: Leaderboard) -> Sheet:
    arms = _arms(board)
    rows = []
    for entry in board.entries:
        of = {row["arm"]: row for row in entry["arms"]}
        low, high = entry["rank_range"] or (None, None)
        spread = "" if low is None or low == high else f" ({low} to {high})"
        rank = "-" if entry["rank"] is None else f"{entry['rank']}{spread}"
        score = rate(entry["score"]) if entry["score"] else f"none: {entry['reason']}"
        rates = [f"{interval['estimate']:.0%}" if (interval := of[arm].get("success")) else "-" for arm in arms]
        rows.append([rank, entry["policy"], score, *rates, entry["episodes"]])
    names = ["clean" if arm == CLEAN else arm for arm in arms]
    columns = ["rank", "policy", "score", *names, "episodes"]
    about = (
        f"Score: mean success over certified cells, each factor with the same weight, with a {1 - board.alpha:.0%} "
        f"confidence interval that holds for every n. {board.open_ranks()} The other columns are success rates."
    )
    return Sheet(
        name="leaderboard",
        title="Ranking",
        columns=columns,
        rows=rows,
        right=[c for c in columns if c not in ("policy",)],
        about=about,
    )


def _success(board: Leaderboard) -> Chart:
    rows = [
        {
            "arm": row["arm"],
            "policy": entry["policy"],
            "success": share["estimate"],
            "tasks": ", ".join(row["tasks"]),
        }
        | {key: share[key] for key in ("low", "high", "n")}
        for entry in board.entries
        for row in entry["arms"]
        if (share := row.get("success"))
    ]
    tips = {"arm": ("arm", ""), "policy": ("policy", ""), **TIPS, "tasks": ("tasks", "")}
    spec = dots(rows, y="arm", x="success", series="policy", title="success", domain=(0.0, 1.0), tips=tips)
    about = f"Over the tasks on which an arm is certified. Bars are {1 - board.alpha:.0%} Clopper-Pearson intervals."
    return Chart(name="success-by-factor", title="Success by factor", spec=spec, rows=rows, about=about)


def _changes(board: Leaderboard) -> Chart:
    rows = []
    for entry in board.entries:
        for row in entry["arms"]:
            if shift := row.get("change"):
                ends = {
                    key: 100 * shift[name] for key, name in (("points", "estimate"), ("low", "low"), ("high", "high"))
                }
                more = {"n": shift["n"], "percent": percent(row)}
                rows.append({"arm": row["arm"], "policy": entry["policy"], **ends, **more})
    tips = {"arm": ("arm", ""), "policy": ("policy", ""), "points": ("change, points", "+.1f")}
    tips |= {"low": ("from", "+.1f"), "high": ("to", "+.1f"), "n": ("pairs", "d"), "percent": ("of clean success", "")}
    spec = dots(rows, y="arm", x="points", series="policy", title="change in success, points", unit="points", zero=True,
                tips=tips)  # fmt: skip
    about = (
        "Against the clean control in the same scenarios. "
        f"Bars are {1 - board.alpha:.0%} confidence intervals, each for one change alone, exact up to {EXACT} pairs "
        "of successes. An interval without width means that all episodes are identical: the factor changes only the "
        "appearance, and the policy uses no camera."
    )
    return Chart(name="change-by-factor", title="What each factor costs", spec=spec, rows=rows, about=about)


def _radar(board: Leaderboard) -> Chart:
    rows = [
        {
            "arm": "clean" if row["arm"] == CLEAN else row["arm"],
            "policy": entry["policy"],
            "success": share["estimate"],
        }
        for entry in board.entries
        for row in entry["arms"]
        if (share := row.get("success"))
    ]
    tips = {"arm": ("arm", ""), "policy": ("policy", ""), "success": TIPS["success"]}
    spec = radar(rows, axis="arm", series="policy", value="success", tips=tips)
    return Chart(
        name="robustness",
        title="Success by factor, at a glance",
        spec=spec,
        rows=rows,
        about="0 is in the middle, 100% on the rim.",
    )


def _sheet(board: Leaderboard) -> Sheet:
    rows = []
    for entry in board.entries:
        for row in entry["arms"]:
            about = [entry["policy"], row["arm"]]
            if row["tasks"]:
                figures = [rate(row["success"]), change(row.get("change")), percent(row)]
                rows.append([*about, ", ".join(row["tasks"]), *figures])
            if "not_charged" in row:
                rows.append([*about, ", ".join(row["not_charged"]["tasks"]), spared(row), "-", "-"])
    columns = ["policy", "arm", "tasks", "success", "change, points", "change, percent"]
    below = "Percentages are of the mean success of the clean control, as in THE COLOSSEUM; undefined if that is 0."
    return Sheet(name="by-factor", title="Every figure", columns=columns, rows=rows, right=columns[3:], about=below)


def _curves(board: Leaderboard) -> list[Chart]:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in board.curves:
        more = {"success": row["estimate"], "certified": CERTIFIED[row["certified"]]}
        groups[row["policy"], row["task"]].append({**row, **more})
    charts = []
    for (policy, task), rows in groups.items():
        tips = {"factor": ("factor", ""), "severity": ("severity", ".2g"), **TIPS, "certified": ("certified", "")}
        spec = lines(rows, x="severity", y="success", series="factor", titles=("severity", "success"), tips=tips)
        title = f"Success of {policy} on {task} as factors grow"
        about = "Severity 0 is the clean control, 1 the published extreme. "
        about += f"Bars are {1 - board.alpha:.0%} Clopper-Pearson intervals."
        marked = [f"{row['factor']} at {row['severity']:g}" for row in rows if row["certified"] == CERTIFIED[False]]
        about += f" Not certified, so not charged: {', '.join(marked)}." if marked else ""
        charts.append(Chart(name=slug("severity", policy, task), title=title, spec=spec, rows=rows, about=about))
    return charts


def _worlds(board: Leaderboard) -> Chart:
    assert board.worlds is not None
    rows = [
        {"arm": row["arm"], "world": board.worlds[side], "success": row[side]["estimate"]}
        | {key: row[side][key] for key in ("low", "high", "n")}
        for row in board.worlds["arms"]
        for side in ("sim", "real")
    ]
    tips = {"arm": ("arm", ""), "world": ("world", ""), **TIPS}
    spec = dots(rows, y="arm", x="success", series="world", title="success", domain=(0.0, 1.0), tips=tips)
    about = (
        "Means over the policies and tasks that both worlds have, in the scenarios that count in both; "
        f"{1 - board.alpha:.0%} intervals that hold for every n."
    )
    return Chart(
        name="two-worlds",
        title=f"{board.worlds['sim']} beside {board.worlds['real']}",
        spec=spec,
        rows=rows,
        about=about,
    )


def _alignment(board: Leaderboard) -> Sheet:
    assert board.worlds is not None
    rows = []
    for row in board.worlds["arms"]:
        fit = row["r_squared"]
        value = "-" if fit["value"] is None else f"{fit['value']:.2f}"
        known = fit["value"] is not None and fit["low"] is not None
        ends = f"{fit['low']:.2f} to {fit['high']:.2f}" if known else "-"
        rows.append([row["arm"], rate(row["sim"]), rate(row["real"]), value, ends, fit["points"]])
    columns = [
        "arm",
        board.worlds["sim"],
        board.worlds["real"],
        "R squared",
        f"{1 - board.alpha:.0%} interval",
        "points",
    ]
    sentences = ["R squared of success in the two worlds; a point is a policy on a task", *reasons(board)]
    about = " ".join(map(sentence, sentences))
    return Sheet(
        name="alignment",
        title="How far the two worlds agree, factor by factor",
        columns=columns,
        rows=rows,
        right=columns[1:],
        about=about,
    )
