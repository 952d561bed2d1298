"""The objects of a scenario in a picture, with nobody to mark them: each is looked for about where it should lie."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from foretell.arrays import Bools, Bytes, Floats
from foretell.errors import UsageError
from foretell.match.mask import cut_again, cut_out
from foretell.match.measured import MeasuredScenario, draw, placed_at
from foretell.match.pose import Located, locate, require_sure
from foretell.match.sight import Sight
from foretell.scenario import Scenario
from foretell.sim.bench import Bench

__all__ = ["measure_unaided"]

ROOM = 0.03
"""m by which an object may lie beside its place, along x and y."""
VAGUE = 0.005
"""m: standard deviation of a position above which the planned place tells more."""
TURNED = math.radians(45)
"""Turn from the planned one beyond which a person should look."""
CLOSE = 0.93
"""Overlap at which a mask leaves no doubt. Below it, a second way to find the object must lead to the same place."""
ROUNDS = 3
"""In which a mask is cut where the object was found, and the object located by it."""
LEAST = 30
"""Pixels of an object that can be located."""


def measure_unaided(
    bench: Bench, camera: str, path: Path, frame: Bytes, objects: Sequence[str]
) -> tuple[MeasuredScenario, dict[str, str]]:
    """What a picture of the bench's scenario says; and object -> why it could not be measured, and keeps its place."""
    planned, picture = bench.scenario, np.array(frame)
    placed, located, why = dict(planned.placements), {}, {}
    for number, name in enumerate(objects):
        sight = Sight(bench, name, camera, (frame.shape[0], frame.shape[1]))
        start = np.array([*planned.placements[name].pos[:2], 0.0])
        try:
            pose, mask = _sure_pose(sight, frame, start)
        except UsageError as error:
            text = str(error).removeprefix("match: ").removeprefix(f"{name}: ")
            why[name] = text.partition(": is it the mask")[0].removeprefix("mask: ")
            continue
        located[name] = pose
        placed[name] = placed_at(placed[name], pose)
        bench.put(name, placed[name].pos, placed[name].quat)  # it may hide a part of the next
        draw(picture, number, mask, sight, pose)
    moved = {"placements": placed, "parent": planned.pair, "facts": {}} if located else {}
    built = Scenario.model_validate(planned.model_copy(update=moved).model_dump())
    return MeasuredScenario(image=path, scenario=built, objects=located, picture=picture), why


def _sure_pose(sight: Sight, frame: Bytes, start: Floats) -> tuple[Located, Bools]:
    """Where an object is, and its mask. Where the mask does not fit closely, a second way to find the object must lead
    to the same place. Raises UsageError with the reason where the pose is not sure."""
    located, mask = _settled(sight, frame, _around_it(sight, frame, start))
    _require_sure(sight, located, start)
    if located.overlap >= CLOSE:
        return located, mask
    with contextlib.suppress(UsageError):
        second, _ = _settled(sight, frame, _on_it(sight, frame, start))
        if float(np.linalg.norm((located.pose - second.pose)[:2])) <= VAGUE:
            return located, mask
    raise UsageError(
        f"its mask fits no better than {located.overlap:.0%}, and a second way to find it does not lead to the "
        "same place"
    )


def _settled(sight: Sight, frame: Bytes, mask: Bools) -> tuple[Located, Bools]:
    """The pose of a first mask, which is cut again where the object then is."""
    best: tuple[Located, Bools] | None = None
    pose = locate(sight, mask, None).pose
    for _ in range(ROUNDS):
        mask = cut_again(frame, sight.silhouette(pose))
        located = locate(sight, mask, frame)
        if best is not None and located.overlap <= best[0].overlap:
            break
        best, pose = (located, mask), located.pose
        if located.overlap >= CLOSE:
            break
    assert best is not None
    return best


def _around_it(sight: Sight, frame: Bytes, start: Floats) -> Bools:
    """What stands out within reach of the object's place."""
    height, width = frame.shape[:2]
    seen = np.zeros((height, width), dtype=bool)
    for pose in _around(start):
        seen |= sight.silhouette(pose)
    if int(seen.sum()) < LEAST:
        raise UsageError(f"camera {sight.camera!r} does not see it at its planned place")
    rows, columns = np.nonzero(seen)
    box = (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
    if box == (0, 0, width, height):
        raise UsageError("it fills the picture, so nothing tells it from what is around it")
    return _standing_out(lambda: cut_out(frame, box))


def _on_it(sight: Sight, frame: Bytes, start: Floats) -> Bools:
    """What stands out at the object's place itself: something else may be within its reach."""
    seen = sight.silhouette(start)
    if int(seen.sum()) < LEAST:
        raise UsageError(f"camera {sight.camera!r} does not see it at its planned place")
    return _standing_out(lambda: cut_again(frame, seen))


def _standing_out(cut: Callable[[], Bools]) -> Bools:
    try:
        return cut()
    except UsageError:
        raise UsageError("nothing stands out from the background at its planned place") from None


def _around(start: Floats) -> Iterator[Floats]:
    yield start
    for x in (-ROOM, ROOM):
        for y in (-ROOM, ROOM):
            yield start + [x, y, 0.0]


def _require_sure(sight: Sight, located: Located, start: Floats) -> None:
    """Raises UsageError where a pose is not to be used unless a person has looked at it."""
    require_sure(sight, located, insist=False)
    away, turn = located.pose[:2] - start[:2], math.remainder(located.pose[2], 2 * math.pi)
    if np.abs(away).max() > ROOM:
        far = 1000 * float(np.linalg.norm(away))
        raise UsageError(f"it seems to lie {far:.0f} mm from its place, and is looked for within {1000 * ROOM:.0f} mm")
    if (sd := float(located.sd[:2].max())) > VAGUE:
        raise UsageError(
            f"its position has a standard deviation of {1000 * sd:.1f} mm, more than {1000 * VAGUE:.0f} mm: the "
            "picture shows too little of it"
        )
    if located.turn_known and abs(turn) > TURNED:
        raise UsageError(f"it seems to be turned by {math.degrees(turn):+.0f}° from its place, more than 45°")
