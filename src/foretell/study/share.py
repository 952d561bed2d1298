"""What a process runs of a study: all of it, a shard, or batches that it pulls while others pull the rest."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from foretell.clock import Virtual
from foretell.episodes.journal import disk_errors, replace
from foretell.episodes.parts import write_table
from foretell.errors import UsageError
from foretell.rollout import Outcome
from foretell.study.blind import hides
from foretell.study.config import Study
from foretell.study.leases import Leases
from foretell.study.plan import JobGroup, Planned
from foretell.study.rounds import Execute, Rounds
from foretell.study.rows import plan_table
from foretell.study.session import Opened
from foretell.study.shard import ABOUT, SHARDS, Shard, batches, leases_of, plan_name, shards_in, whose
from foretell.world_file import attended

__all__ = ["Share", "share_of"]


def share_of(run: Path, study: Study, *, shard: str | None, pull: bool, limit: int | None) -> Share:
    """What this process is to run. Raises UsageError where a study cannot be shared."""
    if shard is None and not pull:
        return Share(run)
    if shard is not None and pull:
        raise UsageError("shard and pull cannot be combined: a shard is a fixed share, and pull takes what is left")
    word = "pull" if pull else "shard"
    if attended(study.world) or hides(study):
        raise UsageError(f"{word}: a study that a person attends, or that is blind, has one table: run it without")
    if any(isinstance(clock, Virtual) and not clock.latency.settled for clock in study.clocks):
        raise UsageError(
            f"{word}: clocks: each machine would measure another latency: measure it once with `foretell latency`, and "
            "give the study that trace"
        )
    if pull and (study.until is not None or limit is not None):
        raise UsageError(
            "pull: `until` stops cells by outcomes that other processes have: use --shard"
            if study.until is not None
            else "pull: takes whole batches: leave --limit out"
        )
    return _Pull(run) if pull else _Shard(run, Shard.parse(shard or ""))


class Share:
    """All of a study, in its own run folder."""

    alone = True
    """Whether this process runs the whole study."""
    pulls = False
    """Whether others may run what this process does not."""

    def __init__(self, run: Path) -> None:
        self.run, self.folder = run, run

    def take(self, study: Study, named: dict[str, Planned], opened: dict[JobGroup, Opened]) -> dict[str, Planned]:
        """Of all episodes, those that this process may run."""
        return named

    def over(self, execute: Execute) -> Execute:
        """The same, one lease after the other where episodes are pulled."""
        return execute

    def notes(self) -> list[str]:
        """What a person should know of other processes."""
        there = len(shards_in(self.run))
        return [f"rows of {there} shards come in with: foretell merge {self.run}"] if there else []


class _Part(Share):
    """Some of a study, in a folder of its own beside those of others."""

    alone = False
    label: str

    def take(self, study: Study, named: dict[str, Planned], opened: dict[JobGroup, Opened]) -> dict[str, Planned]:
        plan = plan_table(named, opened, Rounds(until=study.until, named=named, done={}))
        name = plan_name(plan)
        with disk_errors(self.folder):
            if not (self.run / SHARDS / name).exists():  # all would write the same, so the first does
                write_table(self.folder / name, plan.combine_chunks())
                os.replace(self.folder / name, self.run / SHARDS / name)
            replace(self.folder / ABOUT, json.dumps({"plan": name, "share": self.label}).encode() + b"\n")
        return self.mine(plan, named)

    def mine(self, plan: pa.Table, named: dict[str, Planned]) -> dict[str, Planned]:
        """The episodes of this part. plan: all of them, row by row as in `named`."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        return [f"when all shards have ended: foretell merge {self.run}"]


class _Shard(_Part):
    """A fixed share."""

    def __init__(self, run: Path, shard: Shard) -> None:
        self.run, self.shard, self.folder, self.label = run, shard, shard.folder(run), str(shard)

    def mine(self, plan: pa.Table, named: dict[str, Planned]) -> dict[str, Planned]:
        share = whose(plan, self.shard.of) == self.shard.number
        return {name: episode for (name, episode), is_mine in zip(named.items(), share, strict=True) if is_mine}


class _Pull(_Part):
    """Batches, as long as some are left. Each process has a folder of its own, which no other one opens again."""

    label, pulls = "pull", True

    def __init__(self, run: Path) -> None:
        host = re.sub(r"[^A-Za-z0-9-]+", "-", os.uname().nodename)[:40]
        self.owner = f"{host}-{os.getpid()}-{secrets.token_hex(4)}"
        self.run, self.folder = run, run / SHARDS / f"pull-{self.owner}"

    def mine(self, plan: pa.Table, named: dict[str, Planned]) -> dict[str, Planned]:
        batch = batches(plan)
        self.leases = Leases(
            leases_of(self.run, plan_name(plan)), batches=int(batch.max(initial=-1)) + 1, owner=self.owner
        )
        self._batch = dict(zip(named, batch.tolist(), strict=True))
        return named

    def over(self, execute: Execute) -> Execute:
        def pulled(ready: dict[str, Planned]) -> Iterator[tuple[str, Outcome]]:
            by_batch: dict[int, dict[str, Planned]] = {}
            for name, episode in ready.items():
                by_batch.setdefault(self._batch[name], {})[name] = episode
            for batch in self.leases.take():
                yield from execute(by_batch.get(batch, {}))

        return pulled
