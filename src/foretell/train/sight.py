"""Seeing policies of SIMPLER's robots: one camera of 96 by 72 pixels, the hand's own pose and, where it serves several
tasks, the instruction. Never the pose of an object.

The eye learns first, and is also asked where the objects are; then it is frozen, and what follows it learns. The hand's
pose comes from two moments: SIMPLER's controllers add to their last target, and how far the hand is behind shows only
in how it moves.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foretell.registry import resolve
from foretell.rotation import conjugate, rotate
from foretell.train.demos import Demos
from foretell.train.features import Proprioception
from foretell.train.fit import optimizer, windows
from foretell.train.heads import HEADS
from foretell.train.networks import mlp
from foretell.train.students import Shape
from foretell.train.views import HEIGHT, VIEWS, WIDTH

__all__ = ["TEXT", "Senses", "SightStudent", "fit_eye", "fit_sight", "phrases", "spelled"]

TEXT = 96
"""Bytes of an instruction that a policy reads."""
SPOTS = 5
"""Features of an eye that are taught where something is."""
HELD_OUT = 2
"""Paraphrases of each task, the last ones, that no policy is trained on."""


@dataclass(frozen=True, kw_only=True)
class Senses:
    """What a student takes in besides the hand's own pose."""

    grey: bool = False
    """It sees brightness and no colour."""
    blind: bool = False
    """It sees nothing: a floor."""
    instruction: bool = False


def phrases(task: str) -> list[str]:
    """The instructions of a task that policies are trained on."""
    kind = resolve("tasks", task)
    return [kind.instruction, *kind.paraphrases[:-HELD_OUT]]


def spelled(texts: Sequence[str]) -> np.ndarray:
    """(n, TEXT) uint8: texts in UTF-8, ended by zeros."""
    rows = np.zeros((len(texts), TEXT), dtype=np.uint8)
    for row, text in zip(rows, texts, strict=True):
        data = text.encode()
        row[: len(data)] = np.frombuffer(data, np.uint8)
    return rows


