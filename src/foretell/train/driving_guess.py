"""A student that guesses depth from the camera's picture, and drives by what it guesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from foretell.robots.locobot import LoCoBot
from foretell.spec import Stream
from foretell.train.course import Course, routes
from foretell.train.driving import DrivingStudent
from foretell.train.fit import optimizer

__all__ = ["CAMERA", "PICTURE", "GuessingStudent", "learn_depth"]

PICTURE = (64, 64, 3)
CAMERA, DEPTH = "locobot/camera/rgb", "locobot/depth_rays"


class GuessingStudent(nn.Module):
    """A small CNN that turns a picture into a row of depths, before a student that drives by depths."""

    def __init__(self, driver: DrivingStudent):
        super().__init__()
        self.driver = driver
        sizes = ((3, 16, 5), (16, 32, 3), (32, 48, 3), (48, 64, 3))
        layers = [layer for a, b, k in sizes for layer in (nn.Conv2d(a, b, k, stride=2, padding=k // 2), nn.ReLU())]
        self.eye = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 256), nn.ReLU())
        self.depth = nn.Linear(256, LoCoBot.COLUMNS)

    def guess(self, picture: torch.Tensor) -> torch.Tensor:
        """Pictures (n, 64, 64, 3) of 0 to 255 -> depths (n, columns), m."""
        seen = picture.permute(0, 3, 1, 2).float() / 255.0 - 0.5
        return torch.exp(self.depth(self.eye(seen))).clamp(max=LoCoBot.FURTHEST)

    def forward(
        self, picture: torch.Tensor, goal: torch.Tensor, bump: torch.Tensor, noise: torch.Tensor
    ) -> torch.Tensor:
        """Actions (n, 1, 4)."""
        actions, _ = self.driver(torch.cat([self.guess(picture), goal, bump], dim=1), noise)
        return actions


def learn_depth(driver: DrivingStudent, *, seed: int, frames: int, steps: int) -> GuessingStudent:
    """Teach the eye on pictures along the expert's ways, an error of log depth. The driver is left as it is."""
    torch.set_num_threads(1)
    torch.manual_seed(seed + 2)
    rng = np.random.default_rng([seed, 5])
    pictures, depths = _pictures(seed, frames, rng)
    student = GuessingStudent(driver)
    learned = nn.ModuleList([student.eye, student.depth])
    chosen, schedule = optimizer(learned, steps)
    total = 0.0
    for step in range(steps):
        rows = rng.integers(len(pictures), size=64)
        error = torch.log(student.guess(pictures[rows]) + 0.05) - torch.log(depths[rows] + 0.05)
        loss = error.abs().mean()
        chosen.zero_grad()
        loss.backward()
        chosen.step()
        schedule.step()
        total += float(loss.detach())
        if step % 500 == 499:
            print(f"  step {step + 1} of {steps}: log depth is off by {total / 500:.3f}", flush=True)
            total = 0.0
    return student


def _pictures(seed: int, frames: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures (frames, 64, 64, 3) and depths (frames, columns), with the robot turned at random now and then."""
    slots = 32
    course = Course({}, routes(4 * slots, seed + 2), slots, DEPTH)
    pictures, depths = list[Any](), list[Any]()
    while len(pictures) * slots < frames:
        seen = course.world.observe(course.slots, {CAMERA: Stream(PICTURE), DEPTH: Stream((LoCoBot.COLUMNS,))})
        pictures.append(seen[CAMERA])
        depths.append(seen[DEPTH].astype(np.float32))
        course.step(np.where(rng.uniform(size=slots) < 0.4, rng.integers(2, 4, size=slots), course.advice()))
    return torch.from_numpy(np.concatenate(pictures)), torch.from_numpy(np.concatenate(depths))
