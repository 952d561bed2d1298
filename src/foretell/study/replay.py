"""Run one episode of a run folder again, and compare its row bit for bit."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.clock import CLOCKS, parse
from foretell.counting import counted
from foretell.episode import LATER, marks
from foretell.episodes.blind import require_open
from foretell.episodes.journal import plain
from foretell.episodes.provenance import provenance, read_provenance
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import ForetellError, UsageError, suggest
from foretell.factors import version
from foretell.factors.arms import targets
from foretell.files import require_writable
from foretell.notebook import Displayed
from foretell.registry import adopted, names
from foretell.rollout import Job
from foretell.rollout.video import film_camera
from foretell.study.config import Study, TaskEntry, load_study
from foretell.study.plan import JobGroup, Planned, make_task
from foretell.study.rows import row_of
from foretell.study.scenarios import Scenarios
from foretell.study.session import Opened, Session

__all__ = ["Replay", "replay"]

NEAR = 8
"""Episodes that an error lists."""


@dataclass(frozen=True, kw_only=True)
class Replay(Displayed):
    """How an episode came out the second time."""

    episode: str
    columns: int
    """Columns compared: all but `video` and those that begin with `wall_`."""
    differences: dict[str, tuple[Any, Any]]
    """Column -> (in the run folder, now); empty if identical."""
    versions: dict[str, tuple[str, str]]
    """What has changed on the machine since the run: package, cpu or system -> (then, now)."""
    success: bool | None
    video: Path | None = None

    @property
    def identical(self) -> bool:
        return not self.differences

    def text(self) -> str:
        """The answer as text."""
        outcome = {True: "success", False: "failure", None: "not judged"}[self.success]
        if self.identical:
            lines = [f"identical: episode {self.episode} ({outcome}), {self.columns} columns bit for bit"]
        else:
            lines = [f"{len(self.differences)} of {self.columns} columns differ in episode {self.episode}"]
            lines += [f"  {name}: {then!r} in the run, {now!r} now" for name, (then, now) in self.differences.items()]
        lines += [f"changed since the run: {what} was {then}, is {now}" for what, (then, now) in self.versions.items()]
        if not self.identical and not self.versions:
            lines.append("machine and versions are the same: the policy or the task does not reproduce")
        return "\n".join([*lines, f"video: {self.video}"] if self.video else lines)


def replay(
    run: str | Path,
    episode: str,
    *,
    out: str | Path | None = None,
    camera: str | None = None,
    policies: Mapping[str, Any] | None = None,
) -> Replay:
    """Run an episode of a run folder again in this process. `episode` is its key, or the first characters of its key.
    The column `episode` of `foretell.read(run)` has the keys.

    `out` is an mp4 to write, filmed by `camera`. `policies` gives the policy if it was a Python object.
    """
    run = Path(run)
    if camera is not None and out is None:
        raise UsageError(f"camera: {camera!r} films: give the file for the film (`out`)")
    row = find_episode(run, episode)
    who = f"episode {row['episode']}"
    if row["judge"] == "person" or row["real"]:
        judged = " judged by a person" if row["judge"] == "person" else ""
        raise UsageError(f"{who} was a real trial{judged}: only simulated episodes can be run again")
    again = [kind for kind in CLOCKS if kind != "realtime"]
    if (kind := json.loads(row["clock"])["kind"]) not in again:
        raise UsageError(f"{who} ran under the clock {kind!r}, which does not reproduce; {suggest(kind, again)}")
    clock = parse(json.loads(row["clock"]))
    study, task = _study(run, row)
    scenario = next((s for s in read_scenarios(run) if s.id == row["scenario"]), None)
    if scenario is None:
        raise ForetellError(f"{who}: {run}/scenarios.parquet has no scenario {row['scenario']}")
    policy = _policy(study, row, policies or {})
    film = None if out is None else Path(out)
    session = Session(
        task=task.use,
        time_limit=task.time_limit,
        controller=task.controller,
        world=study.world,
        factors=targets(study.arms),
        clock=clock,
        policies={row["policy"]: policy},
        slots=1,
        threads=1,
        video=film is not None,
    )
    try:
        _same_things(row, session.opened)
        if film is not None:
            _aim(session, film, camera)
        jobs = iter(
            [
                Job(
                    policy=row["policy"],
                    scenario=scenario,
                    trial=row["trial"],
                    key=row["episode"],
                    video=film,
                    camera=camera,
                )
            ]
        )
        ((_, outcome),) = _filmed(film, session.run(lambda: next(jobs, None)))
        opened = session.opened
    finally:
        session.close()
    group = JobGroup(task, clock, (row["policy"],))
    planned = Planned(
        group=group,
        policy=row["policy"],
        scenarios=Scenarios.of([scenario]),
        index=0,
        arm=row["arm"],
        trial=row["trial"],
        video=False,
    )
    now = plain(row_of(study, row["episode"], planned, opened, outcome).to_dict())
    compared = [c for c in now if c != "video" and not c.startswith("wall_")]
    compared = [c for c in compared if c not in LATER or row[c] is not None]  # else the row is older than the column
    differences = {c: (row[c], now[c]) for c in compared if not _same(row[c], now[c])}
    return Replay(
        episode=row["episode"],
        columns=len(compared),
        differences=differences,
        versions=_changes(run),
        success=outcome.success,
        video=film,
    )


def find_episode(run: Path, episode: str) -> dict[str, Any]:
    require_open(run, "showing one episode again")
    table = read(run)
    keys = table["episode"].to_pylist()
    matches = [i for i, k in enumerate(keys) if k.startswith(episode)] if episode else []
    if len(matches) != 1:
        columns = [table[c].to_pylist() for c in ("episode", "task", "policy", "success", "scenario", "trial")]
        if matches:
            message = f"{run}: {counted(len(matches), 'episode')} begin with {episode!r}:"
        else:
            near = difflib.get_close_matches(episode, keys, n=NEAR, cutoff=0.5)
            matches = [keys.index(k) for k in near] or list(range(len(keys)))
            message = f"{run} has no episode {episode!r}; " + ("near ones:" if near else f"it has {len(keys)}:")
        lines = [_line(*(c[i] for c in columns)) for i in matches[:NEAR]]
        more = [f"  and {len(matches) - NEAR} more"] if len(matches) > NEAR else []
        where = f"keys are in the column 'episode' of foretell.read({str(run)!r})"
        raise UsageError("\n".join([message, *lines, *more, where]))
    row: dict[str, Any] = table.slice(matches[0], 1).to_pylist()[0]
    maps = {name: dict(row[name] or ()) for name in ("stages", "metrics")}
    return {**row, **maps, "events": None if row["events"] is None else dict(row["events"])}


def _line(episode: str, task: str, policy: str, success: bool | None, scenario: str, trial: int) -> str:
    outcome = {True: "success", False: "failed", None: "not judged"}[success]
    return f"  {episode} ({task}, {policy}, {outcome}, scenario {scenario[:8]}, trial {trial})"


def _study(run: Path, row: dict[str, Any]) -> tuple[Study, TaskEntry]:
    study = load_study(run / "study.yaml")
    for entry in study.tasks:
        task = make_task(entry.use)
        if task.name == row["task"] and (entry.controller or task.controller) == row["controller"]:
            return study.model_copy(update={"name": row["study"]}), entry
    raise UsageError(f"{run}/study.yaml no longer has task {row['task']!r} with controller {row['controller']!r}")


def _policy(study: Study, row: dict[str, Any], given: Mapping[str, Any]) -> Any:
    name = row["policy"]
    if name in given:
        return given[name]
    if name not in study.policies:
        raise UsageError(f"policy {name!r} is no longer in the run's study.yaml; {suggest(name, study.policies)}")
    if study.policies[name].use.startswith("object:"):
        raise UsageError(
            f"policy {name!r} was a Python object, which no file can name: from Python, "
            f"foretell.replay(run, episode, policies={{{name!r}: policy}})"
        )
    return study.policies[name]


def _same_things(row: dict[str, Any], opened: Opened) -> None:
    """Another policy, world or task would be another episode."""
    policy, known = f"policy {row['policy']!r}", opened.policies[row["policy"]]
    for what, then, now in (
        (f"{policy} (hash of its weights or source)", row["policy_hash"], known["hash"]),
        (f"{policy} (options)", json.loads(row["policy_options"]), known["options"]),
        (f"world {row['world']!r} (hash of its parameters)", row["world_hash"], opened.world_hash),
        (f"task {row['task']!r} (version)", row["task_version"], opened.task_version),
        (f"task {row['task']!r} (hash of its source)", row["task_hash"] or "", opened.task_hash),
        *(
            (f"factor {name!r} (hash of its source)", then, version(name))
            for name, then in marks(row["arm"])
            if name in (*names("factors"), *adopted("factors"))
        ),
    ):
        if then != now:
            raise UsageError(f"{what} has changed since the run: {then} then, {now} now; restore the old version")


def _aim(session: Session, film: Path, camera: str | None) -> None:
    """Find out now, rather than in the middle, whether the film can be drawn and written."""
    if film.suffix.lower() != ".mp4":
        raise UsageError(f"out: {film} should end in .mp4")
    session.world.require_drawing()
    film_camera(session.world, camera)
    try:
        film.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"out: cannot write {film}: {error.strerror}") from None
    require_writable(film, "out")


def _filmed(film: Path | None, episodes: Iterator[Any]) -> list[Any]:
    """Run them; a film that cannot be written is the user's to put elsewhere."""
    if film is None:
        return list(episodes)
    from av.error import FFmpegError

    try:
        return list(episodes)
    except (OSError, FFmpegError) as error:
        raise UsageError(f"out: cannot write {film}: {error.strerror or error}") from None


def _same(a: Any, b: Any) -> bool:
    """Bit for bit: NaN equals itself, and 0.0 is not -0.0."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return type(a) is type(b) and repr(a) == repr(b)


def _changes(run: Path) -> dict[str, tuple[str, str]]:
    """Versions and facts about the machine that differ from those in the provenance."""
    try:
        then = read_provenance(run)
        before = {**then["versions"], **then["machine"]}
    except (LookupError, TypeError):
        return {"provenance.json": ("written", "missing or damaged")}
    here = provenance()
    now = {**here["versions"], **here["machine"]}
    return {k: (str(before[k]), str(now[k])) for k in now if k in before and before[k] != now[k]}
