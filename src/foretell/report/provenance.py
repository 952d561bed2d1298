"""Where the rows come from: study, versions, seeds, machine, how long it took, and what comes out the same again."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow.compute as pc
import yaml

from foretell.episodes.blind import blind_words
from foretell.episodes.columns import codes
from foretell.episodes.provenance import design_of
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Block, Section, Sheet, Words

__all__ = ["section"]


def section(runs: Runs) -> Section | None:
    blocks: list[Block] = [_sheet(runs)]
    for run in runs.each:
        if run.study:
            title = "The study, as resolved" if len(runs.each) == 1 else f"The study of {run.name}, as resolved"
            text = yaml.safe_dump(run.study, sort_keys=False, allow_unicode=True)
            blocks.append(Words(text, "code", title=title))
    return Section("provenance", "Provenance", _says(runs), blocks)


def _says(runs: Runs) -> str:
    kinds: Counter[str] = Counter()
    for run in runs.each:
        for row in run.counts("judge", "clock"):
            kinds[_kind(row)] += row["count"]
    total = sum(kinds.values())
    again = kinds["again"]
    if not total:
        return "Nothing has run yet."
    if again == total:
        return (
            "Every episode gives the same result bit for bit if it runs again on the same machine with the same "
            "versions."
        )
    rest = []
    if kinds["realtime"]:
        rest.append(f"{kinds['realtime']:,} ran in real time")
    if kinds["person"]:
        rest.append(f"{kinds['person']:,} are real trials judged by a person")
    listed = " and ".join(rest) + ", and cannot be run again exactly"
    return f"{again:,} of {total:,} episodes give the same result bit for bit if they run again here; {listed}."


def _kind(row: dict[str, Any]) -> str:
    if row["judge"] == "person":
        return "person"
    return "realtime" if '"realtime"' in row["clock"] else "again"


def _sheet(runs: Runs) -> Sheet:
    facts = [_facts(run) for run in runs.each]
    names = list(dict.fromkeys(name for fact in facts for name in fact))
    rows = [[name, *(fact.get(name, "–") for fact in facts)] for name in names]
    return Sheet(
        name="provenance-table",
        title="Where the rows come from",
        columns=["", *(run.name for run in runs.each)],
        rows=rows,
    )


def _facts(run: OneRun) -> dict[str, str]:
    known, study, table = run.provenance, run.study, run.table
    machine, versions = known.get("machine") or {}, known.get("versions") or {}
    source = study.get("scenarios") or {}
    started, took = (table[c].fill_null(0.0).to_numpy() for c in ("wall_started", "wall_s"))
    began, ended = started[started != 0.0], (started + took)[started != 0.0]
    facts = {
        "study": str(study.get("name") or known.get("study") or ""),
        "folder": str(run.path),
        "world": ", ".join(_worlds(run)),
        "scenarios": _scenarios(run, source),
        "seed": "" if source.get("file") or source.get("like") else str(source.get("seed", "")),
        "trials of each": str(study.get("trials", "")),
        "order": _order(known.get("order")),
        "blind": blind_words(known) or _closed(known.get("blind")),
        "until": _rule(known),
        "sittings": _sittings(known.get("sittings")),
        "clocks": ", ".join(sorted(set(codes(run.clocks)[1]))),
        "policies": ", ".join(_policies(run)),
        "first to last episode": _span(began, ended),
        "machine": ", ".join(str(machine[k]) for k in ("cpu", "system") if k in machine),
        "cores": str(machine.get("cores", "")),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "commit": str(known.get("commit") or ""),
        "command": " ".join(map(str, known.get("command") or ())),
        "reproducible": str(known.get("reproducible") or ""),
    }
    return {name: value for name, value in facts.items() if value}


def _rule(known: dict[str, Any]) -> str:
    """The stopping rule. A real study states that it has none."""
    rule = known.get("until")
    if isinstance(rule, dict):
        return ", ".join(f"{k} {v}" for k, v in rule.items())
    return "no rule: the number of trials is fixed" if "until" in known else ""


def _sittings(listed: Any) -> str:
    """In how many stretches real trials were run, and how each ended."""
    if not isinstance(listed, list):
        return ""
    ends = [str(sitting.get("how") or "cut off") for sitting in listed if isinstance(sitting, dict)]
    return f"{len(ends)} ({', '.join(ends)})"


def _order(drawn: Any) -> str:
    if not isinstance(drawn, dict):
        return ""
    return f"{drawn.get('kind')}, drawn with seed {drawn.get('seed')}" if "seed" in drawn else str(drawn.get("kind"))


def _closed(state: Any) -> str:
    return f"until all trials were in ({state.get('closed')})" if isinstance(state, dict) else ""


def _worlds(run: OneRun) -> list[str]:
    pairs = {(row["world"], row["world_hash"]) for row in run.counts("world", "world_hash")}
    return [f"{world} ({hash_[:8]})" if hash_ else world for world, hash_ in sorted(pairs)]


def _policies(run: OneRun) -> list[str]:
    """A scripted one is another on every task."""
    hashes: dict[str, set[str]] = {name: set() for name in Runs([run]).policies}
    for row in run.counts("policy", "policy_hash"):
        hashes[row["policy"]].add(row["policy_hash"] or "")
    words = {name: f"{len(h)} versions" if len(h) > 1 else next(iter(h))[:8] for name, h in hashes.items()}
    return [f"{name} ({text})" if text else name for name, text in words.items()]


def _scenarios(run: OneRun, source: dict[str, Any]) -> str:
    count = pc.count_distinct(run.table["scenario"], mode="all").as_py()
    designs = {"iid": "drawn at random", "grid": "on a grid", "chosen": "chosen"}
    how = designs.get(design_of(run.provenance, unknown=""), "")
    like = source.get("like") or source.get("file")
    return ", ".join([f"{count:,} run", *([how] if how else []), *([f"those of {like}"] if like else [])])


def _span(began: np.ndarray, ended: np.ndarray) -> str:
    if not len(began):
        return ""
    first, last = float(began.min()), float(ended.max())
    took = last - first
    duration = f"{took:.0f} s" if took < 120 else f"{took / 60:.0f} min" if took < 7200 else f"{took / 3600:.1f} h"
    return f"{duration}, from {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(first))}"
