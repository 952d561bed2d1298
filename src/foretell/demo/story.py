"""What the demonstration tells, chapter by chapter. Every figure comes from the rows of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foretell.answers.bound import Bound, bound
from foretell.answers.clocks import clocks
from foretell.answers.predictivity import predictivity
from foretell.answers.words import listed
from foretell.counting import counted
from foretell.demo.studies import CHOSEN, LATENCY_S, LIFTS, LIMIT_S, PART, SEES, THINKS
from foretell.episodes.read import read
from foretell.report.bounds import worth
from foretell.report.section import Section, Words
from foretell.stats import Interval, clopper_pearson

__all__ = ["Chapter", "chapters", "section"]

Runs = Mapping[str, Path]


@dataclass(frozen=True)
class Chapter:
    """One question of the story, and its answer."""

    title: str
    text: str
    figures: dict[str, Any]
    """The figures in the text; JSON-able."""


def chapters(runs: Runs) -> list[Chapter]:
    """The story, from the runs of `demo.studies`; without the table cloth where nothing could be drawn."""
    seen = [cloth(runs)] if "demo-cloth" in runs else []
    return [*seen, ranking(runs), part(runs), wrong(runs), latency(runs)]


def section(story: list[Chapter]) -> Section:
    """The same story as a part of the report."""
    says = f"{len(story)} questions that foretell answers, each with figures from the runs of the demonstration."
    blocks = [Words(chapter.text, title=f"{i}. {chapter.title}") for i, chapter in enumerate(story, 1)]
    return Section("story", "The demonstration", says, [*blocks, Words(CHOSEN, "caution")])


def cloth(runs: Runs) -> Chapter:
    rows = read(runs["demo-cloth"]).select(["arm", "success"]).to_pylist()
    solved = {arm: [r["success"] for r in rows if r["arm"] == arm] for arm in ("none", "Table_Texture")}
    clean, covered = solved["none"], solved["Table_Texture"]
    text = (
        f"{SEES!r} lifts a cube and looks through two cameras. On the clean table it solves {sum(clean)} of "
        f"{counted(len(clean), 'scenario')}. With a cloth on the table it solves {sum(covered)} of the "
        f"same {len(covered)}. "
        "Nothing else changed."
    )
    figures = {"clean": [sum(clean), len(clean)], "cloth": [sum(covered), len(covered)]}
    return Chapter("Does it still work when the table looks different?", text, figures)


def ranking(runs: Runs) -> Chapter:
    """Simulation and the stand-in on the same scenarios."""
    others = read(runs["demo-standin"])
    same = pa.array(set(others["scenario"].to_pylist()))
    tried = pa.concat_tables([others, _within(read(runs["demo-standin-part"]), same)])
    simulated = _within(pa.concat_tables([read(runs["demo"]), read(runs["demo-part"])]), same)
    answer = predictivity(real=tried, sim=simulated, stand_in=True)
    board = answer.scoreboards[""]
    rates = board.apart()
    order = sorted(rates, key=lambda policy: -rates[policy]["sim"])
    best = max(row["sim"] for row in rates.values())
    picked = [policy for policy in order if rates[policy]["sim"] == best]
    top = max(row["real"] for row in rates.values())
    regret = top - min(rates[policy]["real"] for policy in picked)
    alike, differ = board.pairs()
    pairs = "; ".join(f"{p} {rates[p]['sim']:.0%} and {rates[p]['real']:.0%}" for p in order)
    low = "It lies" if len(picked) == 1 else "The worst of these lies"
    which = f"{listed(picked)}" if len(picked) == 1 else f"{listed(picked)}, which are level there"
    text = (
        f"{len(rates)} policies carry a can in {counted(len(same), 'scenario')}, in simulation and in the stand-in: "
        f"{pairs}. Simulation orders {alike} of the {differ} pairs that differ in both as the stand-in does. "
        f"It picks {which}. "
        + (
            "That costs nothing: no policy does better in the stand-in (regret 0)."
            if regret == 0.0
            else f"{low} {100 * regret:.0f} points below the best policy in the stand-in (regret)."
        )
    )
    figures = {"rates": rates, "picked": picked, "regret": regret, "pairs": [alike, differ]}
    return Chapter("Does simulation pick the right policy?", text, figures)


def part(runs: Runs) -> Chapter:
    answer = bound(read(runs["demo-standin-part"]), read(runs["demo-part"]), policy=PART, stand_in=True)
    tried, simulated = _scores(runs["demo-standin-part"]), _scores(runs["demo-part"])
    alike = sum(simulated[scenario] == success for scenario, success in tried.items())
    alone, interval = clopper_pearson(sum(tried.values()), len(tried)), answer.intervals[0]
    text = (
        f"{PART!r} solved {sum(tried.values())} of {len(tried)} trials in the stand-in. Its success rate there: "
        f"{counted(len(tried), 'trial')} give {_ends(alone)}; with simulation of the same scenarios and "
        f"{counted(interval.n_extra, 'other')}, "
        f"{_ends(interval)}. "
    )
    trials = None
    if _helps(answer) and interval.width < alone.width:
        needed = worth(read(runs["demo-standin-part"]), read(runs["demo-part"]))
        trials = needed[1].best
        text += (
            f"Without simulation, an interval so narrow takes about {counted(trials, 'trial')}. Simulation helps "
            f"because the policy comes out alike in both worlds in {alike} of {counted(len(tried), 'scenario')}. It "
            "was trained with cans in one quarter of the bin only. Each scenario was simulated once: neither this "
            "policy nor this simulator draws anything at random, so a second trial would repeat the first."
        )
    else:
        text += "That is no narrower here: the trials alone do as well."
    figures = {"alone": alone.to_dict(), "bound": interval.to_dict(), "worth": trials, "alike": [alike, len(tried)]}
    return Chapter("How much is simulation worth, in real trials?", text, figures)


def wrong(runs: Runs) -> Chapter:
    answer = bound(read(runs["demo-standin-lift"]), read(runs["demo-wrong"]), policy=LIFTS, stand_in=True)
    tried, simulated = _scores(runs["demo-standin-lift"]), _scores(runs["demo-wrong"])
    alone, interval = clopper_pearson(sum(tried.values()), len(tried)), answer.intervals[0]
    sentence = str(interval.diagnostics["sentence"])
    text = (
        f"This simulator is wrong on purpose: its arm has a twentieth of the stiffness. {LIFTS!r} lifts the cube in "
        f"{sum(simulated.values())} of {counted(len(simulated), 'scenario')} in it, and in {sum(tried.values())} of "
        f"{counted(len(tried), 'trial')} in the stand-in. Asked to use both, foretell answers: “{sentence}.” The bound "
        f"with it is {_ends(interval)}; the trials alone give {_ends(alone)}."
    )
    figures = {"solved": [sum(simulated.values()), len(simulated)], "helps": _helps(answer), "says": sentence}
    return Chapter("What if the simulator is bad?", text, {**figures, "bound": interval.to_dict()})


def latency(runs: Runs) -> Chapter:
    """A ranked policy under `sync`, beside the same one that takes its time."""
    (cell,) = clocks(runs["demo-latency"]).cells
    sync, late, gap = cell["sync"], cell["async"], cell["gap_points"]
    lost = f"{abs(gap['estimate']):.0f} points {'fewer' if gap['estimate'] >= 0 else 'more'}"
    slow = f"{1000 * LATENCY_S:.0f} ms"
    text = (
        f"When the world waits for {THINKS!r}, it solves {sync['estimate']:.0%} of "
        f"{counted(cell['scenarios'], 'scenario')} within {LIMIT_S['can']:g} s. "
        f"When it takes {slow} to think and the world does not wait, it solves {late['estimate']:.0%}. "
        f"That is {lost} (95% interval of the loss: {gap['low']:.0f} to {gap['high']:.0f} points)."
    )
    figures = {"sync": sync, "late": late, "gap_points": gap, "latency_s": LATENCY_S}
    return Chapter(f"What do {slow} of thinking cost?", text, figures)


def _within(rows: pa.Table, scenarios: pa.Array) -> pa.Table:
    return rows.filter(pc.field("scenario").isin(scenarios))


def _scores(run: Path) -> dict[str, bool]:
    """Scenario -> success, of a run of one policy."""
    return {row["scenario"]: row["success"] for row in read(run).select(["scenario", "success"]).to_pylist()}


def _helps(answer: Bound) -> bool:
    return bool(answer.intervals[0].diagnostics["helps"])


def _ends(interval: Interval) -> str:
    return f"{interval.low:.0%} to {interval.high:.0%}"
