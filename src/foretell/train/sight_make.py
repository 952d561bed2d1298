"""One seeing policy of SIMPLER's robots from its recipe: demonstrations, training, export, a card for each task."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path

import torch

from foretell.registry import resolve
from foretell.robots.controller import controllers
from foretell.train.demos import FIRST_SEED, Demos
from foretell.train.export import export
from foretell.train.guided import PUSHES, guide
from foretell.train.sight import TEXT, Eye, Senses, SightStudent, fit_eye, fit_sight
from foretell.train.sight_recipes import DEMOS, PARTS, SIGHT, SightRecipe
from foretell.train.views import HEIGHT, VIEWS, WIDTH
from foretell.zoo.card import Card

__all__ = ["make_sight"]

OPEN = {"widowx": 0.6, "google_robot": 1.0}
"""How far a policy opens its gripper at most: in the sink the fingers of the WidowX would hit the walls."""


def make_sight(name: str, task: str, seed: int, out: Path, data: Path) -> Card:
    """Writes the .onnx file and the cards of all the tasks that it serves. Returns the card of `task`."""
    recipe = SIGHT[name, task]
    demos = {t: demonstrations(t, recipe, seed, data) for t in recipe.tasks}
    began = time.time()
    student = _learn(recipe, demos, seed, data)
    folder = recipe.tasks[0]
    path = out / folder / f"{name}.onnx"
    export_sight(student, folder, path)
    minutes = round((time.time() - began) / 60, 1)
    contents = path.read_bytes()
    cards = {}
    for served in recipe.tasks:
        view = VIEWS[served]
        cards[served] = Card(
            name=name,
            task=served,
            file=None if served == folder else folder,
            about=recipe.about,
            reads=[*view.own, *([] if recipe.senses.blind else view.pictures), *_reading(recipe.senses)],
            data=_data(recipe, demos, seed),
            seed=seed,
            command=f"python -m foretell.train {name} --task {served} --seed {seed}",
            training=_training(recipe),
            minutes=minutes,
            weak=recipe.weak,
            parameters=sum(p.numel() for p in student.parameters()),
            bytes=len(contents),
            sha256=hashlib.sha256(contents).hexdigest(),
        )
        (out / served).mkdir(parents=True, exist_ok=True)
        cards[served].write(out / served / f"{name}.yaml")
    return cards[task]


def export_sight(student: SightStudent, task: str, path: Path) -> None:
    """Write a student that acts in metres and radians."""
    view, kind = VIEWS[task], resolve("tasks", task)
    robots = {called: resolve("robots", mount.robot)() for called, mount in kind.robots.items()}
    action = controllers(kind.controller, robots, 1, 0.002)[1]
    student.scale.copy_(torch.from_numpy(view.scale(action)))
    student.open = OPEN[view.robot]
    inputs = {"state": torch.zeros(2, student.shape.history, 8)}
    reads = {name: replace(stream, history=student.shape.history) for name, stream in view.own.items()}
    if not student.senses.blind:
        (stream,) = view.pictures
        inputs[stream.replace("/", "__")] = torch.zeros(2, HEIGHT, WIDTH, 3, dtype=torch.uint8)
        reads |= view.pictures
    if student.senses.instruction:
        inputs["instruction"] = torch.zeros(2, TEXT, dtype=torch.uint8)
    export(student, inputs, path, action=kind.controller, state=list(view.own), reads=reads)


def demonstrations(task: str, recipe: SightRecipe, seed: int, data: Path) -> Demos:
    """The first of those in `data`; recorded anew where there are not enough."""
    count = recipe.demos or DEMOS[task]
    path = data / f"{task}-{seed}.npz"
    if path.is_file() and (kept := Demos.load(path)).count >= count:
        demos = kept.first(count)
    else:
        print(f"recording {count} demonstrations of {task}", flush=True)
        demos = guide(task, count, seed=seed)
        demos.save(path)
    return demos.beginning(PARTS[recipe.part]) if recipe.part else demos


def _learn(recipe: SightRecipe, demos: dict[str, Demos], seed: int, data: Path) -> SightStudent:
    eye = None if recipe.senses.blind else _eye(recipe, seed, data)
    return fit_sight(eye, recipe.shape, recipe.senses, demos, seed=seed, steps=recipe.steps, batch=recipe.batch)


def _eye(recipe: SightRecipe, seed: int, data: Path) -> Eye:
    """The eye for the tasks of a recipe, kept in `data`: policies with the same tasks and demonstrations share it."""
    kind = f"{'grey-' if recipe.senses.grey else ''}{recipe.demos or 'all'}-{recipe.eye}"
    path = data / f"eye-{'-'.join(recipe.tasks)}-{kind}-{seed}.pt"
    if not path.is_file():
        seen = {task: demonstrations(task, replace(recipe, part=None), seed, data) for task in recipe.tasks}
        torch.save(fit_eye(recipe.senses, seen, seed=seed, steps=recipe.eye).state_dict(), path)
    eye = Eye(recipe.senses.grey)
    eye.load_state_dict(torch.load(path))
    return eye


def _reading(senses: Senses) -> list[str]:
    return ["instruction"] if senses.instruction else []


def _data(recipe: SightRecipe, demos: dict[str, Demos], seed: int) -> str:
    counts = " + ".join(str(d.count) for d in demos.values())
    steps = sum(len(d.states) for d in demos.values())
    part = f", {recipe.part}" if recipe.part else ""
    return (
        f"{counts} demonstrations of the scripted expert{part} ({steps} actions; scenario seeds from "
        f"{FIRST_SEED + seed * 1_000_000}, which no study uses). Objects stand up to 15 % farther from the middle of "
        f"the table than the task draws them, except in the sink. A random push of 1 or 2 actions begins at "
        f"{PUSHES:.0%} of actions; the expert recovers from it, and episodes that fail are left out."
    )


def _training(recipe: SightRecipe) -> str:
    text = f"{recipe.steps} steps of AdamW, batch {recipe.batch}, on one CPU thread; the weights are a moving average."
    if not recipe.senses.blind:
        text += (
            f" Its convolutional eye learned first, in {recipe.eye} steps of batch 32, to find the objects and the "
            "hand in the picture, and is frozen; pictures were shifted by up to a pixel."
        )
    if recipe.senses.instruction:
        text += " Instructions are the task's own and two of its four paraphrases."
    return text
