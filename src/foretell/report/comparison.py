"""Which policies differ: letters, intervals of differences, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.answers.compare import Compared
from foretell.counting import counted
from foretell.report.charts import cells, dots, slug
from foretell.report.groups import RowGroup, chosen, distinct, first_groups, noted
from foretell.report.runs import Runs
from foretell.report.section import Block, Chart, Section, Words

__all__ = ["section"]

MANY = 12
"""Pairs above which only the best policy's are drawn with intervals; all are in the table of squares."""
KINDS = ("row is better", "row is worse")


def section(runs: Runs) -> Section | None:
    """Letters, differences and ranks of every world and task with two policies or more."""
    every = first_groups(runs)
    blocks: list[Block] = []
    answers = []
    for group in every:
        answer = group.compared
        if isinstance(answer, str):
            if len(group.policies) > 1:
                blocks.append(Words(f"{group.within(every)}: not compared, {answer}.", "caution"))
            continue
        answers.append((group, answer))
        blocks += _blocks(group, answer, every)
    if not answers:
        return None
    under = chosen(runs, [group for group, _ in answers])
    if under:
        blocks.append(Words(f"All results are {under}."))
    return Section("comparison", "Comparison", _says(answers, every), distinct(blocks))


def _says(answers: list[tuple[RowGroup, Compared]], groups: list[RowGroup]) -> str:
    counts = [sum(pair.verdict in ("better", "worse") for pair in answer.pairs) for _, answer in answers]
    every = sum(len(answer.pairs) for _, answer in answers)
    rest = "; the others may well be equally good" if sum(counts) < every else ""
    if every == 1:
        return "The two policies are shown to differ." if counts[0] else "The two policies may well be equally good."
    if len(answers) == 1:
        return f"{counts[0]} of {counted(every, 'pair')} of policies are shown to differ{rest}."
    parts = [
        f"{shown} of {len(answer.pairs)} on {group.within(groups)}"
        for shown, (group, answer) in zip(counts, answers, strict=True)
    ]
    return f"Pairs of policies shown to differ: {', '.join(parts)}{rest}."


def _blocks(group: RowGroup, answer: Compared, every: list[RowGroup]) -> list[Block]:
    where, many = group.within(every), len(every) > 1
    tail = [where] if many else []
    on = f" on {where}" if many else ""
    order = [row["policy"] for row in answer.policies]
    blocks: list[Block] = [_letters(group, answer, slug("letters", *tail), f"Which policies differ{on}")]
    pairs = answer.pairs
    near = pairs if len(pairs) <= MANY else [p for p in pairs if order[0] in (p.a, p.b)]
    to = "" if near is pairs else f" of {order[0]} to the others"
    blocks.append(_differences(near, slug("differences", *tail), f"Differences{to}{on}"))
    if near is not pairs:
        blocks.append(_squares(answer, order, slug("pairs", *tail), f"Every pair{on}"))
    if len(order) > 2:
        blocks.append(_ranks(answer, slug("ranks", *tail), f"Ranks that the data leave open{on}"))
    notes = [note for note in answer.notes if "the interval" not in note]  # what charts say of theirs
    if group.design != "iid":
        notes.append(f"scenarios are {group.design}, not drawn at random: verdicts hold for these scenarios only")
    if group.missing:
        about = (
            f"{counted(group.missing, 'episode is', 'episodes are')} still to come, so this covers the "
            f"{counted(len(group.leading), 'leading scenario')}"
        )
        notes.insert(0, f"running: {about}; intervals and verdicts (betting) hold at any time")
    return [*blocks, *noted(notes)]


