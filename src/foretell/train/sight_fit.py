"""How seeing students of SIMPLER's robots learn: first the eye, which is taught where things are; then the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import mujoco
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from foretell.camera import Camera
from foretell.registry import resolve
from foretell.robots.google_robot import LENS
from foretell.rotation import conjugate, from_matrix, multiply, rotate
from foretell.train.demos import Demos
from foretell.train.features import axes, heading
from foretell.train.fit import optimizer, windows
from foretell.train.sight import WHERE, Eye, Senses, SightStudent, phrases, spelled
from foretell.train.students import Shape
from foretell.train.views import CROPS, HEIGHT, VIEWS, WIDTH

__all__ = ["brighter", "fit_eye", "fit_memory", "fit_sight", "seen"]

M = TypeVar("M", bound=nn.Module)
SPOTS = 5
"""Features of an eye that are taught where in the picture something is."""
HAND, GUESS = slice(0, 8), slice(-WHERE, None)
"""Parts of a state: the hand, an eye's guess."""


def truth(states: Tensor) -> Tensor:
    """(n, WHERE) what an eye is to guess, 1 = 10 cm. It is taught that, and no policy is given it."""
    first = heading(axes(states[:, 11:15])[0])
    turn = torch.stack([first[:, 0].square() - first[:, 1].square(), 2 * first[:, 0] * first[:, 1]], -1)
    return torch.cat([10 * states[:, 8:11], 10 * states[:, 15:18], turn], -1)


def camera(task: str) -> Camera:
    """A task's camera in the task frame; one on a robot's head stands where the head is at home."""
    kind, view = resolve("tasks", task), VIEWS[task]
    if view.camera in kind.cameras:
        own: Camera = kind.cameras[view.camera]
        return own
    mount = kind.robots[view.robot]
    robot = resolve("robots", mount.robot)()
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    for group in robot.groups.values():
        for joint, home in zip(group.joints, group.home, strict=True):
            data.joint(joint).qpos = home
    mujoco.mj_forward(model, data)
    seen = data.camera(view.camera.rpartition("/")[2])
    x, y, z = rotate(np.array(mount.quat), seen.xpos) + mount.pos
    quat = multiply(np.array(mount.quat), from_matrix(seen.xmat.reshape(3, 3)))
    return Camera(pos=(x, y, z), target=(0, 0, 0), intrinsics=LENS, quat=tuple(quat.tolist()))


def spots(task: str, states: np.ndarray, taken: Camera | None = None) -> np.ndarray:
    """(n, SPOTS, 2) where both objects, the hand and two points of the first object are in the crop, -1 to 1. `taken`:
    the camera of the pictures, if it is not the task's own."""
    looks = taken or camera(task)
    lens = looks.lens(HEIGHT, WIDTH)
    ends = [states[:, 8:11] + rotate(states[:, 11:15], np.array([x, 0.0, 0.0])) for x in (-0.04, 0.04)]
    points = np.stack([states[:, 8:11], states[:, 15:18], states[:, 0:3], *ends], axis=1)
    x, y, z = np.moveaxis(rotate(conjugate(looks.orientation), points - np.array(looks.pos)), -1, 0)
    top, bottom, left, right = CROPS[VIEWS[task].robot]
    pixels = np.stack([lens.cx - lens.fx * x / z - left, lens.cy + lens.fy * y / z - top], -1)
    places: np.ndarray = pixels / (np.array([right - left, bottom - top]) - 1) * 2 - 1
    return places.astype(np.float32)


def brighter(rng: np.random.Generator, pictures: Tensor) -> Tensor:
    """Each picture a little brighter or darker."""
    return pictures * torch.from_numpy(rng.uniform(0.92, 1.08, (len(pictures), 1, 1, 1)).astype(np.float32))


