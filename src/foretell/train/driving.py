"""Students that navigate: distances and the goal in, one of four actions out. By imitation, then by reward."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from foretell.robots.base import CHOICES
from foretell.robots.locobot import LoCoBot
from foretell.train.course import RAYS, Course, routes
from foretell.train.fit import optimizer

__all__ = ["DrivingShape", "DrivingStudent", "imitate", "reinforce"]


@dataclass(frozen=True, kw_only=True)
class DrivingShape:
    """What a student reads, and how it is built."""

    stream: str
    width: int = 128
    memory: int = 0
    """Numbers that a recurrent student keeps; 0: it keeps none."""


class DrivingStudent(nn.Module):
    """An MLP, with a GRU cell before its last layer where it has a memory."""

    def __init__(self, shape: DrivingShape):
        super().__init__()
        self.shape, width = shape, shape.width
        self.body = nn.Sequential(
            nn.Linear(2 * RAYS[shape.stream] + 7, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.cell = nn.GRUCell(width, shape.memory) if shape.memory else None
        self.choice = nn.Linear(shape.memory or width, len(CHOICES))
        self.worth = nn.Linear(shape.memory or width, 1)

    def features(self, seen: torch.Tensor) -> torch.Tensor:
        """(n, rays + 3) as a world shows it -> (n, features)."""
        rays, far, bearing, bump = seen[:, :-3], seen[:, -3:-2], seen[:, -2:-1], seen[:, -1:]
        near = torch.exp(-2.0 * rays)
        goal = [far / LoCoBot.FURTHEST, torch.exp(-far), torch.exp(-8.0 * far), torch.cos(bearing), torch.sin(bearing)]
        ahead = torch.sigmoid(8.0 * (bearing.abs() - 0.26))  # 15 degrees: a turn of 30 would help
        return torch.cat([rays / LoCoBot.FURTHEST, near, *goal, ahead, bump], dim=1)

    def think(self, seen: torch.Tensor, memory: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """What the last layer reads (n, width), and the next memory (n, memory)."""
        hidden: torch.Tensor = self.body(self.features(seen))
        if self.cell is None:
            return hidden, hidden[:, :0]
        kept: torch.Tensor = self.cell(hidden, memory)
        return kept, kept

    def forward(
        self, seen: torch.Tensor, noise: torch.Tensor, memory: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions (n, 1, 4), of which the largest is drawn by its chance, from normal noise (n, 4); the next memory. A
        student that takes the likeliest action turns left and right for ever where two are almost as likely."""
        hidden, kept = self.think(seen, memory)
        share = (0.5 + 0.5 * torch.erf(noise / math.sqrt(2.0))).clamp(1e-6, 1.0 - 1e-6)
        drawn = self.choice(hidden) - torch.log(-torch.log(share))
        return torch.softmax(drawn, dim=1)[:, None], kept

    def rest(self, count: int) -> torch.Tensor:
        """The memory at the start of an episode (count, memory)."""
        return torch.zeros(count, self.shape.memory)


