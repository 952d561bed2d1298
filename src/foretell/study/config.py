"""A study, as a user writes it: typed models, one definition for YAML, Python and command line."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    InstanceOf,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)  # fmt: skip

from foretell.clock import Clock, Sync
from foretell.clock import parse as parse_clock
from foretell.document import load_yaml
from foretell.errors import UsageError, suggest
from foretell.factors.arms import Arm
from foretell.factors.arms import anchored as anchored_arm
from foretell.factors.arms import parse as parse_arm
from foretell.policy import TIMEOUT
from foretell.registry import names, resolve
from foretell.study.fix import FIXES
from foretell.study.name import clean_name
from foretell.study.order import Order
from foretell.study.policy_entry import PolicyEntry, anchor_adapters
from foretell.study.record import Record
from foretell.study.select import Select
from foretell.study.sweep import expand
from foretell.study.until import Until
from foretell.world_file import explain

__all__ = ["PolicyEntry", "Record", "ScenarioSource", "Study", "TaskEntry", "load_study"]

T = TypeVar("T")
SOURCES = ("layouts", "file", "like", "objects", "select")
"""Fields of `scenarios` that say where scenarios come from; without them they are drawn."""


class _StudyModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskEntry(_StudyModel):
    """A task, the controller it runs with, and how long its episodes may take. None: the task's own."""

    use: str
    controller: str | None = None
    time_limit: float | None = Field(default=None, gt=0, le=86_400)
    """Simulated seconds after which an episode ends. Episodes with another limit are other episodes."""


class ScenarioSource(_StudyModel):
    """Where scenarios come from: drawn by seed, the task's published layouts, a file, another run, or objects."""

    count: int | None = Field(default=None, ge=1)
    """How many; of `layouts`, `file` or `like` the first so many of each task; of a test set, of each task and arm; of
    `objects`, for each object (default 1)."""
    seed: int = Field(default=0, ge=0, le=2**62)
    """Scenario i of a task is the one of seed `seed + i`."""
    layouts: Literal["all"] | tuple[int, ...] | None = None
    """`all`: the layouts that the task publishes, in their order (design `grid`). A list: those of these numbers, which
    begin at 0 (design `chosen`)."""
    file: Path | None = None
    """One scenario per line, as JSON; or a test set, which brings its own arms (`foretell testset build`)."""
    like: Path | None = None
    """A run folder: exactly the scenarios that run holds."""
    objects: Path | None = None
    """A folder of imported objects, or one such object: each takes the place of the object that the task handles, in
    drawn layouts, and is the unit of evaluation (see `study.objects`)."""
    select: Select | None = None
    """Scenarios of a simulated run, of which coins of known chances choose some (see `study.select`). `count` is then
    the number of scenarios for which a coin is flipped."""
    fix: tuple[str, ...] = ()
    """What is the same in all scenarios that are drawn: `size` (every object has its own), `turn` (none is turned),
    `start` (the robot is at home)."""

    @field_validator("fix", mode="before")
    @classmethod
    def _fixes(cls, value: Any) -> Any:
        value = [value] if isinstance(value, str) else value
        for name in value if isinstance(value, (list, tuple)) else ():
            if name not in FIXES:
                raise ValueError(f"{name!r} cannot be fixed; {suggest(str(name), FIXES)}")
        return value

    @field_validator("layouts", mode="before")
    @classmethod
    def _numbers(cls, value: Any) -> Any:
        if value is None or value == "all":
            return value
        value = [value] if isinstance(value, int) else value
        if not isinstance(value, (list, tuple)) or not value or any(type(v) is not int or v < 0 for v in value):
            raise ValueError("should be `all`, or a list of numbers from 0, such as [0, 3]")
        if len(set(value)) < len(value):
            raise ValueError("names a layout twice; use `trials` to run it several times")
        return value

    @property
    def listed(self) -> bool:
        """Whether the scenarios are there already, and are not drawn."""
        return any(getattr(self, name) is not None for name in SOURCES)

    @model_validator(mode="after")
    def _one_source(self) -> ScenarioSource:
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give either `{given[0]}` or `{given[1]}`, not both")
        if given and given != ["objects"] and self.fix:
            raise ValueError(f"`fix` changes scenarios that are drawn, and `{given[0]}` draws none: leave `fix` out")
        if given == ["layouts"] and "seed" in self.model_fields_set and self.seed:
            raise ValueError("`seed` draws scenarios, and published layouts are not drawn: leave `seed` out")
        if given == ["select"] and "seed" in self.model_fields_set and self.seed:
            raise ValueError("`seed` draws scenarios, and those of a run are drawn already: put `seed` under `select`")
        return self


