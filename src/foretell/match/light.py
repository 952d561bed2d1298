"""The light of a picture: how bright it is everywhere, and from where and in which colour one light shines.

What the scene is made of is known, and so is where its surfaces face. The brightness of each pixel is its own colour,
times the light from everywhere plus that from far away, as Lambert's law has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from foretell.arrays import Floats, Ints
from foretell.document import load_yaml
from foretell.errors import UsageError, suggest
from foretell.match.mask import object_hints, read_frame, small_frame
from foretell.match.opencv import opencv
from foretell.match.part_colours import looks_of
from foretell.match.picture import require_png, write_picture
from foretell.match.pose import locate_by, require_sure
from foretell.match.shading import Fit, Surface, around, fit_along, fit_light, spread
from foretell.match.sight import Sight, layout_of, open_bench, require_movable, require_shape, view_of
from foretell.match.world import add_transform, require_world
from foretell.registry import resolve
from foretell.sim.bench import Bench
from foretell.sim.looks import Light, brighten
from foretell.sim.transforms import Background

__all__ = ["Lit", "light", "surface"]

MOST = 3000
"""Pixels that are fitted to; more tell nothing new."""
LEAST = 300
AGAIN = 2
"""Times that gloss and shadows are taken away and the light fitted again."""
RINGS = (24.0, 8.0, 3.0)
"""Degrees around the direction at which others are drawn, with their shadows, and compared with the picture."""
ODD = 0.15
"""Difference, of 1, beyond which a pixel counts no more."""
REMAINS, PLAIN = 0.5, 5.0
"""Share of the first difference, and grey levels, above which a fit explains too little."""
DARK = 0.01
"""Of 1: a pixel below it is black."""
FAINT = 0.02
"""Share of the light from everywhere below which one light has no direction."""
SHADED = 0.02
"""How much darker, of 1, a pixel in a cast shadow is."""


@dataclass(frozen=True, kw_only=True)
class Lit:
    """The light of a picture."""

    fit: Fit
    sd: float
    """Standard deviation of the direction, degrees."""
    before: float
    """Mean difference from the picture in the world as it was, grey levels."""
    after: float
    """The same under the fitted light, with cast shadows if that is nearer."""
    pixels: int
    object_notes: tuple[str, ...] = ()
    """What is known of the object that was located."""
    out: Path | None = None
    world: Path | None = None

    @property
    def notes(self) -> list[str]:
        """What a person should know before the light is used."""
        notes = list(self.object_notes)
        if self.poor:
            notes.append(self.poor)
        if (most := max(self.fit.ambient.max(), self.fit.colour.max())) > 1:
            notes.append(f"a light of {most:.2f} is brighter than white (1): the parts are darker than in the picture")
        if math.isinf(self.sd) and not self.fit.colour.max() > FAINT * self.fit.ambient.max():
            notes.append("the light is even: it comes from everywhere, and one light with a direction adds nothing")
        elif math.isinf(self.sd):
            notes.append("how sure the direction is cannot be told: give more parts than one (--parts)")
        elif self.sd > 20:
            notes.append("the direction is hardly told: few surfaces face different ways, or the light is even")
        return notes

    @property
    def poor(self) -> str:
        """Why the light should not be used; empty where it may be."""
        if self.after <= max(REMAINS * self.before, PLAIN):
            return ""
        return (
            f"the light explains little: {self.after:.1f} of {self.before:.1f} grey levels remain. Does the world "
            "have the camera and the looks of the picture (foretell match camera, match texture)?"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "ambient": self.fit.ambient.tolist(),
            "colour": self.fit.colour.tolist(),
            "direction": self.fit.direction.tolist(),
            "sd_direction": None if math.isinf(self.sd) else self.sd,
            "before": self.before,
            "after": self.after,
            "pixels": self.pixels,
            "notes": self.notes,
            "out": None if self.out is None else str(self.out),
            "world": None if self.world is None else str(self.world),
        }

    def text(self) -> str:
        def row(values: Floats) -> str:
            return " ".join(f"{v:.3f}" for v in values.round(3) + 0.0)

        sure = "" if math.isinf(self.sd) else f" ± {self.sd:.2g}°"
        lines = [
            f"light from everywhere: {row(self.fit.ambient)} (red, green, blue)",
            f"one light: {row(self.fit.colour)}, shining along {row(self.fit.direction)}{sure}",
            f"mean difference over {self.pixels} pixels of known parts: {self.before:.1f} before, "
            f"{self.after:.1f} after (of 255)",
        ]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"picture: {self.out}"] * (self.out is not None)
        lines += [f"world: {self.world}, which a study can name"] * (self.world is not None)
        return "\n".join(lines)


def light(
    image: str | Path,
    *,
    task: str,
    camera: str,
    parts: Sequence[str] = (),
    object: str | None = None,
    mask: str | Path | None = None,
    box: Sequence[int] = (),
    layout: int | None = None,
    insist: bool = False,
    world: str | Path | None = None,
    out: str | Path | None = None,
) -> Lit:
    """Fit the light of a picture of a matched camera.

    `parts`: what is fitted to; by default all that the camera sees of robots, objects and furniture, or that the world
    shows before a photograph. Their colours are those of the world, up to one brightness each. `object` is located by
    `mask` or `box`, if its place is not that of the layout. `insist` takes a pose at which mask and silhouette do not
    agree, and writes a light that explains little. `world`: a world file to write or extend; what it says already
    holds, except its light. `out`: a picture of the result.
    """
    out = None if out is None else require_png(out, "--out")
    target = None if world is None else require_world(world)
    made = resolve("tasks", task)()
    base: Any = target if target is not None and target.exists() else "mujoco"
    bench = open_bench(made, base, camera, layout_of(made, layout))
    frame = read_frame(image)
    require_shape(bench, camera, frame.shape[:2], f"image: {image}")
    if object is not None:
        require_movable(bench, object)
    masks = [] if mask is None else [mask]
    frame, hints = small_frame(frame, {} if object is None else object_hints(frame, [object], masks, box))
    height, width = frame.shape[:2]
    doubts: list[str] = []
    if object is not None:
        sight = Sight(bench, object, camera, (height, width))
        located, _ = locate_by(sight, frame, hints[object])
        doubts = require_sure(sight, located, insist=insist)
        pos, quat = sight.placement(located.pose)
        bench.put(object, pos.tolist(), quat.tolist())
    known, rows, columns = surface(bench, camera, height, width, parts)
    real = frame[rows, columns] / 255.0
    _require_shades(real, image)
    size = (height, width)
    drawn = view_of(bench, camera, size)
    bench = _unlit(bench, base)

    def shown(fit: Fit, gloss: bool = True, shadows: bool = True) -> Floats:
        """(n, 3) the pixels under a light."""
        return view_of(bench, camera, size, relit(bench.drawn, fit, gloss, shadows), shadows)[rows, columns] / 255.0

    def differs(fit: Fit) -> float:
        """From the picture, which may have soft shadows or none."""
        return min(float(np.minimum(np.abs(shown(fit, shadows=on) - real), ODD).mean()) for on in (True, False))

    def lambertian(fit: Fit) -> tuple[Surface, Floats]:
        """The pixels outside cast shadows, and their colours without gloss: both are no part of Lambert's law."""
        plain = shown(fit, gloss=False, shadows=False)
        clear = (plain - shown(fit, gloss=False)).max(axis=1) < SHADED
        return known.only(clear), (real - shown(fit, shadows=False) + plain)[clear]

    fit = fit_light(known, real)
    for _ in range(AGAIN):
        fit = fit_light(*lambertian(fit))
    for angle in RINGS:  # where a shadow falls tells too
        others = [fit_along(known, real, direction) for direction in around(fit.direction, math.radians(angle))]
        fit = min([fit, *others], key=differs)
    left, dull = lambertian(fit)
    ways = fit.direction, fit_light(left, dull, fit.direction).direction
    fit = min((fit_along(left, dull, way, own=own) for way in ways for own in (True, False)), key=differs)
    before = 255 * float(np.abs(drawn[rows, columns] / 255.0 - real).mean())
    after = 255 * min(float(np.abs(shown(fit, shadows=on) - real).mean()) for on in (True, False))
    even = fit.colour.max() < FAINT * max(float(fit.ambient.max()), FAINT)
    sd = math.inf if even else spread(left, dull, fit)
    lit = Lit(
        fit=fit, sd=sd, before=before, after=after, pixels=len(rows), object_notes=tuple(doubts), out=out, world=target
    )
    if out is not None:
        write_picture(
            out, np.concatenate([frame, drawn, view_of(bench, camera, size, relit(bench.drawn, fit))], axis=1)
        )
    if target is not None:
        if lit.poor and not insist:
            raise UsageError(f"light: {lit.poor} {target} is left as it is; write it all the same with --insist")
        add_transform(target, _transform(fit))
    return lit


