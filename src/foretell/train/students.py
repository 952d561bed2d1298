"""A student: what it reads, an encoder, a head. `forward` is what is exported."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from foretell.train.features import Features
from foretell.train.heads import HEADS
from foretell.train.networks import Transformer, mlp

__all__ = ["Shape", "StateStudent"]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How a kind of policy is built."""

    head: str
    history: int = 2
    """Observations it sees, one per action."""
    transformer: bool = False
    width: int = 192
    execute: int | None = None
    """Actions of a chunk that are run; None: all."""


class StateStudent(nn.Module):
    """Acts on poses of hand and object."""

    mean: Tensor
    spread: Tensor

    def __init__(self, task: str, shape: Shape):
        super().__init__()
        self.shape = shape
        self.features = Features(task)
        size = Features.SIZE
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("spread", torch.ones(size))
        if shape.transformer:
            self.encoder: nn.Module = Transformer(size, length=shape.history, width=shape.width)
        else:
            self.encoder = nn.Sequential(nn.Flatten(), mlp(shape.history * size, shape.width, shape.width), nn.SiLU())
        self.head = HEADS[shape.head](shape.width)

    def measure(self, states: Tensor) -> None:
        """Take mean and spread of the features from training data."""
        features = self.features(states)
        self.mean.copy_(features.mean(0))
        self.spread.copy_(features.std(0).clamp_min(0.05))

    def code(self, states: Tensor) -> Tensor:
        x: Tensor = self.encoder((self.features(states) - self.mean) / self.spread)
        return x[:, -1] if self.shape.transformer else x

    def loss(self, states: Tensor, actions: Tensor) -> Tensor:
        return self.head.loss(self.code(states), actions)

    def forward(self, states: Tensor, *more: Tensor) -> Tensor:
        """(n, history, 15) -> (n, chunk, 7); `more` as the head's `sample` takes it."""
        return self.head.sample(self.code(states), *(more or (None,)))

    def act(self, states: np.ndarray) -> np.ndarray:
        """First action of each chunk, for collecting more data. The noise is zero."""
        with torch.no_grad():
            noise = () if self.head.noise is None else (torch.zeros(len(states), *self.head.noise),)
            first: np.ndarray = self(torch.from_numpy(states), *noise)[:, 0].numpy()
        return first
