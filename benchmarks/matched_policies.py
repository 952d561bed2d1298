"""The policies of `matched.py`. All are trained on pictures and motion of the laboratory alone: none has ever seen the
worlds that are to foretell how it does there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from matched_lab import TASK
from torch import Tensor

from foretell.camera import Camera
from foretell.train.demos import Demos
from foretell.train.guided import guide
from foretell.train.sight import Eye, Senses
from foretell.train.sight_fit import brighter, fit_eye, fit_sight, seen
from foretell.train.sight_make import export_sight
from foretell.train.students import Shape

__all__ = ["SMALL", "STUDENTS", "learned", "make_policies"]

DEMOS, FEW, SEED = 240, 64, 51
"""Demonstrations, those of a small study, and the seed of both."""
SMALL = ("mlp", "few", "brief", "blind")
"""Policies of a small study."""


def learned(count: int) -> int:
    """Of so many demonstrations, those that are learned from. Actions are tested on the others."""
    return count - count // 8


def coloured(rng: np.random.Generator, pictures: Tensor) -> Tensor:
    """Each picture with another light: red, green and blue up to 35 % brighter or darker, and a little noise."""
    gain = rng.uniform(0.65, 1.35, (len(pictures), 1, 1, 3)).astype(np.float32)
    noise = rng.normal(0, 6, pictures.shape).astype(np.float32)
    return (pictures * torch.from_numpy(gain) + torch.from_numpy(noise)).clamp(0, 255)


def recoloured(rng: np.random.Generator, pictures: Tensor) -> Tensor:
    """Each picture in quite other colours: those of the cube of red, green and blue, turned about its middle at random,
    with more or less contrast and light."""
    turns = np.linalg.qr(rng.normal(size=(len(pictures), 3, 3)))[0] * rng.uniform(0.6, 1.3, (len(pictures), 1, 1))
    middle = 128 + rng.uniform(-40, 40, (len(pictures), 1, 1, 3))
    turned = torch.einsum("nhwc,ncd->nhwd", pictures - 128.0, torch.from_numpy(turns.astype(np.float32)))
    return (turned + torch.from_numpy(middle.astype(np.float32))).clamp(0, 255)


EYES: dict[str, tuple[int, Callable[[np.random.Generator, Tensor], Tensor], str | None]] = {
    "plain": (2000, brighter, None),
    "coloured": (700, coloured, "plain"),
    "recoloured": (1200, recoloured, "plain"),
}
"""Steps of training, how pictures are varied meanwhile, and the eye that it starts as."""


@dataclass(frozen=True, kw_only=True)
class Student:
    """One policy."""

    eye: str | None = "plain"
    shape: Shape = field(default_factory=lambda: Shape(head="point"))
    demos: int = learned(DEMOS)
    steps: int = 2500
    batch: int = 256


STUDENTS = {
    "mlp": Student(),
    "mlp-coloured": Student(eye="coloured"),
    "dp": Student(shape=Shape(head="diffusion", execute=8), steps=2000),
    "vae": Student(eye="coloured", shape=Shape(head="variational", execute=4), steps=2000),
    "gmm": Student(shape=Shape(head="mixture"), steps=2000),
    "few": Student(demos=40, steps=1000),
    "brief": Student(steps=600),
    "blind": Student(eye=None, steps=600),
    "mlp-recoloured": Student(eye="recoloured"),
    "dp-recoloured": Student(eye="recoloured", shape=Shape(head="diffusion", execute=8), steps=2000),
}


def make_policies(lab: Path, camera: Camera, folder: Path, small: bool = False) -> None:
    """Demonstrations, eyes and policies, each only where its file is not there yet."""
    torch.set_num_threads(1)
    count = FEW if small else DEMOS
    demos = demonstrations(lab, folder / "demos.npz", count).first(learned(count))
    (folder / "policies").mkdir(exist_ok=True)
    for name in SMALL if small else STUDENTS:
        student = STUDENTS[name]
        path = folder / "policies" / f"{name}.onnx"
        if not path.is_file():
            eye = None if student.eye is None else make_eye(student.eye, demos, camera, folder)
            print(f"policy {name}", flush=True)
            train(student, demos, eye, path)


def demonstrations(lab: Path, path: Path, count: int) -> Demos:
    if not path.is_file():
        print(f"recording {count} demonstrations in the laboratory", flush=True)
        guide(TASK, count, seed=SEED, world=str(lab)).save(path)
    return Demos.load(path)


def make_eye(name: str, demos: Demos, camera: Camera, folder: Path) -> Eye:
    """Taught where the objects are, as the zoo's eyes are; then it stays as it is while policies learn."""
    torch.manual_seed(SEED)
    path, eye, (steps, vary, start) = folder / f"eye-{name}.pt", Eye("widowx"), EYES[name]
    if not path.is_file():
        print(f"eye {name}", flush=True)
        if start is not None:
            eye = make_eye(start, demos, camera, folder)
        eye = fit_eye(eye, {TASK: demos}, seed=SEED, steps=steps, taken=camera, vary=vary)
        torch.save(eye.state_dict(), path)
    eye.load_state_dict(torch.load(path))
    return eye.eval()


def train(student: Student, demos: Demos, eye: Eye | None, path: Path) -> None:
    data = demos.first(student.demos)
    if eye is not None:
        data = seen(eye, data)
    senses = Senses(blind=eye is None)
    made = fit_sight(eye, student.shape, senses, {TASK: data}, seed=SEED, steps=student.steps, batch=student.batch)
    export_sight(made, TASK, path)
