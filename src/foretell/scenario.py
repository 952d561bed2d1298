"""A scenario: one fully determined situation, the X of every question foretell answers.

It is resolved once, when a study is planned; running it samples nothing. A person can set a table from it, and a
pose measured on a real table can be entered into it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator

from foretell.digest import as_json, digest
from foretell.errors import UsageError
from foretell.registry import names, resolve
from foretell.seeding import generator

__all__ = ["Placement", "Scenario", "checked", "first_fault"]


class Placement(BaseModel):
    """Where one object starts, in the task frame (x away from the robot, z up; its origin is the task's)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asset: str
    """Name of the object's model; of an imported object `FOLDER/NAME@HASH` (`objects.imported`)."""
    pos: tuple[float, float, float]
    """Metres; z is the height of the object's own origin above the task frame."""
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Orientation, unit quaternion (w, x, y, z)."""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Size relative to the asset's own, along the object's x, y and z."""

    @field_validator("pos", "quat", "scale")
    @classmethod
    def _finite(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not all(map(math.isfinite, value)):
            raise ValueError("must be finite numbers")
        return value

    @field_validator("scale")
    @classmethod
    def _positive(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        if min(value) <= 0:
            raise ValueError("must be above 0")
        return value

    @field_validator("quat")
    @classmethod
    def _unit(cls, value: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        norm = math.sqrt(sum(v * v for v in value))
        if abs(norm - 1.0) > 1e-3:
            raise ValueError(f"must be a unit quaternion (w, x, y, z); its norm is {norm:.4g}")
        return value

    @property
    def model(self) -> str:
        """The asset's name without the folder and the hash of an imported object."""
        return self.asset.rpartition("/")[2].partition("@")[0] if "@" in self.asset else self.asset

    @property
    def yaw(self) -> float:
        """Rotation about the vertical, radians."""
        w, x, y, z = self.quat
        return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


class Scenario(BaseModel):
    """One fully determined situation: everything a world needs to set the table, and nothing it may sample."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    task: str
    seed: int = Field(ge=-(2**63), lt=2**63)
    """Keys every draw made while the scenario runs (noise, not placements: those are resolved here)."""
    placements: Mapping[str, Placement]
    """Object name -> where it starts."""
    start: Mapping[str, tuple[float, ...]] = Field(default={}, validation_alias=AliasChoices("start", "robot_start"))
    """Where what has joints starts, rad or m: `panda` (a robot's first group), `panda/head` (another group of it),
    `drawer` (a fixture). What is not named starts at its home."""
    instruction: str = ""
    factors: Mapping[str, Any] = {}
    """Perturbation factor -> its value; relative to each world's nominal. Empty for a clean scenario."""
    facts: Mapping[str, float] = {}
    """Numbers that follow from the situation and that simulation and reality share, such as the shortest way, m."""
    parent: str | None = None
    """`id` of the scenario this one was made near, or the name of the imported object in it; else None."""

    @field_validator("start")
    @classmethod
    def _finite(cls, value: Mapping[str, tuple[float, ...]]) -> Mapping[str, tuple[float, ...]]:
        if not all(math.isfinite(joint) for joints in value.values() for joint in joints):
            raise ValueError("must be finite numbers")
        return value

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Scenario:
        """A copy with some fields changed; its names are its own."""
        copied = super().model_copy(update=update, deep=deep)
        for cached in ("id", "base"):
            copied.__dict__.pop(cached, None)
        return copied

    @cached_property
    def id(self) -> str:
        """Names the whole scenario."""
        return digest(self._named())

    @cached_property
    def base(self) -> str:
        """Names task, layout and seed only: shared by a perturbed scenario and its clean control."""
        whole = self._named()
        return digest({key: whole[key] for key in ("task", "seed", "placements", "robot_start")})

    def _named(self) -> dict[str, Any]:
        """What names are made of. `start` was called `robot_start`, and scenarios keep their names."""
        whole = self.model_dump(mode="json")
        whole["robot_start"] = whole.pop("start")
        if not whole["facts"]:  # scenarios without any keep their names
            del whole["facts"]
        for placement in whole["placements"].values():
            if "@" in placement["asset"]:  # an imported object: its name and hash say what it is, wherever it lies
                placement["asset"] = placement["asset"].rpartition("/")[2]
        return whole

    @property
    def of_object(self) -> str | None:
        """Name of the imported object that is the unit of evaluation; None where there is none."""
        return self.parent if any("@" in placed.asset for placed in self.placements.values()) else None

    @property
    def pair(self) -> str:
        """What simulated and real episodes are paired on."""
        return self.parent or self.id

    def near(self, k: int, radius: float) -> list[Scenario]:
        """`k` children whose objects lie within `radius` metres (in the plane) of this scenario's."""
        children = []
        for child in range(k):
            rng = generator(self.base, child, "near")
            moved = {}
            for name, placement in sorted(self.placements.items()):
                distance, angle = radius * math.sqrt(rng.uniform()), rng.uniform(0, 2 * math.pi)
                x, y, z = placement.pos
                shifted = (x + distance * math.cos(angle), y + distance * math.sin(angle), z)
                moved[name] = placement.model_copy(update={"pos": shifted})
            seed = int(np.uint32(self.seed + 1 + child))
            children.append(self.model_copy(update={"placements": moved, "parent": self.id, "seed": seed, "facts": {}}))
        return [Scenario.model_validate(child.model_dump()) for child in children]

    def card(self) -> str:
        """What a person does to set this scenario up on a real table, in words: metres in the task frame and degrees,
        as a sheet of real trials takes them."""
        lines = [f"{self.task}: {self.instruction}" if self.instruction else self.task]
        for name, p in sorted(self.placements.items()):
            size = "" if set(p.scale) == {1.0} else ", scaled " + " x ".join(f"{s:.1%}" for s in p.scale)
            lines.append(
                f"  {name} ({p.model}{size}): x {p.pos[0]:+.3f} m, y {p.pos[1]:+.3f} m, "
                f"turned {math.degrees(p.yaw):+.0f}°"
            )
        for name, value in sorted(self.factors.items()):
            text = self._in_words(name, value)
            if text is not None:
                lines.append(f"  {name}: {text}")
        return "\n".join(lines)

    def _in_words(self, name: str, value: Any) -> str | None:
        """A factor's value in words; as it is where the factor is not known here, or does not know the value."""
        if name in names("factors"):
            try:
                text: str | None = resolve("factors", name)().card_among(value, self.factors)
                return text
            except Exception:  # a plug-in may do anything, and a file may hold anything
                pass
        return str(value)[:200]


def checked(scenario: Any, who: str) -> Scenario:
    """A scenario that somebody else's code made, with every value checked: `model_copy` and `model_construct` of
    pydantic check none. Raises UsageError, which begins with `who`."""
    if not isinstance(scenario, Scenario):
        raise UsageError(f"{who} returns {type(scenario).__name__}, it should be a foretell.Scenario")
    try:
        valid = Scenario.model_validate(scenario.model_dump(warnings=False))
    except ValidationError as error:
        raise UsageError(f"{who}: {first_fault(error)}") from None
    for name, value in valid.factors.items():
        try:
            as_json(value)
        except (TypeError, ValueError):
            expected = "must be plain data (finite numbers, text, lists, mappings)"
            raise UsageError(f"{who}: factors.{name}: {expected} (given: {value!r:.100})") from None
    return valid


def first_fault(error: ValidationError) -> str:
    """What pydantic found first, in words: the field, why, and what was given."""
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"]))
    reason = first["msg"].removeprefix("Value error, ")
    return f"{field}: {reason} (given: {first.get('input')!r:.100})"
