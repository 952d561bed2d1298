"""Episodes as a LeRobotDataset v3.0: states, actions, pictures and the instruction of every step, and how it went."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.counting import counted
from foretell.datasets.lerobot_write import LeRobotWriter, features_of, video_feature
from foretell.datasets.video import frames_at
from foretell.errors import UsageError
from foretell.export.export import Exported, Request
from foretell.export.observer import Observer, joined, named_numbers
from foretell.export.tables import TRIALS, write_trials
from foretell.export.track import Track, spread_evenly, tracks
from foretell.files import inside
from foretell.spec import ActionSpec
from foretell.study.plan import make_task
from foretell.world_file import make_world

__all__ = ["export_lerobot"]

UNEVEN = "their actions are not a fixed time apart, as a dataset wants them (another clock, or time was lost)"
UNKNOWN = "their scenario is not in scenarios.parquet"
ENDS = {"next.reward": "float32", "next.done": "bool", "next.success": "bool"}


def export_lerobot(request: Request) -> Exported:
    """Write the dataset. All its episodes are of one task, controller and world."""
    first = request.rows[0]
    for column in ("task", "controller", "world_hash"):
        if len(values := {row[column] for row in request.rows}) > 1:
            hint = "choose one with --task" if column == "task" else "export one run at a time"
            raise UsageError(f"{request.run} has several values of {column}, and a dataset has one: {hint} "
                             f"({', '.join(sorted(values))[:200]})")  # fmt: skip
    entry, left_out = request.entry(first), dict[str, int]()
    task = make_task(entry.use, entry.time_limit)
    kept = list(tracks(request.run, request.rows, request.scenarios(), left_out))
    even = [track for track in kept if spread_evenly(track, 1 / task.action_rate)]
    if len(even) < len(kept):
        left_out[UNEVEN] = len(kept) - len(even)
    if not even:
        why = "; ".join(f"{counted(n, 'episode')}: {why}" for why, n in left_out.items())
        raise UsageError(f"{request.run}: no episode can be exported: {why}")
    if first["real"]:
        return _write(request, task, even, left_out, _Films(request, even))
    if sound := [track for track in even if track.states is not None and track.scenario is not None]:
        left_out |= {UNKNOWN: len(even) - len(sound)} if len(sound) < len(even) else {}
        world = make_world(request.study.world, task, slots=1, threads=1, controller=first["controller"])
        with contextlib.closing(world):
            observer = Observer(world, request.cameras, request.size)
            observer.check(first)
            return _write(request, task, sound, left_out, _Redrawn(observer, request.size, world.action))
    raise UsageError(f"{request.run}: no episode has recorded states and its scenario in scenarios.parquet")


class _Redrawn:
    """Simulated episodes: what the sensors and cameras show in the recorded states."""

    def __init__(self, observer: Observer, size: tuple[int, int], action: ActionSpec):
        self.observer, self.size = observer, size
        self.groups = {key: names for key, names in observer.groups().items() if names}
        self.actions = [f"{i} {d.meaning}" for i, d in enumerate(d for d in action.dims for _ in range(d.size))]
        self.names = {key: observer.labels(names) for key, names in self.groups.items()}
        self.shapes = dict.fromkeys(observer.cameras, size)

    def read(self, track: Track) -> tuple[str, dict[str, Floats], dict[str, Iterator[np.ndarray]]]:
        """Instruction, columns and pictures of an episode."""
        seen = list(self.observer.watch(track))
        columns = {key: joined(seen, names) for key, names in self.groups.items()}
        pictures = {c: iter([sight[stream][0] for sight in seen]) for c, stream in self.observer.cameras.items()}
        return str(seen[0]["instruction"][0]), columns, pictures


class _Films:
    """Real episodes: what was measured, and the films of the robot's cameras, where every episode has them."""

    def __init__(self, request: Request, some: Sequence[Track]):
        self.run, self.fps = request.run, make_task(request.entry(request.rows[0]).use).action_rate
        self.actions = [str(i) for i in range(some[0].actions.shape[1])]
        self.names = {"observation.state": list(named_numbers(some[0]))}
        known = [set(self._films(track)) for track in some]
        cameras = sorted(set.intersection(*known))
        if missing := next((camera for camera in request.cameras if camera not in cameras), None):
            raise UsageError(f"camera: {missing!r} has no film of every episode; those that have: "
                             f"{', '.join(cameras) or 'none'}")  # fmt: skip
        self.shapes = {camera: self._shape(some[0], camera) for camera in request.cameras or cameras}

    def _films(self, track: Track) -> dict[str, Path]:
        """Camera -> its film."""
        films = {}
        for path in (self.run / "frames").glob(f"{track.name}-*.mp4"):
            if (sound := inside(self.run, path.relative_to(self.run))) is not None:
                films[path.stem.removeprefix(f"{track.name}-")] = sound
        return films

    def _shape(self, track: Track, camera: str) -> tuple[int, int]:
        height, width, _ = next(frames_at(self._films(track)[camera], track.times[:1])).shape
        return height, width

    def read(self, track: Track) -> tuple[str, dict[str, Floats], dict[str, Iterator[np.ndarray]]]:
        """Instruction, columns and pictures of an episode."""
        measured = named_numbers(track)
        state = np.stack([measured[name][:-1] for name in self.names["observation.state"]], axis=1)
        films = self._films(track)
        pictures = {camera: frames_at(films[camera], track.times[:-1]) for camera in self.shapes}
        instruction = track.scenario.instruction if track.scenario is not None else str(track.row["task"])
        return instruction, {"observation.state": state}, pictures


def _write(
    request: Request, task: Any, some: Sequence[Track], left_out: dict[str, int], source: _Redrawn | _Films
) -> Exported:
    features = features_of({**source.names, "action": source.actions})
    features |= {name: {"dtype": dtype, "shape": [1], "names": None} for name, dtype in ENDS.items()}
    for camera, (height, width) in source.shapes.items():
        features[_camera(camera)] = video_feature(height, width, task.action_rate)
    writer = LeRobotWriter(request.out, fps=task.action_rate, robot=some[0].row["robot"], features=features)
    try:
        for number, track in enumerate(some):
            request.notify(f"episode {number + 1} of {len(some)}")
            instruction, columns, pictures = source.read(track)
            values = {**columns, "action": track.actions, **_ends(track)}
            writer.add(instruction, values, {_camera(camera): frames for camera, frames in pictures.items()})
        write_trials(writer.folder / TRIALS, [dict(track.row) for track in some])
        writer.close()
    except BaseException:
        writer.abandon()
        raise
    steps = sum(len(track.actions) for track in some)
    return Exported(path=request.out, to="lerobot", episodes=len(some), steps=steps, left_out=left_out)


def _camera(name: str) -> str:
    """LeRobot allows no slash in the name of a feature."""
    return f"observation.images.{name.replace('/', '_')}"


def _ends(track: Track) -> Mapping[str, np.ndarray]:
    """How the episode went, where LeRobot's simulated datasets have it: at its last step."""
    last = np.zeros(len(track.actions), dtype=bool)
    last[-1] = True
    solved = last & bool(track.row["success"])
    return {"next.reward": solved.astype(np.float32), "next.done": last, "next.success": solved}
