"""The scenario of a real trial, from its first camera frame: where its objects lie, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from foretell.arrays import Bytes
from foretell.errors import UsageError
from foretell.files import require_writable
from foretell.match.mask import Hint, object_hints, read_frame, small_frame
from foretell.match.measured import MeasuredScenario, beside, draw, placed_at
from foretell.match.picture import write_picture
from foretell.match.pose import locate_by, require_sure
from foretell.match.sight import Sight, layout_of, open_bench, require_movable, require_shape
from foretell.registry import resolve
from foretell.scenario import Scenario
from foretell.sim.bench import Bench
from foretell.tasks.task import Task

__all__ = ["scenario"]


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
        if beside(file).resolve() == path.resolve():
            raise UsageError(f"out: the picture of the result would replace {path}; give another name")
    return list(files)


def _measure(
    bench: Bench, camera: str, path: Path, frame: Bytes, hints: Mapping[str, Hint], file: Path | None,
    insist: bool,
) -> MeasuredScenario:  # fmt: skip
    height, width = frame.shape[:2]
    picture = np.ascontiguousarray(frame)
    placed, objects = dict(bench.scenario.placements), {}
    notes: list[str] = []
    for number, (name, hint) in enumerate(hints.items()):
        sight = Sight(bench, name, camera, (height, width))
        located, mask = locate_by(sight, frame, hint)
        notes += require_sure(sight, located, insist=insist)
        objects[name] = located
        pos, quat = sight.placement(located.pose)
        bench.put(name, pos.tolist(), quat.tolist())  # it may hide a part of the next
        placed[name] = placed_at(placed[name], located)
        draw(picture, number, mask, sight, located)
    built = Scenario.model_validate(bench.scenario.model_copy(update={"placements": placed}).model_dump())
    measured = MeasuredScenario(
        image=path, scenario=built, objects=objects, picture=picture, notes=tuple(notes), path=file
    )
    if file is not None:
        file.write_text(measured.frame.model_dump_json() + "\n")
        write_picture(beside(file), picture)
    return measured
