"""Evaluate every checkpoint of a training run in its own process, and decide whether it may replace the release.

The "training" here halves an error of the policy at each step; put your own in its place. Worlds stay open between
calls, so only the first evaluation waits for them.
"""

import time

import numpy as np

import foretell
from foretell import Policy, PolicySpec, Stream


class Pick(Policy):
    """Above the cube, down, close, up. `error`: how far beside the cube it takes the cube to be, m."""

    spec = PolicySpec(
        reads={"panda/ee_pos": Stream((3,)), "panda/gripper": Stream((1,), history=2), "cube/pos": Stream((3,))},
        batch=None,
    )

    def __init__(self, error=0.0):
        self.error = error

    def act(self, slots, observations):
        gap = observations["cube/pos"] + [0.0, self.error, 0.0] - observations["panda/ee_pos"]
        before, now = observations["panda/gripper"][:, 0, 0], observations["panda/gripper"][:, 1, 0]
        aside = np.linalg.norm(gap[:, :2], axis=1) > 0.015
        there = ~aside & (np.abs(gap[:, 2]) < 0.01)
        held = there & (now < 0.07) & (before - now < 0.0005)
        gap[:, 2] += np.where(held, 0.10, np.where(aside, 0.06, 0.0))
        actions = np.zeros((len(slots), 7))  # translation, rotation, gripper
        actions[:, :3] = np.clip(gap / 0.05, -0.5, 0.5)
        actions[:, 6] = np.where(there, 1, -1)
        return actions


STUDY = {"tasks": [{"use": "lift", "time_limit": 6}], "scenarios": {"count": 60, "seed": 1000}}

if __name__ == "__main__":
    began = time.process_time()
    release = foretell.evaluate(Pick(), STUDY)
    print(f"release: {release.mean.estimate:.0%}, {time.process_time() - began:.1f} s of CPU")
    error = 0.06
    for step in range(4):
        began = time.process_time()
        made = foretell.evaluate(Pick(error), STUDY, base=release, margin=0.1)
        rate = f"{made.mean.estimate:.0%} ({made.mean.low:.0%} to {made.mean.high:.0%})"
        print(f"checkpoint {step}: {rate}, {made.gate.decision}, {time.process_time() - began:.1f} s of CPU")
        error /= 2
