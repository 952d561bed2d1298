"""Arms: which factors a study turns on together, and how far.

An arm is `none`, `each` (one arm per factor that applies), `all` (all that apply), a factor, several joined by `+`,
a compound scene (`workbench`), a number of THE COLOSSEUM (`colosseum:5`, or just 5), or a mapping that says more:
`{MO_Size: [0.9, 1.1]}` a range, `{MO_Color: [red, blue]}` a list, `{use: MO_Size, severity: 0.5}` milder,
`{use: MO_Size, values: [0.9, 1.1]}` a list of two numbers. SIMPLER's variants are arms under their published names
(`tasks.variants`), and `simpler:each` is one arm per variant that it has of a task. `aggregate` is the control and
every variant, whose mean is SIMPLER's variant aggregation; `arm_colours` is the control and its recoloured arms.
`{grid: {Object_Mass: [0.5, 1, 2], Object_Friction: [0.5, 1]}}` is one arm for each combination of the values.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from foretell.digest import digest
from foretell.episode import unmarked
from foretell.errors import UsageError, suggest
from foretell.factors import Given, Reason, adopt, draw, factor, perturb, rank, version
from foretell.registry import adopted, names
from foretell.scenario import Scenario
from foretell.tasks.task import Task
from foretell.tasks.variants import AGGREGATES, VARIANTS, aggregated, published

__all__ = [
    "COLOSSEUM",
    "COMPOUND",
    "FOURTEEN",
    "Arm",
    "anchored",
    "decoded",
    "expand",
    "loaded",
    "looks_only",
    "parse",
    "severity_of",
    "targets",
]

FOURTEEN = (
    "MO_Color", "MO_Texture", "MO_Size", "RO_Color", "RO_Texture", "RO_Size", "Light_Color", "Table_Color",
    "Table_Texture", "Distractor", "Background_Texture", "Camera_Pose", "Object_Friction", "Object_Mass",
)  # fmt: skip
"""THE COLOSSEUM's factors."""
COLOSSEUM: dict[int, str] = {
    2: "MO_Color", 3: "RO_Color", 4: "MO_Texture", 5: "RO_Texture", 6: "MO_Size", 7: "RO_Size", 8: "Light_Color",
    9: "Table_Color", 10: "Table_Texture", 11: "Distractor", 12: "Background_Texture", 14: "Camera_Pose",
    16: "Object_Friction", 17: "Object_Mass",
}  # fmt: skip
"""Its numbers; 0 is no perturbation, 1 all, and 13 and 15 are RLBench's task variations."""
COMPOUND: dict[str, tuple[str, ...]] = {
    "workbench": ("Distractor", "MO_Size"),
    "dining_table": ("Table_Texture", "Distractor", "MO_Size"),
    "study_table": ("Light_Color", "Table_Texture", "Distractor", "MO_Size"),
}
"""Compound scenes. The paper has the names of three scenes and two combinations, those of `workbench` and
`study_table` here; which belongs to which, and the third, are our choice: see docs/factors.md."""
CELLS = 1000
"""Arms of a grid, at most."""
PUBLISHED = ("simpler:each", *AGGREGATES)
"""Sets of SIMPLER's variants."""
SETS = ("each", "all", "colosseum:each", "colosseum:all", *PUBLISHED, *COMPOUND)


@dataclass(frozen=True)
class Use:
    """A factor in an arm."""

    factor: str
    severity: float = 1.0
    given: Given | None = None

    @property
    def label(self) -> str:
        """A factor of one's own has its version in it: edited, it is another arm."""
        name = _marked(self.factor, [self])
        if self.given is None:
            return name + ("" if self.severity == 1 else f"@{self.severity:g}")
        if self.given.values:
            return name + "{" + ",".join(map(str, self.given.values)) + "}"
        return f"{name}[{self.given.low:g},{self.given.high:g}]"


