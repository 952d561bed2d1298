"""One policy from its recipe: demonstrations, training, export, card."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import torch
from torch import nn

from foretell.train.demos import CAMERAS, FIRST_SEED, Demos, record, streams
from foretell.train.export import export_state
from foretell.train.fit import fit_state
from foretell.train.recipes import PARTS, RECIPES, Recipe
from foretell.train.vision import OWN, VisionStudent, export_vision, fit_head, fit_vision
from foretell.zoo.card import Card

__all__ = ["make"]

PUSHES = 0.04
"""Chance per action that a disturbance begins."""


def make(name: str, task: str, seed: int, out: Path, data: Path) -> Card:
    """Writes out/TASK/NAME.onnx and its card. Demonstrations are kept in `data` and used again."""
    recipe = RECIPES[name, task]
    demos = demonstrations(task, recipe.demos, seed, data, recipe.vision, recipe.part)
    began = time.time()
    path = out / task / f"{name}.onnx"
    if recipe.vision:
        seeing = _see(name, task, recipe, demos, seed, data)
        export_vision(seeing, path)
        student: nn.Module = seeing
        reads = [*OWN, *(f"{c}/rgb" for c in CAMERAS)]
    else:
        blind = fit_state(task, recipe.shape, demos, seed=seed, steps=recipe.steps, batch=recipe.batch)
        export_state(task, blind, path)
        student = blind
        reads = streams(task)
    contents = path.read_bytes()
    card = Card(
        name=name,
        task=task,
        about=recipe.about,
        reads=reads,
        data=(
            f"{recipe.demos} demonstrations of the scripted expert{f', {recipe.part}' if recipe.part else ''} "
            f"({len(demos.states)} actions; scenario seeds from {FIRST_SEED + seed * 1_000_000}, which no study uses). "
            f"A random push of 1 to 6 actions begins at {PUSHES:.0%} of actions; the expert recovers from it, and "
            "episodes that fail are left out."
        ),
        seed=seed,
        command=f"python -m foretell.train {name} --task {task} --seed {seed}",
        training=_training(name, recipe),
        minutes=round((time.time() - began) / 60, 1),
        weak=recipe.weak,
        parameters=sum(p.numel() for p in student.parameters()),
        bytes=len(contents),
        sha256=hashlib.sha256(contents).hexdigest(),
    )
    card.write(path.with_suffix(".yaml"))
    return card


def demonstrations(task: str, count: int, seed: int, data: Path, cameras: bool, part: str | None = None) -> Demos:
    """The first `count` of those in `data`; recorded anew where there are not enough."""
    path = data / f"{task}{'-pictures' if cameras else ''}{'-part' if part else ''}-{seed}.npz"
    if path.is_file() and (kept := Demos.load(path)).count >= count:
        return kept.first(count)
    print(f"recording {count} demonstrations of {task}", flush=True)
    where = PARTS[part] if part else lambda scenario: True
    demos = record(task, count, seed=seed, pushes=PUSHES, cameras=cameras, where=where)
    demos.save(path)
    return demos


def _see(name: str, task: str, recipe: Recipe, demos: Demos, seed: int, data: Path) -> VisionStudent:
    eyes = data / f"{task}-eyes-{seed}.pt"
    if not recipe.borrows:
        student = fit_vision(recipe.shape, demos, seed=seed, steps=recipe.steps, batch=recipe.batch)
        eyes.parent.mkdir(parents=True, exist_ok=True)
        torch.save(student.state_dict(), eyes)
        return student
    lender = RECIPES[recipe.borrows, task]
    encoder = VisionStudent(lender.shape)
    if not eyes.is_file():
        make(recipe.borrows, task, seed, data / "eyes", data)
    encoder.load_state_dict(torch.load(eyes))
    return fit_head(encoder, recipe.shape, demos, seed=seed, steps=recipe.steps, batch=recipe.batch)


def _training(name: str, recipe: Recipe) -> str:
    text = f"{recipe.steps} steps of AdamW, batch {recipe.batch}, on one CPU thread; the weights are a moving average."
    if recipe.borrows:
        text += f" Its two convolutional encoders are those of {recipe.borrows}, frozen."
    elif recipe.vision:
        text += " Pictures are shifted by up to 4 pixels; the encoder was also taught where the object is."
    return text
