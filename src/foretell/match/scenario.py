"""The scenario of a real trial, from its first camera frame: where its objects lie, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bytes
from foretell.errors import UsageError
from foretell.files import require_writable
from foretell.match.mask import Hint, object_hints, read_frame, small_frame
from foretell.match.opencv import opencv
from foretell.match.picture import write_picture
from foretell.match.pose import Located, locate_by, require_sure
from foretell.match.sight import Sight, layout_of, open_bench, require_movable, require_shape
from foretell.reality.frames import Frame, Pose
from foretell.registry import resolve
from foretell.rotation import turned
from foretell.scenario import Placement, Scenario
from foretell.sim.bench import Bench
from foretell.tasks.task import Task

__all__ = ["MeasuredScenario", "scenario"]

COLOURS = ((0, 220, 255), (255, 0, 255), (255, 190, 0), (64, 255, 64))
"""Of the outlines of objects in a picture."""
WHITE = (255, 255, 255)
"""Of the outlines of masks."""

WHY = {
    "silhouette": "",
    "colours": "its silhouette is the same at other turns; its colours tell them apart",
    "layout": "it looks the same at {}; this turn is the nearest to the layout's",
    "nothing": "it looks the same at every turn: it keeps the turn of the layout",
}
"""What tells the turn -> what a person should know of that."""


@dataclass(frozen=True, kw_only=True)
class MeasuredScenario:
    """What one picture says."""

    image: Path
    scenario: Scenario
    objects: Mapping[str, Located]
    picture: Bytes
    """(height, width, 3) the frame, with the outlines of the objects where they were located."""
    notes: tuple[str, ...] = ()
    """What a person should know before it is used."""
    path: Path | None = None
    """The file that was written, if any; its picture is beside it."""

    @property
    def frame(self) -> Frame:
        """What is written: m and degrees."""
        poses = {name: self._pose(name) for name in self.objects}
        about: dict[str, Any] = {"notes": self.notes, "insisted": bool(self.notes)}
        return Frame(measured=poses, image=self.image.name, scenario=self.scenario, **about)

    def _pose(self, name: str) -> Pose:
        located, placed = self.objects[name], self.scenario.placements[name]
        start = math.degrees(placed.yaw - located.pose[2])
        return Pose(
            x=placed.pos[0],
            y=placed.pos[1],
            yaw=math.degrees(placed.yaw) if located.turn_known else None,
            sd_x=round(float(located.sd[0]), 6),
            sd_y=round(float(located.sd[1]), 6),
            sd_yaw=round(math.degrees(located.sd[2]), 3) if located.turn_known else None,
            overlap=round(located.overlap, 4),
            other_yaws=tuple(round(math.remainder(start + math.degrees(turn), 360), 2) for turn in located.turns),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able: m and degrees."""
        return {**self.frame.model_dump(mode="json"), "out": None if self.path is None else str(self.path)}

    def text(self) -> str:
        lines = [str(self.image)]
        for name, pose in self.frame.measured.items():
            turn = "turn unknown" if pose.yaw is None else f"turned {pose.yaw:+.1f}° ± {pose.sd_yaw:.2g}°"
            place = f"x {pose.x:+.4f} m ± {1000 * pose.sd_x:.2g} mm, y {pose.y:+.4f} m ± {1000 * pose.sd_y:.2g} mm"
            lines.append(f"  {name}: {place}, {turn}; overlap {pose.overlap:.0%}")
            others = ", ".join(f"{yaw:+.0f}°" for yaw in pose.other_yaws)
            lines += [f"    {line}" for line in [WHY[self.objects[name].by].format(others)] if line]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join([*lines, *([f"  written: {self.path}, {_beside(self.path)}"] if self.path else [])])