@dataclass(frozen=True)
class Arm:
    """Factors that are on together; none at all for the clean control. `name` is the arm's in every row."""

    name: str
    uses: tuple[Use, ...] = ()
    written: Any = field(default=None, hash=False)
    """As the study writes it, which is how a run folder keeps it; None for an arm that `expand` made."""
    cells: tuple[Arm, ...] = ()
    """Of a grid: an arm for each combination."""

    @property
    def own(self) -> bool:
        """Whether it names code that is not loaded yet. `loaded` does: a study file that is only read runs none."""
        return not self.uses and bool(targets([self]))

    def applies(self, task: Task) -> Reason | None:
        """None where every factor of the arm (of a set: at least one) applies to a task, else the first reason."""
        if self.own:
            return loaded(self).applies(task)
        if self.uses and self.uses[0].factor == "simpler:each":
            return None if published(task) else Reason("simpler:each", task.name, "SIMPLER has no variants of it")
        if self.uses and self.uses[0].factor in AGGREGATES:
            reasons = [parse(name).applies(task) for name in aggregated(self.uses[0].factor, task)[1:]]
            return None if None in reasons else reasons[0]
        if self.uses and self.uses[0].factor in SETS:
            reasons = [factor(name).applies(task) for name in _pool(self.uses[0].factor)]
            return None if None in reasons else reasons[0]
        return next((why for u in self.uses if (why := factor(u.factor).applies(task))), None)

    def on(self, scenario: Scenario, task: Task) -> Scenario:
        """A clean scenario under this arm, paired with it by construction."""
        if not self.uses:
            return scenario
        return perturb(scenario, {u.factor: draw(u.factor, scenario, task, u.severity, u.given) for u in self.uses})


def parse(item: Any) -> Arm:
    """An arm from the form in which a study writes it; an `Arm` stays as it is. `each`, `all` and compound scenes have
    no factors yet: `expand` gives them a task's. Raises UsageError for what is not an arm."""
    if isinstance(item, Arm):
        return item
    return Arm(str(item), written=item) if targets([item]) else replace(_parsed(item), written=item)


def loaded(arm: Arm) -> Arm:
    """An arm with the factors that it brings along ("file.py:Class"), which are imported for it."""
    return replace(_parsed(_renamed(arm.written, adopt)), written=arm.written) if arm.own else arm


def targets(items: Iterable[Any]) -> list[str]:
    """What arms, or their written forms, name as "file.py:Class" or "package.module:Class"."""
    named: list[str] = []

    def note(target: str) -> str:
        named.append(target)
        return target

    for item in items:
        _renamed(item.written if isinstance(item, Arm) else item, note)
    return list(dict.fromkeys(named))


def anchored(item: Any, folder: Path) -> Any:
    """The written form of an arm with paths of files made absolute."""
    return _renamed(item, lambda target: str(folder / target) if target.rpartition(":")[0].endswith(".py") else target)


def _renamed(item: Any, rename: Callable[[str], str]) -> Any:
    """The written form of an arm with other names for the code that it names."""
    if isinstance(item, str):
        parts = (part.partition("@") for part in item.split("+"))
        return "+".join((rename(name) if _CODE.fullmatch(name) else name) + at + rest for name, at, rest in parts)
    if not isinstance(item, dict):
        return item
    values = {key: _renamed(value, rename) if key in ("use", "grid") else value for key, value in item.items()}
    return {key if key in ("use", "grid") else _renamed(key, rename): value for key, value in values.items()}


_CODE = re.compile(r"(?!colosseum:|simpler:|given:)(?:.+\.py|[A-Za-z_][\w.]*):[A-Za-z_]\w*")


def _parsed(item: Any) -> Arm:
    if isinstance(item, bool) or not isinstance(item, (str, int, dict)):
        raise UsageError(f"arm {item!r} should be a name, a number of THE COLOSSEUM, or a mapping")
    if not isinstance(item, dict):
        return _named(item, {})
    options = dict(item)
    if set(options) == {"grid"}:
        return _grid(options["grid"])
    if "use" not in options:
        if not options:
            raise UsageError("arm {} names no factor")
        return _joined([_use(decoded(name), value) for name, value in options.items()])
    use = options.pop("use")
    if isinstance(use, bool) or not isinstance(use, (str, int)):
        raise UsageError(f"arm {use!r} should be a name or a number of THE COLOSSEUM")
    wanted = {key: options.pop(key) for key in ("severity", "range", "values") if key in options}
    if options:
        extra = str(next(iter(options)))
        raise UsageError(f"arm {use!r}: {extra!r} is not a field; {suggest(extra, ['severity', 'range', 'values'])}")
    if len(wanted) > 1:
        raise UsageError(f"arm {use!r}: give one of severity, range and values")
    return _named(use, wanted) if set(wanted) <= {"severity"} else _joined([_use(decoded(use), wanted)])


