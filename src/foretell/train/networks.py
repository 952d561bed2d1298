"""Small networks, written with plain products and sums so that any ONNX runtime can run them."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["Transformer", "mlp"]


def mlp(*sizes: int) -> nn.Sequential:
    """Linear layers with SiLU between them."""
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


class Block(nn.Module):
    """Attention and two layers, each after a norm and added to what came in."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.each = heads, width // heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = mlp(width, 2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        length, width = x.shape[1], x.shape[2]
        q, k, v = (
            part.reshape(-1, length, self.heads, self.each).transpose(1, 2)
            for part in self.mix(self.before(x)).split(width, dim=-1)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.each), dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(-1, length, width))
        fed: Tensor = self.feed(self.between(x))
        return x + fed


class Transformer(nn.Module):
    """(n, length, size) -> (n, length, width); every token sees all others."""

    def __init__(self, size: int, *, length: int, width: int = 96, heads: int = 4, layers: int = 2):
        super().__init__()
        self.enter = nn.Linear(size, width)
        self.place = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(self.blocks(self.enter(x) + self.place))
        return out
