"""`history`: several samples of a stream in one array, for policies that do not declare a history of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from foretell.adapters.adapter import Adapter, whole
from foretell.arrays import Bools, Ints
from foretell.errors import UsageError, suggest
from foretell.policy import PLANS
from foretell.spec import Feature, Stream

__all__ = ["History"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Stacked(Feature):
    """A feature whose samples come several in one array."""

    stacked: tuple[int, ...]

    def accepts(self, shape: tuple[int, ...] | None) -> bool:
        return shape is None or len(shape) == len(self.stacked)


@dataclasses.dataclass(eq=False, kw_only=True)
class History(Adapter):
    """Shows a policy the last samples of its streams, oldest first. The driver keeps them, under every clock."""

    steps: int = 2
    """Samples, one per action; the last is the present one."""
    stack: Literal["first", "last"] = "first"
    """The axis along which samples are put: a new first one (steps, ...), or the last one (..., steps * size)."""
    pad: Literal["repeat", "zero"] = "repeat"
    """What stands before an episode's first sample: that sample, or zeros."""
    streams: list[str] | None = None
    """Which streams; None: all of them."""

    name = "history"

    def __post_init__(self) -> None:
        if not whole(self.steps, 2):
            raise self.wrong("steps", "a whole number, 2 or more")
        if self.stack not in ("first", "last"):
            raise self.wrong("stack", "'first' or 'last'")
        if self.pad not in ("repeat", "zero"):
            raise self.wrong("pad", "'repeat' or 'zero'")
        if self.streams is not None and not (
            isinstance(self.streams, list) and all(isinstance(stream, str) for stream in self.streams)
        ):
            raise self.wrong("streams", "a list of names of streams")

    def asks(self, reads: Mapping[str, Stream]) -> dict[str, Stream]:
        for name in self.streams or ():
            if name not in reads:
                raise UsageError(f"adapter {self.name!r}: the policy does not read {name!r}; {suggest(name, reads)}")
        self._names = [name for name in reads if name in (self.streams or reads) and name not in PLANS]
        return {name: self._single(name, stream) if name in self._names else stream for name, stream in reads.items()}

    def _single(self, name: str, stream: Stream) -> Stream:
        """A stream as the world has it; the policy declares the shape of the whole stack."""
        if stream.history > 1:
            raise UsageError(
                f"adapter {self.name!r}: stream {name!r} has a history of {stream.history} already: name other streams "
                "in `streams`, or take the adapter out"
            )
        shape = stream.shape
        if shape is not None:
            at = 0 if self.stack == "first" else -1
            fits = bool(shape) and (shape[0] == self.steps if at == 0 else shape[-1] % self.steps == 0)
            if not fits:
                should = f"{self.steps} first" if at == 0 else f"a last axis that {self.steps} divides"
                raise UsageError(
                    f"adapter {self.name!r}: stream {name!r}: shape is {shape}, a stack of {self.steps} has {should}; "
                    "set `steps` or `stack`"
                )
            shape = shape[1:] if at == 0 else (*shape[:-1], shape[-1] // self.steps)
        return Stream(shape, stream.rate, self.steps)

    def shows(self, features: Mapping[str, Feature]) -> dict[str, Feature]:
        shown = dict(features)
        for name in self._names:
            if name in features:
                feature, shape = features[name], features[name].shape
                axes = (self.steps, *shape) if self.stack == "first" else (*shape[:-1], shape[-1] * self.steps)
                values = {field.name: getattr(feature, field.name) for field in dataclasses.fields(Feature)}
                shown[name] = _Stacked(**{**values, "shape": axes}, stacked=axes)
        return shown

    def seen(self, slots: Ints, observations: dict[str, Any]) -> dict[str, Any]:
        for name in self._names:
            samples = np.asarray(observations[name])
            if self.pad == "zero":
                there = self._there(name, observations)
                samples = samples * there.reshape(*there.shape, *[1] * (samples.ndim - 2)).astype(samples.dtype)
            if self.stack == "last":
                samples = np.concatenate([samples[:, step] for step in range(self.steps)], axis=-1)
            observations[name] = samples
        return observations

    def _there(self, name: str, observations: Mapping[str, Any]) -> Bools:
        """(n, steps) whether a sample is of this episode, and not padding."""
        rate = self.spec.reads[name].rate or self.spec.action_rate
        taken = 1 + np.floor(np.asarray(observations["time"]) * rate + 1e-6)
        there: Bools = np.arange(self.steps) >= self.steps - taken[:, None]
        return there
