"""Model variants: compiled models, kept for when a scenario comes again under another policy, clock or trial."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import mujoco

from foretell.sim.scene import signature

__all__ = ["Variant", "Variants", "shared_variants"]


@dataclass(frozen=True)
class Variant:
    """A compiled model, not to be changed: other slots may run on it."""

    model: mujoco.MjModel
    sizes: tuple[tuple[str, int], ...]
    """Its `signature`."""


class Variants:
    """The models asked for last, as many as `limit` bytes hold."""

    def __init__(self, limit: int = 32 * 2**20):
        self.limit, self.bytes = limit, 0
        self._kept: OrderedDict[Hashable, Variant] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, make: Callable[[], mujoco.MjModel]) -> Variant:
        """The variant of a key, which must name all that decides the model; made if it is not here."""
        kept = self._kept.pop(key, None)
        if kept is None:
            model = make()
            kept = Variant(model, signature(model))
            self.bytes += model.nbuffer
        self._kept[key] = kept
        while self.bytes > self.limit and self._kept:
            _, oldest = self._kept.popitem(last=False)
            self.bytes -= oldest.model.nbuffer
        return kept


_shared = Variants()


def shared_variants() -> Variants:
    """The process's own, for all its worlds."""
    return _shared