def imitate(
    shape: DrivingShape, *, seed: int, rounds: int, length: int, steps: int, slots: int = 64, world: Any = None
) -> DrivingStudent:
    """Clone the expert. The expert drives in the first round, and in the others the student does, more and more, while
    the expert says what it would do (DAgger). Each round is `length` actions in `slots` episodes side by side, and
    `steps` of the optimiser on all that was seen so far."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 3])
    course = Course(world or {}, routes(4 * slots, seed), slots, shape.stream)
    student = DrivingStudent(shape)
    seen, wanted, fresh = [], [], []
    for number in range(rounds):
        share = number / max(rounds - 1, 1)
        memory, begins = student.rest(slots), np.ones(slots, dtype=bool)
        drives = rng.uniform(size=slots) < share
        for _ in range(length):
            state, advice = course.look(), course.advice()
            with torch.no_grad():
                memory[torch.from_numpy(begins)] = 0.0
                actions, memory = student(torch.from_numpy(state), torch.randn(slots, len(CHOICES)), memory)
            own = actions[:, 0].argmax(dim=1).numpy()
            seen.append(state)
            wanted.append(advice)
            fresh.append(begins)
            begins, _ = course.step(np.where(drives, own, advice))
            drives = np.where(begins, rng.uniform(size=slots) < share, drives)
        fit = _follow if shape.memory else _clone
        loss = fit(student, np.array(seen), np.array(wanted), np.array(fresh), steps, rng)
        print(f"  round {number + 1} of {rounds}: loss {loss:.3f}", flush=True)
    return student


def _clone(student: DrivingStudent, seen: Any, wanted: Any, fresh: Any, steps: int, rng: np.random.Generator) -> float:
    """Learn single actions. seen: (time, slots, ...), wanted: (time, slots)."""
    states, labels = torch.from_numpy(seen.reshape(-1, seen.shape[-1])), torch.from_numpy(wanted.reshape(-1))
    chosen, schedule = optimizer(student, steps)
    total = 0.0
    for _ in range(steps):
        rows = rng.integers(len(states), size=256)
        hidden, _ = student.think(states[rows])
        loss = nn.functional.cross_entropy(student.choice(hidden), labels[rows], label_smoothing=0.02)
        total += _update(student, loss, chosen)
        schedule.step()
    return total / steps


def _follow(student: DrivingStudent, seen: Any, wanted: Any, fresh: Any, steps: int, rng: np.random.Generator) -> float:
    """Learn stretches of 16 actions, with what is remembered from one to the next."""
    states, labels, begins = (torch.from_numpy(x) for x in (seen, wanted, fresh))
    chosen, schedule = optimizer(student, steps)
    total, span = 0.0, 16
    for _ in range(steps):
        at, slot = rng.integers(len(states) - span + 1, size=24), rng.integers(states.shape[1], size=24)
        memory, loss = student.rest(24), torch.zeros(())
        for k in range(span):
            memory = torch.where(begins[at + k, slot][:, None], torch.zeros(()), memory)
            hidden, memory = student.think(states[at + k, slot], memory)
            loss = loss + nn.functional.cross_entropy(student.choice(hidden), labels[at + k, slot]) / span
        total += _update(student, loss, chosen)
        schedule.step()
    return total / steps


def _update(student: nn.Module, loss: torch.Tensor, chosen: torch.optim.Optimizer) -> float:
    chosen.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(student.parameters(), 0.5)
    chosen.step()
    return float(loss.detach())


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """Actions of all slots, end to end."""

    seen: torch.Tensor
    choice: torch.Tensor
    logp: torch.Tensor
    gain: torch.Tensor
    worth: torch.Tensor


STEP_COST, PRIZE, DISCOUNT, TRACE = 0.02, 5.0, 0.99, 0.95
"""What an action costs; what an arrival is worth, in m; and the two decays of generalised advantages."""


def reinforce(
    student: DrivingStudent, *, world: Any, seed: int, updates: int, slots: int = 64, length: int = 48
) -> DrivingStudent:
    """Go on learning by reward in a world: metres gained along the floor, a cost per action, a prize for arriving
    (proximal policy optimisation). A student without memory only."""
    torch.set_num_threads(1)
    torch.manual_seed(seed + 1)
    course = Course(world, routes(4 * slots, seed + 1), slots, student.shape.stream)
    chosen = torch.optim.Adam(student.parameters(), lr=3e-4)
    for number in range(updates):
        batch, rate = _drive(student, course, length)
        for rows in (r for _ in range(3) for r in torch.randperm(len(batch.choice)).split(768)):
            hidden, _ = student.think(batch.seen[rows])
            law = torch.distributions.Categorical(logits=student.choice(hidden))
            ratio = torch.exp(law.log_prob(batch.choice[rows]) - batch.logp[rows])
            gain = batch.gain[rows]
            surrogate = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            error = (student.worth(hidden)[:, 0] - batch.worth[rows]).pow(2).mean()
            _update(student, -surrogate + 0.5 * error - 0.003 * law.entropy().mean(), chosen)
        if number % 10 == 9 or number == updates - 1:
            print(f"  update {number + 1} of {updates}: {rate:.0%} of episodes arrive", flush=True)
    return student


def _drive(student: DrivingStudent, course: Course, length: int) -> tuple[_Batch, float]:
    """Act by chance for `length` actions; how the rewards compare with what was expected."""
    seen, choices, logps, worths, rewards, ends = [], [], [], [], [], []
    arrived = tried = 0
    state, left = course.look(), course.left()
    for _ in range(length):
        with torch.no_grad():
            hidden, _ = student.think(torch.from_numpy(state))
            law = torch.distributions.Categorical(logits=student.choice(hidden))
            choice = law.sample()
            worths.append(student.worth(hidden)[:, 0])
        seen.append(state)
        choices.append(choice)
        logps.append(law.log_prob(choice))
        ended, solved = course.step(choice.numpy())
        state, now = course.look(), course.left()
        gained = np.where(ended, 0.0, left - now) - STEP_COST + PRIZE * solved
        rewards.append(torch.from_numpy(gained.astype(np.float32)))
        ends.append(torch.from_numpy(ended))
        left, arrived, tried = now, arrived + int(solved.sum()), tried + int(ended.sum())
    with torch.no_grad():
        following = student.worth(student.think(torch.from_numpy(state))[0])[:, 0]
    gains, gain = [], torch.zeros(len(state))
    for reward, end, worth in zip(reversed(rewards), reversed(ends), reversed(worths), strict=True):
        more = torch.where(end, torch.zeros(()), following)
        gain = reward + DISCOUNT * more - worth + DISCOUNT * TRACE * torch.where(end, torch.zeros(()), gain)
        gains.append(gain)
        following = worth
    advantage, worth = torch.cat(gains[::-1]), torch.cat(worths)
    scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    batch = _Batch(
        seen=torch.from_numpy(np.concatenate(seen)), choice=torch.cat(choices), logp=torch.cat(logps), gain=scaled,
        worth=advantage + worth,
    )  # fmt: skip
    return batch, arrived / max(tried, 1)
