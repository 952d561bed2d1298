"""Check that a world shows what it declares: every feature in its shape and type, and pictures where it can draw."""

from __future__ import annotations

from typing import cast

import numpy as np

from foretell.counting import counted
from foretell.errors import ForetellError, raised
from foretell.rollout.video import film_camera
from foretell.spec import IMAGES, Stream
from foretell.world import Drawing, World, misdeclared

__all__ = ["check_features"]

HEIGHT, WIDTH = 24, 40
"""Pixels of the pictures asked for: unlike any camera's own, because a policy chooses the size."""


def check_features(world: World) -> tuple[bool, str]:
    """Compare what `observe` and `picture` return at the start of episodes with what the world declares."""
    if "draw" in world.can and (wrong := _unable(world)):
        return False, f"`can` lists draw, and {wrong}."
    blind = _blind(world)
    streams = {
        name: Stream((HEIGHT, WIDTH, IMAGES[feature.kind][0]) if feature.image else feature.shape)
        for name, feature in world.features.items()
        if not (feature.image and blind)
    }
    slots = np.arange(world.slots, dtype=np.int32)
    world.reset(slots, [world.task.scenario(seed) for seed in slots.tolist()], [0] * len(slots))
    try:
        seen = world.observe(slots, streams)
    except Exception as error:
        return False, f"observe raised {raised(error)} when all features were asked for."
    if wrong := misdeclared(seen, streams, world.features, len(slots)):
        return False, f"observe: {wrong}."
    if "draw" in world.can and not blind and (wrong := _picture(world)):
        return False, f"picture: {wrong}."
    detail = f"{counted(len(streams), 'stream')}, `time` and `instruction` have their declared shapes and types"
    return True, detail + (f"; no picture was drawn: {blind}" if blind else ".")


def _blind(world: World) -> str | None:
    """Why this machine cannot draw; None where it can, or where the world does not tell."""
    require = getattr(world, "require_drawing", None)
    try:
        if callable(require):
            require()
    except ForetellError as error:
        return str(error)
    return None


def _unable(world: World) -> str | None:
    """What a world lacks that says it can draw."""
    needed = ["draw", "picture", "require_drawing"] + ["snapshot"] * ("snapshot" in world.can)
    if missing := [name for name in needed if not callable(getattr(world, name, None))]:
        return f"the world has no method {missing[0]!r}; see foretell.world.Drawing"
    if not list(getattr(world, "cameras", ())) and getattr(world.task, "film", None) is None:
        return "the world has no camera: name one in `cameras`, or take draw out of `can`"
    return None


def _picture(world: World) -> str | None:
    """How a picture for a film differs from what it should be."""
    picture = np.asarray(cast(Drawing, world).picture(0, film_camera(world), HEIGHT, WIDTH))
    if picture.shape == (HEIGHT, WIDTH, 3) and picture.dtype == np.uint8:
        return None
    return f"it is {picture.dtype} of shape {picture.shape}, and should be uint8 of shape {(HEIGHT, WIDTH, 3)}"
