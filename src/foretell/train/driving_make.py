"""Policies of the zoo that navigate, from their recipes: training, export, card."""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from foretell.policies.annotate import annotate
from foretell.robots.base import CHOICES
from foretell.spec import Stream
from foretell.train.course import RAYS
from foretell.train.driving import DrivingShape, DrivingStudent, imitate, reinforce
from foretell.train.driving_guess import CAMERA, PICTURE, GuessingStudent, learn_depth
from foretell.zoo.card import Card

__all__ = ["DRIVING", "TASK", "DrivingRecipe", "make_driving"]

TASK = "pointnav"
GUESSES = 3000
"""Steps of the optimiser that learns to guess depths."""
OWN = {"goal/polar": 2, "locobot/bump": 1}
"""What every student reads besides distances -> numbers."""


@dataclass(frozen=True, kw_only=True)
class DrivingRecipe:
    """One policy that navigates."""

    about: str
    shape: DrivingShape
    rounds: int = 5
    """Of imitation; the student drives more and more."""
    length: int = 100
    """Actions of each episode in a round, in 64 side by side."""
    steps: int = 1500
    """Of the optimiser in each round."""
    world: dict[str, Any] | None = None
    """Where it goes on learning by reward; None: it does not."""
    updates: int = 50
    frames: int = 0
    """Pictures from which it learns to guess depths; 0: it reads them."""
    seed: int = 0
    weak: str | None = None


LIDAR, DEPTH = DrivingShape(stream="locobot/lidar"), DrivingShape(stream="locobot/depth_rays")
DRIVING = {
    "nav-lidar": DrivingRecipe(about="Clones the shortest way from lidar: an MLP.", shape=LIDAR),
    "nav-depth": DrivingRecipe(about="Clones the shortest way from a row of depths: an MLP.", shape=DEPTH),
    "nav-rnn": DrivingRecipe(
        about="Clones the shortest way from a row of depths: a GRU that remembers.",
        shape=DrivingShape(stream="locobot/depth_rays", memory=96), rounds=6, steps=700,
    ),
    "nav-few": DrivingRecipe(
        about="Clones the shortest way from lidar, from few demonstrations: an MLP.",
        shape=LIDAR, rounds=1, length=12, steps=400,
        weak="on purpose: one round of 12 actions in 64 episodes, and 400 steps",
    ),
    "nav-slide": DrivingRecipe(
        about="Goes on learning by reward where robots slide along walls: an MLP on lidar.",
        shape=LIDAR, world={"theta": {"sliding": True}},
    ),
    "nav-careful": DrivingRecipe(
        about="Goes on learning by reward where robots stop at walls: an MLP on lidar.",
        shape=LIDAR, world={"theta": {"sliding": False}},
    ),
    "nav-guess": DrivingRecipe(
        about="nav-depth, with depths that a small CNN guesses from the camera's picture.", shape=DEPTH, frames=6000
    ),
}  # fmt: skip
"""nav-slide and nav-careful differ in one thing: the world of their rewards."""


SPEC: dict[str, Any] = {"action": "steps", "action_rate": 1.0, "chunk": 1, "execute": 1, "noise": "noise"}


class _Exported(nn.Module):
    """A student with one input for each stream."""

    def __init__(self, student: DrivingStudent):
        super().__init__()
        self.student = student

    def forward(self, rays: Any, goal: Any, bump: Any, noise: Any, memory: Any = None) -> Any:
        actions, kept = self.student(torch.cat([rays, goal, bump], dim=1), noise, memory)
        return actions if memory is None else (actions, kept)


