"""What a policy server is sent: each of its keys, made of the world's streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.adapters.adapter import finite
from foretell.adapters.formats import FORMATS
from foretell.adapters.resize import padded, resize
from foretell.errors import UsageError, suggest
from foretell.spec import Feature, Stream

__all__ = ["Numbers", "Picture", "Source", "Text", "read_sources"]

TEXT = "instruction"
PICTURE = ("stream", "size", "fit", "mirror", "layout")
NUMBERS = ("stream", "as", "times", "plus")


class Source:
    """The value of one key."""

    def reads(self) -> dict[str, Stream]:
        """Streams that it is made of."""
        return {}

    def inform(self, features: Mapping[str, Feature]) -> None:
        """Check these streams. Raises UsageError."""

    def value(self, seen: Mapping[str, Any], row: int) -> Any:
        """What the server is sent for a row of the observations."""
        raise NotImplementedError


@dataclass(frozen=True)
class Text(Source):
    """The instruction."""

    def value(self, seen: Mapping[str, Any], row: int) -> str:
        return str(seen[TEXT][row])


@dataclass(frozen=True, kw_only=True)
class Picture(Source):
    """A camera's picture: uint8, upright."""

    key: str
    stream: str
    size: tuple[int, int]
    """Height and width that the server takes."""
    fit: str = "pad"
    """`pad` shrinks the camera's own 4:3 picture into the middle of black; `stretch` draws in the server's size."""
    mirror: bool = False
    """Whether left and right are exchanged."""
    layout: str = "hwc"

    def reads(self) -> dict[str, Stream]:
        height, width = self.size
        asked = (480, 640, 3) if self.fit == "pad" else (height, width, 3)
        return {self.stream: Stream(asked)}

    def inform(self, features: Mapping[str, Feature]) -> None:
        feature = features[self.stream]
        if feature.kind != "rgb":
            raise UsageError(f"observation: {self.key}: {self.stream!r} is {feature.kind}, it should be a camera's rgb")

    def value(self, seen: Mapping[str, Any], row: int) -> Any:
        picture = np.asarray(seen[self.stream][row])
        make = padded if self.fit == "pad" else resize
        picture = make(picture, *self.size, "bilinear")
        picture = picture[:, ::-1] if self.mirror else picture
        return np.ascontiguousarray(picture.transpose(2, 0, 1) if self.layout == "chw" else picture)


@dataclass(frozen=True, kw_only=True)
class Portion:
    """Numbers of one stream."""

    stream: str
    form: str | None = None
    """The format of a rotation; None: a quaternion, or no rotation."""
    times: tuple[float, ...] = (1.0,)
    """What they are multiplied by. Several factors repeat a single number."""
    plus: float = 0.0
    """What is added then."""


@dataclass(frozen=True, kw_only=True)
class Numbers(Source):
    """Numbers of one or more streams, one after the other, as float32."""

    key: str
    parts: tuple[Portion, ...]

    def reads(self) -> dict[str, Stream]:
        return {part.stream: Stream() for part in self.parts}

    def inform(self, features: Mapping[str, Feature]) -> None:
        for part in self.parts:
            stream, form, times = part.stream, part.form, part.times
            feature = features[stream]
            if feature.image or feature.kind == "text":
                raise UsageError(f"observation: {self.key}: {stream!r} is {feature.kind}, numbers are needed here")
            if form is not None and feature.kind != "orientation":
                raise UsageError(
                    f"observation: {self.key}: {stream!r} is {feature.kind}, so `as: {form}` makes no sense"
                )
            if len(times) > 1 and feature.shape != (1,):
                raise UsageError(
                    f"observation: {self.key}: `times` has {len(times)} factors, which repeat a single number, and "
                    f"{stream!r} has shape {feature.shape}"
                )

    def value(self, seen: Mapping[str, Any], row: int) -> Any:
        values = []
        for part in self.parts:
            value = np.asarray(seen[part.stream][row], dtype=np.float64)
            if part.form is not None:
                value = FORMATS[part.form].from_quat(value)
            values.append(np.ravel(value) * np.asarray(part.times) + part.plus)
        return np.concatenate(values).astype(np.float32)


def read_sources(given: Mapping[str, Any]) -> dict[str, Source]:
    """Key of the server -> its source, as a study writes them: `instruction`, a camera's stream with `size`, or streams
    of numbers. Raises UsageError."""
    if not isinstance(given, Mapping) or not given:
        raise UsageError(
            f"observation: {given!r:.80} should map the server's keys to streams, such as {{prompt: instruction}}"
        )
    return {str(key): _source(str(key), value) for key, value in given.items()}


def _source(key: str, value: Any) -> Source:
    if value == TEXT:
        return Text()
    if isinstance(value, Mapping) and "size" in value:
        return _picture(key, value)
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return Numbers(key=key, parts=tuple(_part(key, item) for item in items))


def _picture(key: str, value: Mapping[str, Any]) -> Picture:
    _known(key, value, PICTURE)
    size, fit, layout = value["size"], value.get("fit", "pad"), value.get("layout", "hwc")
    if not (isinstance(size, list | tuple) and len(size) == 2 and all(type(s) is int and 1 <= s <= 4096 for s in size)):
        raise UsageError(f"observation: {key}: size is {size!r:.60}, it should be [height, width]")
    for name, chosen, known in (("fit", fit, ("pad", "stretch")), ("layout", layout, ("hwc", "chw"))):
        if chosen not in known:
            raise UsageError(f"observation: {key}: {name} is {chosen!r:.60}, it should be {' or '.join(known)}")
    mirror = value.get("mirror", False)
    if not isinstance(mirror, bool):
        raise UsageError(f"observation: {key}: mirror is {mirror!r:.60}, it should be true or false")
    return Picture(key=key, stream=_stream(key, value), size=(size[0], size[1]), fit=fit, mirror=mirror, layout=layout)


def _part(key: str, item: Any) -> Portion:
    if isinstance(item, str):
        return Portion(stream=item)
    if not isinstance(item, Mapping):
        raise UsageError(
            f"observation: {key}: {item!r:.80} should be the name of a stream, or such as "
            "{stream: panda/ee_quat, as: axis_angle}"
        )
    _known(key, item, NUMBERS)
    form, times, plus = item.get("as"), item.get("times", 1.0), item.get("plus", 0.0)
    if form is not None and form not in FORMATS:
        raise UsageError(
            f"observation: {key}: as: {form!r:.60} is no format of a rotation; {suggest(str(form), FORMATS)}"
        )
    factors = times if isinstance(times, list | tuple) else [times]
    if not factors or not all(map(finite, factors)):
        raise UsageError(f"observation: {key}: times is {times!r:.60}, it should be a number or a list of numbers")
    if not finite(plus):
        raise UsageError(f"observation: {key}: plus is {plus!r:.60}, it should be a number")
    return Portion(stream=_stream(key, item), form=form, times=tuple(float(t) for t in factors), plus=float(plus))


def _stream(key: str, value: Mapping[str, Any]) -> str:
    stream = value.get("stream")
    if not isinstance(stream, str):
        raise UsageError(f"observation: {key}: `stream` is missing: the name of a stream, such as front/rgb")
    return stream


def _known(key: str, value: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in value:
        if name not in known:
            raise UsageError(f"observation: {key}: {name!r:.60} is not known; {suggest(str(name), known)}")
