"""Where the objects lay in each trial of a run on a robot, measured in the first camera frame that was kept of it.

`RUN/poses.jsonl` has a line for each trial that has a frame: what was measured with its standard deviation, why
anything was not, and the scenario as it was. Rows stay as they are. `scenarios: {file: RUN/poses.jsonl}` of a study
simulates these scenarios. Each is a child of the planned one, so it pairs with the trials of that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.episodes.folder import check_run
from foretell.episodes.read import read_columns
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError, suggest
from foretell.files import create, inside, require_writable
from foretell.hardware.record import start_path
from foretell.match.mask import read_frame, small_frame
from foretell.match.measured import MeasuredScenario
from foretell.match.overlay import overlay_of
from foretell.match.picture import encode_png
from foretell.match.sight import open_bench, require_shape
from foretell.match.unaided import measure_unaided
from foretell.notebook import Displayed
from foretell.reality.frames import Frame
from foretell.registry import names, resolve
from foretell.scenario import Scenario
from foretell.sim.bench import SLOT, Bench
from foretell.study.lock import writer
from foretell.tasks.task import Task

__all__ = ["MeasuredTrials", "TrialFrame", "trials"]

POSES = "poses.jsonl"
"""File of a run."""
COLUMNS = ["episode", "task", "scenario", "trial", "blame"]


class TrialFrame(Frame):
    """What the first frame of a trial says; a line of the file."""

    episode: str
    trial: int
    planned: str
    """`id` of the scenario that the person was asked to set."""
    camera: str
    world_hash: str
    """Of the world whose camera is matched."""
    nominal: Mapping[str, str]
    """Object that keeps its planned place -> why it could not be measured."""


@dataclass(frozen=True, kw_only=True)
class MeasuredTrials(Displayed):
    """What the first frames of a run say."""

    run: Path
    trials: tuple[TrialFrame, ...]
    left_out: Mapping[str, int]
    """Why trials have no line -> how many."""
    path: Path | None
    """The file that was written; None where there is nothing to write."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able: m and degrees."""
        trials = [trial.model_dump(mode="json") for trial in self.trials]
        path = None if self.path is None else str(self.path)
        return {"run": str(self.run), "trials": trials, "left_out": dict(self.left_out), "path": path}

    def text(self) -> str:
        lines = []
        for trial in self.trials:
            lines.append(f"{trial.episode} (scenario {trial.planned}, trial {trial.trial})")
            for name, pose in trial.measured.items():
                turn = "turn as planned" if pose.yaw is None else f"turned {pose.yaw:+.0f}° ± {pose.sd_yaw:.2g}°"
                place = f"x {pose.x:+.4f} m ± {1000 * pose.sd_x:.2g} mm, y {pose.y:+.4f} m ± {1000 * pose.sd_y:.2g} mm"
                lines.append(f"  {name}: {place}, {turn}")
            lines += [f"  {name}: as planned: {why}" for name, why in trial.nominal.items()]
        whole, count = sum(not trial.nominal for trial in self.trials), len(self.trials)
        some = sum(bool(trial.nominal and trial.measured) for trial in self.trials)
        lines.append(f"{counted(count, 'trial')}: all objects measured in {whole}, some in {some}, none in "
                     f"{count - whole - some}")  # fmt: skip
        lines += [f"left out: {counted(n, 'trial')}: {why}" for why, n in self.left_out.items()]
        if self.path is not None:
            lines.append(f"written: {self.path}; no row has changed. Look at the pictures frames/*-located-*.png")
        return "\n".join(lines)


