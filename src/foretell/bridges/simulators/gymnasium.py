"""The world `gymnasium`: any registered environment of Gymnasium, in a Python environment of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foretell.bridges.simulators.file import GymnasiumFile
from foretell.bridges.simulators.own import OwnTask
from foretell.bridges.simulators.world import SimulatorWorld
from foretell.errors import UsageError
from foretell.spec import ActionSpec, DimSpec, Feature

__all__ = ["GymnasiumWorld", "named"]


def named(id: str) -> type[GymnasiumWorld]:
    """The world of `gymnasium:ID`."""
    return GymnasiumWorld


class GymnasiumWorld(SimulatorWorld):
    """Any registered environment of Gymnasium, in a Python environment of its own."""

    File = GymnasiumFile
    KIND = "gymnasium"
    task: OwnTask
    file: GymnasiumFile

    def __init__(self, task: Any, world: Any, **more: Any):
        super().__init__(task, world, **more)
        limit = self._simulator.about["limit"]
        task.follow(1.0 / self.tick, None if limit is None else limit * self.tick)

    def _options(self) -> dict[str, Any]:
        if not isinstance(self.task, OwnTask):
            raise UsageError(
                f"world {self.name!r} runs the environment's own task, and not {self.task.name!r}: write `tasks: "
                "[own]`, or own:NAME"
            )
        if not self.file.id and not self.task.asked:
            raise UsageError(f"world {self.name!r}: id: no environment is named; give `id`, or the task own:ID")
        return self.file.options(self.task.asked, render=True)

    def _action(self, about: Mapping[str, Any]) -> ActionSpec:
        dim = DimSpec(
            meaning="action", unit="1", size=len(about["low"]), low=tuple(about["low"]), high=tuple(about["high"])
        )
        return ActionSpec("own", (dim,))

    def _features(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, Feature]:
        return {
            name: Feature(kind="scalar", shape=tuple(shape), optional=name == "env/expert")
            for name, shape in shapes.items()
        }
