"""Policies that see: two cameras of 84 by 84 pixels and the hand's own pose, never the object's.

While it learns, the encoder is also asked where the object is (the simulation knows), which teaches it to look;
the exported policy neither gets nor gives that.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foretell.spec import Stream
from foretell.train.demos import CAMERAS, Demos
from foretell.train.export import export
from foretell.train.features import Proprioception, axes, heading
from foretell.train.fit import optimizer, windows
from foretell.train.heads import HEADS
from foretell.train.networks import mlp
from foretell.train.students import Shape

__all__ = ["VisionStudent", "export_vision", "fit_head", "fit_vision"]

SHIFT = 4
"""Pictures are moved by up to so many pixels while training."""
OWN = ["panda/ee_pos", "panda/ee_quat", "panda/gripper"]


class CameraEncoder(nn.Module):
    """One camera: (n, 84, 84, 3) uint8 -> (n, 3 * POINTS): where each feature is, and how sure."""

    POINTS = 32
    x: Tensor
    y: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 6, stride=3),  # 27
            nn.ReLU(),
            nn.Conv2d(16, self.POINTS, 3, stride=2, padding=1),  # 14
            nn.ReLU(),
            nn.Conv2d(self.POINTS, self.POINTS, 3, padding=1),
        )
        line = torch.linspace(-1, 1, 14)
        self.register_buffer("x", line.repeat(14))
        self.register_buffer("y", line.repeat_interleave(14))
        self.sharp = nn.Parameter(torch.tensor(1.0))

    def forward(self, picture: Tensor) -> Tensor:
        x = picture.to(torch.float32).permute(0, 3, 1, 2) / 255 - 0.5
        share = torch.softmax(self.sharp * self.layers(x).flatten(2), -1)
        return torch.cat([(share * self.x).sum(-1), (share * self.y).sum(-1), (share * share).sum(-1)], -1)


class VisionStudent(nn.Module):
    """Acts on what two cameras see and on the pose of the hand."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.front, self.wrist = CameraEncoder(), CameraEncoder()
        self.hand = Proprioception()
        self.join = nn.Sequential(mlp(6 * CameraEncoder.POINTS + Proprioception.SIZE, 256, shape.width), nn.SiLU())
        self.where = nn.Linear(shape.width, 7)
        self.head = HEADS[shape.head](shape.width)

    def code(self, state: Tensor, front: Tensor, wrist: Tensor) -> Tensor:
        code: Tensor = self.join(torch.cat([self.front(front), self.wrist(wrist), self.hand(state)], -1))
        return code

    def forward(self, state: Tensor, front: Tensor, wrist: Tensor, *more: Tensor) -> Tensor:
        return self.head.sample(self.code(state, front, wrist), *(more or (None,)))


def whereabouts(state: Tensor) -> Tensor:
    """(n, 7): the object's place in the room and from the hand, 1 = 10 cm, and how it lies to a hand of four sides."""
    ee, pos = state[:, 0:3], state[:, 8:11]
    hand, thing = heading(axes(state[:, 3:7])[0]), heading(axes(state[:, 11:15])[0])
    c = (hand * thing).sum(-1)
    s = hand[:, 0] * thing[:, 1] - hand[:, 1] * thing[:, 0]
    c2, s2 = c * c - s * s, 2 * c * s
    return torch.cat([10 * (pos - ee), 10 * pos[:, :2], torch.stack([c2 * c2 - s2 * s2, 2 * c2 * s2], -1)], -1)


def shifted(pictures: Tensor, rng: np.random.Generator) -> Tensor:
    """Each picture (n, h, w, 3) moved by a few pixels, its border repeated, and a little darker or brighter."""
    n, h, w, _ = pictures.shape
    dx, dy = (torch.from_numpy(rng.integers(-SHIFT, SHIFT + 1, n)) for _ in range(2))
    rows = (torch.arange(h) + dy[:, None]).clamp(0, h - 1)
    columns = (torch.arange(w) + dx[:, None]).clamp(0, w - 1)
    return pictures[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]


def fit_vision(
    shape: Shape, demos: Demos, *, seed: int, steps: int, batch: int = 64, where: float = 0.3, say: bool = True
) -> VisionStudent:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 2])
    assert demos.pictures is not None
    student = VisionStudent(shape)
    states, actions = torch.from_numpy(demos.states), torch.from_numpy(demos.actions)
    pictures = torch.from_numpy(demos.pictures)
    at, _, ahead = windows(demos, 1, student.head.chunk)
    chosen, schedule = optimizer(student, steps)
    average = torch.optim.swa_utils.AveragedModel(
        student, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.995)
    )
    began, losses = time.time(), np.zeros(2)
    for step in range(steps):
        rows = rng.integers(len(at), size=batch)
        now = at[rows]
        seen = pictures[now]
        code = student.code(states[now], shifted(seen[:, 0], rng), shifted(seen[:, 1], rng))
        acting = student.head.loss(code, actions[ahead[rows]])
        looking = functional.smooth_l1_loss(student.where(code), whereabouts(states[now]), beta=0.1)
        loss = acting + where * looking
        chosen.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        chosen.step()
        schedule.step()
        average.update_parameters(student)
        losses += float(acting.detach()), float(looking.detach())
        if say and (step + 1) % 500 == 0:
            a, b = losses / 500
            print(f"  step {step + 1}: actions {a:.4f}, where {b:.4f}, {time.time() - began:.0f} s", flush=True)
            losses[:] = 0
    averaged = average.module
    assert isinstance(averaged, VisionStudent)  # the average is one of the same class
    averaged.eval()
    return averaged


def fit_head(
    encoder: VisionStudent, shape: Shape, demos: Demos, *, seed: int, steps: int, batch: int = 256
) -> VisionStudent:
    """A student with the eyes of another, which stay as they are: only what follows them is learned."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 3])
    assert demos.pictures is not None
    student = VisionStudent(shape)
    for name in ("front", "wrist", "join"):
        getattr(student, name).load_state_dict(getattr(encoder, name).state_dict())
    states, actions = torch.from_numpy(demos.states), torch.from_numpy(demos.actions)
    pictures = torch.from_numpy(demos.pictures)
    with torch.no_grad():
        eyes = [
            torch.cat([eye(pictures[i : i + 256, k]) for i in range(0, len(pictures), 256)])
            for k, eye in enumerate((student.front, student.wrist))
        ]
        seen = torch.cat([*eyes, student.hand(states)], -1)
    at, _, ahead = windows(demos, 1, student.head.chunk)
    learned = nn.ModuleList([student.join, student.head])
    chosen, schedule = optimizer(learned, steps)
    average = torch.optim.swa_utils.AveragedModel(
        student, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998)
    )
    for _ in range(steps):
        rows = rng.integers(len(at), size=batch)
        loss = student.head.loss(student.join(seen[at[rows]]), actions[ahead[rows]])
        chosen.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned.parameters(), 1.0)
        chosen.step()
        schedule.step()
        average.update_parameters(student)
    averaged = average.module
    assert isinstance(averaged, VisionStudent)  # the average is one of the same class
    averaged.eval()
    return averaged


def export_vision(student: VisionStudent, path: Path) -> None:
    picture = torch.zeros(2, 84, 84, 3, dtype=torch.uint8)
    inputs = {"state": torch.zeros(2, 8), "front__rgb": picture, "panda__wrist__rgb": picture.clone()}
    reads = {name: Stream((n,)) for name, n in zip(OWN, (3, 4, 1), strict=True)}
    reads |= {f"{name}/rgb": stream for name, stream in CAMERAS.items()}
    export(student, inputs, path, state=OWN, reads=reads)
