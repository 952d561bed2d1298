"""A study, as a user writes it: typed models, one definition for YAML, Python and command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from foretell import clock
from foretell.errors import UsageError
from foretell.sim.params import explain

__all__ = ["PolicyEntry", "Record", "ScenarioSource", "Study", "TaskEntry", "load_study"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskEntry(_Model):
    """A task, and the controller it runs with."""

    use: str
    controller: str | None = None
    """None: the task's own."""


class PolicyEntry(BaseModel):
    """A policy and its options; every field besides `use` and `execute` is handed to the policy."""

    model_config = ConfigDict(extra="allow", frozen=True)

    use: str
    execute: int | None = Field(default=None, ge=1)

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class ScenarioSource(_Model):
    """Where scenarios come from: drawn by seed, from a file, or those of another run."""

    count: int | None = Field(default=None, ge=1)
    """How many; with `file` or `like`, the first so many of each task."""
    seed: int = Field(default=0, ge=0)
    """Scenario i of a task is the one of seed `seed + i`."""
    file: Path | None = None
    """One scenario per line, as JSON."""
    like: Path | None = None
    """A run folder: exactly the scenarios that run holds."""

    @model_validator(mode="after")
    def _one_source(self) -> ScenarioSource:
        if self.file is not None and self.like is not None:
            raise ValueError("give either `file` or `like`, not both")
        return self


class Record(_Model):
    """What to keep besides the rows."""

    video: int = Field(default=0, ge=0)
    """Videos of the first so many scenarios of each task and policy."""


class Study(_Model):
    """A declared set: world x tasks x policies x scenarios x arms x clocks x trials."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$")
    world: str | dict[str, Any] = "mujoco"
    tasks: list[TaskEntry] = Field(min_length=1)
    policies: dict[str, PolicyEntry] = Field(min_length=1)
    scenarios: ScenarioSource = ScenarioSource()
    trials: int = Field(default=1, ge=1)
    arms: list[str] = ["none"]
    clocks: list[Any] = ["sync"]
    record: Record = Record()
    policy_timeout: float = Field(default=60.0, gt=0)
    """Wall seconds after which a call of a policy counts as hung."""

    @field_validator("tasks", mode="before")
    @classmethod
    def _tasks(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [value]
        return [{"use": v} if isinstance(v, str) else v for v in value] if isinstance(value, list) else value

    @field_validator("policies", mode="before")
    @classmethod
    def _policies(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list):
            value = {str(v): v for v in value}
        return {k: {"use": v} if isinstance(v, str) else v for k, v in value.items()}

    @field_validator("arms", "clocks", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return value if isinstance(value, list) else [value]

    @field_validator("arms")
    @classmethod
    def _arms(cls, value: list[str]) -> list[str]:
        unknown = [arm for arm in value if arm != "none"]
        if unknown:
            raise ValueError(f"arm {unknown[0]!r} is not known; known: none")
        return value

    @field_validator("clocks")
    @classmethod
    def _clocks(cls, value: list[Any]) -> list[Any]:
        for item in value:
            try:
                clock.parse(item)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _distinct(self) -> Study:
        names = [task.use for task in self.tasks]
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice:
            raise ValueError(f"tasks: {twice!r} is listed twice")
        return self

    def to_yaml(self) -> str:
        """The study as it stands in a run folder, with every default written out."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def load_study(source: Study | dict[str, Any] | str | Path) -> Study:
    """A study from a YAML file, a mapping, or as it is. Paths in a file are relative to that file."""
    if isinstance(source, Study):
        return source
    where, folder = "study", None
    if isinstance(source, (str, Path)):
        path = Path(source)
        if not path.is_file():
            raise UsageError(f"there is no study file {path}")
        try:
            contents = yaml.safe_load(path.read_text())
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} is not valid YAML: {error}") from None
        where, folder = str(path), path.resolve().parent
        if isinstance(contents, dict):
            contents.setdefault("name", path.stem)
    else:
        contents = dict(source)
    if not isinstance(contents, dict):
        raise UsageError(f"{where} should be a mapping with name, world, tasks and policies")
    try:
        study = Study.model_validate(contents)
    except ValidationError as error:
        raise UsageError(explain(error, where, Study)) from None
    return _anchor(study, folder) if folder else study


def _anchor(study: Study, folder: Path) -> Study:
    """Paths that a study file names, made absolute, so that workers and later calls find them."""

    def there(path: str) -> str:
        found = folder / path
        return str(found) if found.exists() and not Path(path).is_absolute() else path

    policies = {}
    for name, entry in study.policies.items():
        kind, colon, rest = entry.use.partition(":")
        use = entry.use
        if colon and kind.endswith(".py"):
            use = f"{there(kind)}:{rest}"
        elif colon and (folder / rest).exists():
            use = f"{kind}:{there(rest)}"
        policies[name] = entry.model_copy(update={"use": use})
    sources = {
        key: Path(there(str(path))) for key in ("file", "like") if (path := getattr(study.scenarios, key)) is not None
    }
    tasks = []
    for task in study.tasks:
        kind, colon, rest = task.use.partition(":")
        tasks.append(
            task.model_copy(update={"use": f"{there(kind)}:{rest}"}) if colon and kind.endswith(".py") else task
        )
    world = (
        there(study.world) if isinstance(study.world, str) and study.world.endswith((".yaml", ".yml")) else study.world
    )
    return study.model_copy(
        update={
            "policies": policies,
            "tasks": tasks,
            "world": world,
            "scenarios": study.scenarios.model_copy(update=sources),
        }
    )
