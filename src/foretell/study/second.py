"""A second judge of a run: films one by one, in an order of chance, without the policy's name or the first verdict.

Every verdict is a line of `RUN/verdicts/NAME.jsonl`, on disk before the next film; the same command goes on where it
stopped. Rows stay as they are: `answers.agreement` compares.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from foretell.counting import counted
from foretell.digest import digest
from foretell.episodes.columns import plain_text
from foretell.episodes.read import read_columns
from foretell.episodes.scenarios import read_scenarios
from foretell.episodes.units import unit_of
from foretell.episodes.verdicts import judges, newest, verdict_lines
from foretell.errors import UsageError
from foretell.files import inside
from foretell.judging.confirm import confirms
from foretell.notebook import Displayed
from foretell.person.review import FilmCard, FilmJudge, Reviewed
from foretell.rollout.able import require_terminal
from foretell.study.config import load_study
from foretell.study.lock import writer
from foretell.study.plan import make_task
from foretell.tasks.task import Task
from foretell.verdict_lines import append_verdict

__all__ = ["SecondJudged", "second_judge"]

COLUMNS = ["episode", "task", "scenario", "parent", "success", "sim_s", "video"]
TAKEN = "person"
"""The name of who judged at the robot, for corrections."""


class Judging(Protocol):
    """Who shows films and takes verdicts."""

    def review(self, card: FilmCard) -> Reviewed: ...

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class SecondJudged(Displayed):
    """How far a second judge got."""

    run: Path
    judge: str
    judged: int
    """Verdicts given in this call."""
    left: int
    """Films still to judge."""
    without_film: int
    """Judged episodes of the run that have no film."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {**vars(self), "run": str(self.run)}

    def text(self) -> str:
        lines = [f"{counted(self.judged, 'film')} judged by {self.judge}, {self.left} left"]
        if self.left:
            lines[0] += "; run the same command to go on"
        if self.without_film:
            lines.append(f"{counted(self.without_film, 'episode')} without a film cannot be judged again by a person")
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class _Trial:
    """An episode with its films."""

    row: dict[str, Any]
    films: dict[str, Path]


def second_judge(
    run: str | Path,
    by: str,
    person: Callable[[Path], Judging] = FilmJudge,
    ready: Callable[[], None] = lambda: None,
    only: Collection[str] | None = None,
) -> SecondJudged:
    """Let somebody judge the filmed episodes of a run once more, at the terminal. `by`: their name. `ready` is called
    once there is something to judge. `only`: these episodes, as those that confirm a detector; None: all."""
    run = Path(run)
    if not re.fullmatch(r"[A-Za-z][\w-]{0,39}", by) or by.lower() == TAKEN or by.lower().startswith("detector"):
        raise UsageError(f"by: {by!r:.60} should be a name of letters, digits, - and _, and not 'person' or 'detector'")
    if person is FilmJudge:
        require_terminal("judge --by")
    if (busy := writer(run)) is not None:
        raise UsageError(f"{run} is being written by process {busy['pid']}: judge its films when the study has stopped")
    trials, without = _filmed(run)
    trials = [trial for trial in trials if only is None or trial.row["episode"] in only]
    if not trials:
        raise UsageError(
            f"{run}: no judged episode has a film: trials on a robot are filmed where its file names cameras; a "
            "simulated study takes `record: {video: all}`"
        )
    known = set(newest(verdict_lines(run, by)))
    waiting = [trial for trial in trials if trial.row["episode"] not in known]
    wanted = _to_confirm(run)
    # of chance, and each judge has an own order; first what a detector's verdicts wait for, by its coin
    waiting.sort(key=lambda trial: (not wanted(trial.row), digest([by, trial.row["episode"]])))
    judged = 0
    if waiting:
        tasks, instructions = _tasks(run), {s.id: s.instruction for s in read_scenarios(run)}
        judge = person(run)
        try:
            ready()
            judged = _walk(run, by, judge, waiting, tasks, instructions, len(trials))
        finally:
            judge.close()
    left = len(trials) - len(known & {trial.row["episode"] for trial in trials}) - judged
    return SecondJudged(run=run, judge=by, judged=judged, left=left, without_film=without)


def _walk(
    run: Path, by: str, judge: Judging, waiting: list[_Trial], tasks: dict[str, Task], asked: dict[str, str], count: int
) -> int:
    """Show one film after the other. Returns how many have a verdict."""
    at, done = 0, count - len(waiting)
    while at < len(waiting):
        row = waiting[at].row
        task = tasks.get(row["task"])
        if task is None:
            raise UsageError(
                f"{run}/study.yaml has no task {row['task']!r}, and rows of the run have: restore that file"
            )
        card = FilmCard(
            task=task,
            instruction=asked.get(row["scenario"]) or task.instruction,
            films=waiting[at].films,
            number=done + at + 1,
            count=count,
            back=at > 0,
        )
        answer = judge.review(card)
        if answer == "stop":
            break
        if answer == "back":
            at -= 1
            continue
        assert not isinstance(answer, str)
        line: dict[str, Any] = {"kind": "person", "judge": by, "episode": row["episode"], **answer.to_dict()}
        if answer.success is not None:
            made = answer.verdict(task, row["sim_s"])
            line |= {"score": made.score, "reason": made.reason}
        append_verdict(run, by, {**line, "wall_time": time.time()})
        at += 1
    return at


def _to_confirm(run: Path) -> Callable[[dict[str, Any]], bool]:
    """Whether the coin of a detector that has judged the run gives a row to a person (see `judging.confirm`)."""
    coins = set()
    for name in judges(run):
        lines = verdict_lines(run, name) if name.startswith("detector") else []
        coins |= {(line.get("confirm"), line.get("seed")) for line in lines}
    known = [(share, seed) for share, seed in coins if isinstance(share, float) and isinstance(seed, int)]

    def wanted(row: dict[str, Any]) -> bool:
        unit = str(unit_of(row["parent"], row["scenario"], row["episode"]))
        return any(confirms(unit, share, seed) for share, seed in known if 0.0 < share <= 1.0)

    return wanted


def _filmed(run: Path) -> tuple[list[_Trial], int]:
    """The judged episodes that have a film, and how many have none."""
    trials, without = [], 0
    by_episode: dict[str, dict[str, Path]] = {}
    for path in sorted((run / "frames").glob("*.mp4")):
        episode, _, camera = path.stem.partition("-")
        if not path.name.endswith(".part.mp4") and inside(run, f"frames/{path.name}") is not None:
            by_episode.setdefault(episode, {})[camera] = path
    for row in plain_text(read_columns(run, COLUMNS)).to_pylist():
        if row["success"] is None:
            continue
        films = by_episode.get(row["episode"], {})
        if not films and row["video"] and (film := inside(run, row["video"])) is not None:
            films = {"film": film}
        if films:
            trials.append(_Trial(row=row, films=films))
        else:
            without += 1
    return trials, without


def _tasks(run: Path) -> dict[str, Task]:
    made = [make_task(entry.use) for entry in load_study(run / "study.yaml").tasks]
    return {task.name: task for task in made}