def _require_shades(real: Floats, image: str | Path) -> None:
    """Raises UsageError where most pixels (n, 3) are black or white: they hide how light falls."""
    for what, share in (("black", np.mean(real.max(axis=1) < DARK)), ("white", np.mean(real.min(axis=1) > 1 - DARK))):
        if share > 0.5:
            raise UsageError(
                f"image: in {image} {share:.0%} of the pixels of these parts are {what}, which hides how light falls: "
                "take a picture with another exposure, or name other parts (--parts)"
            )


def _unlit(bench: Bench, world: Any) -> Bench:
    """The same scene without the light of its world file, in whose place another one comes."""
    if not any(isinstance(transform, Light) for transform in bench.transforms):
        return bench
    contents = load_yaml(world)
    contents["transforms"] = [transform for transform in contents["transforms"] if transform.get("use") != "light"]
    file = {"name": "unlit", "folder": str(Path(world).parent), **contents}
    other = Bench(bench.task, scenario=bench.scenario, world=file)
    other.layout.qpos[other.slot] = bench.layout.qpos[bench.slot]
    return other


def _transform(fit: Fit) -> dict[str, Any]:
    ambient, colour, direction = (
        [round(float(v), 4) for v in values] for values in (fit.ambient, fit.colour, fit.direction)
    )
    return {"use": "light", "ambient": ambient, "colour": colour, "direction": direction}


