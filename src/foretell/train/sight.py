"""Seeing policies of SIMPLER's robots: one camera of 128 by 96 pixels, the hand's own pose and, where it serves several
tasks, the instruction. Never the pose of an object.

An eye says where two objects are and how the first one lies: a guess, from the picture and the hand. A student goes on
from that guess. The hand's pose comes from two moments: the WidowX's controller adds an action to its last target, and
how far the arm is behind that shows in how it moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foretell.registry import resolve
from foretell.train.features import Proprioception, axes, heading, squashed
from foretell.train.heads import HEADS
from foretell.train.networks import mlp
from foretell.train.students import Shape
from foretell.train.views import CROPS

__all__ = ["TEXT", "WHERE", "Eye", "Senses", "SightStudent", "phrases", "spelled"]

TEXT = 96
"""Bytes of an instruction that a policy reads."""
WHERE = 8
"""Numbers of an eye's guess: two positions, m, and cosine and sine of twice the first object's heading."""
HELD_OUT = 2
"""Paraphrases of each task, the last ones, that no policy is trained on."""


@dataclass(frozen=True, kw_only=True)
class Senses:
    """What a student takes in besides the hand's own pose."""

    blind: bool = False
    """It sees nothing: a floor."""
    instruction: bool = False
    memory: int = 0
    """Size of what it remembers from picture to picture."""


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
    """(n, HEIGHT, WIDTH, 3) uint8 and the hand -> (n, WHERE). It looks at a part of the picture."""

    POINTS = 24
    x: Tensor
    y: Tensor

    def __init__(self, robot: str) -> None:
        super().__init__()
        self.robot = robot
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, self.POINTS, 1),
        )
        top, bottom, left, right = CROPS[robot]
        height, width = (bottom - top) // 4, (right - left) // 4
        self.register_buffer("x", torch.linspace(-1, 1, width).repeat(height))
        self.register_buffer("y", torch.linspace(-1, 1, height).repeat_interleave(width))
        self.sharp = nn.Parameter(torch.tensor(1.0))
        self.hand = Proprioception()
        self.guess = mlp(3 * self.POINTS + Proprioception.SIZE, 128, 128, WHERE)

    def scores(self, picture: Tensor) -> Tensor:
        """(n, POINTS, cells) how well each cell of the picture fits each feature."""
        top, bottom, left, right = CROPS[self.robot]
        x = picture[:, top:bottom, left:right].to(torch.float32).permute(0, 3, 1, 2) / 255 - 0.5
        scores: Tensor = self.sharp * self.layers(x).flatten(2)
        return scores

    def where(self, scores: Tensor, state: Tensor) -> Tensor:
        """(n, WHERE), 1 = 10 cm. `state` (n, 8 or more)."""
        share = torch.softmax(scores, -1)
        points = [(share * self.x).sum(-1), (share * self.y).sum(-1), (share * share).sum(-1)]
        guess: Tensor = self.guess(torch.cat([*points, self.hand(state)], -1))
        return guess

    def forward(self, picture: Tensor, state: Tensor) -> Tensor:
        guess = self.where(self.scores(picture), state)
        return torch.cat([guess[:, :6] / 10, guess[:, 6:]], -1)


class Reader(nn.Module):
    """(n, TEXT) uint8 -> (n, SIZE): letters, five at a time, wherever they stand."""

    SIZE = 16

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

    def __init__(self, shape: Shape, senses: Senses, robot: str):
        super().__init__()
        self.shape, self.senses = shape, senses
        self.hand = Proprioception()
        size = shape.history * Proprioception.SIZE + (0 if senses.blind else WHERE + 27 + 3)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("spread", torch.ones(size))
        self.register_buffer("scale", torch.ones(7))
        if not senses.blind:
            self.eye = Eye(robot)
        if senses.instruction:
            self.reader = Reader()
            size += Reader.SIZE
        if senses.memory:
            self.enter = nn.Linear(size, senses.memory)
            self.cell = nn.GRUCell(senses.memory, senses.memory)
            size += senses.memory
        self.join = nn.Sequential(mlp(size, 256, shape.width), nn.SiLU())
        self.head = HEADS[shape.head](shape.width)

    def features(self, state: Tensor, where: Tensor | None) -> Tensor:
        """state (n, history, 8), where (n, WHERE) -> (n, size)."""
        hands, now = self.hand(state), state[:, -1]
        parts = [hands[:, -1]] + [hands[:, -1] - hands[:, i] for i in range(self.shape.history - 1)]
        ee, pointing = now[:, :3], heading(axes(now[:, 3:7])[0])
        if where is not None:
            moved, goal = where[:, :3], where[:, 3:6]
            turn = where[:, 6:] / (where[:, 6:].square().sum(-1, keepdim=True) + 1e-4).sqrt()
            c, s = pointing[:, 0].square() - pointing[:, 1].square(), 2 * pointing[:, 0] * pointing[:, 1]
            apart = turn[:, 1] * c - turn[:, 0] * s  # sine of twice the angle between object and hand
            along = turn[:, 0] * c + turn[:, 1] * s
            parts += [squashed(moved - ee), squashed(goal - ee), squashed(goal - moved), where]
            parts.append(torch.stack([apart, along, torch.tanh(4 * apart)], -1))
        return torch.cat(parts, -1)

    def measure(self, features: Tensor) -> None:
        """Take mean and spread of the features from training data."""
        self.mean.copy_(features.mean(0))
        self.spread.copy_(features.std(0).clamp_min(0.02))

    def code(self, features: Tensor, text: Tensor | None, memory: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """(n, width), and what it remembers then."""
        parts = [(features - self.mean) / self.spread]
        if text is not None:
            parts.append(self.reader(text))
        if memory is not None:
            memory = self.cell(functional.silu(self.enter(torch.cat(parts, -1))), memory)
            parts.append(memory)
        return self.join(torch.cat(parts, -1)), memory

    def shares(self, code: Tensor, *more: Tensor) -> Tensor:
        """(n, chunk, 7) actions as shares of a view's scale."""
        if self.head.continues and len(more) > 1:
            noise, plan, committed = more
            more = noise, plan / self.scale, committed
        return self.head.sample(code, *(more or (None,)))

    def forward(self, state: Tensor, *more: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """state (n, history, 8), what it senses, what it remembers, what its head takes -> actions (n, chunk, 7), and
        what it remembers then."""
        rest = list(more)
        where = None if self.senses.blind else self.eye(rest.pop(0), state[:, -1])
        text = rest.pop(0) if self.senses.instruction else None
        memory = rest.pop(0) if self.senses.memory else None
        code, memory = self.code(self.features(state, where), text, memory)
        actions = self.shares(code, *rest) * self.scale
        return actions if memory is None else (actions, memory)
