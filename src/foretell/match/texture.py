"""What an object looks like, from one picture: its pixels, unprojected onto the charts of the object.

The light of the world is divided out, so that the world shows the object as the picture does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Bools, Bytes, Floats
from foretell.document import load_yaml
from foretell.errors import UsageError
from foretell.match.colour import ciede2000, lab
from foretell.match.mask import object_hints, read_frame, small_frame
from foretell.match.opencv import opencv
from foretell.match.part_colours import part_colours
from foretell.match.picture import require_png, write_picture
from foretell.match.pose import Located, locate_by, require_sure
from foretell.match.sight import Sight, layout_of, open_bench, require_movable, require_shape, view_of
from foretell.match.world import add_transform, relative, replaced, require_world
from foretell.objects.chart import SurfaceChart, charts, texels
from foretell.registry import resolve
from foretell.rotation import rotate
from foretell.sim.bench import Bench

__all__ = ["Textured", "complete", "texture", "unproject"]

FACING = 0.2
"""Cosine of the angle to the camera below which a surface is seen too flat to tell its colour."""
NEAR = 0.004
"""Metres by which a texel may lie behind what the depth picture shows, and still be what is seen."""
DARKEST = 0.15
"""Light below which a pixel is too dark to tell the colour."""
BRIGHT = 0.02
"""Share of an object that may be brighter than the world's light can make it."""
RADIUS = 5
"""Pixels around an unseen texel that inpainting looks at."""


