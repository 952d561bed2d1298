"""What a large run costs to show, to report and to resume: wall seconds and peak memory.

    python benchmarks/size.py                                    # 200,000 episodes of 50,000 scenarios
    python benchmarks/size.py --episodes 200000 --scenarios 5000 --clocks 2
    python benchmarks/size.py --keep /tmp/large                  # write the run there, and use it if it is there
    python benchmarks/size.py --keep /tmp/large --against ../before/src     # beside another version, in turns

The run is made, not run: a real study is planned, and its episodes get outcomes drawn at random. So keys, scenarios,
plan and parts are those that `foretell run` would write, and the same study resumes the run with nothing left to do.

Each command runs in a process of its own, several times; the least of each figure is printed. CPU seconds are those of
the process and of the worker that a resumed study starts; on a busy machine they tell more than the clock on the wall.
Memory is the peak of resident memory of the process (VmHWM), without that worker's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

POLICIES = 4
CODE = Path(tempfile.gettempdir()) / "foretell-benchmark-code"
TRIED = """
import os, sys, time
began = time.perf_counter()
from foretell.cli import main
sys.argv = ["foretell", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    if end.code:
        raise
took = time.perf_counter() - began
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(took, sum(os.times()[:4]), int(peak) / 1024, file=sys.stderr)
"""


def study_of(episodes: int, scenarios: int, clocks: int) -> dict[str, Any]:
    """A study of so many episodes; trials make up the number."""
    timings = ["sync", *({"virtual": {"latency": 0.05 * i}} for i in range(1, clocks))]
    return {
        "name": "large",
        "tasks": ["lift"],
        "policies": {f"noisy-{i}": {"use": "noisy-expert", "noise": 0.1 * i} for i in range(POLICIES)},
        "scenarios": {"count": scenarios},
        "trials": math.ceil(episodes / (scenarios * POLICIES * clocks)),
        "clocks": timings,
    }


def outcome(rng: np.random.Generator, solves: float, stages: list[str]) -> Any:
    """An outcome as a rollout would give it."""
    from foretell.rollout import Outcome

    solved = bool(rng.random() < solves)
    reached = len(stages) if solved else int(rng.integers(len(stages)))
    sim_s = float(rng.uniform(2.0, 8.0)) if solved else 10.0
    times = np.sort(rng.uniform(0.0, sim_s, reached)).round(3).tolist()
    return Outcome(
        success_any=solved,
        success_end=solved,
        success=solved,
        score=reached / len(stages),
        stages=dict(zip(stages, times, strict=False)),
        metrics={"inferences": sim_s * 20, "observation_age_s": 0.0, "starvation_s": 0.0},
        steps=int(sim_s * 20),
        sim_s=sim_s,
        end="success" if solved else "time_limit",
        failure_reason=None if solved else f"never reached: {stages[reached]}",
        wall_started=1.7e9 + float(rng.uniform(0, 1e4)),
        wall_s=sim_s / 10,
        wall_policy_s=sim_s / 100,
    )


def write(study: dict[str, Any], folder: Path) -> int:
    """Write a whole run of the study; returns how many episodes it has."""
    from foretell.episodes.journal import plain, to_table
    from foretell.episodes.parts import merge_parts, write_table
    from foretell.episodes.provenance import provenance
    from foretell.study.config import load_study
    from foretell.study.drawn import draw
    from foretell.study.engine import make_engine
    from foretell.study.jobs import asked_of
    from foretell.study.plan import make_task, plan
    from foretell.study.rounds import Rounds
    from foretell.study.rows import name_all, plan_table, row_of
    from foretell.study.run import keep_scenarios
    from foretell.study.store import SEAL, Store

    made = load_study(study)
    drawn = draw(made, folder)
    episodes = plan(made, drawn.clean, perturbed=drawn.perturbed)
    crew = make_engine("here", workers=0, slots=1, policy_timeout=made.policy_timeout)
    groups = dict.fromkeys(e.group for e in episodes)
    opened = {group: crew.inspect(asked_of(made, group)) for group in groups}
    crew.close()
    named = name_all(episodes, opened)
    stages = [stage.name for stage in make_task("lift").stages]
    rng = np.random.default_rng(0)
    with Store(folder) as store:
        store.write_study(made.to_yaml())
        keep_scenarios(store, drawn)
        store.write_provenance({"study": made.name, "design": drawn.design, **provenance()})
        store.write_plan(plan_table(named, opened, Rounds(None, named, store.done, store.earlier())))
    rows, part = [], 0
    for name, episode in named.items():
        solves = 0.9 - 0.2 * int(episode.policy[-1]) - 0.1 * (episode.group.clock.kind != "sync")
        rows.append(plain(row_of(made, name, episode, opened[episode.group], outcome(rng, solves, stages)).to_dict()))
        if len(rows) == SEAL:
            write_table(folder / "episodes" / f"part-{part:06d}.parquet", to_table(rows))
            rows, part = [], part + 1
    if rows:
        write_table(folder / "episodes" / f"part-{part:06d}.parquet", to_table(rows))
    merge_parts(folder)  # as the store does while it writes
    return len(named)


def tried(sources: Path | None, *arguments: object) -> tuple[float, float, float, str]:
    """Wall seconds, CPU seconds, MB and what was said. sources: those of another foretell."""
    env = dict(os.environ) if sources is None else {**os.environ, "PYTHONPATH": str(sources.resolve())}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed foretell has its byte code, which the first round writes
    env.setdefault("PYTHONPYCACHEPREFIX", str(CODE))
    command = [sys.executable, "-c", TRIED, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        raise SystemExit(f"foretell {' '.join(map(str, arguments))}: {done.stderr[-2000:]}")
    took, cpu, peak = done.stderr.split()[-3:]
    return float(took), float(cpu), float(peak), done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200_000)
    parser.add_argument("--scenarios", type=int, default=50_000)
    parser.add_argument("--clocks", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a folder for the run; default one that is deleted")
    parser.add_argument("--against", type=Path, help="the `src` of another version to run beside this one")
    asked = parser.parse_args()
    study = study_of(asked.episodes, asked.scenarios, asked.clocks)
    with tempfile.TemporaryDirectory() as temp:
        folder = asked.keep or Path(temp) / "large"
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = folder.parent / f"{folder.name}.json"  # JSON is YAML
        if not folder.exists():
            began = time.perf_counter()
            count = write(study, folder)
            print(f"{count:,} episodes of {asked.scenarios:,} scenarios written in {time.perf_counter() - began:.0f} s")
            file.write_text(json.dumps(study))
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"{size / 1e6:.0f} MB on disk")
        page = Path(temp) / "report.html"
        for name, arguments in {
            "show": ("show", folder),
            "report": ("report", folder, "--out", page),
            "resume": ("run", file, "--out", folder, "--workers", 1),
        }.items():
            versions = {"": None, **({"other ": asked.against} if asked.against else {})}
            runs: dict[str, list[Any]] = {word: [] for word in versions}
            if name == "resume":  # another version draws all scenarios again at first, so they do not take turns
                for word, where in versions.items():
                    runs[word] = [tried(where, *arguments) for _ in range(asked.rounds + 1)][1:]
            else:
                for _ in range(asked.rounds):
                    for word, where in versions.items():
                        runs[word].append(tried(where, *arguments))
            for word, rounds in runs.items():
                said = rounds[0][-1].strip().splitlines()[-1]
                took, cpu, peak = (min(one[i] for one in rounds) for i in range(3))
                print(f"{word}{name}: {took:.2f} s, {cpu:.2f} s of CPU, {peak:.0f} MB ({said})", flush=True)
        print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
