"""A small Gymnasium environment that misbehaves on request; tests put it into an environment of its own."""

import os
import time
from pathlib import Path

import gymnasium
import numpy as np

FAULT = Path(__file__).with_name("fault")  # holds the name of what goes wrong in the scene with seed 1


class Slide(gymnasium.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, render_mode=None, tells="success"):
        self.render_mode, self.tells = render_mode, tells

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seed, self.steps = seed, 0
        self.at, self.goal = 0.0, float(self.np_random.uniform(0.5, 1.0))
        return self._seen(), {}

    def step(self, action):
        self.steps += 1
        if self.seed == 1 and self.steps == 5 and FAULT.exists():
            self._fail(FAULT.read_text())
        self.at += 0.1 * float(action[0])
        return self._seen(), 0.0, False, False, {self.tells: abs(self.at - self.goal) < 0.06}

    def _fail(self, fault):
        if fault == "kill":
            FAULT.unlink()
            os.kill(os.getpid(), 9)
        if fault == "hang":
            FAULT.unlink()
            time.sleep(60)
        raise RuntimeError("the joint came off")

    def _seen(self):
        return np.array([self.at, self.goal])

    def render(self):
        return np.full((40, 60, 3), 100, dtype=np.uint8)


gymnasium.register("Slide-v0", Slide, max_episode_steps=40)
