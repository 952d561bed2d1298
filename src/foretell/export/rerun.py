"""Episodes as Rerun recordings, one `.rrd` file each: the scene in space, joints, pictures, the plan and what happened.

| entity | what |
|---|---|
| `world/BODY/...` | the shapes of robot, objects and furniture, as they move |
| `tool/NAME` | the way of a robot's tool |
| `joints/...`, `objects/...` | what the sensors show, number by number |
| `camera/NAME` | pictures |
| `plan/action/...` | the action that follows, number by number; `plan/inference`: of which inference it is |
| `events` | stages reached, looks and inferences of the policy, and how it ended |

Everything is on the timeline `sim`, in simulated seconds.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.counting import counted
from foretell.episodes.parts import DamagedError, read_parquet
from foretell.errors import ForetellError, UsageError
from foretell.export.export import Exported, Request
from foretell.export.observer import Observer, named_numbers
from foretell.export.track import Track, tracks
from foretell.files import inside
from foretell.study.plan import make_task
from foretell.world_file import make_world

__all__ = ["export_rerun"]

TIMELINE = "sim"
QUALITY = 85
"""Of the JPEG pictures."""
UNSHOWN = "their scenario is not in scenarios.parquet, or their steps have no true state"


def export_rerun(request: Request) -> Exported:
    """Write the recordings, named `TASK-POLICY-EPISODE.rrd`."""
    rr = _rerun()
    left_out: dict[str, int] = {}
    groups: dict[tuple[str, str, str], list[Track]] = {}
    for track in tracks(request.run, request.rows, request.scenarios(), left_out):
        groups.setdefault(tuple(track.row[c] for c in ("task", "controller", "world_hash")), []).append(track)
    part = request.out.with_name(f"{request.out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    written = steps = 0
    for some in groups.values():
        real = bool(some[0].row["real"])
        sound = [t for t in some if real or (t.states is not None and t.scenario is not None)]
        if len(sound) < len(some):
            left_out[UNSHOWN] = left_out.get(UNSHOWN, 0) + len(some) - len(sound)
        if not sound:
            continue
        with contextlib.ExitStack() as stack:
            observer = None if real else _observer(request, sound[0], stack)
            for track in sound:
                request.notify(f"episode {written + 1}")
                name = f"{track.row['task']}-{track.row['policy']}-{track.name}"
                recording = rr.RecordingStream("foretell", recording_id=f"foretell-{track.name}")
                recording.save(part / f"{''.join(c if c.isalnum() or c in '-_.' else '-' for c in name)[:150]}.rrd")
                _Recording(rr, recording, track).write(observer, request.run)
                recording.flush()
                recording.disconnect()
                written, steps = written + 1, steps + len(track.actions)
    if not written:
        shutil.rmtree(part)
        why = "; ".join(f"{counted(n, 'episode')}: {why}" for why, n in left_out.items())
        raise UsageError(f"{request.run}: no episode can be exported: {why}")
    if request.out.exists():
        request.out.rmdir()
    part.rename(request.out)
    return Exported(path=request.out, to="rerun", episodes=written, steps=steps, left_out=left_out)


def _rerun() -> Any:
    try:
        import rerun
    except ImportError:
        raise ForetellError("Rerun recordings need its package: pip install 'foretell[rerun]'") from None
    return rerun


def _observer(request: Request, track: Track, stack: contextlib.ExitStack) -> Observer:
    entry = request.entry(dict(track.row))
    task = make_task(entry.use, entry.time_limit)
    controller = track.row["controller"]
    world = make_world(request.study.world, task, slots=1, threads=1, controller=controller)
    stack.enter_context(contextlib.closing(world))
    observer = Observer(world, request.cameras, request.size)
    observer.check(track.row)
    return observer


class _Recording:
    """One episode, as it goes into its file."""

    def __init__(self, rr: Any, stream: Any, track: Track):
        self.rr, self.stream, self.track = rr, stream, track

    def write(self, observer: Observer | None, run: Path) -> None:
        row, rr = self.track.row, self.rr
        facts = ("task", "policy", "scenario", "world", "arm", "success", "score", "end", "failure_reason")
        text = "\n".join(f"- {name}: {row[name]}" for name in facts)
        self.stream.log("episode", rr.TextDocument(text, media_type="text/markdown"), static=True)
        self._events(run)
        if observer is None:
            for name, values in named_numbers(self.track).items():
                for time, value in zip(self.track.times.tolist(), values.tolist(), strict=True):
                    self._scalar(time, f"joints/{name}", value)
        else:
            self._show(observer)
        for time, action in zip(self.track.times.tolist(), self.track.actions, strict=False):
            for index, value in enumerate(action.tolist()):
                self._scalar(time, f"plan/action/{index}", value)

    def _show(self, observer: Observer) -> None:
        """The scene, the sensors and the cameras in every state but the last."""
        joints = observer.groups()["observation.state"]
        labels = {name: observer.labels([name]) for name in observer.sensed}
        ways: dict[str, list[Any]] = {}
        world: Any = observer.world
        drawn: Sequence[Any] = ()
        for number, (time, seen) in enumerate(zip(self.track.times.tolist(), observer.watch(self.track), strict=False)):
            self.stream.set_time(TIMELINE, duration=time)
            if hasattr(world, "shapes"):
                if not number:
                    drawn = world.shapes(0)
                    self._dress(drawn)
                self._move(drawn, *world.poses(0))
            for name, words in labels.items():
                place = "joints" if name in joints else "objects"
                for word, value in zip(words, np.ravel(seen[name][0]).tolist(), strict=True):
                    self._scalar(time, f"{place}/{word}", value)
                if name.endswith("ee_pos"):
                    ways.setdefault(name, []).append(np.array(seen[name][0]))
                    self.stream.log(f"tool/{name}", self.rr.LineStrips3D([np.array(ways[name])]))
            for camera, stream in observer.cameras.items():
                image = self.rr.Image(np.ascontiguousarray(seen[stream][0])).compress(jpeg_quality=QUALITY)
                self.stream.log(f"camera/{camera}", image)

    def _dress(self, drawn: Sequence[Any]) -> None:
        rr = self.rr
        for shape in drawn:
            colour = [round(255 * c) for c in shape.colour]
            x, y, z = shape.half
            filled: dict[str, Any] = {"colors": [colour], "fill_mode": "solid"}
            if shape.kind == "mesh":
                count = len(shape.vertices)
                look = rr.Mesh3D(
                    vertex_positions=shape.vertices,
                    triangle_indices=shape.triangles,
                    vertex_colors=np.tile(np.array(colour, dtype=np.uint8), (count, 1)),
                )
            elif shape.kind == "box":
                look = rr.Boxes3D(half_sizes=[[x, y, z]], **filled)
            elif shape.kind == "cylinder":
                look = rr.Cylinders3D(lengths=[2 * z], radii=[x], **filled)
            elif shape.kind == "capsule":
                look = rr.Capsules3D(lengths=[2 * z], radii=[x], translations=[[0, 0, -z]], **filled)
            else:
                look = rr.Ellipsoids3D(half_sizes=[[x, y, z]], **filled)
            self.stream.log(f"world/{shape.name}", look, static=True)

    def _move(self, drawn: Sequence[Any], places: np.ndarray, axes: np.ndarray) -> None:
        for shape in drawn:
            where = self.rr.Transform3D(translation=places[shape.index], mat3x3=axes[shape.index])
            self.stream.log(f"world/{shape.name}", where)

    def _events(self, run: Path) -> None:
        row = self.track.row
        for stage, time in dict(row["stages"] or ()).items():
            self._text(time, f"stage {stage}")
        for happening in self._logged(run):
            kind, number = happening["kind"], happening["inference"]
            if kind == "action" and number is not None:
                self._scalar(happening["sim_s"], "plan/inference", float(number))
            elif kind not in ("action", "frame"):
                self._text(happening["sim_s"], f"{kind} {'' if number is None else number}".strip())
        counts = ", ".join(f"{name} {n:g}" for name, n in dict(row["events"] or ()).items() if n)
        outcome = {True: "success", False: "failure", None: "not judged"}[row["success"]]
        self._text(row["sim_s"], f"end: {row['end']} ({outcome}){': ' + counts if counts else ''}")

    def _logged(self, run: Path) -> Sequence[Mapping[str, Any]]:
        """What happened when, where the study kept it (`record: {events: all}`)."""
        path = inside(run, Path("events") / f"{self.track.name}.parquet")
        if path is None:
            return ()
        try:
            rows: list[dict[str, Any]] = read_parquet(path, ["kind", "sim_s", "inference"]).to_pylist()
            return [row for row in rows if row["kind"] is not None and row["sim_s"] is not None]
        except (DamagedError, OSError, KeyError, pa.ArrowException):
            return ()

    def _scalar(self, time: float, path: str, value: float) -> None:
        if np.isfinite(value):
            self.stream.set_time(TIMELINE, duration=time)
            self.stream.log(path, self.rr.Scalars(value))

    def _text(self, time: float, text: str) -> None:
        self.stream.set_time(TIMELINE, duration=time)
        self.stream.log("events", self.rr.TextLog(text))
