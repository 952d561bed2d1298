"""One seeing policy of SIMPLER's robots from its recipe: demonstrations, training, export, a card for each task."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from foretell.registry import resolve
from foretell.robots.controller import controllers
from foretell.train.demos import FIRST_SEED, Demos
from foretell.train.export import export
from foretell.train.guided import PUSHES, guide
from foretell.train.sight import TEXT, Eye, Senses, SightStudent
from foretell.train.sight_fit import fit_eye, fit_memory, fit_sight, seen
from foretell.train.sight_recipes import DEMOS, EYE, SIGHT, SightRecipe
from foretell.train.views import HEIGHT, VIEWS, WIDTH
from foretell.zoo.card import Card

__all__ = ["make_sight"]


def make_sight(name: str, task: str, seed: int, out: Path, data: Path) -> Card:
    """Writes the .onnx file and the cards of all the tasks that it serves. Returns the card of `task`."""
    recipe = SIGHT[name, task]
    torch.set_num_threads(1)
    for served in recipe.tasks:
        looked_at(served, seed, data)  # recorded, and the eye trained, before the time is taken
    began = time.time()
    student, demos = _learn(recipe, seed, data)
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
    view, kind, senses = VIEWS[task], resolve("tasks", task), student.senses
    robots = {called: resolve("robots", mount.robot)() for called, mount in kind.robots.items()}
    action = controllers(kind.controller, robots, 1, 0.002)[1]
    student.scale.copy_(torch.from_numpy(view.scale(action)))
    history = student.shape.history
    inputs = {"state": torch.zeros(2, history, 8)}
    reads = {name: replace(stream, history=history) for name, stream in view.own.items()}
    if not senses.blind:
        (stream,) = view.pictures
        inputs[stream.replace("/", "__")] = torch.zeros(2, HEIGHT, WIDTH, 3, dtype=torch.uint8)
        reads |= view.pictures
    if senses.instruction:
        inputs["instruction"] = torch.zeros(2, TEXT, dtype=torch.uint8)
    if senses.memory:
        inputs["memory"] = torch.zeros(2, senses.memory)
    recurrent = {"memory": "memory_next"} if senses.memory else None
    export(student, inputs, path, action=kind.controller, state=list(view.own), reads=reads, recurrent=recurrent)


def demonstrations(task: str, seed: int, data: Path) -> Demos:
    """Those in `data`; recorded where there are none."""
    path = data / f"{task}-{seed}.npz"
    if not path.is_file():
        print(f"recording {DEMOS[task]} demonstrations of {task}", flush=True)
        guide(task, DEMOS[task], seed=seed).save(path)
    return Demos.load(path)


def looked_at(task: str, seed: int, data: Path) -> tuple[Eye, Demos]:
    """The eye of the task's robot, which all its tasks share, and what it makes of the task's demonstrations."""
    robot = VIEWS[task].robot
    kept, path = data / f"eye-{robot}-{seed}.pt", data / f"{task}-seen-{seed}.npz"
    if not kept.is_file():
        every = {t: demonstrations(t, seed, data) for t in VIEWS if VIEWS[t].robot == robot}
        torch.manual_seed(seed)
        eye = Eye(robot)
        for turn, steps in enumerate(EYE[robot]):
            eye = fit_eye(eye, every, seed=seed + turn, steps=steps, rate=3e-3 / (1 + turn))
        torch.save(eye.state_dict(), kept)
    eye = Eye(robot)
    eye.load_state_dict(torch.load(kept))
    if not path.is_file():
        seen(eye, demonstrations(task, seed, data)).save(path)
    return eye, Demos.load(path)


def _learn(recipe: SightRecipe, seed: int, data: Path) -> tuple[SightStudent, dict[str, Demos]]:
    demos = {}
    for task in recipe.tasks:
        eye, every = looked_at(task, seed, data)
        middle = np.median(every.states[np.unique(every.episode, return_index=True)[1], 9])  # y of the moved object
        chosen = every.beginning(lambda state: bool(state[9] < middle)) if recipe.right else every  # noqa: B023
        demos[task] = chosen.first(recipe.demos) if recipe.demos else chosen
    fit = fit_memory if recipe.senses.memory else fit_sight
    lent = None if recipe.senses.blind else eye
    return fit(lent, recipe.shape, recipe.senses, demos, seed=seed, steps=recipe.steps, batch=recipe.batch), demos


def _reading(senses: Senses) -> list[str]:
    return ["instruction"] if senses.instruction else []


def _data(recipe: SightRecipe, demos: dict[str, Demos], seed: int) -> str:
    counts = " + ".join(str(d.count) for d in demos.values())
    steps = sum(len(d.states) for d in demos.values())
    part = ", the object in the right half of where it may lie" if recipe.right else ""
    return (
        f"{counts} demonstrations of the scripted expert{part} ({steps} actions; scenario seeds from "
        f"{FIRST_SEED + seed * 1_000_000}, which no study uses). Objects stand up to 15 % farther from the middle of "
        f"the table than the task draws them, except in the sink. A random push of 1 or 2 actions begins at "
        f"{PUSHES:.0%} of actions; the expert recovers from it, and episodes that fail are left out."
    )


def _training(recipe: SightRecipe) -> str:
    what = "episodes" if recipe.senses.memory else "actions"
    text = (
        f"{recipe.steps} steps of AdamW, batch {recipe.batch} {what}, on one CPU thread; a moving average of weights."
    )
    if not recipe.senses.blind:
        steps = " and ".join(str(n) for n in EYE[VIEWS[recipe.tasks[0]].robot])
        text += (
            f" Its convolutional eye, which all tasks of the robot share, learned first, in {steps} steps of batch 48, "
            "from all demonstrations, to say where the objects are, and is frozen."
        )
    if recipe.senses.instruction:
        text += " Instructions are the task's own and two of its four paraphrases."
    return text
