"""What turns an encoded observation into actions: one class per kind of policy.

`loss(code, actions)` is what training lowers, `sample(code, noise)` what the exported policy returns. `code` is
(n, width), `actions` (n, chunk, 7), `noise` (n, *noise), standard normal, given by foretell from the slot's seed.
A head that `continues` also takes `plan` (n, chunk, 7), the actions to come, and `committed` (n,), how many of them
will have begun when it answers: its chunk starts with these.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from foretell.train.networks import mlp

__all__ = ["HEADS", "Diffusion", "Gaussian", "Head", "Mixture", "PointHead", "Points", "Variational"]

DIM = 7


def grip(score: Tensor) -> Tensor:
    """Gripper command of a score, in [-1, 1]: decided, with little between."""
    return torch.tanh(4 * score)


def gripper_loss(score: Tensor, wanted: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(2 * score, (wanted + 1) / 2)


class Head(nn.Module):
    chunk = 1
    noise: tuple[int, ...] | None = None
    continues = False

    def loss(self, code: Tensor, actions: Tensor) -> Tensor:
        raise NotImplementedError

    def sample(self, code: Tensor, noise: Tensor | None) -> Tensor:
        raise NotImplementedError


class PointHead(Head):
    """One action: the mean of what the expert does. Not the median: where the expert waits before it goes on, and a
    student cannot tell for how long, the median is to wait for ever."""

    def __init__(self, width: int):
        super().__init__()
        self.out = mlp(width, width, self.chunk * DIM)

    def chunks(self, code: Tensor) -> Tensor:
        chunks: Tensor = self.out(code).reshape(-1, self.chunk, DIM)
        return chunks

    def loss(self, code: Tensor, actions: Tensor) -> Tensor:
        guess = self.chunks(code)
        arm = functional.mse_loss(guess[..., :6], actions[..., :6])
        return 20 * arm + 0.2 * gripper_loss(guess[..., 6], actions[..., 6])

    def sample(self, code: Tensor, noise: Tensor | None) -> Tensor:
        guess = self.chunks(code)
        return torch.cat([guess[..., :6], grip(guess[..., 6:])], -1).clamp(-1, 1)


class Points(PointHead):
    """The coming four actions, so that pictures need not be taken for each."""

    chunk = 4


class Gaussian(Head):
    """A normal distribution of arm motions; the gripper is decided."""

    noise = (DIM - 1,)
    LEAST = 0.02
    """Smallest standard deviation, so that the likelihood stays bounded."""

    def __init__(self, width: int):
        super().__init__()
        self.out = mlp(width, width, 6 + DIM)

    def parts(self, code: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        out = self.out(code)
        return out[:, :6], self.LEAST + functional.softplus(out[:, 6:12] - 2), out[:, 12:]

    def loss(self, code: Tensor, actions: Tensor) -> Tensor:
        mean, spread, score = self.parts(code)
        wanted = actions[:, 0]
        arm = (0.5 * ((wanted[:, :6] - mean) / spread).square() + spread.log()).mean()
        return 0.2 * arm + 0.2 * gripper_loss(score[:, 0], wanted[:, 6])

    def sample(self, code: Tensor, noise: Tensor | None) -> Tensor:
        assert noise is not None
        mean, spread, score = self.parts(code)
        return torch.cat([mean + spread * noise, grip(score)], -1).clamp(-1, 1)[:, None]


class Mixture(Head):
    """Five normal distributions of arm motions: one is drawn, its mean taken (robomimic's low-noise evaluation)."""

    noise = (1,)
    MODES = 5

    def __init__(self, width: int):
        super().__init__()
        self.out = mlp(width, width, self.MODES * (1 + 6 + 6) + 1)

    def parts(self, code: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        out, k = self.out(code), self.MODES
        means = out[:, k : 7 * k].reshape(-1, k, 6)
        spreads = Gaussian.LEAST + functional.softplus(out[:, 7 * k : 13 * k].reshape(-1, k, 6) - 2)
        return torch.log_softmax(out[:, :k], -1), means, spreads, out[:, 13 * k :]

    def loss(self, code: Tensor, actions: Tensor) -> Tensor:
        weights, means, spreads, score = self.parts(code)
        wanted = actions[:, 0]
        each = (-0.5 * ((wanted[:, None, :6] - means) / spreads).square() - spreads.log()).sum(-1)
        return -torch.logsumexp(weights + each, -1).mean() / 30 + 0.2 * gripper_loss(score[:, 0], wanted[:, 6])

    def sample(self, code: Tensor, noise: Tensor | None) -> Tensor:
        assert noise is not None
        weights, means, _, score = self.parts(code)
        # a uniform number from the normal one picks the mode whose share of [0, 1] it falls into
        level = 0.5 * (1 + torch.erf(noise / math.sqrt(2)))
        upto = torch.cumsum(weights.exp(), -1)
        upto = upto / upto[:, -1:]
        below = torch.cat([torch.zeros_like(upto[:, :1]), upto[:, :-1]], -1)
        chosen = ((level >= below) & (level < upto)).to(means.dtype)
        mean = (means * chosen[..., None]).sum(1)
        return torch.cat([mean, grip(score)], -1).clamp(-1, 1)[:, None]


class Variational(Head):
    """A conditional variational autoencoder of chunks of eight actions (as ACT); the prior is drawn from."""

    chunk = 8
    LATENT, WEIGHT = 4, 0.002
    noise = (LATENT,)

    def __init__(self, width: int):
        super().__init__()
        self.encode = mlp(width + self.chunk * DIM, width, 2 * self.LATENT)
        self.decode = mlp(width + self.LATENT, width, width, self.chunk * DIM)

    def chunks(self, code: Tensor, latent: Tensor) -> Tensor:
        chunks: Tensor = self.decode(torch.cat([code, latent], -1)).reshape(-1, self.chunk, DIM)
        return chunks

    def loss(self, code: Tensor, actions: Tensor) -> Tensor:
        mean, spread = self.encode(torch.cat([code, actions.flatten(1)], -1)).chunk(2, -1)
        guess = self.chunks(code, mean + torch.exp(0.5 * spread) * torch.randn_like(mean))
        apart: Tensor = -0.5 * (1 + spread - mean.square() - spread.exp()).sum(-1).mean()
        arm = functional.mse_loss(guess[..., :6], actions[..., :6])
        return 20 * arm + 0.2 * gripper_loss(guess[..., 6], actions[..., 6]) + self.WEIGHT * apart

    def sample(self, code: Tensor, noise: Tensor | None) -> Tensor:
        assert noise is not None
        guess = self.chunks(code, noise)
        return torch.cat([guess[..., :6], grip(guess[..., 6:])], -1).clamp(-1, 1)


class Diffusion(Head):
    """Diffusion over chunks of 16 actions: trained to undo 100 steps of noise, runs 16 of them (DDIM). Committed
    actions take the place of the network's guess of them at every step, and so shape its guess of the others."""

    chunk = 16
    continues = True
    noise = (chunk, DIM)
    STEPS, RUN = 100, 16
    kept: Tensor
    scale: Tensor

    def __init__(self, width: int):
        super().__init__()
        inner = 256
        self.enter = nn.Linear(self.chunk * DIM + width + 32, inner)
        self.blocks = nn.ModuleList(mlp(inner, inner // 2, inner) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(inner) for _ in range(3))
        self.out = nn.Linear(inner, self.chunk * DIM)
        at = torch.linspace(0, 1, self.STEPS + 1)
        level = torch.cos((at + 0.008) / 1.008 * math.pi / 2).square()
        self.register_buffer("kept", (level / level[0]).clamp(1e-3, 1))  # share of the signal's variance left
        self.register_buffer("scale", torch.tensor([2.0] * 6 + [1.0]))  # arm motions are small

    def clean(self, noisy: Tensor, code: Tensor, step: Tensor) -> Tensor:
        """The network's guess of the noiseless chunk; step (n, 1) in [0, 1]."""
        rates = torch.exp(torch.linspace(0, 5, 16, device=code.device))
        clock = torch.cat([torch.sin(step * rates), torch.cos(step * rates)], -1)
        x = self.enter(torch.cat([noisy.flatten(1), code, clock], -1))
        for norm, block in zip(self.norms, self.blocks, strict=True):
            x = x + block(norm(x))
        guess: Tensor = self.out(functional.silu(x)).reshape(-1, self.chunk, DIM)
        return guess

    def loss(self, code: Tensor, actions: Tensor) -> Tensor:
        wanted = actions * self.scale
        step = torch.randint(1, self.STEPS + 1, (len(code), 1))
        kept = self.kept[step][:, :, None]
        noisy = kept.sqrt() * wanted + (1 - kept).sqrt() * torch.randn_like(wanted)
        return functional.mse_loss(self.clean(noisy, code, step / self.STEPS), wanted)

    def sample(
        self, code: Tensor, noise: Tensor | None, plan: Tensor | None = None, committed: Tensor | None = None
    ) -> Tensor:
        assert noise is not None
        x = noise
        begun = None if committed is None else torch.arange(self.chunk)[None, :, None] < committed[:, None, None]
        steps = torch.linspace(self.STEPS, 0, self.RUN + 1).round().long().tolist()
        for now, after in pairwise(steps):
            a, b = float(self.kept[now]), float(self.kept[after])
            guess = self.clean(x, code, torch.full_like(code[:, :1], now / self.STEPS)).clamp(-2, 2)
            if plan is not None and begun is not None:
                guess = torch.where(begun, plan * self.scale, guess)
            rest = (x - math.sqrt(a) * guess) / math.sqrt(1 - a)
            x = math.sqrt(b) * guess + math.sqrt(1 - b) * rest
        return (x / self.scale).clamp(-1, 1)


HEADS = {
    "point": PointHead,
    "points": Points,
    "gaussian": Gaussian,
    "mixture": Mixture,
    "variational": Variational,
    "diffusion": Diffusion,
}
