"""What an adapter is: a policy around a policy. It declares what it takes and what it gives, as every policy does."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.digest import digest
from foretell.errors import ForetellError, PolicyError, UsageError, raised
from foretell.fingerprint.source import source_hash
from foretell.policy import Chunk, Policy, PolicySpec, as_chunk
from foretell.spec import ActionSpec, DimSpec, Feature, Stream, compare

if TYPE_CHECKING:
    from foretell.tasks.task import Task

__all__ = ["Adapter", "PartAdapter", "columns", "finite", "whole"]


@dataclasses.dataclass(eq=False)
class Adapter(Policy):
    """Base class. A subclass is a dataclass: its fields are its options, and `name` is what errors call it.

    Override `takes` and `gives` for actions, `asks`, `shows` and `seen` for observations. Memory of an episode is kept
    per slot, set in `start`, and changed only after the wrapped policy has answered.
    """

    policy: Any
    """The policy, or the next adapter inwards."""

    name = "adapter"
    entry = ""
    """What a study calls it, where that is not `name`."""

    # -- to override -------------------------------------------------------------------------------------------

    def takes(self, action: ActionSpec) -> ActionSpec:
        """What the wrapped policy must return, so that this adapter can return `action`."""
        return action

    def asks(self, reads: Mapping[str, Stream]) -> dict[str, Stream]:
        """What to ask the world for, so that the wrapped policy sees `reads`."""
        return dict(reads)

    def shows(self, features: Mapping[str, Feature]) -> dict[str, Feature]:
        """What the streams are, as the wrapped policy sees them."""
        return dict(features)

    def gives(self, spec: PolicySpec) -> PolicySpec:
        """The spec, where more than reads and action change."""
        return spec

    def start(self, slots: Ints) -> None:
        """These slots begin a new episode."""

    def seen(self, slots: Ints, observations: dict[str, Any]) -> dict[str, Any]:
        """What the wrapped policy is shown. The arrays belong to the driver: do not write into them."""
        return observations

    def changed(self, slots: Ints, chunk: Chunk, observations: Mapping[str, Any]) -> Chunk:
        """What becomes of the wrapped policy's answer."""
        return chunk

    # -- the contract of a policy --------------------------------------------------------------------------------

    def bind(self, task: Task, action: ActionSpec) -> None:
        expected = self.takes(action)
        own = getattr(self.policy, "bind", None)
        if own is not None:
            own(task, expected)
        spec = getattr(self.policy, "spec", None)
        if not isinstance(spec, PolicySpec):
            raise UsageError(
                f"adapter {self.name!r}: `spec` of {type(self.policy).__name__} is {type(spec).__name__}, it should be "
                "a foretell.PolicySpec"
            )
        compare(spec.action, expected, f"adapter {self.name!r}: {type(self.policy).__name__}")
        self.inner = spec
        self.spec = self.gives(dataclasses.replace(spec, action=action, reads=self.asks(spec.reads)))

    def inform(self, features: Mapping[str, Feature]) -> None:
        if (own := getattr(self.policy, "inform", None)) is not None:
            own(self.shows(features))

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        if (own := getattr(self.policy, "reset", None)) is not None:
            own(slots, instructions, seeds)
        self.start(slots)

    def act(self, slots: np.ndarray, observations: Mapping[str, Any]) -> Chunk:
        shown = self.seen(slots, dict(observations))
        chunk = as_chunk(self.policy.act(slots, shown), len(slots), self.inner)
        return self.changed(slots, chunk, observations)

    def fingerprint(self) -> str:
        """Of the adapter alone; the wrapped policy's is added where policies are bound."""
        return digest([self.name, source_hash(type(self)), self.options])

    # -- helpers -----------------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, Any]:
        """All its options, as a study would have them."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "policy" and f.init}

    @classmethod
    def by_value(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Options with the contents of the files that they name in the files' place: a row shall not depend on where
        a file lies."""
        return options

    def wrong(self, field: str, expected: str) -> UsageError:
        """For an option that makes no sense."""
        return UsageError(f"adapter {self.name!r}: {field} is {getattr(self, field)!r:.100}, it should be {expected}")

    def now(self, observations: Mapping[str, Any]) -> Ints:
        """(n,) actions since the episode began: what has run does not depend on the clock or on `execute`."""
        counts: Ints = np.rint(np.asarray(observations["time"]) * self.spec.action_rate).astype(np.int64)
        return counts


@dataclasses.dataclass(eq=False)
class PartAdapter(Adapter):
    """Changes some parts of an action, each action for itself."""

    def part(self, dim: DimSpec) -> DimSpec | None:
        """What the policy returns in the place of a part of the action; None: that part, unchanged."""
        raise NotImplementedError

    def convert(self, values: Floats, spoken: DimSpec, wanted: DimSpec) -> Floats:
        """(n, chunk, wanted.size) of what the policy returned, (n, chunk, spoken.size)."""
        raise NotImplementedError

    def takes(self, action: ActionSpec) -> ActionSpec:
        parts = [self.part(dim) for dim in action.dims]
        if not any(parts):
            raise UsageError(
                f"adapter {self.name!r}: the action {action.name!r} has no part for it: it has "
                f"{', '.join(dim.meaning for dim in action.dims)}; take it out of `adapt`"
            )
        self._changed = [part is not None for part in parts]
        self._wanted = action.dims
        return ActionSpec(
            action.name, tuple(dim if part is None else part for part, dim in zip(parts, action.dims, strict=True))
        )

    def changed(self, slots: Ints, chunk: Chunk, observations: Mapping[str, Any]) -> Chunk:
        spoken = self.inner.action
        parts = [
            self._convert(chunk.actions[..., at], ours, wanted) if changes else chunk.actions[..., at]
            for at, ours, wanted, changes in zip(columns(spoken), spoken.dims, self._wanted, self._changed, strict=True)
        ]
        return Chunk(np.concatenate(parts, axis=-1), chunk.terminate)

    def _convert(self, values: Floats, spoken: DimSpec, wanted: DimSpec) -> Floats:
        try:
            return self.convert(values, spoken, wanted)
        except ForetellError:
            raise
        except Exception as error:
            raise PolicyError(f"adapter {self.name!r} raised {raised(error)}") from error


def columns(action: ActionSpec) -> list[slice]:
    """Where each part of an action stands."""
    ends = np.cumsum([dim.size for dim in action.dims]).tolist()
    return [slice(end - dim.size, end) for end, dim in zip(ends, action.dims, strict=True)]


def whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number, `least` or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def finite(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
