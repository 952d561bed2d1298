"""Arguments that several verbs share. Each has one name in help (`RUN`, `STUDY`) and one sentence, the same everywhere.

Where the sentence depends on the verb, the type here has none, and the verb's docstring has it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import tyro

__all__ = [
    "Alpha",
    "Arm",
    "Clock",
    "Confidence",
    "Episode",
    "Fitted",
    "Horizon",
    "Json",
    "Metric",
    "OutFile",
    "OutRun",
    "Policies",
    "Policy",
    "Real",
    "Run",
    "Runs",
    "Seed",
    "Sim",
    "Slots",
    "StandIn",
    "Study",
    "Switch",
    "Task",
    "Workers",
    "World",
    "choice",
    "named",
]


def named(metavar: str | None, sentence: str | None = None, *, default: str = "", short: str | None = None) -> object:
    """How help shows an argument: its metavar, its sentence, and its default.

    `default` says in words what happens without the flag, where the default is None or empty. A default that is a value
    is shown as it is.
    """
    aliases = None if short is None else [short]
    return tyro.conf.arg(metavar=metavar, help=sentence, aliases=aliases, help_behavior_hint=_hint(default))


def choice(*words: str, default: str = "") -> object:
    """How help shows an argument that is one of some words: `{build,show}`. The Python function refuses others, and
    suggests the nearest one."""
    return named(f"{{{','.join(words)}}}", default=default)


def _hint(words: str) -> Callable[[str], str]:
    def hint(label: str) -> str:
        shown = words if label in ("", "None", "True", "False") else " ".join(map(_short, label.split(" ")))
        return f"(default: {shown})" if shown else ""

    return hint


def _short(number: str) -> str:
    """8.0 is shown as 8."""
    return number[:-2] if number.endswith(".0") and number[:-2].isdigit() else number


Switch = Annotated[bool, named(None)]
"""A flag without a value."""

Json = Annotated[bool, tyro.conf.arg(name="json"), named(None, "Print the result as JSON.")]

Run = Annotated[Path, tyro.conf.Positional, named("RUN", "A run folder.")]
Runs = Annotated[tuple[Path, ...], tyro.conf.Positional, named("RUN ...", "One or more run folders.")]
Episode = Annotated[
    str,
    tyro.conf.Positional,
    named("EPISODE", "The key of the episode, or its first characters. `foretell show RUN --episodes` lists the keys."),
]
Study = Annotated[Path, tyro.conf.Positional, named("STUDY", "A study file (YAML).")]

OutRun = Annotated[Path | None, named("RUN", "The run folder to write.", default="runs/NAME", short="-o")]
OutFile = Annotated[Path | None, named("FILE", short="-o")]

Real = Annotated[Path | None, named("RUN|FILE", "Real trials: a run folder, or a CSV or Parquet file.")]
Sim = Annotated[
    Path | None, named("RUN|FILE", "Simulations of the same scenarios: a run folder, or a CSV or Parquet file.")
]
Fitted = Annotated[
    bool, named(None, "Count real trials that the simulator was fitted to as evidence. The answer says so.")
]
StandIn = Annotated[bool, named(None, "Accept real trials from a simulated world that stands in for reality.")]

Policy = Annotated[str | None, named("POLICY", "Choose one policy, if there are several.")]
Policies = Annotated[tuple[str, ...], named("POLICY ...", "Choose one or more policies.", default="all")]
Task = Annotated[str | None, named("TASK", "Choose one task, if there are several.")]
Clock = Annotated[str | None, named("CLOCK", "Choose one clock, if there are several.")]
Arm = Annotated[str | None, named("ARM", "Choose one arm (perturbation setting), if there are several.")]
Metric = Annotated[
    str | None,
    named("COLUMN", "The column that holds the outcome.", default="success in run folders, else score or success"),
]
World = Annotated[str, named("WORLD")]

Alpha = Annotated[float, named("ALPHA", "One minus the confidence level.")]
Confidence = Annotated[
    float | None, named("PERCENT", "The confidence level in percent, such as 95. Use it instead of --alpha.")
]
Horizon = Annotated[int | Literal["open"] | None, named("N|open")]
Seed = Annotated[int, named("SEED", "The seed of the random resampling behind the intervals.")]

Workers = Annotated[
    int | None, named("N", "Number of processes. 0 runs everything in this process.", default="one per core")
]
Slots = Annotated[
    int, named("N", "Number of episodes that each process runs side by side. It does not change the results.")
]