def trials(
    run: str | Path,
    *,
    task: str | None = None,
    camera: str | None = None,
    world: str | Path | None = None,
    object: Sequence[str] = (),
    notify: Callable[[str], None] = lambda text: None,
) -> MeasuredTrials:
    """Find where the objects lay in each trial of a run folder, in the first frame that a robot's camera kept of it.

    Each object is looked for within 30 mm of where its scenario puts it. A pose counts where mask and silhouette agree
    (an overlap of at least 85 %, and below 93 % a second way to find it leads to the same place), its position has a
    standard deviation of at most 5 mm, and its turn is within 45° of the planned one. Otherwise the object keeps its
    planned place, and the answer says why.

    `task`: its name, where the run has several; "file.py:Class" of one of your own, because a run folder loads no code.
    `camera`: the camera of the world that took the frames; by default the robot's only one. `world`: the world file
    with the matched camera; by default the `overlay` of the robot's world file. `object`: the objects to locate; by
    default all that move. `notify` is called with each trial that is done.

    Writes `RUN/poses.jsonl`, and a picture beside each frame. Rows stay as they are. Raises UsageError while the study
    runs: a robot may be moving.
    """
    run = check_run(run)
    if (busy := writer(run)) is not None:
        raise UsageError(
            f"{run} is being written by process {busy['pid']}: measure its trials when the study has stopped"
        )
    require_writable(run / POSES, "run")
    world, camera = overlay_of(run, world, camera)
    rows = read_columns(run, COLUMNS).select(COLUMNS).to_pylist()
    scenarios = {scenario.id: scenario for scenario in read_scenarios(run)}
    made = _task_of(rows, task)
    left_out: dict[str, int] = {}
    ready = list(_with_frames(run, rows, made, scenarios, camera, left_out))
    lines: list[TrialFrame] = []
    bench = open_bench(made, world, camera, scenarios[ready[0][0]["scenario"]]) if ready else None
    for row, path in ready:
        assert bench is not None
        bench = _again(bench, scenarios[row["scenario"]], row["trial"])
        line, measured = _measured(bench, camera, row, path, object)
        if measured is not None:
            _write_whole(path.with_name(f"{row['episode']}-located-{path.name.rpartition('-start-')[2]}"),
                         encode_png(measured.picture))  # fmt: skip
        lines.append(line)
        notify(f"{len(lines)} of {len(ready)} trials measured")
    if lines:
        _write_whole(run / POSES, "".join(line.model_dump_json() + "\n" for line in lines).encode())
    return MeasuredTrials(run=run, trials=tuple(lines), left_out=left_out, path=run / POSES if lines else None)


def _task_of(rows: Sequence[Mapping[str, Any]], task: str | None) -> Task:
    """The task to measure: that which is asked for, or the only one of the rows. Never code that a row names."""
    tasks = sorted({row["task"] for row in rows})
    if task is None:
        if len(tasks) != 1:
            raise UsageError(f"task: the run has {', '.join(tasks) or 'no episodes'}: choose one (--task)")
        if tasks[0] not in names("tasks"):
            raise UsageError(f"task: {tasks[0]!r:.80} is a task of your own: give its class (--task file.py:Class)")
        task = tasks[0]
    made: Task = resolve("tasks", task)()
    if made.name not in tasks:
        raise UsageError(f"task: the run has no trial of {made.name!r}; {suggest(made.name, tasks)}")
    return made


def _with_frames(
    run: Path,
    rows: Sequence[Mapping[str, Any]],
    task: Task,
    scenarios: Mapping[str, Scenario],
    camera: str,
    left_out: dict[str, int],
) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """The trials of a task, in the order of their scenarios, with the file of their first frame. Others are counted."""
    order = {name: at for at, name in enumerate(scenarios)}
    for row in sorted(rows, key=lambda row: (order.get(row["scenario"], -1), row["trial"], row["episode"])):
        if row["task"] != task.name:
            continue
        frame = start_path(Path(), row["episode"], camera)
        path = inside(run, frame)
        why = ""
        if row["blame"] not in (None, "policy"):
            why = f"they ended in an error of the {row['blame']}"
        elif row["scenario"] not in scenarios or scenarios[row["scenario"]].task != task.name:
            why = "their scenario is not in scenarios.parquet"
        elif path is None:
            why = f"no first frame of camera {camera!r} was kept"
        if why or path is None:
            left_out[why] = left_out.get(why, 0) + 1
        else:
            yield row, path


def _again(bench: Bench, scenario: Scenario, trial: int) -> Bench:
    """The bench with another scenario."""
    bench.world.reset(SLOT, [scenario], [trial])
    return Bench.on(bench.world)


def _measured(
    bench: Bench, camera: str, row: Mapping[str, Any], path: Path, objects: Sequence[str]
) -> tuple[TrialFrame, MeasuredScenario | None]:
    """What the frame of one trial says; and the picture of it, if the frame can be read."""
    planned = bench.scenario
    movable = [name for name in planned.placements if name in bench.layout.free]
    chosen = list(objects) or movable
    for name in chosen:
        if name not in movable:
            raise UsageError(f"object: {name!r:.100} does not move in {planned.task!r}; {suggest(name, movable)}")
    measured: MeasuredScenario | None = None
    try:
        frame = read_frame(path)
        require_shape(bench, camera, frame.shape[:2], f"image: {path.name}")
        frame, _ = small_frame(frame, {})
        measured, why = measure_unaided(bench, camera, path, frame, chosen)
    except UsageError as error:
        why = dict.fromkeys(chosen, str(error).removeprefix("image: "))
    poses = {} if measured is None else measured.frame.measured
    scenario = planned if measured is None or not poses else measured.scenario
    line = TrialFrame(
        measured=poses,
        image=path.name,
        scenario=scenario,
        episode=row["episode"],
        trial=row["trial"],
        planned=planned.id,
        camera=camera,
        world_hash=bench.world.hash,
        nominal=why,
    )
    return line, measured


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    with open(create(part), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
