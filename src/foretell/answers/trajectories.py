"""Held-out trajectories: what the sensors showed at every step, and the action that followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.datasets import LeRobotData, is_lerobot
from foretell.datasets.video import frames_at
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError, suggest
from foretell.export.observer import SLOT, label_names
from foretell.export.track import spread_evenly, tracks
from foretell.files import inside
from foretell.policy import PLANS, PolicySpec
from foretell.spec import Stream
from foretell.study.config import load_study
from foretell.study.plan import make_task
from foretell.world_file import make_world, world_hash

__all__ = ["Trajectory", "read_trajectories", "world_of"]


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """One recorded episode of n steps."""

    name: str
    instruction: str
    actions: Floats
    """(n, size)"""
    streams: Mapping[str, np.ndarray]
    """Stream -> (n, ...), as it was before each action."""
    period: float
    """Simulated seconds between two steps."""

    def seen(self, step: int, reads: Mapping[str, Stream], spec: PolicySpec) -> dict[str, Any]:
        """What a policy sees at a step, with its history at its own rate; the first sample fills what is missing."""
        made: dict[str, Any] = {"time": np.array([step * self.period]), "instruction": [self.instruction]}
        for name, stream in reads.items():
            if name in PLANS:
                shape = (1, spec.chunk, spec.action.size) if name == "plan" else (1,)
                made[name] = np.zeros(shape)
                continue
            every = 1 if stream.rate is None else max(1, round(1 / (stream.rate * self.period)))
            back = [max(0, step - every * k) for k in range(stream.history - 1, -1, -1)]
            values = self.streams[name][back]
            made[name] = values[None] if stream.history > 1 else values[-1:]
        return made


def world_of(data: Path, task: str | None, world: str) -> Any:
    """The world of the trajectories, to which policies are bound."""
    if (data / "study.yaml").is_file():
        study = load_study(data / "study.yaml")
        entries = {make_task(entry.use).name: entry for entry in study.tasks}
        if task is None and len(entries) > 1:
            raise UsageError(f"task: {data} has several: choose one of {', '.join(entries)}")
        name = next(iter(entries)) if task is None else task
        if name not in entries:
            raise UsageError(f"task: {data} has no {name!r}; {suggest(name, entries)}")
        entry = entries[name]
        made = make_task(entry.use, entry.time_limit)
        return make_world(study.world, made, slots=1, threads=1, controller=entry.controller)
    if not is_lerobot(data):
        raise UsageError(f"data: {data} is neither a run folder nor a LeRobot dataset (no meta/info.json)")
    if task is None:
        raise UsageError(
            "task: name the task of the dataset, such as lift, so that policies know its robot and actions"
        )
    return make_world(world, make_task(task), slots=1, threads=1)


def read_trajectories(
    data: Path, world: Any, wanted: Mapping[str, Stream], count: int | None = None
) -> list[Trajectory]:
    """All trajectories, or the first so many, with these streams."""
    if count is not None and count < 1:
        raise UsageError(f"count: {count} should be 1 or more")
    made = _of_dataset(data, world, wanted, count) if is_lerobot(data) else _of_run(data, world, wanted, count)
    if not made:
        raise UsageError(f"data: {data} has no successful episode of {world.task.name} with recorded steps "
                         "(record: {steps: all}) at even times")  # fmt: skip
    return made


def _of_run(data: Path, world: Any, wanted: Mapping[str, Stream], count: int | None) -> list[Trajectory]:
    if not callable(getattr(world, "restore", None)):
        raise UsageError(f"world {world.name!r} cannot restore recorded states")
    rows = [row for row in read(data).to_pylist() if row["task"] == world.task.name and row["success"]]
    rows = sorted(rows, key=lambda row: (row["scenario"], row["policy"], row["trial"]))
    scenarios = {scenario.id: scenario for scenario in read_scenarios(data)}
    period = 1 / world.task.action_rate
    made: list[Trajectory] = []
    streams = {name: Stream(stream.shape) for name, stream in wanted.items()}
    for track in tracks(data, rows, scenarios, {}):
        if len(made) == count:
            break
        if track.states is None or track.scenario is None or not spread_evenly(track, period):
            continue
        if track.row["world_hash"] != world_hash(world):
            raise UsageError(f"data: the world of {data} has changed since the run; restore the old version")
        world.reset(SLOT, [track.scenario], [track.row["trial"]])
        seen = []
        for state, tick in zip(track.states[:-1], track.ticks[:-1].tolist(), strict=True):
            world.restore(0, state, tick)
            seen.append(world.observe(SLOT, streams))
        made.append(
            Trajectory(
                name=track.name,
                instruction=str(seen[0]["instruction"][0]),
                actions=track.actions,
                streams={name: np.stack([sight[name][0] for sight in seen]) for name in streams},
                period=period,
            )
        )
    return made


def _of_dataset(data: Path, world: Any, wanted: Mapping[str, Stream], count: int | None) -> list[Trajectory]:
    """Trajectories of a dataset whose columns name their numbers as `foretell export` does."""
    dataset = LeRobotData(data)
    parts = [name for name in ("observation.state", "observation.environment_state") if name in dataset.features]
    table = dataset.table(["episode_index", "timestamp", "action", *parts], optional=["task_index", "next.success"])
    rate = world.task.action_rate
    if dataset.fps is not None and abs(dataset.fps - rate) > 1e-6 * rate:
        raise UsageError(f"data: {data} has {dataset.fps:g} actions a second, and {world.task.name} takes {rate:g}")
    values = {name: dataset.numbers(table, name) for name in (*parts, "action")}
    places = {label: (part, at) for part in parts for at, label in enumerate(dataset.names(part))}
    if values["action"].shape[1] != world.action.size:
        raise UsageError(f"data: actions of {data} have {values['action'].shape[1]} numbers, and the controller "
                         f"{world.controller!r} takes {world.action.size}")  # fmt: skip
    episodes = dataset.episodes(table)
    if "next.success" in table.column_names:
        solved = dataset.numbers(table, "next.success")[:, 0] > 0
        episodes = {number: rows for number, rows in episodes.items() if solved[rows].any()}
    made = []
    for number, rows in list(episodes.items())[:count]:
        task = dataset.tasks.get(int(table["task_index"][int(rows[0])].as_py()), "") if dataset.tasks else ""
        streams = {}
        for name, stream in wanted.items():
            feature = world.features[name]
            if feature.image:
                streams[name] = _pictures(data, name, number, len(rows), rate, stream)
                continue
            labels = label_names(name, feature)
            if missing := next((label for label in labels if label not in places), None):
                raise UsageError(f"data: {data} has no number {missing!r} in {', '.join(parts)}, and the policy reads "
                                 f"{name!r}; {suggest(missing, places)}")  # fmt: skip
            columns = [values[part][rows, at] for part, at in (places[label] for label in labels)]
            streams[name] = np.stack(columns, axis=1).reshape(len(rows), *feature.shape)
        actions, name = values["action"][rows], f"episode_{number}"
        made.append(Trajectory(name=name, instruction=task, actions=actions, streams=streams, period=1 / rate))
    return made


def _pictures(data: Path, name: str, number: int, rows: int, rate: float, stream: Stream) -> np.ndarray:
    """The pictures of an episode, from the film of its own that `foretell export` writes."""
    key = f"observation.images.{name.removesuffix('/rgb').replace('/', '_')}"
    path = inside(data, Path("videos") / key / f"chunk-{number // 1000:03d}" / f"file-{number % 1000:03d}.mp4")
    if path is None:
        raise UsageError(f"data: {data} has no film {key} of episode {number}; export it with --cameras")
    pictures = np.stack(list(frames_at(path, np.arange(rows) / rate)))
    if stream.shape is not None and pictures.shape[1:] != tuple(stream.shape):
        raise UsageError(f"data: pictures of {key} are {pictures.shape[1]}x{pictures.shape[2]}, and the policy reads "
                         f"{stream.shape[0]}x{stream.shape[1]}: export them in that size")  # fmt: skip
    return pictures