class Study(_StudyModel):
    """A declared set: world x tasks x policies x scenarios x arms x clocks x trials."""

    name: str = "study"
    """Names the run folder too; that of the study file where it does not say."""
    world: str | dict[str, Any] = "mujoco"
    tasks: list[TaskEntry] = Field(min_length=1)
    policies: dict[str, PolicyEntry] = Field(min_length=1)
    sweeps: dict[str, str] = {}
    """Patterns that gave policies: name -> file, each with a * (see `study.sweep`)."""
    scenarios: ScenarioSource = ScenarioSource()
    trials: int = Field(default=1, ge=1, le=1_000_000)
    until: Until | None = None
    """Stop a cell when enough is known; None: run all scenarios."""
    order: Order | None = None
    """In which order episodes start: `random`, `mixed` or `planned` (see `study.order`). None: `random` in a world that
    is reality, `planned` in simulation."""
    blind: bool | None = None
    """Whether policies go by codes until all episodes are in. None: in a world that is reality, if there are several
    policies."""
    arms: list[InstanceOf[Arm]] = Field(default=[parse_arm("none")], min_length=1)
    """Perturbations, written as `factors.arms` describes."""
    clocks: list[InstanceOf[Clock]] = Field(default=[Sync()], min_length=1)
    record: Record = Field(default_factory=Record)
    engine: str | None = None
    """Who runs the episodes: `here` or `processes`; None leaves it to the command. Rows do not depend on it."""
    policy_timeout: float = Field(default=TIMEOUT, gt=0, le=1e6)
    """Wall seconds after which a call of a policy counts as hung."""
    tune: dict[str, Any] | None = Field(default=None, exclude=True, repr=False)
    """What `foretell tune` searches (see `foretell.tune.config`). It is no part of the study in a run folder."""

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        value = unicodedata.normalize("NFC", value)
        if (clean := clean_name(value)) != value or not value:
            fix = f"; {clean!r} would do" if clean else ""
            raise ValueError(
                f"should be up to 100 letters, digits, dots, dashes, spaces, the first a letter or digit{fix}"
            )
        return value

    @field_validator("tasks", mode="before")
    @classmethod
    def _tasks(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            return value
        return [task for v in value for task in _members({"use": v} if isinstance(v, str) else v)]

    @field_validator("policies", mode="before")
    @classmethod
    def _policies(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list):
            value = {str(v): v for v in value}
        if not isinstance(value, dict):
            return value
        return {k: {"use": v} if isinstance(v, str) else v for k, v in value.items()}

    @field_validator("scenarios", mode="before")
    @classmethod
    def _count(cls, value: Any) -> Any:
        """`scenarios: 20` is `scenarios: {count: 20}`."""
        if isinstance(value, int) and not isinstance(value, bool):
            return {"count": value}
        if not isinstance(value, dict | ScenarioSource):
            raise ValueError("should be a number, or such as {count: 20, seed: 0}, {file: FILE} or {objects: FOLDER}")
        return value

    @field_validator("until")
    @classmethod
    def _until(cls, value: Until | None, info: ValidationInfo) -> Until | None:
        source = info.data.get("scenarios")
        if value is None or source is None:
            return value
        if source.select is not None:
            raise ValueError("stops after a number of scenarios that outcomes decide, and `scenarios.select` fixes it")
        if source.objects is not None and (source.count or 1) > 1:
            raise ValueError(
                "stops after single scenarios, and `scenarios.objects` has several of each: set `count` to 1"
            )
        if value.max is not None and source.count is not None and value.max != source.count and not source.objects:
            raise ValueError(f"`max` is {value.max}, and `scenarios.count` is {source.count}: give one of the two")
        if value.max is None and source.count is None and not source.listed:
            raise ValueError("`max` is missing: the largest number of scenarios, fixed before the first episode")
        return value

    @field_validator("arms", mode="before")
    @classmethod
    def _arms(cls, value: Any) -> list[Arm]:
        parsed = _each(parse_arm, value)
        _distinct([arm.name for arm in parsed])
        return parsed

    @field_serializer("arms")
    def _written_arms(self, value: list[Arm]) -> list[Any]:
        return [arm.written for arm in value]

    @field_validator("clocks", mode="before")
    @classmethod
    def _clocks(cls, value: Any) -> list[Clock]:
        parsed = _each(parse_clock, value)
        _distinct(_written(parsed))
        return parsed

    @field_serializer("clocks")
    def _written_clocks(self, value: list[Clock]) -> list[Any]:
        return _written(value)

    @field_validator("engine")
    @classmethod
    def _engine(cls, value: str | None) -> str | None:
        if value is not None and value not in names("engines"):
            raise ValueError(f"{value!r:.80} is not known; {suggest(value, names('engines'))}")
        return value

    @field_validator("tasks")
    @classmethod
    def _tasks_once(cls, value: list[TaskEntry]) -> list[TaskEntry]:
        _distinct([task.use for task in value])
        return value

    @property
    def count(self) -> int | None:
        """Scenarios of each task, where the study gives their number."""
        return self.scenarios.count or (self.until.max if self.until is not None else None)

    def paired(self, run: str | Path) -> Study:
        """This study on exactly the scenarios of another run."""
        return self.model_copy(update={"scenarios": ScenarioSource(like=Path(run))})

    def to_yaml(self) -> str:
        """The study as it stands in a run folder, with every default written out."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def _each(parse: Callable[[Any], T], value: Any) -> list[T]:
    """The entries of a list, or the only entry, parsed."""
    try:
        return [parse(item) for item in (value if isinstance(value, list) else [value])]
    except UsageError as error:
        raise ValueError(str(error)) from None


def _written(clocks: list[Clock]) -> list[Any]:
    """With every option written out, and traces by value, so that a run folder needs no other file."""
    return [c.kind if c == Sync() else c.to_dict() for c in clocks]


def _members(entry: Any) -> list[Any]:
    """The tasks of an entry that may name a suite."""
    use = entry.get("use") if isinstance(entry, dict) else None
    if use not in names("suites"):
        return [entry]
    return [{**entry, "use": task} for task in resolve("suites", use).tasks]


def _distinct(names: list[Any]) -> list[Any]:
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is listed twice")
    return names


def load_study(source: Study | dict[str, Any] | str | Path) -> Study:
    """A study from a YAML file, a mapping, or as it is. Paths in a file are relative to that file."""
    if isinstance(source, Study):
        return source
    where, folder = "study", None
    if isinstance(source, (str, Path)):
        path = Path(source)
        if not os.path.isfile(path):
            why = ": it is no regular file" if os.path.exists(path) else ""
            raise UsageError(f"there is no study file {path}{why}")
        contents = load_yaml(path)
        where, folder = str(path), path.resolve().parent
        if isinstance(contents, dict):
            contents.setdefault("name", path.stem)
            _anchor_traces(contents.get("clocks"), folder)
            contents = expand(contents, folder)
            anchor_adapters(contents.get("policies"), folder)
            if isinstance(contents.get("arms"), list):
                contents["arms"] = [anchored_arm(item, folder) for item in contents["arms"]]
    else:
        contents = expand(dict(source), Path.cwd())
    if not isinstance(contents, dict):
        raise UsageError(f"{where} should be a mapping with name, world, tasks and policies")
    try:
        study = Study.model_validate(contents)
    except ValidationError as error:
        raise UsageError(explain(error, where, Study)) from None
    return _anchor(study, folder) if folder else study


def _anchor_traces(clocks: Any, folder: Path) -> None:
    """Latency traces that a study file names, made absolute: they are read when the study is."""
    for item in clocks if isinstance(clocks, list) else [clocks]:
        for options in item.values() if isinstance(item, dict) else ():
            latency = options.get("latency") if isinstance(options, dict) else None
            if not isinstance(latency, dict):
                continue
            for kind in ("trace", "replay", "profile"):
                if isinstance(latency.get(kind), str) and (kind != "profile" or os.path.isfile(folder / latency[kind])):
                    latency[kind] = str(folder / latency[kind])


def _anchor(study: Study, folder: Path) -> Study:
    """Paths that a study file names, made absolute, so that workers and later calls find them."""

    def there(path: str) -> str:
        anchored = folder / path  # an absolute path stays as it is
        return str(anchored) if os.path.exists(anchored) or not os.path.exists(path) else path

    def use(name: str) -> str:
        """The name with its path made absolute, if it has one: file.py:Class, onnx:model.onnx."""
        kind, colon, rest = name.partition(":")
        if colon and kind.endswith(".py"):
            return f"{there(kind)}:{rest}"
        return f"{kind}:{there(rest)}" if colon and os.path.exists(folder / rest) else name

    policies = {name: entry.model_copy(update={"use": use(entry.use)}) for name, entry in study.policies.items()}
    tasks = [task.model_copy(update={"use": use(task.use)}) for task in study.tasks]
    sources: dict[str, Any] = {
        key: Path(there(str(path)))
        for key in ("file", "like", "objects")
        if (path := getattr(study.scenarios, key)) is not None
    }
    if (chosen := study.scenarios.select) is not None:
        sources["select"] = chosen.model_copy(update={"source": Path(there(str(chosen.source)))})
    world = study.world
    if isinstance(world, str):
        world = there(world) if world.endswith((".yaml", ".yml")) else use(world)
    else:
        if isinstance(world.get("kind"), str):
            world = {**world, "kind": use(world["kind"])}
        if "transforms" in world:  # they name files
            world = {"folder": str(folder), **world}
    return study.model_copy(
        update={
            "policies": policies,
            "tasks": tasks,
            "world": world,
            "scenarios": study.scenarios.model_copy(update=sources),
        }
    )