def fit_eye(
    eye: Eye,
    demos: Mapping[str, Demos],
    *,
    seed: int,
    steps: int,
    rate: float = 3e-3,
    batch: int = 48,
    taken: Camera | None = None,
    vary: Callable[[np.random.Generator, Tensor], Tensor] = brighter,
) -> Eye:
    """An eye that guesses where the objects are, and whose first features are where they are in the picture. It goes on
    from what it knows. `taken` is the camera of the pictures, if it is not the task's own; `vary` changes each batch of
    pictures (n, HEIGHT, WIDTH, 3), 0 to 255."""
    rng = np.random.default_rng([seed, 4])
    eye = eye.to(memory_format=torch.channels_last)
    data, _, _ = joined(demos)
    assert data.pictures is not None
    pictures, states = torch.from_numpy(data.pictures[:, 0]), torch.from_numpy(data.states)
    goals = torch.from_numpy(np.concatenate([spots(task, d.states, taken) for task, d in demos.items()]))
    wanted = truth(states)
    cells = torch.stack([eye.x, eye.y], -1)
    width = torch.tensor(
        [(CROPS[eye.robot][3] - CROPS[eye.robot][2]) / 8, (CROPS[eye.robot][1] - CROPS[eye.robot][0]) / 8]
    )
    chosen, schedule = optimizer(eye, steps, rate=rate)
    average = _average(eye, 0.98)
    began, losses = time.time(), np.zeros(3)
    for step in range(steps):
        now = rng.integers(len(pictures), size=batch)
        scores = eye.scores(vary(rng, pictures[now]))
        guess = eye.where(scores, states[now])
        where = functional.smooth_l1_loss(guess, wanted[now], beta=0.05)
        share = torch.log_softmax(scores[:, :SPOTS], -1)
        goal = goals[now].clamp(-1, 1)
        around = torch.softmax(-0.5 * (((cells - goal[:, :, None]) * width).square().sum(-1)), -1)
        rough = -(around * share).sum(-1).mean()
        fine = functional.smooth_l1_loss((share.exp() @ cells) * width, goal * width, beta=0.2)
        _learn(5 * where + 0.3 * (rough + fine), eye, chosen, schedule)
        average.update_parameters(eye)
        off = (guess[:, :2] - wanted[now, :2]).detach().norm(dim=-1).mean()
        losses += float(100 * off), float(rough.detach()), float(fine.detach())
        if (step + 1) % 100 == 0:
            a, b, c = losses / 100
            print(f"  step {step + 1}: {a:.1f} mm, cells {b:.3f}, way {c:.4f}, {time.time() - began:.0f} s", flush=True)
            losses[:] = 0
    return _averaged(average, Eye)


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
    """A student with an eye that stays as it is: what follows it is learned, from demonstrations that are `seen`."""
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 5])
    student, data, features, texts, kind = prepared(eye, shape, senses, demos)
    at, _, ahead = windows(data, shape.history, student.head.chunk)
    actions = torch.from_numpy(data.actions)
    learned = nn.ModuleList([m for n, m in student.named_children() if n != "eye"])
    chosen, schedule = optimizer(learned, steps, rate=1.5e-3)
    average = _average(student, 0.998)
    total = 0.0
    for step in range(steps):
        rows = rng.integers(len(at), size=batch)
        text = texts[kind[at[rows]], rng.integers(texts.shape[1], size=batch)] if senses.instruction else None
        code, _ = student.code(features[at[rows]], text, None)
        loss = student.head.loss(code, actions[ahead[rows]])
        _learn(loss, learned, chosen, schedule)
        average.update_parameters(student)
        total += float(loss.detach())
        if (step + 1) % 1000 == 0:
            print(f"  step {step + 1}: actions {total / 1000:.4f}", flush=True)
            total = 0.0
    return _averaged(average, SightStudent)


