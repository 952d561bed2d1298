"""Policies for a process of their own. They import nothing of foretell."""

import os
import signal
import time
from pathlib import Path

import numpy as np


class Counter:
    """Its gripper counts the calls of an episode; with `fault` something goes wrong in the third call."""

    spec = {"reads": {"panda/ee_pos": [3], "cube/pos": None}, "action": "ee_delta", "action_rate": 20, "batch": None}

    def __init__(self, fault="none", once=None):
        self.fault, self.once = fault, once
        self.calls = {}

    def reset(self, slots, instructions, seeds):
        for slot in slots.tolist():
            self.calls[slot] = 0

    def act(self, slots, seen):
        assert seen["panda/ee_pos"].shape == (len(slots), 3) and isinstance(seen["instruction"][0], str)
        actions = np.zeros((len(slots), 7))
        for row, slot in enumerate(slots.tolist()):
            self.calls[slot] += 1
            actions[row, 6] = 0.01 * self.calls[slot]
        if max(self.calls.values()) == 3 and not (self.once and Path(self.once).exists()):
            if self.once:
                Path(self.once).touch()
            return self.wrong(actions)
        return actions

    def wrong(self, actions):
        if self.fault == "raise":
            raise ValueError("no such gripper")
        if self.fault == "shape":
            return actions[:, :6]
        if self.fault == "nan":
            return actions * np.nan
        if self.fault == "object":
            return {"a": object()}
        if self.fault == "huge":
            return np.zeros((len(actions), 1 << 24))
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "hang":
            time.sleep(60)
        if self.fault == "garbage":
            for descriptor in range(3, 64):
                try:
                    os.write(descriptor, b"\x80\x04garbage" * 40)
                except OSError:
                    continue
        return actions


class NoSpec:
    def act(self, slots, seen):
        return None


class Misspelt:
    spec = {"reeds": {}, "action": "ee_delta"}

    def act(self, slots, seen):
        return None


class Radians:
    """Declares another scale than the controller has."""

    spec = {
        "reads": {},
        "action": {"name": "mine", "dims": [{"meaning": "translation", "unit": "m", "size": 3, "scale": 1.0}]},
        "action_rate": 20,
    }

    def act(self, slots, seen):
        return np.zeros((len(slots), 3))


class Dies:
    def __init__(self):
        os._exit(3)
