"""A leaderboard as text: who is first, then factor by factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretell.answers.words import level, table
from foretell.counting import counted
from foretell.leaderboard.ground import CLEAN
from foretell.stats.paired import EXACT
from foretell.study.unchanged import IDENTICAL

if TYPE_CHECKING:
    from foretell.leaderboard.board import Leaderboard

__all__ = ["about", "change", "percent", "rate", "reasons", "spared", "text"]

Row = dict[str, Any]


def rate(interval: Row | None) -> str:
    """Success with its interval: 72% (58 to 82)."""
    if not interval:
        return "-"
    if interval["low"] is None:
        return f"{interval['estimate']:.0%}"
    return f"{interval['estimate']:.0%} ({100 * interval['low']:.0f} to {100 * interval['high']:.0f})"


def spared(row: Row) -> str:
    """Success where an arm is not certified: 75% (53 to 89), not charged."""
    return f"{rate(row['not_charged']['success'])}, not charged" if "not_charged" in row else "-"


def change(interval: Row | None) -> str:
    """Change in points with its interval: -18 (-30 to -6). Where every episode is as without the factor: identical."""
    if not interval:
        return "-"
    if interval["method"] == IDENTICAL:
        return IDENTICAL
    value, low, high = (round(100 * interval[k]) for k in ("estimate", "low", "high"))
    return f"{value:+d} ({low:+d} to {high:+d})".replace("+0", "0")


def percent(row: Row) -> str:
    """The percentage change, as in THE COLOSSEUM."""
    if "percent_change" not in row:
        return "-"
    interval = row["percent_change"]
    return _percent(interval["estimate"] if interval else None)


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{round(value):+d}%".replace("+0%", "0%")


def about(board: Leaderboard) -> list[str]:
    """What was run, and what counts."""
    ground, header = board.ground, board.ground.header
    name = f"{header.name}, " if header else ""
    seeds = ""
    if header:
        protocol = header.protocol
        seeds = f", seeds {protocol.seed} to {protocol.seed + protocol.episodes - 1}"
    lines = [
        f"test set {name}id {ground.id}: {', '.join(f'{t} (version {v})' for t, v in ground.versions.items())}",
        f"{counted(ground.n, 'episode')} in each of {counted(len(ground.columns), 'cell')}{seeds}, "
        f"paired with their clean control; "
        f"world {board.world}, clock {board.clock}",
    ]
    if header and header.certificates:
        certified = sum(c.certified for c in header.certificates)
        lines.append(
            f"certified: {certified} of {len(header.certificates)} cells, in which the scripted expert succeeds in at "
            f"least {header.protocol.required:.0%} of the episodes"
        )
        if board.not_certified:
            lines.append(f"not certified, so not charged (expert's success): {', '.join(board.not_certified)}")
    return lines


def text(board: Leaderboard) -> str:
    """Everything, as tables."""
    confidence = level(board.alpha)
    parts = [*about(board), ""]
    together = [arm for arm in board.ground.arms if arm in ("all", "colosseum:all")]
    rows = []
    for entry in board.entries:
        of = {row["arm"]: row for row in entry["arms"]}
        low, high = entry["rank_range"] or (None, None)
        spread = "" if low is None or low == high else f" ({low} to {high})"
        rows.append(
            [
                entry["policy"],
                "-" if entry["rank"] is None else f"{entry['rank']}{spread}",
                rate(entry["score"]) if entry["score"] else f"none: {entry['reason']}",
                *(rate(of[arm]["success"]) if "success" in of[arm] else spared(of[arm]) for arm in (CLEAN, *together)),
                _percent(entry["percent_change_mean"]),
                str(entry["episodes"]),
            ]
        )
    parts.append(table(["policy", "rank", "score", "clean", *together, "mean change", "episodes"], rows))
    parts += ["", *_by_arm(board)]
    if board.curves:
        parts += ["", *_curves(board)]
    if board.worlds:
        parts += ["", *_worlds(board)]
    parts += [
        "",
        f"Score: mean success over certified cells, with equal weight for every factor; {confidence} interval, "
        f"finite-sample. {board.open_ranks()}",
        f"Success: Clopper-Pearson; change in points against the clean control, {confidence}, each on its own: exact "
        f"up to {EXACT} pairs, Newcombe's above; in percent: of the clean control's mean success, as THE COLOSSEUM "
        "has it.",
    ]
    if any(IDENTICAL in line for line in parts):
        parts.append(
            "Identical: every episode is as without the factor, which changes looks only: the policy does not look."
        )
    return "\n".join([*parts, *(f"note: {note}" for note in board.notes)])


def _by_arm(board: Leaderboard) -> list[str]:
    policies = [entry["policy"] for entry in board.entries]
    rates, changes = [], []
    for i, arm in enumerate(board.ground.arms):
        rows = [entry["arms"][i] for entry in board.entries]
        if counted := board.ground.of(arm):
            rates.append([arm, ", ".join(counted), *(rate(row.get("success")) for row in rows)])
        if others := board.ground.spared(arm):
            rates.append([arm, ", ".join(others), *map(spared, rows)])
        if counted and arm != CLEAN:
            changes.append([arm, *(_change(row) if row["tasks"] else "-" for row in rows)])
    parts = [table(["success", "tasks", *policies], rates)]
    return [*parts, "", table(["change, points", *policies], changes)] if changes else parts


def _change(row: Row) -> str:
    text = change(row.get("change"))
    return text if text == IDENTICAL else f"{text}, {percent(row)}"


def _curves(board: Leaderboard) -> list[str]:
    severities = sorted({row["severity"] for row in board.curves})
    lines: dict[tuple[str, str, str], dict[float, str]] = {}
    place = {factor: i for i, factor in enumerate(dict.fromkeys(row["factor"] for row in board.curves))}
    for row in sorted(board.curves, key=lambda row: place[row["factor"]]):
        lines.setdefault((row["factor"], row["task"], row["policy"]), {})[row["severity"]] = _point(row)
    header = ["success by severity", "task", "policy", *(f"{s:g}" for s in severities)]
    return [table(header, [[*key, *(rates.get(s, "-") for s in severities)] for key, rates in lines.items()])]


def _point(row: Row) -> str:
    """A point of a curve; it is marked where its cell is not certified."""
    return rate(row) if row["certified"] is not False else f"{rate(row)}, not charged"


def _worlds(board: Leaderboard) -> list[str]:
    assert board.worlds is not None
    sim, real = board.worlds["sim"], board.worlds["real"]
    rows = []
    for row in board.worlds["arms"]:
        fit = row["r_squared"]
        value = "-" if fit["value"] is None else f"{fit['value']:.2f}"
        ends = "-" if fit["low"] is None or fit["value"] is None else f"{fit['low']:.2f} to {fit['high']:.2f}"
        rows.append([row["arm"], rate(row["sim"]), rate(row["real"]), value, ends, str(fit["points"])])
    header = ["two worlds", sim, real, "R squared", f"{level(board.alpha)} interval", "points"]
    parts = [table(header, rows)]
    for row in board.worlds["policies"]:
        if row["pearson"] is not None:
            parts.append(
                f"{row['policy']}: changes under {row['arms']} arms in {sim} and {real}: Pearson r "
                f"{row['pearson']:.2f}, mmrv {row['mmrv']:.2f}"
            )
    return [*parts, *reasons(board)]


def reasons(board: Leaderboard) -> list[str]:
    """Why arms of two worlds have no R squared, or no interval of it."""
    assert board.worlds is not None
    fits = [row["r_squared"] for row in board.worlds["arms"]]
    sentences = (f"no {'interval' if fit['value'] is not None else 'R squared'}: {fit.get('reason')}" for fit in fits)
    return list(dict.fromkeys(line for line, fit in zip(sentences, fits, strict=True) if "reason" in fit))
