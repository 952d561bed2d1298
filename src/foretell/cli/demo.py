"""See it work: the whole story once, in a few minutes, with pictures and a report.

Examples:
    foretell demo
    foretell demo -o runs --trials 15 --no-films
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
    trials: int = 30,
    more: int = 300,
    seen: int = 6,
    films: bool = True,
    workers: int | None = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Run a few small studies and tell what they show: a table cloth that a policy cannot bear, policies ranked in
    simulation and in a stand-in for reality, what simulation is worth in real trials, and what latency costs.

    Args:
        out: Folder for the runs.
        trials: Episodes of each policy in the stand-in reality, paired with simulated ones.
        more: Further simulated scenarios of the policy that is bounded.
        seen: Scenarios with and without a table cloth.
        films: Film some episodes; needs OpenGL and PyAV.
        workers: Processes; default one per core.
        json_: Print JSON instead of text.
    """
    from foretell.demo import demo
    from foretell.demo.strip import colours, drawn
    from foretell.study.progress import Bar

    with Bar() as bar:
        done = demo(
            out, trials=trials, more=more, seen=seen, films=films, workers=workers, progress=bar.update, told=bar.say
        )
    if json_:
        told = [asdict(chapter) for chapter in done.chapters]
        page = str(done.report) if done.report else None
        runs = {name: str(one.path) for name, one in done.runs.items()}
        pictures = [{"shows": said, "path": str(path)} for said, path in done.strips]
        print(json.dumps({"chapters": told, "runs": runs, "pictures": pictures, "report": page}, indent=2))
        return
    for said, path in done.strips:
        print(f"{said}\n{drawn(path)}\n" if colours() else f"{said}\n  {path}")
    if done.blind:
        print(f"No pictures: {done.blind}")
    print(f"\n{done.text()}\n")
    print(f"Every episode: {', '.join(str(one.path) for one in done.runs.values())}")
    print(f"Look closer: foretell show {done.runs['demo-part'].path}; foretell list tasks; foretell run STUDY.yaml")
    print(f"The report, to be opened in a browser: {done.report}" if done.report else f"No report: {done.why}")