def _letters(group: RowGroup, answer: Compared, name: str, title: str) -> Chart:
    rows = []
    for row in answer.policies:
        rate = group.rates[row["policy"]]
        ends = {"success": rate.estimate, "low": rate.low, "high": rate.high, "n": rate.n}
        best, worst = row["rank"]
        rows.append({"policy": row["policy"], **ends, "letters": row["letters"], "rank": f"{best} to {worst}"})
    tips = {"policy": ("policy", ""), "success": ("success", ".1%"), "low": ("from", ".1%"), "high": ("to", ".1%")}
    tips |= {"n": ("episodes", "d"), "letters": ("letters", ""), "rank": ("rank", "")}
    spec = dots(rows, y="policy", x="success", title="success", domain=(0, 1.06), text="letters", tips=tips)
    about = (
        "Policies that share a letter are not shown to differ (every pair tested, Holm's adjustment). "
        "Bars are 95% confidence intervals of each policy alone; two bars may overlap although the pair differs."
    )
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)


def _differences(pairs: Sequence[Any], name: str, title: str) -> Chart:
    rows = []
    for pair in pairs:
        interval = pair.difference
        a, b, sign = (pair.a, pair.b, 1.0) if interval.estimate >= 0 else (pair.b, pair.a, -1.0)
        ends = sorted((sign * 100 * (interval.low or 0.0), sign * 100 * (interval.high or 0.0)))
        shown = "shown" if pair.verdict in ("better", "worse") else pair.verdict
        rows.append(
            {
                "pair": f"{a} − {b}",
                "points": sign * 100 * interval.estimate,
                "low": ends[0],
                "high": ends[1],
                "verdict": shown,
            }
            | {"p_adjusted": pair.p_adjusted, "test": pair.test, "n": pair.n_a, "method": interval.method}
        )
    rows.sort(key=lambda row: -row["points"])
    tips = {
        "pair": ("pair", ""),
        "points": ("difference, points", ".1f"),
        "low": ("from", ".1f"),
        "high": ("to", ".1f"),
    }
    tips |= {
        "verdict": ("verdict", ""),
        "p_adjusted": ("p, adjusted", ".2g"),
        "n": ("scenarios", "d"),
        "test": ("test", ""),
    }
    spec = dots(
        rows,
        y="pair",
        x="points",
        title="difference in success, points",
        unit="points",
        zero=True,
        tips=tips,
        text="verdict",
    )
    about = (
        "Each 95% confidence interval is for its pair alone. The verdict beside it is adjusted for the number of "
        "pairs and "
        "follows the test, so it can be stricter than the interval."
    )
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)


def _squares(answer: Compared, order: list[str], name: str, title: str) -> Chart:
    rows = []
    for pair in answer.pairs:
        for a, b, sign in ((pair.a, pair.b, 1.0), (pair.b, pair.a, -1.0)):
            value = sign * 100 * pair.difference.estimate
            row = {
                "policy": a,
                "other": b,
                "points": value,
                "said": f"{value:+.0f}".replace("-", "−") if round(value) else "0",
            }
            shown = KINDS[value < 0] if pair.verdict in ("better", "worse") else pair.verdict
            rows.append({**row, "shown": shown, "p_adjusted": pair.p_adjusted})
    tips = {"policy": ("policy", ""), "other": ("against", ""), "points": ("difference, points", ".1f")}
    tips |= {"shown": ("verdict", ""), "p_adjusted": ("p, adjusted", ".2g")}
    spec = cells(rows, y="policy", x="other", kind="shown", kinds=KINDS, text="said", order=order, tips=tips)
    return Chart(
        name=name,
        title=title,
        spec=spec,
        rows=rows,
        about="Row minus column, in points of success; coloured where the difference is shown.",
    )


def _ranks(answer: Compared, name: str, title: str) -> Chart:
    rows = [
        {"policy": row["policy"], "best": row["rank"][0], "worst": row["rank"][1], "order": i + 1}
        for i, row in enumerate(answer.policies)
    ]
    tips = {
        "policy": ("policy", ""),
        "best": ("best rank", "d"),
        "worst": ("worst rank", "d"),
        "order": ("by mean", "d"),
    }
    spec = dots(
        rows, y="policy", x="order", ends=("best", "worst"), title="rank (1 is best)", unit="rank", tips=tips,
        domain=(0.5, len(rows) + 0.5),
    )  # fmt: skip
    about = "The dot is the rank by mean success, the bar every rank that the shown differences leave open."
    return Chart(name=name, title=title, spec=spec, rows=rows, about=about)
