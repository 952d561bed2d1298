"""`image`: pictures as a policy was trained on them. The policy's own shape is the size they get."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from foretell.adapters.adapter import Adapter, finite, whole
from foretell.adapters.resize import FILTERS, centre, padded, resize
from foretell.arrays import Bytes, Ints
from foretell.errors import UsageError, suggest
from foretell.spec import Stream

__all__ = ["Image"]


@dataclasses.dataclass(eq=False, kw_only=True)
class Image(Adapter):
    """Prepares pictures: the camera's own resolution, centre crop, resizing with a filter, colour order."""

    source: list[int] | None = None
    """Height and width that the camera is asked for, such as [480, 640]; None: the policy's own."""
    crop: float = 1.0
    """Share of the picture's area that is kept, in its middle."""
    fit: Literal["stretch", "pad"] = "stretch"
    """Whether the picture is stretched to the policy's size, or padded with black."""
    filter: Literal["lanczos3", "bilinear", "nearest"] = "lanczos3"
    colour: Literal["rgb", "bgr"] = "rgb"
    """The order of channels that the policy takes."""
    turn: int = 0
    """Degrees by which the picture is turned: 0 or 180."""
    streams: list[str] | None = None
    """Which streams; None: all of shape (height, width, 3)."""

    name = "image"

    def __post_init__(self) -> None:
        if self.source is not None and not (
            isinstance(self.source, list) and len(self.source) == 2 and all(whole(side, 1) for side in self.source)
        ):
            raise self.wrong("source", "[height, width]")
        if not finite(self.crop) or not 0 < self.crop <= 1:
            raise self.wrong("crop", "above 0, and 1 at most")
        for field, known in {
            "fit": ("stretch", "pad"),
            "filter": FILTERS,
            "colour": ("rgb", "bgr"),
            "turn": (0, 180),
        }.items():
            if getattr(self, field) not in known:
                raise self.wrong(field, " or ".join(map(repr, known)))
        if self.streams is not None and not isinstance(self.streams, list):
            raise self.wrong("streams", "a list of names of streams")

    def asks(self, reads: Mapping[str, Stream]) -> dict[str, Stream]:
        for name in self.streams or ():
            if name not in reads:
                raise UsageError(f"adapter {self.name!r}: the policy does not read {name!r}; {suggest(name, reads)}")
        self._sizes: dict[str, tuple[int, int]] = {}
        asked = dict(reads)
        for name, stream in reads.items():
            shape = stream.shape
            pictured = shape is not None and len(shape) == 3 and shape[2] == 3
            if name in (self.streams or reads) and shape is not None and pictured:
                self._sizes[name] = shape[0], shape[1]
                height, width = self.source or shape[:2]
                asked[name] = Stream((height, width, 3), stream.rate, stream.history)
            elif self.streams is not None and name in self.streams:
                raise UsageError(
                    f"adapter {self.name!r}: stream {name!r}: shape is {shape}, a picture's is (height, width, 3)"
                )
        if not self._sizes:
            raise UsageError(
                f"adapter {self.name!r}: {type(self.policy).__name__} reads no picture of shape (height, width, 3); it "
                f"reads {', '.join(reads) or 'nothing'}; take the adapter out of `adapt`"
            )
        return asked

    def seen(self, slots: Ints, observations: dict[str, Any]) -> dict[str, Any]:
        for name, (height, width) in self._sizes.items():
            observations[name] = self._prepared(np.asarray(observations[name]), height, width)
        return observations

    def _prepared(self, pictures: Bytes, height: int, width: int) -> Bytes:
        pictures = centre(pictures, self.crop) if self.crop < 1 else pictures
        pictures = (padded if self.fit == "pad" else resize)(pictures, height, width, self.filter)
        if self.turn:
            pictures = pictures[..., ::-1, ::-1, :]
        return pictures[..., ::-1] if self.colour == "bgr" else pictures
