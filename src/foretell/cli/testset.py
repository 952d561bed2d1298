"""Build or show a test set of perturbed scenarios.

Examples:
    foretell testset build lift can -o table.jsonl --episodes 25
    foretell testset show table.jsonl
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, cast

import tyro

from foretell.cli._flags import Json, OutFile, Switch, Workers, choice, named

__all__ = ["main"]


def main(
    *,
    action: Annotated[str, tyro.conf.Positional, choice("build", "show")],
    names: Annotated[tuple[str, ...], tyro.conf.Positional, named("[TASK ... | FILE]", default="all tasks")],
    out: OutFile,
    arms: Annotated[tuple[str, ...], named("ARM ...")],
    severity: Annotated[tuple[float, ...], named("SEVERITY ...")],
    episodes: Annotated[int, named("N")],
    seed: Annotated[int, named("SEED")],
    required: Annotated[float, named("RATE")],
    certify: Switch,
    workers: Workers,
    json_: Json = False,
) -> None:
    """Build a test set (`build lift can -o FILE`), or show one (`show FILE`). Run the same command to resume a build.

    The scripted expert runs each task under each arm (perturbation setting). What the expert does not solve stays in
    the test set, but is not held against a policy.

    Args:
        action: What to do.
        names: To build: the tasks. To show: the file.
        out: The test set file to write.
        arms: The arms, as in a study: `11`, `'{MO_Size: [0.9, 1.1]}'`. `each all` takes every factor. The arm without
            perturbation is always there.
        severity: The severities of each arm. `0.25 0.5 1` gives curves.
        episodes: Number of episodes of each task and arm.
        seed: The seed of the first scenario of each task. The seeds of the others follow.
        required: The success rate of the expert that certifies a task under an arm.
        certify: Do not run the expert. The test set then has no certificates, and policies get no score.
    """
    from foretell.study.progress import Bar
    from foretell.testset.testset import testset

    action_ = cast(Literal["build", "show"], action)  # the function refuses other words
    wanted = [_arm(text) for text in arms]
    with Bar() as bar:
        answer = testset(
            action_, names, out=out, arms=wanted, severity=severity, episodes=episodes, seed=seed, required=required,
            certify=certify, workers=workers, progress=bar.update, notify=bar.say,
        )  # fmt: skip
    print(json.dumps(answer.to_dict(), indent=2) if json_ else answer.text())
    if action == "build" and not json_:
        print(f"everything is in {answer.path}; to run it in a study: `scenarios: {{file: {answer.path}}}`")


def _arm(text: str) -> Any:
    """An arm as YAML has it: a name, a number or a mapping."""
    from foretell.document import parse_yaml

    return parse_yaml(text, "arms")
