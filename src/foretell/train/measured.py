"""What was measured, written on cards and into docs/zoo.md. No figure is written by hand."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError
from foretell.registry import resolve
from foretell.stats import clopper_pearson
from foretell.study.measure import latency
from foretell.zoo.card import Card, InferenceTime, Success, cards, read_card

__all__ = ["table", "write_latency", "write_page", "write_success"]

PAGE = Path(__file__).parents[3] / "docs" / "zoo.md"
BEGIN, END = "<!-- cards: begin -->", "<!-- cards: end -->"
FIRST_TRAINING_SEED = 3_000_000_000
NATIVE = ("mujoco", "planar")
"""Worlds whose success rates go on cards."""
LEAST = 200
"""Episodes that a success rate on a card rests on, where a task has no published layouts. Where it has, it rests on all
of them."""


def write_success(runs: Iterable[Path], models: Path) -> None:
    """Success under `sync` of the models that ran, known by the hash of their weights, not by a study's names."""
    judged: dict[tuple[str, str], dict[tuple[str, int], tuple[int, bool]]] = {}
    drawn: dict[tuple[str, str], str] = {}
    failed: dict[tuple[str, str], set[tuple[str, int]]] = {}
    """Episodes that the world failed in: nobody can say how they would have ended."""
    for run in runs:
        seeds = {s.seed for s in read_scenarios(run)}
        if max(seeds) >= FIRST_TRAINING_SEED:
            raise UsageError(f"{run}: its scenarios are those of demonstrations")
        columns = ["task", "task_version", "world", "policy_hash", "policy_options", "clock", "arm"]
        columns += ["scenario", "trial", "success", "blame"]
        for row in read(run).select(columns).to_pylist():
            as_shipped = "sync" in row["clock"] and "execute" not in (row["policy_options"] or "")
            clean = row["world"] in NATIVE and row["arm"] == "none"
            key, where = (row["task"], row["policy_hash"]), (row["scenario"], row["trial"])
            if as_shipped and clean and row["blame"] == "world":
                failed.setdefault(key, set()).add(where)
            if as_shipped and clean and row["success"] is not None:
                rows = judged.setdefault(key, {})
                if row["task_version"] >= rows.get(where, (0, False))[0]:  # once each, the newest
                    rows[where] = row["task_version"], row["success"]
                drawn[key] = f"seeds {min(seeds)} to {max(seeds)}"
    for card in cards(models):
        rows = judged.get((card.task, card.sha256), {})
        layouts = [s.id for s in resolve("tasks", card.task)().layouts()]
        if layouts:
            rows = {where: row for where, row in rows.items() if where[0] in layouts}
        newest = max((version for version, _ in rows.values()), default=0)
        outcomes = [success for version, success in rows.values() if version == newest]
        lost = len([1 for scenario, _ in failed.get((card.task, card.sha256), ()) if scenario in layouts])
        # the first to end are the successes, so a run that was stopped early would flatter
        if len(outcomes) + lost < (needed := len(layouts) or LEAST):
            print(f"{card.task} {card.name}: {len(outcomes)} episodes of these weights, {needed} are needed")
            continue
        interval = clopper_pearson(sum(outcomes), len(outcomes))
        assert interval.low is not None and interval.high is not None  # there are outcomes
        without = f"without {lost} in which the world failed, " if lost else ""
        measured = Success(
            n=len(outcomes),
            successes=sum(outcomes),
            rate=round(interval.estimate, 4),
            low=round(interval.low, 4),
            high=round(interval.high, 4),
            alpha=interval.alpha,
            scenarios=f"{without}layouts 0 to {len(layouts) - 1}" if layouts else drawn[card.task, card.sha256],
        )
        print(f"{card.task:7} {card.name:20} {measured.rate:4.0%}  [{measured.low:.0%}, {measured.high:.0%}]")
        _update(card, models, success=measured)


def write_latency(models: Path, calls: int, task: str | None = None) -> None:
    """Time every policy, one robot at a time; episodes of the `sync` clock."""
    for card in cards(models):
        if task in (None, card.task):
            world = "planar" if card.task == "pointnav" else "mujoco"
            trace = latency(f"zoo:{card.name}", card.task, world=world, calls=calls, options={"batch": 1})
            summary = trace.to_dict()
            measured = InferenceTime(
                median_ms=round(1000 * summary["median"], 3),
                p95_ms=round(1000 * summary["p95"], 3),
                execute=trace.execute,
                calls=calls,
                machine=machine(),
            )
            print(f"{card.task:7} {card.name:20} median {measured.median_ms} ms, 95 % below {measured.p95_ms} ms")
            _update(card, models, latency=measured)


def write_page(models: Path, page: Path = PAGE) -> None:
    """The table between the two marks of docs/zoo.md."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise UsageError(f"{page} has no {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n{table(cards(models))}\n{END}{after}", encoding="utf-8")


def table(cards: Sequence[Card]) -> str:
    """Markdown: a row per policy and task."""
    lines = [
        "| task | policy | success | 95 % interval | kB | latency, ms (95 % below) | run | trained from | minutes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    order = {"lift": 0, "can": 1, "square": 2}
    for card in sorted(cards, key=lambda c: (order.get(c.task, 9), c.task, "vision" in c.name, c.name)):
        s, t = card.success, card.latency
        success = "not measured |"
        if s:
            success = f"{s.successes}/{s.n} = {100 * s.rate:.4g} % | {100 * s.low:.3g} to {100 * s.high:.3g} %"
        timing = f"{t.median_ms:.2g} ({t.p95_ms:.2g}) | {t.execute}" if t else "not measured |"
        data = card.data.partition(" of the scripted")[0] + (" (weak)" if card.weak else "")
        size = f"{card.bytes / 1000:.0f}"
        lines.append(f"| {card.task} | `{card.name}` | {success} | {size} | {timing} | {data} | {card.minutes:g} |")
    files = [card for card in cards if card.file is None]
    total = sum(card.bytes for card in files) / 1e6
    return "\n".join([*lines, "", f"All {len(files)} files together: {total:.1f} MB."])


def machine() -> str:
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores"


def _update(card: Card, models: Path, **fields: object) -> None:
    fresh = read_card(card.name, card.task, models).model_copy(update=fields)
    fresh.write(models / card.task / f"{card.name}.yaml")