def make_driving(name: str, task: str, seed: int, out: Path, data: Path) -> Card:
    """Writes out/pointnav/NAME.onnx and its card. `data` keeps the student that others go on from."""
    recipe, began = DRIVING[name], time.time()
    student = _cloned(recipe, seed, data)
    if recipe.world is not None:
        reinforce(student, world=recipe.world, seed=seed, updates=recipe.updates)
    path = out / TASK / f"{name}.onnx"
    if recipe.frames:
        guessing = learn_depth(student, seed=seed, frames=recipe.frames, steps=GUESSES)
        _export_guess(guessing, path)
    else:
        _export(student, path)
    contents = path.read_bytes()
    card = Card(
        name=name,
        task=TASK,
        about=recipe.about,
        reads=[CAMERA if recipe.frames else recipe.shape.stream, *OWN],
        data=_data(recipe),
        seed=seed,
        command=f"python -m foretell.train {name} --task {TASK} --seed {seed}",
        training=_training(recipe),
        minutes=round((time.time() - began) / 60, 1),
        weak=recipe.weak,
        parameters=sum(p.numel() for p in (guessing if recipe.frames else student).parameters()),
        bytes=len(contents),
        sha256=hashlib.sha256(contents).hexdigest(),
    )
    card.write(path.with_suffix(".yaml"))
    return card


def _cloned(recipe: DrivingRecipe, seed: int, data: Path) -> DrivingStudent:
    """A student that clones the expert; the one in `data`, where it was made before from the same numbers."""
    made = (seed, recipe.shape, recipe.rounds, recipe.length, recipe.steps)
    path = data / f"{TASK}-{hashlib.sha256(repr(made).encode()).hexdigest()[:12]}.pt"
    student = DrivingStudent(recipe.shape)
    if path.is_file():
        student.load_state_dict(torch.load(path, weights_only=True))
        return student
    student = imitate(recipe.shape, seed=seed, rounds=recipe.rounds, length=recipe.length, steps=recipe.steps)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(student.state_dict(), path)
    return student


def _export(student: DrivingStudent, path: Path) -> None:
    shape = student.shape
    sizes = {shape.stream: RAYS[shape.stream], **OWN}
    inputs = {stream: torch.zeros(2, size) for stream, size in sizes.items()}
    inputs["noise"] = torch.zeros(2, len(CHOICES))
    outputs = ["actions"]
    if shape.memory:
        inputs["memory"] = student.rest(2)
        outputs.append("next_memory")
    _write(_Exported(student), inputs, outputs, path)
    annotate(
        path, reads={stream: Stream((size,)) for stream, size in sizes.items()}, **SPEC,
        recurrent={"memory": "next_memory"} if shape.memory else None,
    )  # fmt: skip


def _export_guess(student: GuessingStudent, path: Path) -> None:
    inputs = {CAMERA: torch.zeros(2, *PICTURE, dtype=torch.uint8)}
    inputs |= {stream: torch.zeros(2, size) for stream, size in OWN.items()}
    inputs["noise"] = torch.zeros(2, len(CHOICES))
    _write(student, inputs, ["actions"], path)
    reads = {CAMERA: Stream(PICTURE), **{stream: Stream((size,)) for stream, size in OWN.items()}}
    annotate(path, reads=reads, **SPEC)


def _write(module: nn.Module, inputs: dict[str, torch.Tensor], outputs: list[str], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that needs no further package is called legacy
        torch.onnx.export(
            module, tuple(inputs.values()), str(path), input_names=list(inputs), output_names=outputs,
            dynamic_axes={name: {0: "batch"} for name in [*inputs, *outputs]}, opset_version=17, dynamo=False,
        )  # fmt: skip


def _data(recipe: DrivingRecipe) -> str:
    text = (
        f"{64 * recipe.rounds * recipe.length} actions of the scripted expert, which follows the shortest way, "
        "on 256 routes through apartments that no study uses"
    )
    return text + ("." if recipe.rounds == 1 else "; the student drives more and more (DAgger).")


def _training(recipe: DrivingRecipe) -> str:
    text = f"{recipe.rounds * recipe.steps} steps of AdamW on one CPU thread."
    if recipe.world is not None:
        slides = "sliding along" if recipe.world["theta"]["sliding"] else "stopping at"
        text += f" Then {recipe.updates} updates of proximal policy optimisation with {slides} walls."
    return text
