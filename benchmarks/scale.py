"""What sharing a study out costs: merging many rows, and shards beside worker processes.

    python benchmarks/scale.py merge              # a million rows from eight shards
    python benchmarks/scale.py shards             # one study in worker processes, and as two shards at once

`merge` makes the shards of one real episode whose row is written many times under other names. `shards` runs the same
study in turn, and compares wall seconds per episode.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import yaml

import foretell
from foretell.episodes.parts import parts, read_part, write_table
from foretell.episodes.planned import plan_table
from foretell.study.shard import ABOUT, Shard, plan_name, whose

PART = 8000
"""Rows of a part, as small parts become when they are merged."""
STUDY = {
    "name": "scale",
    "tasks": ["lift"],
    "policies": {"bc": "zoo:bc-gaussian", "gmm": "zoo:bc-gmm"},
    "record": {"video": "none"},
}


def merging(folder: Path, rows: int, shards: int) -> None:
    one = folder / "one"
    foretell.run({**STUDY, "scenarios": 1}, out=one, workers=0, shard="1/1")
    (source,) = (one / "shards").glob("1-of-1")
    row, cell = read_part(parts(source)[0]).slice(0, 1), plan_table(source).slice(0, 1)
    names = [hashlib.blake2b(str(i).encode(), digest_size=8).hexdigest() for i in range(rows)]
    plan = pa.concat_tables([cell] * rows).unify_dictionaries().combine_chunks()
    for column in ("unit", "episode"):
        plan = plan.set_column(plan.column_names.index(column), column, pa.array(names, pa.string()))
    whole = folder / "many" / "shards" / plan_name(plan)
    whole.parent.mkdir(parents=True)
    write_table(whole, plan)
    share = whose(plan, shards)
    for number in range(1, shards + 1):
        shard = Shard(number, shards).folder(folder / "many")
        (shard / "episodes").mkdir(parents=True)
        for name in ("study.yaml", "provenance.json", "scenarios.parquet"):
            (shard / name).write_bytes((source / name).read_bytes())
        (shard / ABOUT).write_text(json.dumps({"plan": whole.name, "share": f"{number}/{shards}"}))
        mine = [name for name, of in zip(names, share.tolist(), strict=True) if of == number]
        for part, at in enumerate(range(0, len(mine), PART)):
            some = mine[at : at + PART]
            table = pa.concat_tables([row] * len(some)).unify_dictionaries().combine_chunks()
            table = table.set_column(table.column_names.index("episode"), "episode", pa.array(some, pa.string()))
            write_table(shard / "episodes" / f"part-{part:06d}.parquet", table.cast(row.schema))
    code = (
        "import resource, sys, time\nimport foretell\nfrom foretell.study.merge import merge\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\nstart = time.perf_counter()\n"
        "done = merge([sys.argv[1]])\n"
        "print(f'{done.added:,} rows merged in {time.perf_counter() - start:.1f} s, '\n"
        "      f'{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3:.0f} MB more memory')\n"
        "start = time.perf_counter()\nmerge([sys.argv[1]])\nprint(f'again: {time.perf_counter() - start:.1f} s')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder / "many")], check=True)


def sharing(folder: Path, scenarios: int, rounds: int) -> None:
    (folder / "scale.yaml").write_text(yaml.safe_dump({**STUDY, "scenarios": scenarios}))
    command = [sys.executable, "-m", "foretell", "run", "scale.yaml", "--workers"]
    ways = {
        "processes, 2 workers": lambda out: [[*command, "2", "--out", out]],
        "processes, 1 worker": lambda out: [[*command, "1", "--out", out]],
        "two shards, 1 worker each": lambda out: [
            [*command, "1", "--out", out, "--shard", f"{number}/2"] for number in (1, 2)
        ],
        "two pull, 1 worker each": lambda out: [[*command, "1", "--out", out, "--pull"] for _ in (1, 2)],
    }
    for turn in range(rounds):
        for way, commands in ways.items():
            start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            crew = [
                subprocess.Popen(c, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for c in commands(f"{turn}-{way.replace(' ', '-').replace(',', '')}")
            ]
            codes = [process.wait() for process in crew]
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{way:28} {time.perf_counter() - start:6.1f} s, {cpu:6.1f} CPU s, exit codes {codes}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["merge", "shards"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--scenarios", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.what == "merge":
            merging(Path(folder), given.rows, given.shards)
        else:
            sharing(Path(folder), given.scenarios, given.rounds)


if __name__ == "__main__":
    main()
