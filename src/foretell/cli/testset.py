"""Build a test set: perturbed scenarios in one file, certified as solvable; or show one.

Examples:
    foretell testset build lift can -o table.jsonl --episodes 25
    foretell testset show table.jsonl
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

__all__ = ["main"]


def main(
    action: Annotated[Literal["build", "show"], tyro.conf.Positional],
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    arms: tuple[str, ...] = ("colosseum:each", "colosseum:all"),
    severity: tuple[float, ...] = (1.0,),
    episodes: int = 25,
    seed: int = 50_000,
    rate: float = 0.9,
    certify: bool = True,
    workers: int | None = None,
    json_: Annotated[bool, tyro.conf.arg(name="json")] = False,
) -> None:
    """Build a test set (`build lift can -o FILE`), or show one (`show FILE`).

    The scripted expert runs every cell, a task under an arm; what it cannot solve is kept, and not charged to a policy.

    Args:
        action: build or show.
        names: build: tasks, default all. show: the file.
        out: The file to write.
        arms: Perturbation arms as a study has them (11, '{MO_Size: [0.9, 1.1]}'); `each all` takes every factor. The
            clean control is always there.
        severity: Severities of every arm, such as 0.25 0.5 1 for curves.
        episodes: Episodes of each task and arm.
        seed: Scenario i of a task is the one of seed + i.
        rate: Success rate of the expert that certifies a cell.
        certify: Run the expert. Without, the test set has no certificates, and policies no headline score.
        workers: Processes; default one per core; 0 runs everything in this process.
        json_: Print JSON.
    """
    from foretell.study.progress import Bar
    from foretell.testset.testset import testset

    wanted = [_arm(text) for text in arms]
    with Bar() as bar:
        found = testset(
            action, names, out=out, arms=wanted, severities=severity, episodes=episodes, seed=seed, required=rate,
            certify=certify, workers=workers, progress=bar.update, told=bar.say,
        )  # fmt: skip
    print(json.dumps(found.to_dict(), indent=2) if json_ else found.text())
    if action == "build" and not json_:
        print(f"everything is in {found.path}; a study runs it by `scenarios: {{file: {found.path}}}`")


def _arm(text: str) -> Any:
    """An arm as YAML has it: a name, a number or a mapping."""
    from foretell.document import parse_yaml

    return parse_yaml(text, "arms")
