"""Noise in what the policy is told, and in what becomes of its actions. Drawn while an episode runs, from streams
keyed by scenario, trial and factor; the value says only how strong it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.arrays import Floats
from foretell.factors.factor import Factor, Given
from foretell.scenario import Scenario
from foretell.spec import ActionSpec, Feature
from foretell.tasks.task import Task

__all__ = ["ActionNoise", "SensorNoise"]


class SensorNoise(Factor):
    """Noise of cameras and sensors; a value is {image (of 255), position (m), joint (rad)}, standard deviations. Depth
    has that of positions, pixel by pixel."""

    name = "Sensor_Noise"
    changes = "sensing"
    nominal, extreme = "0", "images 24 of 255, object positions and depth 5 mm, joints 5 mrad"
    source = "LIBERO-PRO: noise sigma 24; positions and joints our own"
    most = 3.0

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> dict[str, float]:
        return {"image": 24.0 * severity, "position": 0.005 * severity, "joint": 0.005 * severity}

    def sense(self, value: Any, feature: Feature, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        strength = value.get("position" if feature.noise == "depth" else feature.noise, 0.0)
        if not strength:
            return sample
        noisy: Floats = sample + strength * rng.standard_normal(sample.shape)
        if feature.kind == "depth":  # 0 stays 0: there is nothing to measure
            return np.where(sample > 0, np.maximum(noisy, 0.0), 0.0).astype(sample.dtype)
        return np.clip(noisy, 0, 255).astype(np.uint8) if feature.kind == "rgb" else noisy

    def card(self, value: Any) -> str:
        image, position, joint = value["image"], 1000 * value["position"], 1000 * value["joint"]
        amounts = f"{image:.0f} of 255 on images, {position:.1f} mm on poses and depth, {joint:.1f} mrad on joints"
        return f"add noise in software: {amounts}"


class ActionNoise(Factor):
    """Noise added to every action but the gripper's; a value is its standard deviation.

    It is a share of half the action's range, or of 0.1 rad for a joint's absolute target.
    """

    name = "Action_Noise"
    changes = "sensing"
    nominal, extreme = "0", "0.1 of half an action's range; tasks narrow it"
    source = "Factor World's experts, Perturbed RoboTwin; the size is our own"
    most = 5.0
    given, limits = "number", (0.0, 1.0)

    def draw(
        self, rng: np.random.Generator, scenario: Scenario, task: Task, severity: float, given: Given | None = None
    ) -> float:
        return float(given.pick(rng)) if given else self.span(task, (0.0, 0.1))[1] * severity

    def act(self, value: Any, action: np.ndarray, spec: ActionSpec, rng: np.random.Generator) -> np.ndarray:
        low, high = spec.low, spec.high
        # of half a delta's range; an absolute target in rad or m has a range as wide as the robot's reach
        unit = np.concatenate([np.full(d.size, 1.0 if d.mode == "delta" else 0.1) for d in spec.dims])
        unit = np.where(unit == 1.0, (high - low) / 2, unit)
        arm = np.concatenate([np.full(d.size, d.grips is None) for d in spec.dims])
        noisy = np.clip(action + value * unit * rng.standard_normal(spec.size), low, high)
        return np.where(arm, noisy, action)

    def card(self, value: Any) -> str:
        return f"add noise to the actions in software: {value:.0%} of half their range"