def _grid(axes: Any) -> Arm:
    """One arm for each combination of values of factors."""
    if not isinstance(axes, dict) or not axes or not all(isinstance(v, list) and v for v in axes.values()):
        raise UsageError(
            f"arm {{grid: {axes!r:.100}}} should map factors to lists of values, as {{MO_Size: [0.9, 1.1]}}"
        )
    if (count := math.prod(map(len, axes.values()))) > CELLS:
        raise UsageError(f"arm grid: {count:,} combinations, more than {CELLS}: leave values out")
    along = [[_use(decoded(name), {"values": [value]}) for value in values] for name, values in axes.items()]
    for uses in along:
        if len({use.label for use in uses}) < len(uses):
            raise UsageError(f"arm grid: {uses[0].factor} has a value twice")
    cells = tuple(_joined(uses) for uses in itertools.product(*along))
    whole = _joined(_use(decoded(name), {"values": values}) for name, values in axes.items())
    return Arm(f"grid:{whole.name}", whole.uses, cells=cells)


def decoded(name: str | int) -> str:
    """The name behind a number of THE COLOSSEUM (11, `11`, `colosseum:11`); other names as they are."""
    plain = unmarked(str(name).strip())
    match = re.fullmatch(r"(?:colosseum:)?(-?\d+)", plain)
    if match is None:
        return plain
    if (number := int(match[1])) in (13, 15):
        raise UsageError(f"arm {number}: THE COLOSSEUM's {number} is a task's variations, and no task has any yet")
    known = {0: "none", 1: "colosseum:all", **COLOSSEUM}
    if number not in known:
        raise UsageError(f"arm {number}: THE COLOSSEUM's numbers are 0 to 17")
    return known[number]


def _named(text: str | int, wanted: Mapping[str, Any]) -> Arm:
    """An arm by its name; `wanted` may hold a severity for all of it."""
    parts = []
    for part in str(text).split("+"):
        name, at, severity = part.partition("@")
        if at and wanted:
            raise UsageError(f"arm {text!r}: its severity is given twice, {severity} and {wanted['severity']}")
        parts.append((decoded(name), {"severity": severity} if at else wanted))
    (name, options), *more = parts
    if name in VARIANTS and not more:
        if options:
            raise UsageError(f"arm {name!r} is a variant of SIMPLER: it has no severity")
        return replace(_joined([_use(kind, value) for kind, value in VARIANTS[name].items()]), name=name)
    if name == "none" and not options and not more:
        return Arm("none")
    if name in PUBLISHED and options:
        raise UsageError(f"arm {text!r}: SIMPLER's variants have no severity")
    if name in SETS and not more:
        several = Use(name, _severity(name, options.get("severity", 1.0)))
        return Arm(several.label, (several,))
    for name, _ in parts:
        _known(name)
    return _joined([Use(name, _severity(name, options.get("severity", 1.0))) for name, options in parts])


def _joined(uses: Iterable[Use]) -> Arm:
    uses = tuple(uses)
    factors = [use.factor for use in uses]
    for name in factors:
        if factors.count(name) > 1:
            raise UsageError(f"arm {'+'.join(factors)!r}: {name} is named twice")
    ranked = tuple(sorted(uses, key=lambda use: rank(use.factor)))  # one combination, one name
    return Arm("+".join(use.label for use in ranked), ranked)


def _known(name: str) -> None:
    """Raises UsageError for what is not the name of one factor."""
    if name == "none":
        raise UsageError("arm 'none' is the clean control: it stands alone, with no severity and no values")
    if name in SETS:
        takes = "neither a severity nor" if name in PUBLISHED else f"a severity (`{name}@0.5`) but no"
        raise UsageError(f"arm {name!r} is a set of factors: it stands alone, and takes {takes} values")
    if name in VARIANTS:
        raise UsageError(f"arm {name!r} is a variant of SIMPLER: it stands alone")
    if name not in (known := names("factors")) and name not in adopted("factors"):
        raise UsageError(f"arm {name!r} is not known; {suggest(name, ['none', *SETS, *known, *VARIANTS])}")


