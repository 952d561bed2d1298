"""Perturbation factors: what a person could change on the table, drawn per scenario and applied in every world."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from foretell.digest import digest
from foretell.errors import UsageError, suggest
from foretell.factors.factor import Factor, Given, Reason, Setting
from foretell.fingerprint.fingerprint import fingerprint_of
from foretell.fingerprint.source import own_classes
from foretell.registry import adopted, load, names, resolve
from foretell.scenario import Placement, Scenario
from foretell.seeding import generator
from foretell.tasks.task import Task

__all__ = [
    "Factor",
    "Given",
    "Reason",
    "Setting",
    "adopt",
    "apply",
    "draw",
    "factor",
    "overriding",
    "perturb",
    "place",
    "rank",
    "sizes",
    "starts",
    "version",
]


@cache
def factor(name: str) -> Factor:
    """The factor of a name. Raises UsageError for one that is not known. Never "file.py:Class": a scenario names its
    factors, it may come from someone else, and reading it must not load code."""
    if name not in names("factors") and name not in adopted("factors"):
        raise UsageError(f"factors: {name!r:.200} is not known; {suggest(name, names('factors'))}")
    instance: Factor = resolve("factors", name)()
    return instance


def adopt(target: str) -> str:
    """Make a factor of a study's own, "file.py:Class" or "package.module:Class", known in this process; its name."""
    kind = load(target, field="arms")
    name = getattr(kind, "name", None)
    if not (isinstance(kind, type) and issubclass(kind, Factor)) or not re.fullmatch(r"[A-Za-z_]\w*", str(name)):
        raise UsageError(f"arms: {target!r:.200} should be a subclass of foretell.factors.Factor with a word as `name`")
    if name in names("factors"):
        raise UsageError(f"arms: {target!r:.200} is called {name!r}, as another factor is: give it another `name`")
    known = adopted("factors")
    if known.get(str(name)) != target or type(factor(str(name))) is not kind:
        known[str(name)] = target
        factor.cache_clear()
        version.cache_clear()
    return str(name)


@cache
def version(name: str) -> str:
    """8 hex digits that name the source of a factor of one's own; empty for those that come with foretell."""
    kind = factor(name)
    classes = own_classes(type(kind))
    if not classes:
        return ""
    fingerprint = fingerprint_of(kind, classes)
    return digest([fingerprint.sources, fingerprint.more])[:8]


def draw(name: str, scenario: Scenario, task: Task, severity: float = 1.0, given: Given | None = None) -> Any:
    """A factor's value for a scenario, from the factor's own stream: no other draw depends on it, nor it on any."""
    return factor(name).draw(generator(scenario.base, 0, f"factor/{name}"), scenario, task, severity, given)


def perturb(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The scenario under factors: same base, placements and seed, so that it pairs with its clean control."""
    changed = scenario.model_copy(update={"factors": dict(values)})
    for kind, value in overriding(changed, "instruct"):
        changed = changed.model_copy(update={"instruction": kind.instruct(value, changed.instruction)})
    return changed


@cache
def _ranks() -> dict[str, int]:
    return {name: rank for rank, name in enumerate(names("factors"))}


def rank(name: str) -> tuple[int, str]:
    """A key that sorts factors in the catalogue's order, what is not in it last."""
    known = _ranks()
    return known.get(name, len(known)), name


def _in_order(scenario: Scenario) -> list[tuple[Factor, Any]]:
    """Its factors and values in the catalogue's order, whatever the order in which they are written."""
    return [(factor(name), scenario.factors[name]) for name in sorted(scenario.factors, key=rank)]


def place(scenario: Scenario, task: Task) -> Mapping[str, Placement]:
    """Where objects really are, and how large: the scenario's placements under its factors."""
    placements = scenario.placements
    for kind, value in _in_order(scenario) if scenario.factors else ():
        placements = kind.place(value, placements, task)
    return placements


def sizes(scenario: Scenario, task: Task) -> dict[str, float]:
    """Object -> its size relative to the clean scenario, where factors change it."""
    scales: dict[str, float] = {}
    for kind, value in _in_order(scenario) if scenario.factors else ():
        scales |= kind.sizes(value, task)
    return scales


def starts(scenario: Scenario, homes: Mapping[str, tuple[float, ...]], task: Task) -> Mapping[str, tuple[float, ...]]:
    """Where what has joints starts: the scenario's start under its factors, at home where it says nothing."""
    begins: Mapping[str, tuple[float, ...]] = {**homes, **scenario.start}
    for kind, value in _in_order(scenario) if scenario.factors else ():
        begins = kind.start(value, begins, task)
    return begins


def overriding(scenario: Scenario, hook: str) -> list[tuple[Factor, Any]]:
    """Its factors, with values, that have a hook of their own (`instruct`, `sense` or `act`)."""
    if not scenario.factors:
        return []
    return [(kind, v) for kind, v in _in_order(scenario) if getattr(type(kind), hook) is not getattr(Factor, hook)]


def apply(setting: Setting) -> None:
    """Change a scene as its scenario's factors say."""
    for kind, value in _in_order(setting.scenario) if setting.scenario.factors else ():
        kind.apply(value, setting)
