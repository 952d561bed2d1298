"""See it work: four policies, three tasks, and a bound on "real" performance.

Examples:
    foretell demo
    foretell demo -o runs --scenarios 20 --trials 15
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main"]


def main(
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("runs"),
    scenarios: int = 50,
    trials: int = 30,
    more: int = 250,
    workers: int | None = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Evaluate four policies on three tasks in simulation, then one of them in a stand-in reality.

    Args:
        out: Folder for the runs.
        scenarios: Scenarios per task.
        trials: Episodes in the stand-in reality, paired with simulated ones.
        more: Further simulated scenarios of the policy that is tried there.
        workers: Processes; default one per core.
        json_: Print JSON instead of tables.
    """
    from foretell.demo import demo
    from foretell.study.progress import Bar
    from foretell.summary import show, table

    with Bar() as bar:
        done = demo(
            out, scenarios=scenarios, trials=trials, more=more, workers=workers, progress=bar.update, told=bar.say
        )
    if json_:
        runs = {"simulated": show(done.simulated.path), "standin": show(done.real.path)}
        saved = asdict(done.saved) if done.saved else None
        answers = {"alone": done.alone.to_dict(), "bound": done.bound.to_dict(), "saved": saved}
        page = str(done.report) if done.report else None
        print(json.dumps({**runs, **answers, "text": done.text(), "report": page}, indent=2))
        return
    print("In simulation")
    table(show(done.simulated.path))
    print("\nIn the stand-in reality, on the same scenarios")
    table(show(done.real.path))
    print(f"\n{done.text()}\n")
    print(f"Every episode: {done.simulated.path}, {done.more.path} and {done.real.path}")
    print(f"Look closer: foretell show {done.simulated.path}; foretell list tasks; foretell run STUDY.yaml")
    print(f"The report, to be opened in a browser: {done.report}" if done.report else f"No report: {done.why}")