def _severity(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    most = factor(name).most if name not in SETS else 1.0
    if isinstance(value, bool) or not 0 <= number <= most:
        raise UsageError(f"arm {name!r}: severity {value!r} should be a number from 0 to {most:g}")
    return number


def _use(name: str, value: Any) -> Use:
    _known(name)
    if isinstance(value, dict):
        if set(value) == {"severity"}:
            return Use(name, _severity(name, value["severity"]))
        if set(value) == {"range"} and _numbers(value["range"]) and len(value["range"]) == 2:
            low, high = map(float, value["range"])
            given = Given(low, high)
        elif set(value) == {"values"} and isinstance(value["values"], list) and value["values"]:
            given = _listed(value["values"])
        else:
            raise UsageError(f"arm {name!r}: {value!r} should be severity: S, range: [LOW, HIGH] or values: [...]")
    elif _numbers(value) and len(value) == 2:
        low, high = map(float, value)
        given = Given(low, high)
    elif isinstance(value, list) and value:
        given = _listed(value)
    elif isinstance(value, (str, int, float)):
        given = Given(values=(value,))
    else:
        raise UsageError(f"arm {name!r}: {value!r} should be a value, a list of values or a range [LOW, HIGH]")
    if given.low is not None and given.high is not None and not given.low <= given.high:
        raise UsageError(f"arm {name!r}: the range [{given.low:g}, {given.high:g}] should go from low to high")
    factor(name).check(given)
    return Use(name, given=given)


def _listed(values: list[Any]) -> Given:
    """Values to choose from. One that is a list holds things that belong together."""
    return Given(values=tuple(tuple(value) if isinstance(value, list) else value for value in values))


def _numbers(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in value
    )


def _pool(kind: str) -> Sequence[str]:
    """The factors that a set is made of."""
    return COMPOUND.get(kind) or (FOURTEEN if kind.startswith("colosseum") else names("factors"))


def expand(items: Iterable[Any], task: Task) -> list[Arm]:
    """The arms of a task, from arms or their written forms: `each`, `all` and compound scenes spelled out with those of
    their factors that apply, arms that do not apply left out, none twice."""
    arms_by_name: dict[str, Arm] = {}
    for arm in map(loaded, map(parse, items)):
        members = list(arm.cells) or [arm]
        if arm.uses and arm.uses[0].factor == "simpler:each":
            members = [parse(name) for name in published(task)]
        elif arm.uses and arm.uses[0].factor in AGGREGATES:
            members = [parse(name) for name in aggregated(arm.uses[0].factor, task)] if not arm.applies(task) else []
        elif arm.uses and arm.uses[0].factor in SETS:
            kind, severity = arm.uses[0].factor, arm.uses[0].severity
            uses = [Use(name, severity) for name in _pool(kind) if factor(name).applies(task) is None]
            whole = [Arm(_marked(arm.name, uses), tuple(uses))] if uses else []
            members = [_joined([u]) for u in uses] if kind.endswith("each") else whole
        for member in members:
            if member.applies(task) is None:
                arms_by_name.setdefault(member.name, member)
    return list(arms_by_name.values())


def _marked(name: str, uses: Iterable[Use]) -> str:
    """The name with the version of the factors behind it; those that come with foretell have none."""
    versions = [mark for use in uses if use.factor not in SETS and (mark := version(use.factor))]
    mark = versions[0] if len(versions) == 1 else digest(versions)[:8]
    return f"{name}#{mark}" if versions else name


def looks_only(name: str) -> bool:
    """Whether every factor of an arm, by its name, is declared to change nothing but images."""
    try:
        uses = parse(name).uses
        return bool(uses) and all(u.factor not in SETS and factor(u.factor).changes == "look" for u in uses)
    except UsageError:  # values that were given by name, or a factor that is not installed here
        parts = unmarked(name).split("+")
        whole = [part.partition("@")[0].partition("[")[0].partition("{")[0] for part in parts]
        return all(part in names("factors") and factor(part).changes == "look" for part in whole)


def severity_of(name: str) -> float | None:
    """The severity of an arm by its name: None for the control, for given values, and where factors differ in it."""
    parts = {part.partition("@")[2] or "1" for part in name.split("+")}
    if name == "none" or name in VARIANTS or name.startswith("given:") or "[" in name or "{" in name or len(parts) != 1:
        return None
    return float(parts.pop())