@dataclass(frozen=True, kw_only=True)
class Textured:
    """The looks that were taken from a picture."""

    asset: str | None
    located: Located | None
    texture: Bytes | None
    """(height, width, 3) the charts of the object."""
    seen: float
    """Share of the object's surface that the picture shows."""
    colours: Mapping[str, tuple[float, float, float]]
    """Geom or material -> red, green and blue, 0 to 1."""
    before: float
    """Mean colour distance (CIEDE2000) from the picture where object and parts are, in the world as it was."""
    after: float
    picture: Bytes
    """(height, 3 width, 3) the photograph, the world before and after."""
    notes: tuple[str, ...] = ()
    out: Path | None = None
    world: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; pictures are left out."""
        return {
            "asset": self.asset,
            "overlap": None if self.located is None else self.located.overlap,
            "seen": self.seen,
            "colours": {name: list(colour) for name, colour in self.colours.items()},
            "before": self.before,
            "after": self.after,
            "notes": list(self.notes),
            "out": None if self.out is None else str(self.out),
            "world": None if self.world is None else str(self.world),
        }

    def text(self) -> str:
        lines = []
        if self.located is not None:
            lines.append(
                f"{self.asset}: {self.seen:.0%} of its surface is seen, the rest follows by symmetry and inpainting; "
                f"overlap {self.located.overlap:.0%}"
            )
        lines += [f"{name}: {' '.join(f'{c:.3f}' for c in colour)}" for name, colour in self.colours.items()]
        lines.append(f"colour distance from the picture (CIEDE2000): {self.before:.1f} before, {self.after:.1f} after")
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"picture: {self.out}"] * (self.out is not None)
        lines += [f"world: {self.world}, which a study can name"] * (self.world is not None)
        return "\n".join(lines)


def texture(
    image: str | Path,
    *,
    task: str,
    camera: str,
    object: str | None = None,
    mask: str | Path | None = None,
    box: Sequence[int] = (),
    parts: Sequence[str] = (),
    layout: int | None = None,
    insist: bool = False,
    world: str | Path | None = None,
    out: str | Path | None = None,
) -> Textured:
    """Take the looks of an object, and colours of parts, from a picture of a matched camera.

    `object` is located by `mask` or `box` as `match.scenario` does it; `insist` takes a pose at which mask and
    silhouette do not agree. `parts`: names of robots or furniture, which get the median colours of their pixels.
    `world`: a world file to write or extend; what it says already holds, such as its camera and light. `out`: a picture
    of the result. Raises UsageError where the picture does not show them.
    """
    if object is None and not parts:
        raise UsageError("texture: give an object (--object), parts (--parts), or both")
    out = None if out is None else require_png(out, "--out")
    target = None if world is None else require_world(world)
    base: Any = target if target is not None and target.exists() else "mujoco"
    made = resolve("tasks", task)()
    bench = open_bench(made, base, camera, layout_of(made, layout))
    frame = read_frame(image)
    require_shape(bench, camera, frame.shape[:2], f"image: {image}")
    if object is not None:
        require_movable(bench, object)
    masks = [] if mask is None else [mask]
    frame, hints = small_frame(frame, {} if object is None else object_hints(frame, [object], masks, box))
    height, width = frame.shape[:2]
    where, transforms = np.zeros((height, width), dtype=bool), []
    located = picture = asset = None
    notes: list[str] = []
    shine: dict[str, float] = {}
    seen = 0.0
    with TemporaryDirectory() as folder:
        if object is not None:
            sight = Sight(bench, object, camera, (height, width))
            located, seen_mask = locate_by(sight, frame, hints[object])
            notes = require_sure(sight, located, insist=insist)
            pos, quat = sight.placement(located.pose)
            bench.put(object, pos.tolist(), quat.tolist())
            asset = bench.scenario.placements[object].asset
            picture, seen, shine = _textured(bench, sight, located.pose, frame, seen_mask, object)
            where |= seen_mask & sight.silhouette(located.pose)
            file = Path(folder) / "texture.png"
            write_picture(file, picture)
            transforms.append({"use": "painted", "asset": asset, "image": str(file), **shine})
        colours, shown = part_colours(bench, camera, frame, parts)
        if colours:
            transforms.append({"use": "colours", "colours": {name: list(colour) for name, colour in colours.items()}})
            where |= shown
        views = [view_of(bench, camera, (height, width)), _dressed(bench, camera, (height, width), base, transforms)]
    before, after = (float(ciede2000(lab(frame[where]), lab(view[where])).mean()) for view in views)
    if target is not None:
        _write(target, asset, picture, shine, colours)
    both = np.concatenate([frame, *views], axis=1)
    if out is not None:
        write_picture(out, both)
    return Textured(
        asset=asset, located=located, texture=picture, seen=seen, colours=colours, before=before, after=after,
        picture=both, notes=tuple(notes), out=out, world=target,
    )  # fmt: skip


def _write(
    world: Path,
    asset: str | None,
    picture: Bytes | None,
    shine: Mapping[str, float],
    colours: Mapping[str, Sequence[float]],
) -> None:
    if asset is not None and picture is not None:
        file = world.with_name(f"{world.stem}_{asset}.png")
        write_picture(file, picture)
        add_transform(world, {"use": "painted", "asset": asset, "image": relative(file, world), **shine})
    if colours:
        add_transform(world, {"use": "colours", "colours": {name: list(colour) for name, colour in colours.items()}})


def _dressed(bench: Bench, camera: str, size: tuple[int, int], base: Any, transforms: Sequence[Any]) -> Bytes:
    """The same view with more transforms."""
    contents: dict[str, Any] = {} if base == "mujoco" else {"folder": str(Path(base).parent), **load_yaml(base)}
    for transform in transforms:
        contents["transforms"] = replaced(contents.get("transforms") or [], transform)
    other = Bench(bench.task, scenario=bench.scenario, world={"name": "matched", **contents})
    other.layout.qpos[other.slot] = bench.layout.qpos[bench.slot]
    return view_of(other, camera, size)


def _textured(
    bench: Bench, sight: Sight, pose: Floats, frame: Bytes, mask: Bools, part: str
) -> tuple[Bytes, float, dict[str, float]]:
    """The charts of an object, the share of its surface that is seen, and how it shines (`glow` and `dim`), if it is
    brighter than the world's light can make it."""
    placed = bench.scenario.placements[part]
    pieces = charts(placed.asset)
    real, light, seen = unproject(sight, pose, frame, mask, pieces, np.asarray(placed.scale))
    if not seen.any():
        raise UsageError(f"texture: no part of {part!r} is seen where the mask is: is the mask too narrow?")
    own = [_own_colour(bench, f"{part}{piece.geom}") for piece in pieces]
    most = max(1.0, float(total_light(bench.drawn).max()))
    glow, dim = 0.0, 1.0
    if (real[seen] * most > light[seen]).any(axis=1).mean() > BRIGHT:
        bright = np.minimum(real[seen], 0.98)
        need = ((bright * most - light[seen]) / (1 - bright)).max(axis=1)
        glow = round(float(np.clip(np.quantile(need, 1 - BRIGHT), 0, 20)), 3)
        dim = round(1 / (most + glow), 4)
    picture = complete(np.clip(real / (dim * (light + glow)), 0, 1), seen, pieces, own)
    share = float(seen[np.isfinite(texels(pieces)[0][..., 0])].mean())
    return picture, share, {"glow": glow, "dim": dim} if dim < 1 else {}