def fit_memory(
    eye: Eye | None,
    shape: Shape,
    senses: Senses,
    demos: Mapping[str, Demos],
    *,
    seed: int,
    steps: int,
    batch: int = 24,
) -> SightStudent:
    """As `fit_sight`, for a student that remembers: it learns from whole episodes, `batch` of them at a time."""
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 6])
    student, data, features, texts, kind = prepared(eye, shape, senses, demos)
    actions = torch.from_numpy(data.actions)
    learned = nn.ModuleList([m for n, m in student.named_children() if n != "eye"])
    chosen, schedule = optimizer(learned, steps, rate=1.5e-3)
    average = _average(student, 0.99)
    _, first, count = np.unique(data.episode, return_index=True, return_counts=True)
    total = 0.0
    for step in range(steps):
        rows = rng.integers(len(first), size=batch)
        memory: Tensor | None = torch.zeros(batch, senses.memory)
        text = texts[kind[first[rows]], rng.integers(texts.shape[1], size=batch)] if senses.instruction else None
        loss = torch.zeros(())
        for t in range(int(count[rows].max())):
            now = first[rows] + np.minimum(t, count[rows] - 1)
            code, memory = student.code(features[now], text, memory)
            alive = t < count[rows]
            loss = loss + student.head.loss(code[alive], actions[now[alive]][:, None]) * alive.sum()
        _learn(loss / count[rows].sum(), learned, chosen, schedule)
        average.update_parameters(student)
        total += float(loss.detach()) / count[rows].sum()
        if (step + 1) % 100 == 0:
            print(f"  step {step + 1}: actions {total / 100:.4f}", flush=True)
            total = 0.0
    return _averaged(average, SightStudent)


def seen(eye: Eye, demos: Demos) -> Demos:
    """Demonstrations whose pictures are replaced by what an eye guesses from them, at the end of each state."""
    assert demos.pictures is not None
    states, pictures = torch.from_numpy(demos.states), torch.from_numpy(demos.pictures[:, 0])
    with torch.no_grad():
        guesses = [eye(pictures[i : i + 256], states[i : i + 256]) for i in range(0, len(states), 256)]
    return replace(demos, states=torch.cat([states, torch.cat(guesses)], -1).numpy(), pictures=None)


def prepared(
    eye: Eye | None, shape: Shape, senses: Senses, demos: Mapping[str, Demos]
) -> tuple[SightStudent, Demos, Tensor, Tensor, np.ndarray]:
    """A student that has learned nothing yet, the steps of all demonstrations, (steps, size) what it makes of them, and
    what `joined` returns."""
    student = SightStudent(shape, senses, VIEWS[next(iter(demos))].robot)
    if eye is not None:
        student.eye.load_state_dict(eye.state_dict())
    data, texts, kind = joined(demos)
    states = torch.from_numpy(data.states)
    _, past, _ = windows(data, shape.history, 1)
    where = None if senses.blind else states[:, GUESS]
    features = student.features(states[past][..., HAND], where)
    student.measure(features)
    return student, data, features, texts, kind


def joined(demos: Mapping[str, Demos]) -> tuple[Demos, Tensor, np.ndarray]:
    """All demonstrations end to end; (tasks, phrases, TEXT) what each task may be asked; (steps,) the task of each."""
    texts = torch.from_numpy(np.stack([spelled(phrases(task)) for task in demos]))
    first, *others = demos.values()
    data = first
    for other in others:
        data = data + other
    kind = np.repeat(np.arange(len(demos)), [len(d.states) for d in demos.values()])
    return data, texts, kind


def _learn(loss: Tensor, module: nn.Module, chosen: Any, schedule: Any) -> None:
    """One step of the optimiser."""
    chosen.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    chosen.step()
    schedule.step()


def _average(module: nn.Module, keep: float) -> torch.optim.swa_utils.AveragedModel:
    """A moving average of its weights."""
    return torch.optim.swa_utils.AveragedModel(
        module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(keep), use_buffers=True
    )


def _averaged(average: torch.optim.swa_utils.AveragedModel, kind: type[M]) -> M:
    module = average.module
    assert isinstance(module, kind)  # the average is one of the same class
    module.eval()
    return module