def relit(model: mujoco.MjModel, fit: Fit, gloss: bool = True, shadows: bool = True) -> mujoco.MjModel:
    """A model under another light, as the transform `light` makes it."""
    model = copy(model)
    model.light_specular[:] *= gloss
    model.light_castshadow[:] = shadows
    _shine(model, fit.ambient, fit.colour, fit.direction)
    brighten(model, fit.ambient + fit.colour)
    return model


def _shine(model: mujoco.MjModel, ambient: Any, colour: Any, direction: Any) -> None:
    head = model.vis.headlight
    head.ambient[:], head.diffuse[:], head.specular[:] = ambient, 0.0, 0.0
    model.light_active[1:] = 0
    model.light_ambient[:], model.light_diffuse[:] = 0.0, colour
    model.light_type[0] = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    model.light_dir[0] = direction


def surface(
    bench: Bench, camera: str, height: int, width: int, parts: Sequence[str] = ()
) -> tuple[Surface, Ints, Ints]:
    """The pixels that show known parts, and their rows and columns: own colours and normals as the renderer has them,
    by lights of which each shows one side of things."""
    model = copy(bench.drawn)
    if model.nlight == 0:
        raise UsageError(f"light: task {bench.task.name!r} has no lamp, whose place another light could take")
    model.light_castshadow[:] = 0
    model.light_specular[:] = 0.0
    size = (height, width)
    looks, labels = looks_of(bench, camera, height, width, pictures=True)
    owners = sorted({owner for owner, _ in looks})
    if unknown := next((part for part in parts if part not in owners), None):
        raise UsageError(f"parts: {unknown!r:.100} is not seen by camera {camera!r}; {suggest(unknown, owners)}")
    wanted = parts or simulated(bench, camera)
    chosen = [number for number, (owner, _) in enumerate(looks) if wanted is None or owner in wanted]
    inner = opencv().erode(_even(labels).astype(np.uint8), np.ones((3, 3), dtype=np.uint8)).astype(bool)
    _shine(model, 1.0, 0.0, [0, 0, -1])
    own = view_of(bench, camera, size, model) / 255.0
    rows, columns = np.nonzero(np.isin(labels, chosen) & inner & (own.max(axis=2) > 0.06))
    if len(rows) < LEAST:
        raise UsageError(f"light: only {len(rows)} pixels show known parts; at least {LEAST} are needed")
    rows, columns = rows[:: len(rows) // MOST + 1], columns[:: len(columns) // MOST + 1]
    model.geom_matid[:], model.geom_rgba[:, :3] = -1, 1.0
    normal = np.zeros((len(rows), 3))
    for axis in range(3):
        for side in (-1.0, 1.0):
            _shine(model, 0.0, 1.0, -side * np.eye(3)[axis])
            normal[:, axis] += side * view_of(bench, camera, size, model)[rows, columns, 0] / 255.0
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
    part = 3 * (2 * rows // height) + 3 * columns // width
    known = Surface(colour=own[rows, columns], normal=normal, look=labels[rows, columns], part=part)
    return known, rows, columns


def simulated(bench: Bench, camera: str) -> frozenset[str] | None:
    """The parts that stand before a photograph in the world's pictures; None where there is no photograph."""
    behind = [t for t in bench.transforms if isinstance(t, Background) and t.acts_on(camera)]
    return bench.parts.named(behind[-1].keep) if behind else None


def _even(labels: Ints) -> Any:
    """Pixels whose neighbours are of the same look."""
    even = np.ones(labels.shape, dtype=bool)
    even[1:] &= labels[1:] == labels[:-1]
    even[:, 1:] &= labels[:, 1:] == labels[:, :-1]
    return even
