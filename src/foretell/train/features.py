"""What a state policy computes from a state before its network sees it; part of the exported graph.

Nothing here is learned: directions instead of quaternions, the way from the finger tips to the grasp and from the
object to its goal, each also squashed at small scales, because millimetres decide and metres are the unit.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Features", "Proprioception"]

GRASP = {"lift": 0.0, "can": 0.0, "square": 0.054}
"""Where an object is held, along its own x, m."""
GOAL = {"lift": (0.0, 0.0, 0.10), "can": (0.145, 0.325, 0.08), "square": (0.23, 0.10, 0.05)}
"""Where it is to go: above the table, the near corner of its quarter, the peg."""
SCALES = (0.2, 0.03, 0.008)
"""m"""


def axes(quat: Tensor) -> tuple[Tensor, Tensor]:
    """(..., 3) x and z axis of a body of orientation (..., 4)."""
    w, x, y, z = quat.unbind(-1)
    first = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], -1)
    third = torch.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], -1)
    return first, third


def heading(axis: Tensor) -> Tensor:
    """(..., 2) direction in the plane."""
    flat = axis[..., :2]
    return flat / (flat.square().sum(-1, keepdim=True) + 1e-6).sqrt()


def squashed(way: Tensor) -> Tensor:
    return torch.cat([torch.tanh(way / scale) for scale in SCALES], -1)


class Proprioception(nn.Module):
    """(..., 8 or more) states -> (..., SIZE) about the hand alone."""

    SIZE = 9

    def forward(self, state: Tensor) -> Tensor:
        ee, gripper = state[..., 0:3], state[..., 7:8]
        first, third = axes(state[..., 3:7])
        return torch.cat([4 * ee, heading(first), third, 25 * gripper - 1], -1)


class Features(nn.Module):
    """(..., 15) states -> (..., SIZE)."""

    SIZE = Proprioception.SIZE + 3 + 2 + 3 + 6 + 9 + 9
    goal: Tensor

    def __init__(self, task: str):
        super().__init__()
        self.hand = Proprioception()
        self.grasp = GRASP[task]
        self.register_buffer("goal", torch.tensor(GOAL[task]))

    def forward(self, state: Tensor) -> Tensor:
        ee, pos = state[..., 0:3], state[..., 8:11]
        hand = heading(axes(state[..., 3:7])[0])
        first, third = axes(state[..., 11:15])
        thing = heading(first)
        # object's heading in the hand's frame: cosine and sine of one, and of four times the angle (a cube's symmetry)
        c = (hand * thing).sum(-1, keepdim=True)
        s = hand[..., 0:1] * thing[..., 1:2] - hand[..., 1:2] * thing[..., 0:1]
        c2, s2 = c * c - s * s, 2 * c * s
        turns = [c, s, c2 * c2 - s2 * s2, 2 * c2 * s2, torch.tanh(8 * s), torch.tanh(8 * thing[..., 1:2])]
        reach = pos + self.grasp * first - ee
        return torch.cat(
            [self.hand(state), 4 * pos, thing, third, *turns, squashed(reach), squashed(self.goal - pos)], -1
        )
