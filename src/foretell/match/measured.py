"""What a picture says of a scenario: where its objects lie, how sure that is, and a picture of the result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bools, Bytes
from foretell.match.opencv import opencv
from foretell.match.pose import Located
from foretell.match.sight import Sight
from foretell.reality.frames import Frame, Pose
from foretell.rotation import turned
from foretell.scenario import Placement, Scenario

__all__ = ["MeasuredScenario", "beside", "draw", "placed_at"]

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
        return "\n".join([*lines, *([f"  written: {self.path}, {beside(self.path)}"] if self.path else [])])


def beside(file: Path) -> Path:
    """The picture of the result, beside the file that is written."""
    return file.with_name(f"{file.stem}_located.png")


def placed_at(start: Placement, located: Located) -> Placement:
    """A placement with the position and the turn that were found."""
    x, y, turn = (round(float(value), 6) for value in located.pose)
    return start.model_copy(update={"pos": (x, y, start.pos[2]), "quat": turned(start.quat, turn)})


def draw(picture: Bytes, number: int, mask: Bools, sight: Sight, located: Located) -> None:
    """Draw the outlines of a mask and of the object where it was located into a picture. number: of the object."""
    cv2 = opencv()
    for shape, colour in ((mask, WHITE), (sight.silhouette(located.pose), COLOURS[number % len(COLOURS)])):
        edges, _ = cv2.findContours(shape.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(picture, edges, -1, colour, 1)
