"""See everything work once, in a few minutes, with a report.

Examples:
    foretell demo
    foretell demo -o runs --trials 15 --no-films
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from foretell.cli._flags import Json, Switch, Workers, named

__all__ = ["main"]


def main(
    *,
    out: Annotated[str, named("FOLDER", short="-o")],
    trials: Annotated[int, named("N")],
    more: Annotated[int, named("N")],
    ranked: Annotated[int, named("N")],
    seen: Annotated[int, named("N")],
    films: Switch,
    workers: Workers,
    json_: Json = False,
) -> None:
    """Run a few small studies and explain what they show: a table cloth that a policy does not tolerate, policies
    ranked in simulation and in a stand-in for reality, how many real trials simulation saves, and what latency costs.

    Args:
        out: The folder for the runs.
        trials: Number of trials in the stand-in reality of the policy whose success rate is bounded.
        more: Number of its further simulated scenarios.
        ranked: Number of trials in the stand-in reality of each policy that it is ranked with.
        seen: Number of scenarios with and without a table cloth.
        films: Do not film. Films need OpenGL and PyAV.
    """
    from foretell.demo import demo
    from foretell.demo.strip import colours, drawn
    from foretell.study.progress import Bar

    with Bar() as bar:
        done = demo(
            out,
            trials=trials,
            more=more,
            ranked=ranked,
            seen=seen,
            films=films,
            workers=workers,
            progress=bar.update,
            notify=bar.say,
        )
    if json_:
        chapters = [asdict(chapter) for chapter in done.chapters]
        page = str(done.report) if done.report else None
        runs = {name: str(run.path) for name, run in done.runs.items()}
        pictures = [{"shows": caption, "path": str(path)} for caption, path in done.strips]
        print(json.dumps({"chapters": chapters, "runs": runs, "pictures": pictures, "report": page}, indent=2))
        return
    for caption, path in done.strips:
        print(f"{caption}\n{drawn(path)}\n" if colours() else f"{caption}\n  {path}")
    if done.blind:
        print(f"No pictures: {done.blind}")
    print(f"\n{done.text()}\n")
    print(f"Every episode: {', '.join(str(run.path) for run in done.runs.values())}")
    print(f"Look closer: foretell show {done.runs['demo-part'].path}; foretell list tasks; foretell run STUDY.yaml")
    print(f"The report, to be opened in a browser: {done.report}" if done.report else f"No report: {done.why}")
