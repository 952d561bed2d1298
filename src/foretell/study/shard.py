"""Shards: a study in N shares, each run by a process of its own, on any machine.

A shard has a folder of its own below the run folder, `shards/03-of-64`, which is a run folder too. So no two processes
write to one file, and no lock has to hold across machines. All shards write the plan of the whole study, once: its file
is named by the episodes in it. `foretell merge` brings the rows together, and tells by the plan what is missing.

The share of a shard follows from the plan alone. All trials of a scenario in a cell are in one shard. Where cells stop
by a rule, a shard has whole cells.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from foretell.digest import digest
from foretell.episodes.columns import codes, grouped, listed
from foretell.errors import UsageError

__all__ = [
    "ABOUT",
    "BATCH",
    "SHARDS",
    "SLURM",
    "Shard",
    "batches",
    "leases_of",
    "plan_name",
    "shard_of",
    "shards_in",
    "whose",
]

SHARDS = "shards"
"""The folder of a run that its shards are in."""
ABOUT = "shard.json"
"""The file in a shard's folder that names the plan of the whole study, and the share."""
SLURM = "SLURM_ARRAY_TASK_ID"
MOST = 100_000
BATCH = 64
"""Episodes of a batch that is pulled: some seconds of work for a few cores."""


@dataclass(frozen=True)
class Shard:
    """One of `of` shares; the first is number 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str, environment: Mapping[str, str] = os.environ) -> Shard:
        """`3/64`, or `/64`: the number is then that of the task of a Slurm array."""
        match = re.fullmatch(r"(\d*)/(\d+)", text.strip())
        if match is None:
            raise UsageError(f"shard: {text!r:.40} is no share such as 3/64, the third of 64")
        first, of = match[1] or environment.get(SLURM, ""), int(match[2])
        if not first.isdigit():
            raise UsageError(f"shard: {text!r} names no shard, and {SLURM} is not set: write it as 3/{of}")
        if not 1 <= of <= MOST or not 1 <= int(first) <= of:
            raise UsageError(f"shard: {first}/{of}: should be from 1/{of} to {of}/{of}, with at most {MOST:,} shards")
        return cls(int(first), of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def folder(self, run: Path) -> Path:
        """Where this shard keeps its rows."""
        return run / SHARDS / f"{self.number:0{len(str(self.of))}d}-of-{self.of}"


def shard_of(folder: Path) -> Shard | None:
    """The shard that has this folder; None for any other folder."""
    match = re.fullmatch(r"(\d+)-of-(\d+)", folder.name)
    return Shard(int(match[1]), int(match[2])) if match and folder.parent.name == SHARDS else None


def shards_in(run: Path) -> list[Path]:
    """The folders of a run's shards, those that pull episodes too."""
    folder = run / SHARDS
    if folder.is_symlink() or not folder.is_dir():
        return []
    names = [entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    return [folder / name for name in sorted(names) if re.fullmatch(r"\d+-of-\d+|pull-[\w.-]+", name)]


def whose(plan: pa.Table, of: int) -> np.ndarray:
    """Row of a plan -> the number of its shard, from 1."""
    return _blocks(plan) % of + 1


def _blocks(plan: pa.Table) -> np.ndarray:
    """Row of a plan -> the number of what must stay together: the trials of a scenario in a cell, which follow each
    other; where cells stop by a rule, a task under an arm."""
    if not len(plan):
        return np.empty(0, dtype=np.int64)
    rule, rules = codes(plan["until"])
    if any(rules[code] for code in np.unique(rule) if code < len(rules)):
        return grouped([plan["task"], plan["arm"]])[0]
    columns = [codes(plan[name])[0] for name in ("task", "policy", "policy_hash", "clock", "arm", "unit")]
    changes = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    number: np.ndarray = np.concatenate([[0], np.cumsum(changes)])
    return number


def batches(plan: pa.Table) -> np.ndarray:
    """Row of a plan -> its batch. What must stay together is in one."""
    if not len(plan):
        return np.empty(0, dtype=np.int64)
    _, first, block = np.unique(_blocks(plan), return_index=True, return_inverse=True)
    number: np.ndarray = (first // BATCH)[block]
    return np.unique(number, return_inverse=True)[1]


def plan_name(plan: pa.Table) -> str:
    """The file of a whole plan, named by the episodes in it and their order."""
    return f"plan-{digest(listed(plan['episode']))}.parquet"


def leases_of(run: Path, plan: str) -> Path:
    """The folder of the leases on a plan, given its file's name."""
    return run / SHARDS / "leases" / plan.removesuffix(".parquet")
