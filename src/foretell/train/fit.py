"""Training: windows of demonstrations in, a student out. One thread, one seed, so it gives the same weights again."""

from __future__ import annotations

import math
import time

import numpy as np
import torch

from foretell.train.demos import Demos
from foretell.train.students import Shape, StateStudent

__all__ = ["fit_state", "optimizer", "windows"]


def windows(demos: Demos, history: int, chunk: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices (n,), (n, history), (n, chunk) of steps that can be learned from. The first state fills the history;
    the last action fills a chunk. A chunk in which somebody else acted is no plan of the expert's, and is left out."""
    first = np.searchsorted(demos.episode, demos.episode, "left")
    last = np.searchsorted(demos.episode, demos.episode, "right") - 1
    at = np.arange(len(demos.episode))
    past = np.maximum(at[:, None] + np.arange(1 - history, 1), first[:, None])
    ahead = np.minimum(at[:, None] + np.arange(chunk), last[:, None])
    good = demos.calm[ahead].all(axis=1) if chunk > 1 else np.ones(len(at), dtype=bool)
    return at[good], past[good], ahead[good]


def optimizer(
    module: torch.nn.Module, steps: int, rate: float = 1e-3
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """AdamW, warmed up, then a cosine down to nothing."""
    chosen = torch.optim.AdamW(module.parameters(), lr=rate, weight_decay=1e-4)

    def shape(step: int) -> float:
        return min(1.0, step / 100) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))

    return chosen, torch.optim.lr_scheduler.LambdaLR(chosen, shape)


def fit_state(
    task: str, shape: Shape, demos: Demos, *, seed: int, steps: int, batch: int = 256, say: bool = True
) -> StateStudent:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 1])
    student = StateStudent(task, shape)
    states, actions = torch.from_numpy(demos.states), torch.from_numpy(demos.actions)
    student.measure(states)
    _, past, ahead = windows(demos, shape.history, student.head.chunk)
    chosen, schedule = optimizer(student, steps)
    average = torch.optim.swa_utils.AveragedModel(
        student, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998)
    )
    began, total = time.time(), 0.0
    for step in range(steps):
        rows = rng.integers(len(past), size=batch)
        loss = student.loss(states[past[rows]], actions[ahead[rows]])
        chosen.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        chosen.step()
        schedule.step()
        average.update_parameters(student)
        total += float(loss.detach())
        if say and (step + 1) % 1000 == 0:
            print(f"  step {step + 1}: loss {total / 1000:.4f}, {time.time() - began:.0f} s", flush=True)
            total = 0.0
    averaged = average.module
    assert isinstance(averaged, StateStudent)  # the average is one of the same class
    averaged.eval()
    return averaged