def scenario(
    image: str | Path | Sequence[str | Path],
    *,
    task: str,
    camera: str,
    world: str | Path = "mujoco",
    object: Sequence[str] = (),
    mask: Sequence[str | Path] = (),
    box: Sequence[int] = (),
    layout: int | None = None,
    insist: bool = False,
    out: str | Path | None = None,
) -> list[MeasuredScenario]:
    """Find where the objects of a task lie in one or more pictures of a matched camera.

    `object`: their names; the only one that moves, if none is given. `mask`: a picture for each object, bright where it
    is seen; of several pictures, a folder for each object, with a mask of each picture's name. `box`: left, top, right
    and bottom around each object, in pixels. `layout`: the number of the published layout that says whether objects lie
    or stand, and where those are that are not measured; by default the middle of where the task puts them. `insist`:
    take poses at which mask and silhouette do not agree (an overlap below 85 %). `out`: a file (`scenarios: {file:
    ...}` of a study reads it); of several pictures, a folder. A picture of the result goes beside it. Raises UsageError
    where a picture does not show what it should.
    """
    images = [Path(image)] if isinstance(image, str | Path) else [Path(path) for path in image]
    if not images:
        raise UsageError("image: at least one picture is needed")
    made: Task = resolve("tasks", task)()
    start = layout_of(made, layout)
    bench = open_bench(made, world, camera, start)
    names = _objects(bench, object)
    written = _written(images, out)
    if len(images) > 1 and (wrong := next((m for m in mask if not Path(m).is_dir()), None)):
        raise UsageError(f"mask: {wrong} should be a folder with a mask for each picture, by the picture's name")
    measured = []
    for path, file in zip(images, written, strict=True):
        frame = read_frame(path)
        require_shape(bench, camera, frame.shape[:2], f"image: {path}")
        frame, hints = small_frame(frame, object_hints(frame, names, mask, box, path.stem))
        for name in names:
            bench.put(name, start.placements[name].pos, start.placements[name].quat)
        measured.append(_measure(bench, camera, path, frame, hints, file, insist))
    return measured


def _objects(bench: Bench, objects: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(objects))
    loose = [name for name in bench.scenario.placements if name in bench.layout.free]
    for name in names:
        require_movable(bench, name)
    if names or len(loose) == 1:
        return names or tuple(loose)
    raise UsageError(f"object: task {bench.task.name!r} has {len(loose)}: name those to locate ({', '.join(loose)})")


def _written(images: Sequence[Path], out: str | Path | None) -> list[Path | None]:
    """The file for each picture."""
    if out is None:
        return [None] * len(images)
    if len(images) == 1 and not Path(out).is_dir():
        files = [Path(out)]
    else:
        if Path(out).suffix == ".json":
            raise UsageError(f"out: {out} should be a folder, because there are {len(images)} pictures")
        Path(out).mkdir(parents=True, exist_ok=True)
        files = [Path(out) / f"{path.stem}.json" for path in images]
    for path, file in zip(images, files, strict=True):
        require_writable(file, "--out")
        if _beside(file).resolve() == path.resolve():
            raise UsageError(f"out: the picture of the result would replace {path}; give another name")
    return list(files)


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.stem}_located.png")


def _measure(
    bench: Bench, camera: str, path: Path, frame: Bytes, hints: Mapping[str, Hint], file: Path | None,
    insist: bool,
) -> MeasuredScenario:  # fmt: skip
    height, width = frame.shape[:2]
    cv2, picture = opencv(), np.ascontiguousarray(frame)
    placed, objects = dict(bench.scenario.placements), {}
    notes: list[str] = []
    for number, (name, hint) in enumerate(hints.items()):
        sight = Sight(bench, name, camera, (height, width))
        located, mask = locate_by(sight, frame, hint)
        notes += require_sure(sight, located, insist=insist)
        objects[name] = located
        pos, quat = sight.placement(located.pose)
        bench.put(name, pos.tolist(), quat.tolist())  # it may hide a part of the next
        placed[name] = _placed(placed[name], located)
        for shape, colour in ((mask, WHITE), (sight.silhouette(located.pose), COLOURS[number % len(COLOURS)])):
            edges, _ = cv2.findContours(shape.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
            cv2.drawContours(picture, edges, -1, colour, 1)
    built = Scenario.model_validate(bench.scenario.model_copy(update={"placements": placed}).model_dump())
    measured = MeasuredScenario(
        image=path, scenario=built, objects=objects, picture=picture, notes=tuple(notes), path=file
    )
    if file is not None:
        file.write_text(measured.frame.model_dump_json() + "\n")
        write_picture(_beside(file), picture)
    return measured


def _placed(start: Placement, located: Located) -> Placement:
    x, y, turn = (round(float(value), 6) for value in located.pose)
    return start.model_copy(update={"pos": (x, y, start.pos[2]), "quat": turned(start.quat, turn)})