class Eye(nn.Module):
    """(n, HEIGHT, WIDTH, 3) uint8 -> (n, SIZE): where each feature is, and how sure."""

    POINTS = 32
    SIZE = 3 * POINTS
    x: Tensor
    y: Tensor

    def __init__(self, grey: bool) -> None:
        super().__init__()
        self.grey = grey
        self.layers = nn.Sequential(
            nn.Conv2d(1 if grey else 3, 16, 6, stride=4, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, self.POINTS, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(self.POINTS, self.POINTS, 3, padding=1),
        )
        height, width = HEIGHT // 4, WIDTH // 4
        self.register_buffer("x", torch.linspace(-1, 1, width).repeat(height))
        self.register_buffer("y", torch.linspace(-1, 1, height).repeat_interleave(width))
        self.sharp = nn.Parameter(torch.tensor(1.0))

    def scores(self, picture: Tensor) -> Tensor:
        """(n, POINTS, cells) how well each cell of the picture fits each feature."""
        x = picture.to(torch.float32).permute(0, 3, 1, 2) / 255 - 0.5
        if self.grey:
            x = x.mean(1, keepdim=True)
        scores: Tensor = self.sharp * self.layers(x).flatten(2)
        return scores

    def forward(self, picture: Tensor) -> Tensor:
        share = torch.softmax(self.scores(picture), -1)
        return torch.cat([(share * self.x).sum(-1), (share * self.y).sum(-1), (share * share).sum(-1)], -1)


class Reader(nn.Module):
    """(n, TEXT) uint8 -> (n, SIZE): letters, five at a time, wherever they stand."""

    SIZE = 24

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(256, 12)
        self.words = nn.Conv1d(12, 48, 5)
        self.out = nn.Linear(48, self.SIZE)

    def forward(self, text: Tensor) -> Tensor:
        x = self.letters(text.to(torch.int64)).transpose(1, 2)
        code: Tensor = self.out(functional.relu(self.words(x)).amax(-1))
        return code


class SightStudent(nn.Module):
    """Acts on a picture, the pose of the hand and the instruction; in metres and radians, once `scale` is set."""

    mean: Tensor
    spread: Tensor
    scale: Tensor

    def __init__(self, shape: Shape, senses: Senses):
        super().__init__()
        self.shape, self.senses = shape, senses
        self.hand = Proprioception()
        size = shape.history * Proprioception.SIZE
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("spread", torch.ones(size))
        self.register_buffer("scale", torch.ones(7))
        self.open = 1.0
        if not senses.blind:
            self.eye = Eye(senses.grey)
            size += Eye.SIZE
        if senses.instruction:
            self.reader = Reader()
            size += Reader.SIZE
        self.join = nn.Sequential(mlp(size, 256, shape.width), nn.SiLU())
        self.head = HEADS[shape.head](shape.width)

    def moves(self, states: Tensor) -> Tensor:
        """(n, history, 8) -> (n, history * 9): the hand now, and how it came there."""
        hand = self.hand(states)
        parts = [hand[:, -1]] + [hand[:, -1] - hand[:, i] for i in range(self.shape.history - 1)]
        return torch.cat(parts, -1)

    def measure(self, states: Tensor) -> None:
        """Take mean and spread of the hand's pose from training data."""
        features = self.moves(states)
        self.mean.copy_(features.mean(0))
        self.spread.copy_(features.std(0).clamp_min(0.02))

    def own(self, states: Tensor) -> Tensor:
        return (self.moves(states) - self.mean) / self.spread

    def code(self, state: Tensor, picture: Tensor | None, text: Tensor | None) -> Tensor:
        parts = [self.own(state)]
        if picture is not None:
            parts.append(self.eye(picture))
        if text is not None:
            parts.append(self.reader(text))
        code: Tensor = self.join(torch.cat(parts, -1))
        return code

    def forward(self, state: Tensor, *more: Tensor) -> Tensor:
        """state (n, history, 8), then what it senses, then what its head takes -> (n, chunk, 7)."""
        rest = list(more)
        picture = None if self.senses.blind else rest.pop(0)
        text = rest.pop(0) if self.senses.instruction else None
        shares = self.head.sample(self.code(state, picture, text), *(rest or (None,)))
        return torch.cat([shares[..., :6], shares[..., 6:].clamp_min(-self.open)], -1) * self.scale


def jittered(pictures: Tensor, rng: np.random.Generator) -> Tensor:
    """Pictures moved by up to a pixel, and a little darker or brighter."""
    dy, dx = rng.integers(-1, 2, 2).tolist()
    gain = torch.from_numpy(rng.uniform(0.9, 1.1, (len(pictures), 1, 1, 1)).astype(np.float32))
    return (torch.roll(pictures, (dy, dx), (1, 2)) * gain).clamp(0, 255)


def spots(task: str, states: np.ndarray) -> np.ndarray:
    """(n, SPOTS, 2) where both objects, the hand and two points of the first object are in the picture, -1 to 1."""
    kind, view = resolve("tasks", task), VIEWS[task]
    camera = kind.cameras[view.camera]
    lens = camera.lens(HEIGHT, WIDTH)
    ends = [states[:, 8:11] + rotate(states[:, 11:15], np.array([x, 0.0, 0.0])) for x in (-0.04, 0.04)]
    points = np.stack([states[:, 8:11], states[:, 15:18], states[:, 0:3], *ends], axis=1)
    away = points - np.array(camera.pos)
    x, y, z = np.moveaxis(rotate(conjugate(camera.orientation), away), -1, 0)
    pixels = np.stack([lens.cx - lens.fx * x / z, lens.cy + lens.fy * y / z], -1)
    found: np.ndarray = pixels / (np.array([WIDTH, HEIGHT]) - 1) * 2 - 1
    return found.astype(np.float32)


def fit_eye(senses: Senses, demos: Mapping[str, Demos], *, seed: int, steps: int, batch: int = 32) -> Eye:
    """An eye whose first features are where the objects and the hand are."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 4])
    eye = Eye(senses.grey)
    data, _, _ = _joined(demos)
    assert data.pictures is not None
    pictures = torch.from_numpy(data.pictures[:, 0])
    goals = torch.from_numpy(np.concatenate([spots(task, d.states) for task, d in demos.items()]))
    cells = torch.stack([eye.x, eye.y], -1)
    width = torch.tensor([WIDTH // 4, HEIGHT // 4]) / 2  # cells per unit
    chosen, schedule = optimizer(eye, steps, rate=3e-3)
    average = torch.optim.swa_utils.AveragedModel(
        eye, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98), use_buffers=True
    )
    began, losses = time.time(), np.zeros(2)
    for step in range(steps):
        now = rng.integers(len(pictures), size=batch)
        share = torch.log_softmax(eye.scores(jittered(pictures[now], rng))[:, :SPOTS], -1)
        goal = goals[now].clamp(-1, 1)
        wanted = torch.softmax(-0.5 * (((cells - goal[:, :, None]) * width).square().sum(-1)), -1)
        rough = -(wanted * share).sum(-1).mean()
        fine = functional.smooth_l1_loss((share.exp() @ cells) * width, goal * width, beta=0.2)
        _learn(rough + fine, eye, chosen, schedule)
        average.update_parameters(eye)
        losses += float(rough.detach()), float(fine.detach())
        if (step + 1) % 100 == 0:
            a, b = losses / 100
            print(f"  step {step + 1}: cells {a:.3f}, way {b:.4f}, {time.time() - began:.0f} s", flush=True)
            losses[:] = 0
    averaged = average.module
    assert isinstance(averaged, Eye)  # the average is one of the same class
    return averaged


def fit_sight(
    eye: Eye | None,
    shape: Shape,
    senses: Senses,
    demos: Mapping[str, Demos],
    *,
    seed: int,
    steps: int,
    batch: int = 256,
) -> SightStudent:
    """A student with an eye that stays as it is: what follows it is learned."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 5])
    student = SightStudent(shape, senses)
    data, texts, kind = _joined(demos)
    assert data.pictures is not None
    states, actions = torch.from_numpy(data.states), torch.from_numpy(data.actions)
    at, past, ahead = windows(data, shape.history, student.head.chunk)
    student.measure(states[past])
    learned = nn.ModuleList([student.join, student.head])
    seen = torch.zeros(len(states), 0)
    if eye is not None:
        student.eye.load_state_dict(eye.state_dict())
        pictures = torch.from_numpy(data.pictures[:, 0])
        with torch.no_grad():
            seen = torch.cat([student.eye(pictures[i : i + 256]) for i in range(0, len(pictures), 256)])
    if senses.instruction:
        learned.append(student.reader)
    chosen, schedule = optimizer(learned, steps)
    average = torch.optim.swa_utils.AveragedModel(
        student, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998), use_buffers=True
    )
    for _ in range(steps):
        rows = rng.integers(len(at), size=batch)
        parts = [student.own(states[past[rows]]), seen[at[rows]]]
        if senses.instruction:
            parts.append(student.reader(texts[kind[at[rows]], rng.integers(texts.shape[1], size=batch)]))
        loss = student.head.loss(student.join(torch.cat(parts, -1)), actions[ahead[rows]])
        _learn(loss, learned, chosen, schedule)
        average.update_parameters(student)
    print(f"  actions {float(loss.detach()):.4f}", flush=True)
    averaged = average.module
    assert isinstance(averaged, SightStudent)  # the average is one of the same class
    averaged.eval()
    return averaged


def _learn(loss: Tensor, module: nn.Module, chosen: Any, schedule: Any) -> None:
    """One step of the optimiser."""
    chosen.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    chosen.step()
    schedule.step()


def _joined(demos: Mapping[str, Demos]) -> tuple[Demos, Tensor, np.ndarray]:
    """All demonstrations end to end; (tasks, phrases, TEXT) what each task may be asked; (steps,) the task of each."""
    texts = torch.from_numpy(np.stack([spelled(phrases(task)) for task in demos]))
    first, *others = demos.values()
    data = first
    for other in others:
        data = data + other
    kind = np.repeat(np.arange(len(demos)), [len(d.states) for d in demos.values()])
    return data, texts, kind
