"""What to tune, as a user writes it under `tune:` in a study: typed models, one definition for YAML, Python and command
line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from foretell.errors import UsageError, suggest
from foretell.study.config import Study, load_study
from foretell.study.run import with_names
from foretell.tune.objective import OBJECTIVES
from foretell.world_file import explain

__all__ = ["WAYS", "Folds", "HoldOut", "Tuning", "Values", "load_tuning"]

WAYS = ("grid", "tpe", "gp", "cma")
STEPS = 11
"""Values of a range in a grid: those of the paper (Kadian et al. 2020)."""
TRIALS = 30


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Values(_Model):
    """Values that one parameter may take: a range (`[0, 1]`), or choices (`[true, false]`, `[0, 0.5, 2]`)."""

    low: float | None = None
    high: float | None = None
    log: bool = False
    """Whether the range is searched by ratios."""
    steps: int = Field(default=STEPS, ge=2, le=1000)
    """Values of a range in a grid, with both ends."""
    choices: tuple[bool | int | float | str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, dict | Values):
            return value
        if not isinstance(value, list | tuple) or len(value) < 2:
            raise ValueError("should be [low, high], a list of choices, or such as {low: 0.5, high: 2, log: true}")
        range_ = len(value) == 2 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value)
        return {"low": value[0], "high": value[1]} if range_ else {"choices": tuple(value)}

    @model_validator(mode="after")
    def _sound(self) -> Values:
        if self.choices:
            if self.low is not None or self.high is not None:
                raise ValueError("give either `choices` or `low` and `high`, not both")
            if len(set(map(repr, self.choices))) < max(2, len(self.choices)):
                raise ValueError("`choices` should be two or more different values")
        elif self.low is None or self.high is None or not self.low < self.high:
            raise ValueError(f"`low` should be below `high`; they are {self.low} and {self.high}")
        elif self.log and self.low <= 0:
            raise ValueError(f"`log` needs `low` above 0; it is {self.low:g}")
        return self


class Folds(_Model):
    """Cross-validation: each group of policies is judged in worlds that were fitted without it, on scenarios that these
    worlds were not fitted to. 1: none are held out. None: 4, but 2 groups of scenarios in a search, where each fold is
    a search of its own; in a grid folds cost nothing."""

    policies: int | None = Field(default=None, ge=1, le=100)
    scenarios: int | None = Field(default=None, ge=1, le=100)


class HoldOut(_Model):
    """A part that the search never sees, in place of cross-validation."""

    policies: float | tuple[str, ...] = ()
    """Names, or the share of the policies."""
    scenarios: float = Field(default=0.0, ge=0, lt=1)
    """Share of the scenarios of each task."""

    @field_validator("policies", mode="before")
    @classmethod
    def _share(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not 0 <= value < 1:
            raise ValueError("should be a share from 0 to 1, or a list of names")
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _something(self) -> HoldOut:
        if not self.policies and not self.scenarios:
            raise ValueError("holds out nothing: give `policies`, `scenarios` or both")
        return self


class Tuning(_Model):
    """max over θ of predictivity(sim(θ), real)."""

    real: Path
    """The run folder of the real episodes. They are fixed, and so are the policies."""
    space: dict[str, Values] = Field(min_length=1)
    """Field of the world file, such as theta.kp_scale or theta.robots.panda.kp_scale -> its values."""
    way: Literal["grid", "tpe", "gp", "cma"] = "grid"
    trials: int = Field(default=TRIALS, ge=2, le=100_000)
    """Values of θ that a search tries; a grid tries all of its cells."""
    metric: str = "pearson"
    """What is improved: a metric of `foretell predictivity`, or `scenario_correlation`."""
    of: str = "success"
    """What is measured in each episode: success, score, or a metric of the task."""
    folds: Folds = Folds()
    hold_out: HoldOut | None = None
    seed: int = Field(default=0, ge=0, le=2**31)

    @field_validator("metric")
    @classmethod
    def _metric(cls, value: str) -> str:
        if value not in OBJECTIVES:
            raise ValueError(f"{value!r:.80} is not known; {suggest(value, OBJECTIVES)}")
        return value

    @model_validator(mode="after")
    def _one_check(self) -> Tuning:
        if self.hold_out is not None and self.folds != Folds():
            raise ValueError("give either `folds` or `hold_out`, not both")
        return self

    def number(self, of: Literal["policies", "scenarios"]) -> int:
        """Folds of policies or of scenarios."""
        return getattr(self.folds, of) or (2 if of == "scenarios" and self.way != "grid" else 4)


def load_tuning(
    source: Study | dict[str, Any] | str | Path, given: Mapping[str, Any], objects: Mapping[str, Any] | None = None
) -> tuple[Study, Tuning]:
    """A study and its section `tune`. given: fields that take the place of those in the section, where not None."""
    study = load_study(with_names(source, objects) if objects and isinstance(source, dict) else source)
    section = dict(study.tune or {})
    if isinstance(source, str | Path) and isinstance(real := section.get("real"), str):
        beside = Path(source).resolve().parent / real
        section["real"] = beside if beside.exists() or not Path(real).exists() else real
    section |= {name: value for name, value in given.items() if value is not None}
    if not isinstance(section.get("space"), Mapping) and "space" in section:
        section["space"] = _spelled(section["space"])
    if section.get("space") == {}:
        raise UsageError(
            "tune: space: is empty; name fields of the world with the values to try, such as theta.kp_scale: [0.5, 2]"
        )
    if missing := [name for name in ("real", "space") if not section.get(name)]:
        what = {"real": "the run folder of the real episodes is", "space": "the values of θ to try are"}[missing[0]]
        raise UsageError(f"tune: {missing[0]}: {what} missing; give it under `tune:` in the study, or as an argument")
    try:
        tuning = Tuning.model_validate(section)
    except ValidationError as error:
        raise UsageError(explain(error, "tune", Tuning)) from None
    if not os.path.isdir(tuning.real):
        raise UsageError(f"tune: real: {tuning.real} is no run folder; `foretell import` makes one of real trials")
    return study.model_copy(update={"tune": None}), tuning


def _spelled(entries: Any) -> dict[str, Any]:
    """`["theta.lag=[0.1, 0.5]"]`, as on the command line."""
    space = {}
    for entry in entries if isinstance(entries, Sequence) and not isinstance(entries, str) else [entries]:
        name, equals, text = str(entry).partition("=")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            equals = ""
        if not equals:
            raise UsageError(f"tune: space: {entry!r:.100} should be such as 'theta.kp_scale=[0.5, 2]'")
        space[name.strip()] = value
    return space
