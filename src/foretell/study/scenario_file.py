"""A file of scenarios: one a line, as JSON, or as `foretell match scenario` and `foretell match trials` measure it; or
a test set, whose first line says what it is and whose others name arms.

{"testset": {"id": "3f...", "tasks": {"lift": 1}, "protocol": {...}, "certificates": [...], ...}}
{"arm": "none", "scenario": {...}}
{"arm": "MO_Size", "scenario": {...}}
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from foretell.digest import digest
from foretell.document import load_json
from foretell.errors import UsageError
from foretell.files import read_file
from foretell.scenario import Scenario

__all__ = ["FORMAT", "Certificate", "Header", "Protocol", "ScenarioFile", "identify", "read_scenario_file"]

Method = Literal["clopper_pearson", "wilson"]

MOST = 256 << 20
"""Bytes of a file, at most."""
FORMAT = 1
"""Version of test set files. Newer ones are refused, not guessed at."""


class _SituationModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Certificate(_SituationModel):
    """How the scripted expert did in one cell: a task under an arm."""

    task: str
    arm: str
    n: int
    successes: int
    rate: float
    low: float
    high: float
    """Interval of the rate, at 95 %."""
    method: Method = "wilson"
    """The method of the interval. Test sets without this field are older and have Wilson's."""
    certified: bool
    """Whether the rate is at least the one required. A cell without is not charged to a policy."""


class Protocol(_SituationModel):
    """How a test set was drawn."""

    arms: tuple[Any, ...]
    """The arms, written as in a study."""
    episodes: int
    """Number of episodes in each cell."""
    seed: int
    """Scenario i of a task is the one of seed `seed + i`, under every arm."""
    required: float | None = None
    """Success rate of the expert that certifies a cell; None where nothing was certified."""


class Header(_SituationModel):
    """The first line of a test set."""

    name: str
    id: str
    """Names tasks with their versions, and every arm with its scenarios; see `identify`."""
    tasks: Mapping[str, int]
    """Task -> its version."""
    protocol: Protocol
    certificates: tuple[Certificate, ...] = ()
    left_out: Mapping[str, Mapping[str, str]] = {}
    """Task -> factor that does not apply to it -> why."""
    made_with: Mapping[str, str] = {}
    """Package -> version; no part of the id."""
    format: int = FORMAT


@dataclass(frozen=True)
class ScenarioFile:
    """What a file of scenarios holds."""

    path: Path
    lines: tuple[tuple[str, Scenario], ...]
    """Arm and scenario, in order; the arm is "" in a plain file, whose scenarios run as they are."""
    header: Header | None = None
    """The first line of a test set; None for a plain file of scenarios."""

    @property
    def scenarios(self) -> list[Scenario]:
        return [scenario for _, scenario in self.lines]

    def arms(self, task: str, count: int | None = None) -> dict[str, list[Scenario]]:
        """Arm -> its scenarios of a task, the first `count` of each."""
        by_arm: dict[str, list[Scenario]] = defaultdict(list)
        for arm, scenario in self.lines:
            if scenario.task == task and (count is None or len(by_arm[arm]) < count):
                by_arm[arm].append(scenario)
        return dict(by_arm)

    def check_task(self, name: str, version: int) -> None:
        """Raises UsageError where a test set was made for another version of a task."""
        if self.header is not None and self.header.tasks.get(name, version) != version:
            raise UsageError(
                f"scenarios: {self.path} is a test set for version {self.header.tasks[name]} of task {name!r}, which "
                f"is at {version} here: build it again"
            )


def identify(tasks: Mapping[str, int], lines: Iterable[tuple[str, str, str]]) -> str:
    """The id of a test set, from its tasks' versions and its (task, arm, scenario id), in any order."""
    return digest({"tasks": dict(tasks), "lines": sorted(map(list, lines))})


def read_scenario_file(path: Path) -> ScenarioFile:
    """Read a file of scenarios. Raises UsageError, with the line, for what is none, and for a test set that was changed
    after it was built."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        raise UsageError(f"scenarios: there is no file {str(path)[:300]}") from None
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, changed: int, size: int) -> ScenarioFile:
    if not path.is_file():
        raise UsageError(f"scenarios: there is no file {path}")
    try:
        text = read_file(path, MOST, follow=True).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"scenarios: {path} is not text; it should hold one scenario a line, as JSON") from None
    except OSError as error:
        raise UsageError(f"scenarios: {path} cannot be read: {error.strerror}") from None
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    header = _header(path, *numbered[0]) if numbered and numbered[0][1].lstrip().startswith('{"testset"') else None
    first: dict[tuple[str, str], tuple[int, Scenario]] = {}
    for number, line in numbered[1:] if header else numbered:
        arm, scenario = _line(path, number, line, header is not None)
        before = first.setdefault((arm, scenario.id), (number, scenario))
        if before[0] != number and not _measured(line, header is not None):  # two trials may have one place
            raise UsageError(f"scenarios: {path}, line {number} repeats line {before[0]}")
    lines = tuple((arm, scenario) for (arm, _), (_, scenario) in first.items())
    if header is not None:
        given = identify(header.tasks, ((s.task, arm, s.id) for arm, s in lines))
        if given != header.id:
            raise UsageError(
                f"scenarios: {path} does not match its id: its first line has id {header.id[:40]}, its other "
                f"lines give {given}. Build it again, or remove the first line and the arms"
            )
    return ScenarioFile(path, lines, header)


def _header(path: Path, number: int, line: str) -> Header:
    try:
        given = load_json(line)["testset"]
        if isinstance(given, dict) and isinstance(given.get("format"), int) and given["format"] > FORMAT:
            raise UsageError(
                f"scenarios: {path} has format {given['format']}; this foretell reads up to {FORMAT}: upgrade foretell"
            )
        return Header.model_validate(given)
    except ValidationError as error:
        raise UsageError(f"scenarios: {path}, line {number}: testset.{_first(error)}") from None
    except ValueError as error:
        raise UsageError(f"scenarios: {path}, line {number}: {error}") from None


def _line(path: Path, number: int, line: str, named: bool) -> tuple[str, Scenario]:
    try:
        if _measured(line, named):
            return "", _named(Scenario.model_validate(load_json(line).get("scenario")))
        if not named:
            return "", _named(Scenario.model_validate_json(line))
        given = load_json(line)
        if not isinstance(given, dict) or set(given) != {"arm", "scenario"} or not isinstance(given["arm"], str):
            raise UsageError(f"scenarios: {path}, line {number}: a line of a test set has an arm and a scenario")
        return given["arm"], _named(Scenario.model_validate(given["scenario"]))
    except ValidationError as error:
        raise UsageError(f"scenarios: {path}, line {number}: {_first(error)}") from None
    except ValueError as error:
        raise UsageError(f"scenarios: {path}, line {number}: {error}") from None


def _measured(line: str, named: bool) -> bool:
    """Whether a line is by `foretell match scenario` or `foretell match trials`."""
    return not named and line.lstrip().startswith('{"measured"')


def _named(scenario: Scenario) -> Scenario:
    """The scenario, if its contents have a name: infinity, among factors, has none. Raises ValueError."""
    _ = scenario.id
    return scenario


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    field = "".join(f"{str(part)[:60]}." for part in first["loc"])[:-1] or "scenario"
    return f"{field}: {first['msg'][:200]}"
