"""Noise of sensors and actions: drawn while an episode runs, from streams keyed by scenario, trial and purpose.

Each stream draws from a generator of its own: what else a policy reads must not change its noise. The world knows no
factor by name; it asks those of the scenario that have a hook.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell import factors
from foretell.scenario import Scenario
from foretell.seeding import generator
from foretell.spec import ActionSpec, Feature

__all__ = ["Noise"]


class Noise:
    """The noise of all slots of a world."""

    def __init__(self, slots: int):
        self._scenario: list[Scenario | None] = [None] * slots
        self._trial = [0] * slots
        self._drawn: list[dict[str, np.random.Generator]] = [{} for _ in range(slots)]
        self._sense: dict[int, list[tuple[Any, Any]]] = {}  # slot -> its factors that have the hook, with values
        self._act: dict[int, list[tuple[Any, Any]]] = {}

    def start(self, slot: int, scenario: Scenario, trial: int) -> None:
        """A new episode."""
        self._scenario[slot], self._trial[slot], self._drawn[slot] = scenario, trial, {}
        for hooks, name in ((self._sense, "sense"), (self._act, "act")):
            hooks.pop(slot, None)
            if acting := factors.overriding(scenario, name):
                hooks[slot] = acting

    def blur(self, slots: np.ndarray, stream: str, feature: Feature, values: np.ndarray, spread: float) -> np.ndarray:
        """Values (n, k) as sensors show them, under factors and with Gaussian noise."""
        if self._sense:
            values = np.array(values, dtype=float)
            for row, slot in enumerate(slots.tolist()):
                for factor, value in self._sense.get(slot, ()):
                    rng = self._stream(slot, f"factor/{factor.name}/{stream}")
                    values[row] = factor.sense(value, feature, values[row], rng)
        return values if spread <= 0 else values + spread * self.normal(slots, f"sensor/{stream}", values.shape[1])

    def blur_image(self, slot: int, camera: str, feature: Feature, image: np.ndarray, at: int) -> np.ndarray:
        """An image under factors. Its noise is keyed by what is seen (`at`), not by when it is drawn: another process
        may draw it, later."""
        for factor, value in self._sense.get(slot, ()) if feature.noise else ():
            scenario = self._scenario[slot]
            assert scenario is not None
            lens = camera if feature.kind == "rgb" else f"{camera}/{feature.kind}"  # kinds draw noise of their own
            rng = generator(scenario.base, self._trial[slot], f"factor/{factor.name}/{lens}/{at}")
            image = factor.sense(value, feature, image, rng)
        return image

    def disturb(self, slots: np.ndarray, actions: np.ndarray, spec: ActionSpec) -> np.ndarray:
        """Actions (n, dim) under factors."""
        if self._act:
            actions = np.array(actions, dtype=float)
            for row, slot in enumerate(slots.tolist()):
                for factor, value in self._act.get(slot, ()):
                    actions[row] = factor.act(value, actions[row], spec, self._stream(slot, f"factor/{factor.name}"))
        return actions

    def normal(self, slots: np.ndarray, purpose: str, width: int) -> np.ndarray:
        """(n, width) normal draws, each slot's from its episode's own stream for this purpose."""
        drawn = np.empty((len(slots), width))
        for row, slot in enumerate(slots.tolist()):
            drawn[row] = self._stream(slot, purpose).standard_normal(width)
        return drawn

    def _stream(self, slot: int, purpose: str) -> np.random.Generator:
        noise = self._drawn[slot].get(purpose)
        if noise is None:
            scenario = self._scenario[slot]
            assert scenario is not None
            noise = self._drawn[slot][purpose] = generator(scenario.base, self._trial[slot], purpose)
        return noise
