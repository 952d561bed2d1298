"""Recorded states shown to the sensors of their world once more: what a policy could have seen, at any resolution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError, suggest
from foretell.export.track import Track
from foretell.spec import Feature, Stream
from foretell.world import Recordable, World
from foretell.world_file import world_hash

__all__ = ["SLOT", "Observer", "joined", "label_names", "named_numbers"]

SLOT = np.zeros(1, dtype=np.int32)
SENSED = ("joint", "scalar", "position", "orientation", "rays")
AXES = {"position": "xyz", "orientation": "wxyz"}
SENT = ("action/", "wanted/", "sent/", "clipped/")
"""Columns of steps that say what was asked for, and not what was measured."""


class Observer:
    """A world with one slot, which is put into recorded states. `cameras`: names of its cameras; `size`: height and
    width of their pictures."""

    def __init__(self, world: Any, cameras: Sequence[str], size: tuple[int, int]):
        self.world = world
        self.cameras = {camera: f"{camera}/rgb" for camera in cameras}
        for camera, stream in self.cameras.items():
            if stream not in world.features:
                raise UsageError(f"camera: {camera!r} is not in this world; {suggest(camera, world.cameras)}")
        self._streams = {name: Stream() for name in self.sensed}
        self._streams |= {stream: Stream((*size, 3)) for stream in self.cameras.values()}
        if self.cameras:
            world.require_drawing()

    @property
    def sensed(self) -> dict[str, Feature]:
        """What its sensors show besides pictures, but for speeds."""
        features = self.world.features
        return {n: f for n, f in features.items() if f.kind in SENSED and not f.rate and not f.optional}

    def check(self, row: Mapping[str, Any]) -> None:
        """Raises UsageError where the world cannot show the states of this row."""
        world: World = self.world
        if not isinstance(self.world, Recordable):
            raise UsageError(
                f"world {self.world.name!r} has no `state`, `restore` and `trace`, so its steps cannot be shown again"
            )
        if (now := world_hash(world)) != row["world_hash"]:
            raise UsageError(
                f"world {row['world']!r} (its parameters, or its source) has changed since the run: "
                f"{row['world_hash']} then, {now} now; restore the old version"
            )

    def watch(self, track: Track) -> Iterator[Mapping[str, Any]]:
        """What the sensors show in each state but the last, which no action follows."""
        assert track.states is not None and track.scenario is not None
        self.world.reset(SLOT, [track.scenario], [track.row["trial"]])
        for state, tick in zip(track.states[:-1], track.ticks[:-1].tolist(), strict=True):
            self.world.restore(0, state, tick)
            yield self.world.observe(SLOT, self._streams)

    def groups(self) -> dict[str, list[str]]:
        """Which features make `observation.state` (the joints and grippers of robots) and which
        `observation.environment_state` (poses of tools and objects, and the rest). Where no joint is sensed, as in
        navigation, all of it is the state."""
        robots = {name for name, f in self.sensed.items() if f.group and f.kind in ("joint", "scalar")}
        robots = robots or set(self.sensed)
        return {
            "observation.state": [name for name in self.sensed if name in robots],
            "observation.environment_state": [name for name in self.sensed if name not in robots],
        }

    def labels(self, names: Sequence[str]) -> list[str]:
        """A name for each number of these features: `panda/joint1`, `cube/pos/x`."""
        return [label for name in names for label in label_names(name, self.sensed[name])]


def label_names(name: str, feature: Feature) -> list[str]:
    """A name for each number of a feature."""
    count = int(np.prod(feature.shape))
    if feature.kind == "joint" and len(feature.source) == count:
        return [f"{name.partition('/')[0]}/{joint}" for joint in feature.source]
    axes = AXES.get(feature.kind, "")
    return [name] if count == 1 else [f"{name}/{axis}" for axis in (axes if len(axes) == count else range(count))]


def joined(seen: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Floats:
    """(rows, numbers) of these features."""
    rows = [np.concatenate([np.asarray(sight[name][0], dtype=float).ravel() for name in names]) for sight in seen]
    values: Floats = np.stack(rows)
    return values


def named_numbers(track: Track) -> dict[str, Floats]:
    """What the world measured as it was told to people, where its states cannot be shown again: of a real robot."""
    return {name: values for name, values in track.named.items() if not name.startswith(SENT)}
