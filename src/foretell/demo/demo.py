"""Run the studies of the demonstration, tell their story, write the report."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from foretell.demo.story import Chapter, chapters, section
from foretell.demo.studies import CHOSEN, studies
from foretell.episodes.read import read
from foretell.errors import ForetellError, UsageError
from foretell.study.engine import make_engine
from foretell.study.films import steps
from foretell.study.run import SLOTS, Progress, Run, run

__all__ = ["Demo", "demo"]


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What the demonstration did."""

    runs: dict[str, Run]
    """Run folder's name -> what ran."""
    chapters: list[Chapter]
    strips: list[tuple[str, Path]]
    """What a strip of pictures shows, and where it is; none without OpenGL or PyAV."""
    report: Path | None
    """The page with all of it; None where what draws charts is not installed."""
    why: str = ""
    """Why there is none."""
    blind: str = ""
    """Why there are no pictures."""

    def text(self) -> str:
        """The story as text."""
        chapters = [f"{i}. {chapter.title}\n{chapter.text}" for i, chapter in enumerate(self.chapters, 1)]
        return "\n\n".join([*chapters, CHOSEN])


def demo(
    out: str | Path = "runs",
    *,
    trials: int = 30,
    more: int = 300,
    ranked: int = 10,
    seen: int = 4,
    films: bool = True,
    workers: int | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
    notify: Callable[[str], None] = lambda text: None,
) -> Demo:
    """Run the demonstration into run folders in `out`, and write its report, `demo.html`.

    `trials`: episodes in the stand-in for reality of the policy whose rate is bounded. `more`: its further simulated
    scenarios, and those of a wrong simulator. `ranked`: episodes in each world of the policies it is ranked with.
    `seen`: scenarios with and without a table cloth. `films`: whether to film. `notify` is called with a message for
    each other step.
    """
    folder = Path(out)
    dark, blind = _blind()
    blind = blind if films else "films were not asked for"
    count = (os.cpu_count() or 1) if workers is None else workers
    done = {}
    # One engine for all studies: a worker takes two seconds to start.
    with closing(make_engine("processes" if count else "here", workers=count, slots=SLOTS)) as engine:
        for name, study in studies(folder, trials=trials, more=more, ranked=ranked, seen=seen).items():
            if dark and name == "demo-cloth":
                continue  # its policy sees, and nothing can be drawn
            unfilmed = {"record": {"video": "none"}}
            given = {"name": name, **unfilmed, **study, **(unfilmed if blind else {})}
            done[name] = run(given, out=folder / name, retire=True, engine=engine, progress=progress, notify=notify)
    runs = {name: ended.path for name, ended in done.items()}
    story = chapters(runs)
    notify("writing the report")
    page, why = _report(runs, story, folder / "demo.html")
    return Demo(runs=done, chapters=story, strips=[] if blind else _strips(runs), report=page, why=why, blind=blind)


def _blind() -> tuple[bool, str]:
    """Whether nothing can be drawn here, and why nothing can be filmed; False and nothing where it can."""
    from foretell.rollout.video import require_encoder
    from foretell.sim.render import shared_renderer

    try:
        shared_renderer()
    except ForetellError as error:
        return True, str(error)
    try:
        require_encoder()
    except ForetellError as error:
        return False, str(error)
    return False, ""


def _strips(runs: dict[str, Path]) -> list[tuple[str, Path]]:
    strips = []
    for name in ("demo-cloth", "demo-part") if "demo-part" in runs else ():
        for row in sorted(read(runs[name]).to_pylist(), key=lambda row: not row["success"]):
            path = runs[name] / steps(row["episode"]).with_suffix(".jpg")
            if row["video"] and path.is_file():
                where = ", with a table cloth" if row["arm"] == "Table_Texture" else ""
                outcome = "success" if row["success"] else f"failure: {row['failure_reason']}"
                strips.append((f"{row['policy']} on {row['task']}{where}: {outcome}", path))
    return strips


def _report(runs: dict[str, Path], story: list[Chapter], out: Path) -> tuple[Path | None, str]:
    """Where it is; or None, and why."""
    from foretell.report import report
    from foretell.report.page import needs_extra

    try:
        needs_extra()
    except UsageError as error:
        return None, str(error)
    shown = [
        path for name, path in runs.items() if name not in ("demo-wrong", "demo-standin-lift")
    ]  # not beside the good one
    return report(*shown, out=out, first=[section(story)]).path, ""
