"""Does a world look as the real camera sees it? A real frame beside the simulated one, in two numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Bools
from foretell.errors import UsageError, suggest
from foretell.match.background import NEAR
from foretell.match.colour import ciede2000, lab
from foretell.match.mounted import bench_of
from foretell.match.opencv import opencv
from foretell.match.picture import read_mask, read_picture, shrunk
from foretell.match.sight import require_shape
from foretell.sim.bench import Bench
from foretell.sim.params import MujocoFile, load_world
from foretell.sim.photo import resize
from foretell.sim.transforms import Background
from foretell.spec import Stream
from foretell.world_file import WorldFile

__all__ = ["Resemblance", "check"]

SMALLEST = 64
"""Pixels: smaller islands of a difference from the plate are noise."""
DARKEST, EVEN = 0.4, 0.2
"""A shadow leaves at least this share of the light, and takes red, green and blue alike within this share."""


@dataclass(frozen=True, kw_only=True)
class Resemblance:
    """A real frame and the simulated one, and how alike they are."""

    task: str
    world: str
    camera: str
    layout: int | None
    real: np.ndarray
    """(height, width, 3) uint8."""
    simulated: np.ndarray
    """The same size: rendered, with the transforms of the world."""
    foreground: Bools
    """(height, width): where the simulation shows robots and objects."""
    covered: Bools | None
    """(height, width): where the real frame does, as far as that is known."""
    known_from: str
    """How: `mask`, `plate`, or nothing."""
    parts: Mapping[str, float]
    """Part that is seen -> mean CIEDE2000 of its pixels in the simulated frame, against the same of the real one."""

    @property
    def overlap(self) -> float | None:
        """Intersection over union of the two silhouettes."""
        if self.covered is None:
            return None
        union = np.count_nonzero(self.foreground | self.covered)
        return float(np.count_nonzero(self.foreground & self.covered) / union) if union else 1.0

    @property
    def colour(self) -> float:
        """Mean CIEDE2000 over the foreground: what both silhouettes share, or the simulated one alone."""
        shared = self.foreground if self.covered is None else self.foreground & self.covered
        return _colour(self.real, self.simulated, shared)

    @property
    def colour_elsewhere(self) -> float:
        """Mean CIEDE2000 over all that is in neither silhouette."""
        covered = np.zeros_like(self.foreground) if self.covered is None else self.covered
        return _colour(self.real, self.simulated, ~(self.foreground | covered))

    @property
    def notes(self) -> list[str]:
        if self.covered is None:
            return ["the real silhouette is not known: give a mask, or a clean plate (foretell match background)"]
        if not self.covered.any():
            if self.known_from == "mask":
                return ["the mask is empty: it should be bright where the real robot and objects are"]
            return ["nothing differs from the plate in the real frame: is it a frame of the empty scene?"]
        if not self.foreground.any():
            return ["the simulated frame shows none of the parts that make up the silhouette"]
        if self.overlap == 0:
            return [f"the silhouettes share no pixel: is the {self.known_from} of this frame, and the camera matched?"]
        return []

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; pictures are left out."""
        number = {"overlap": self.overlap, "colour": self.colour, "colour_elsewhere": self.colour_elsewhere}
        return {
            "task": self.task,
            "world": self.world,
            "camera": self.camera,
            "layout": self.layout,
            **{name: None if value is None or np.isnan(value) else value for name, value in number.items()},
            "parts": dict(self.parts),
            "silhouette_from": self.known_from,
            "notes": self.notes,
        }

    def text(self) -> str:
        overlap = "not known" if self.overlap is None else f"{self.overlap:.3f} (intersection over union)"
        where = "both silhouettes are" if self.covered is not None else "the simulated silhouette is"
        lines = [
            f"silhouette overlap  {overlap}",
            f"colour distance     {_known(self.colour)} (mean CIEDE2000 where {where}; 2 is just seen)",
            f"elsewhere           {_known(self.colour_elsewhere)}",
        ]
        lines += [f"  {name:<18}{value:.1f}" for name, value in self.parts.items()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def check(
    real: str | Path,
    *,
    task: str,
    camera: str,
    world: str | Path | Mapping[str, Any] | WorldFile = "mujoco",
    layout: int | None = None,
    scenario: str | Path | None = None,
    mask: str | Path | None = None,
    plate: str | Path | None = None,
    keep: Sequence[str] = ("robots", "objects"),
) -> Resemblance:
    """Compare a real frame with what a camera of a world shows of a task, at its start.

    `layout` is the number of a published layout. `scenario` is a file with one scenario, such as `match scenario`
    writes from a frame. Without either, the task's first scenario is shown. The real silhouette is known from `mask`
    (a picture that is bright there), or from the difference to a clean `plate`; without either, the plate that the
    world shows behind the camera is taken. `keep` names the parts that make up the silhouette.
    """
    frame = read_picture(real, "real")
    file = load_world(world)
    bench = bench_of(task, file, layout, scenario)
    if camera not in bench.world.cameras:
        raise UsageError(f"camera: {camera!r:.100} is not in task {task!r}; {suggest(camera, bench.world.cameras)}")
    require_shape(bench, camera, frame.shape[:2], f"real: {real}")
    covered, known_from = _covered(frame, mask, plate, file, camera)
    small, masks = shrunk(frame, [] if covered is None else [covered])
    size = small.shape[:2]
    streams = {f"{camera}/{kind}": Stream((*size, depth)) for kind, depth in (("rgb", 3), ("segmentation", 1))}
    seen = bench.world.observe(np.zeros(1, dtype=np.int32), streams)
    simulated, ids = seen[f"{camera}/rgb"][0], seen[f"{camera}/segmentation"][0, ..., 0]
    shown = _shown(bench, keep)
    return Resemblance(
        task=task,
        world=file.name,
        camera=camera,
        layout=layout,
        real=small,
        simulated=simulated,
        foreground=np.isin(ids, [bench.parts.ids[name] for name in shown]),
        covered=next(iter(masks), None),
        known_from=known_from,
        parts={
            name: _colour(small, simulated, ids == bench.parts.ids[name])
            for name in shown
            if (ids == bench.parts.ids[name]).any()
        },
    )


def _shown(bench: Bench, keep: Sequence[str]) -> list[str]:
    """Names of the parts that make up the silhouette."""
    groups, known = bench.parts.groups(), bench.parts.names
    names = dict.fromkeys(part for word in keep for part in groups.get(word, (word,)))
    for name in names:
        if name not in known:
            raise UsageError(f"keep: {name!r:.100} is not a part of this scene; {suggest(name, [*groups, *known])}")
    return list(names)


def _covered(
    frame: np.ndarray, mask: str | Path | None, plate: str | Path | None, file: MujocoFile, camera: str
) -> tuple[Bools | None, str]:
    """(height, width) where robots and objects are in a real frame, and what tells."""
    height, width = frame.shape[:2]
    if mask is not None:
        return read_mask(mask, "mask", height, width), "mask"
    empty = None if plate is None else read_picture(plate, "plate")
    if empty is None:
        behind = [t for t in file.transforms if isinstance(t, Background) and t.acts_on(camera)]
        empty = behind[-1].photo if behind else None
        if empty is not None and empty.shape != frame.shape:
            empty = resize(empty, height, width)
    if empty is None:
        return None, "nothing"
    if empty.shape != frame.shape:
        rows, columns = empty.shape[:2]
        raise UsageError(
            f"plate: {plate} has {columns}x{rows} pixels, and the real frame {width}x{height}: both must be of one "
            "camera, at one size"
        )
    return _differs(frame, empty), "plate"


def _differs(frame: np.ndarray, plate: np.ndarray) -> Bools:
    """(height, width): what a frame shows that its plate does not. Small islands and holes are noise, and what is only
    darker is a shadow."""
    cv2 = opencv()
    mild = [cv2.GaussianBlur(np.ascontiguousarray(image), (5, 5), 0) for image in (frame, plate)]
    light = (mild[0] + 4.0) / (mild[1] + 4.0)  # 4 grey levels: noise of black pixels is no light
    least, most = light.min(axis=2), light.max(axis=2)
    shadow = (least > DARKEST) & (most < 1) & (most - least < EVEN * most)
    differs = ((cv2.absdiff(*mild).max(axis=2) > 2 * NEAR) & ~shadow).astype(np.uint8)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
    differs = cv2.morphologyEx(differs, cv2.MORPH_CLOSE, disc, iterations=2)
    _, labels, figures, _ = cv2.connectedComponentsWithStats(differs)
    large = figures[:, cv2.CC_STAT_AREA] >= SMALLEST
    large[0] = False
    return np.asarray(large[labels])


def _known(value: float) -> str:
    return "not known" if np.isnan(value) else f"{value:.1f}"


def _colour(real: np.ndarray, simulated: np.ndarray, where: Bools) -> float:
    """Mean CIEDE2000; NaN where there is nothing."""
    if not where.any():
        return float("nan")
    return float(ciede2000(lab(real[where]), lab(simulated[where])).mean())