def total_light(model: mujoco.MjModel) -> Floats:
    """(3,) red, green and blue of all light of a scene together, as it falls on what faces every lamp."""
    head, on = model.vis.headlight, model.light_active.astype(bool)
    lamps = model.light_ambient[on].sum(axis=0) + model.light_diffuse[on].sum(axis=0)
    total: Floats = np.asarray(head.ambient) + (np.asarray(head.diffuse) if head.active else 0.0) + lamps
    return total


def _own_colour(bench: Bench, geom: str) -> Floats:
    model = bench.drawn
    g = model.geom(geom)
    at = int(g.matid[0])
    colour: Floats = np.array(model.mat_rgba[at] if at >= 0 else g.rgba, dtype=float)[:3]
    return colour


def unproject(
    sight: Sight, pose: Floats, frame: Bytes, mask: Bools, pieces: tuple[SurfaceChart, ...], scale: Floats
) -> tuple[Floats, Floats, Bools]:
    """(height, width, 3) colours of the charts of an object in a picture, 0 to 1; (height, width, 3) the world's light
    on them; and (height, width) which of them the picture shows."""
    cv2 = opencv()
    points, normals = texels(pieces)
    on = np.isfinite(points[..., 0])
    pos, quat = sight.placement(pose)
    turn = np.broadcast_to(quat, (int(on.sum()), 4))
    there, upright = rotate(turn, points[on] * scale) + pos, rotate(turn, normals[on])
    pixels, far = sight.pixels(there)
    rays = sight.eye - there
    facing = (upright * rays).sum(axis=1) / np.linalg.norm(rays, axis=1)
    silhouette, depth = sight.look(pose)
    sure = cv2.erode((mask & silhouette).astype(np.uint8), np.ones((3, 3), dtype=np.uint8)).astype(bool)
    column, row = (np.floor(pixels[:, i]).astype(int) for i in range(2))
    inside = (far > 0) & (column >= 0) & (row >= 0) & (column < mask.shape[1]) & (row < mask.shape[0])
    column, row = np.where(inside, column, 0), np.where(inside, row, 0)
    shading = sight.picture(pose, sight.plain()).astype(np.float32) / (0.502 * 255)
    seen = inside & (facing > FACING) & sure[row, column] & (np.abs(depth[row, column] - far) < NEAR)
    seen &= shading[row, column].min(axis=1) > DARKEST
    at = np.zeros((*on.shape, 2), dtype=np.float32)
    at[on] = pixels - 0.5
    light, real = (
        cv2.remap(source, at[..., 0], at[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE).astype(np.float64)
        for source in (shading, frame.astype(np.float32) / 255)
    )
    shown = np.zeros(on.shape, dtype=bool)
    shown[on] = seen
    return real, np.maximum(light, DARKEST), shown


def complete(colours: Floats, seen: Bools, pieces: Sequence[SurfaceChart], own: Sequence[Floats]) -> Bytes:
    """(height, width, 3) uint8: charts whose unseen parts are taken from seen ones by symmetry (half a turn about the
    longest axis, the mirror image at the back, and that at the other end), and inpainted where that shows nothing. A
    piece that is not seen at all keeps its own colour."""
    cv2 = opencv()
    filled = np.zeros((*seen.shape, 3), dtype=np.uint8)
    width = seen.shape[1]
    for piece, plain in zip(pieces, own, strict=True):
        rows = slice(piece.top, piece.top + piece.height)
        known, values = seen[rows].copy(), colours[rows].copy()
        if known.sum() < 4:
            filled[rows] = np.rint(255 * plain)
            continue
        angles = np.nonzero(known)[1] * 2 * np.pi / width
        middle = np.arctan2(np.sin(angles).mean(), np.cos(angles).mean()) * width / (2 * np.pi)
        half = (np.arange(width) + width // 2) % width
        mirrored = np.rint(2 * middle + width / 2 - np.arange(width)).astype(int) % width
        for rows_of, columns_of in ((slice(None), half), (slice(None), mirrored), (slice(None, None, -1), slice(None))):
            new = ~known & known[rows_of, columns_of]
            values[new] = values[rows_of, columns_of][new]
            known = known | new
        image = np.tile(np.rint(255 * values).astype(np.uint8), (1, 3, 1))  # around the world
        image = cv2.inpaint(image, np.tile(~known, (1, 3)).astype(np.uint8), RADIUS, cv2.INPAINT_TELEA)
        filled[rows] = image[:, width : 2 * width]
    return filled
