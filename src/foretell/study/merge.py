"""Merging shards: the rows of one study, from any number of folders, in one run folder.

Nothing is taken away from the shards, so it can be done at any time and again: rows that are there already count once.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.counting import counted
from foretell.document import load_json
from foretell.episode import arrow_schema
from foretell.episodes.columns import encoded, grouped, listed, spread
from foretell.episodes.folder import check_run
from foretell.episodes.journal import disk_errors, journals, parse, to_table
from foretell.episodes.parts import DamagedError, parts, read_part, read_table
from foretell.episodes.planned import CELL, PLAN, SPARED, is_spared, plan_table
from foretell.episodes.provenance import read_provenance
from foretell.episodes.read import JOURNAL
from foretell.episodes.scenarios import each_scenario
from foretell.errors import UsageError
from foretell.files import SMALL, read_file
from foretell.notebook import Displayed
from foretell.study.config import Study, load_study
from foretell.study.difference import difference, settle
from foretell.study.shard import ABOUT, Shard, batches, leases_of, shard_of, shards_in, whose
from foretell.study.store import Store

__all__ = ["Merged", "merge"]

FILES = ("videos", "events", "errors", "steps")
"""Folders of a run whose files belong to single episodes."""
SAME = ("foretell", "mujoco")
"""Packages whose versions decide what a row says."""
ROWS = 50_000
"""Rows that are written at a time."""
SHOWN = 8
"""Differences, shards and commands that are listed; the rest are counted."""


@dataclass(frozen=True, kw_only=True)
class Merged(Displayed):
    """What a merge did, and what is missing."""

    path: Path
    planned: int
    """Episodes of the whole study, without those that cells do not need because they stopped by a rule."""
    ended: int
    """Those that have ended, in this merge or before."""
    added: int
    shards: int
    missing: dict[str, int]
    """Share -> its episodes that are missing."""
    commands: tuple[str, ...]
    """What runs them: either all of the first ones, or the last."""
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        left = self.planned - self.ended
        lines = [f"note: {note}" for note in self.notes]
        lines.append(
            f"{counted(self.added, 'row')} from {counted(self.shards, 'shard')}; {self.ended:,} of "
            f"{counted(self.planned, 'episode')} are in {self.path}"
        )
        if left:
            of = ", ".join(f"{share}: {count:,}" for share, count in [*self.missing.items()][:SHOWN])
            more = f" and {len(self.missing) - SHOWN} more shards" if len(self.missing) > SHOWN else ""
            lines += [f"{left:,} missing ({of}{more}). To run them:", *(f"  {command}" for command in self.commands)]
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class _Source:
    """A shard, as it was found."""

    folder: Path
    study: Study
    plan: str
    """File of the whole plan."""
    about: dict[str, Any]
    """Its provenance."""


def merge(runs: Sequence[str | Path], *, out: str | Path | None = None) -> Merged:
    """Bring the rows of shards into one run folder. runs: run folders that have shards, or single shards, perhaps
    copied from other machines. out: the run folder (default: the one that the first has or belongs to).

    Raises UsageError where two shards are not of one plan, or were run with other versions, and lists what differs."""
    folders = [folder for run in runs for folder in _folders(Path(run))]
    if not folders:
        raise UsageError("merge: give at least one run folder that has shards")
    target = Path(out) if out is not None else _home(Path(runs[0]))
    sources = [_source(folder) for folder in dict.fromkeys(folders)]
    for source in sources[1:]:
        _check_same(sources[0], source)
    first = sources[0]
    plan = _with_spared(_plan(first), sources)
    finished = _finished(target, first.plan)  # before rows are read: those of a batch that is done are on disk
    written, studies, keep = settle(first.study, target, add=False, retire=False)
    with Store(target) as store:
        store.write_study(written.to_yaml())
        for source in sources:
            if not store.has_scenarios(()) or source is first:
                store.write_scenarios(each_scenario(source.folder))
        _copy_plain(first.folder, target)
        added = sum(store.take(table) for table in _tables(sources))
        store.write_plan(plan, keep=keep)
        store.write_provenance({**_about(sources), "studies": studies})
        for source in sources:
            _copy_files(source.folder, target)
        done = np.array([store.done.get(name, "machine") != "machine" for name in listed(plan["episode"])], dtype=bool)
        problems = list(store.problems)
    lacks = ~done & ~is_spared(plan)
    _reopen(target, first.plan, plan, lacks, finished)
    missing, commands = _missing(target, plan, lacks, sources)
    return Merged(
        path=target,
        planned=int(lacks.sum() + done.sum()),
        ended=int(done.sum()),
        added=added,
        shards=len(sources),
        missing=missing,
        commands=commands,
        notes=(*problems, *_other_machines(sources)),
    )


def _folders(run: Path) -> list[Path]:
    """The shards that a path stands for: itself, or those in it."""
    if (run / ABOUT).exists():
        return [check_run(run)]
    there = [folder for folder in shards_in(run) if (folder / ABOUT).exists()]
    if not there:
        raise UsageError(f"merge: {run} has no shards: run the study with --shard 1/4 or --pull")
    return [check_run(folder) for folder in there]


def _home(run: Path) -> Path:
    """The run folder of a shard; a run folder itself."""
    return run.parent.parent if (run / ABOUT).exists() and run.parent.name == "shards" else run


def _source(folder: Path) -> _Source:
    try:
        about = load_json(read_file(folder / ABOUT, SMALL))
        plan = str(about["plan"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(f"{folder / ABOUT} cannot be read ({error}): run this shard again") from None
    if "/" in plan or not plan.startswith("plan-"):
        raise UsageError(f"{folder / ABOUT}: plan is {plan!r:.60}, which is no file of a plan: run this shard again")
    return _Source(folder=folder, study=load_study(folder / "study.yaml"), plan=plan, about=read_provenance(folder))


def _plan(source: _Source) -> pa.Table:
    """The plan of the whole study: beside the shard, or in it, where it was copied from elsewhere."""
    for path in (source.folder.parent / source.plan, source.folder / source.plan):
        try:
            return read_table(path, encode=(*CELL, "retired", "until")).select(PLAN.names).cast(PLAN)
        except FileNotFoundError:
            continue
        except (DamagedError, OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise UsageError(f"{path} cannot be read ({error}): delete it, and run a shard again") from None
    raise UsageError(
        f"{source.folder.parent / source.plan} is missing: copy it there from the folder of the other shards, or run a "
        "shard again"
    )


def _with_spared(plan: pa.Table, sources: Sequence[_Source]) -> pa.Table:
    """The plan, in which what shards found needless is marked so: their cells stopped by the rule."""
    if not any(source.study.until for source in sources):
        return plan
    spared: set[str] = set()
    for source in sources:
        mine = plan_table(source.folder, spared=True)
        spared.update(listed(mine["episode"].filter(pa.array(is_spared(mine)))))
    index = np.array([name in spared for name in listed(plan["episode"])], dtype=np.int64)
    place = plan.column_names.index("retired")
    return plan.set_column(place, "retired", spread(["", SPARED], index))


def _check_same(first: _Source, other: _Source) -> None:
    """Raises UsageError where two shards cannot be merged, with what differs."""
    mine, theirs = first.about.get("versions", {}), other.about.get("versions", {})
    lines = [
        f"{name}: {mine.get(name)} there, {theirs.get(name)} here"
        for name in SAME
        if mine.get(name) != theirs.get(name)
    ]
    if first.plan != other.plan:
        lines += [*difference(first.study, other.study), *_differing(_plan(first), _plan(other))]
    if lines:
        more = [f"and {len(lines) - SHOWN} more differences"] if len(lines) > SHOWN else []
        what = f"{other.folder} is of another plan than {first.folder}, or of other versions:"
        raise UsageError(
            "\n  ".join([what, *lines[:SHOWN], *more]) + "\nDelete the shard that is wrong and run it again"
        )


def _differing(there: pa.Table, here: pa.Table) -> list[str]:
    """How the cells of two plans of one study differ: in weights, sources or θ of the machines."""
    known = ("task", "policy", "clock", "arm")
    cells = [
        {tuple(row[CELL.index(c)] for c in known): row for row in grouped([plan[c] for c in CELL])[1]}
        for plan in (there, here)
    ]
    lines = [
        f"{column} of {key[1]} on {key[0]}: {before} there, {now} here"
        for key in cells[0].keys() & cells[1].keys()
        for column, before, now in zip(CELL, cells[0][key], cells[1][key], strict=True)
        if before != now
    ]
    if lines:
        return sorted(set(lines))
    alone = [len(set(listed(a["episode"])) - set(listed(b["episode"]))) for a, b in ((there, here), (here, there))]
    return [f"episodes: {alone[0]:,} only there, {alone[1]:,} only here"]


def _tables(sources: Sequence[_Source]) -> Iterator[pa.Table]:
    """The rows of all shards, some at a time."""
    some: list[pa.Table] = []
    for source in sources:
        for table in _rows(source.folder):
            some.append(table)
            if sum(map(len, some)) >= ROWS:
                yield pa.concat_tables(some).unify_dictionaries()
                some = []
    if some:
        yield pa.concat_tables(some).unify_dictionaries()


def _rows(folder: Path) -> Iterator[pa.Table]:
    """Journal first, as in `episodes.read`: what vanishes from it meanwhile is in a part that is listed after."""
    for path in journals(folder):
        try:
            yield to_table(parse(read_file(path, JOURNAL), path).rows).cast(encoded(arrow_schema()))
        except FileNotFoundError:
            continue
    for path in parts(folder):
        try:
            yield read_part(path)
        except FileNotFoundError:  # it has become part of another one: the next merge has it
            continue
        except DamagedError as damage:
            raise UsageError(
                f"{path} is damaged ({damage}): run this shard again, which sets it aside and fills the gap"
            ) from None


def _copy_plain(source: Path, target: Path) -> None:
    """What all shards have alike: what was drawn, chosen or given."""
    for name in ("drawn.parquet", "testset.jsonl", "selection.json"):
        if (source / name).is_file() and not (target / name).exists():
            _copy(source / name, target / name)


def _copy_files(source: Path, target: Path) -> None:
    """Films, events, errors and steps of single episodes."""
    for folder in FILES:
        names = os.listdir(source / folder) if (source / folder).is_dir() else []
        for name in names:
            if not name.startswith(".") and ".part." not in name and not (target / folder / name).exists():
                (target / folder).mkdir(exist_ok=True)
                _copy(source / folder / name, target / folder / name)


def _copy(source: Path, target: Path) -> None:
    """A regular file; a link is left alone. It has its name when it is whole."""
    with disk_errors(target.parent):
        fd = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return
            temp = target.with_name(f".{target.name[:80]}.{secrets.token_hex(4)}.tmp")
            try:
                with open(temp, "xb") as copy:
                    shutil.copyfileobj(file, copy)
                os.replace(temp, target)
            finally:
                temp.unlink(missing_ok=True)


def _about(sources: Sequence[_Source]) -> dict[str, Any]:
    """The provenance: that of the first shard, and the machines of all."""
    machines: list[Any] = []
    for source in sources:
        machine = {**_dict(source.about.get("machine")), "versions": source.about.get("versions")}
        if machine not in machines:
            machines.append(machine)
    return {**sources[0].about, "shards": len(sources), "machines": machines}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _other_machines(sources: Sequence[_Source]) -> list[str]:
    """Rows are equal bit for bit on one kind of machine only."""
    machines = {str(_dict(source.about.get("machine")).get("cpu")) for source in sources}
    if len(machines) < 2:
        return []
    return [f"shards ran on other processors ({', '.join(sorted(machines))}): rows may differ in last bits"]


def _finished(run: Path, plan: str) -> set[str]:
    """Batches that some process has pulled and run."""
    folder = leases_of(run, plan)
    names = os.listdir(folder) if folder.is_dir() else []
    return {name.removesuffix(".done") for name in names if name.endswith(".done")}


def _reopen(run: Path, name: str, plan: pa.Table, lacks: np.ndarray, finished: set[str]) -> None:
    """Batches that are done and lack an episode may be pulled again: a folder was lost, or a machine failed."""
    if not finished:
        return
    lacking = {f"{batch:06d}" for batch in np.unique(batches(plan)[lacks]).tolist()} & finished
    folder = leases_of(run, name)
    for file in os.listdir(folder):
        if file.split(".")[0] in lacking:
            (folder / file).unlink(missing_ok=True)


def _missing(
    run: Path, plan: pa.Table, lacks: np.ndarray, sources: Sequence[_Source]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Share -> episodes that it lacks, and the commands that run them."""
    if not lacks.any():
        return {}, ()
    again = shlex.join(["foretell", "run", str(run / "study.yaml"), "--out", str(run)])
    shards = [shard for source in sources if (shard := shard_of(source.folder)) is not None]
    counts = {shard.of for shard in shards}
    if len(counts) != 1:
        pulled = not counts
        return {"pulled" if pulled else "all": int(lacks.sum())}, (f"{again} --pull" if pulled else again,)
    of = counts.pop()
    numbers, counts_ = np.unique(whose(plan, of)[lacks], return_counts=True)
    missing = {str(Shard(int(n), of)): int(c) for n, c in zip(numbers, counts_, strict=True)}
    commands = [f"{again} --shard {share}" for share in missing]
    if len(commands) > SHOWN:
        array = ",".join(map(str, numbers.tolist()))
        commands = [f"sbatch --array={array} ...   # each task: {again} --shard /{of}"]
    return missing, (*commands, f"{again}   # or all of them here")
