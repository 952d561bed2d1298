"""An episode: one rollout's row. Every figure in every report can be rebuilt from these rows.

Everything that does not reproduce is prefixed `wall_`; all other columns are equal, bit for bit, whenever the
same episode runs on the same machine and versions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import Field, asdict, dataclass, field, fields
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

from foretell.digest import as_json
from foretell.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "LATER",
    "SCHEMA",
    "Episode",
    "Identity",
    "Outcome",
    "arrow_schema",
    "columns",
    "key",
    "keys",
    "marks",
    "unmarked",
]

SCHEMA = 1
"""Version of the row. Rows of a newer one are refused, not guessed at."""
LATER = ("task_hash", "real", "stands_in", "events")
"""Columns that older rows of this version lack."""


@dataclass(kw_only=True)
class Identity:
    """What is known of an episode before it runs."""

    episode: str
    """Key: names the episode within all runs; see `key`."""
    study: str
    world: str
    """Name of the world, such as `mujoco` or `standin`."""
    world_params: str
    """The world's parameters θ, as JSON."""
    world_hash: str
    real: bool | None = None
    """Whether the world is reality; None in rows that are older than this column."""
    stands_in: bool | None = None
    """Whether the world is simulated and plays reality; None in rows that are older than this column."""
    robot: str
    controller: str
    task: str
    task_version: int
    policy: str
    """The policy's name in the study."""
    policy_hash: str
    """SHA-256 of its weights, or of its source where it has none."""
    scenario: str
    base: str
    trial: int
    arm: str
    """Perturbation arm; `none` for the clean control."""
    clock: str
    """The clock, as JSON."""
    policy_options: str = "{}"
    """Options the study gave it, `execute` among them, as JSON."""
    task_hash: str = ""
    """Names the source of a task of one's own; empty for those that come with foretell, which have `task_version`."""
    parent: str | None = None
    factors: str = "{}"
    """Factor values, as JSON."""
    severity: float | None = None
    success_rule: str = "any"


@dataclass(kw_only=True)
class Outcome:
    """How an episode went, as its driver found it. A column that is added here is in every row."""

    success_any: bool | None = None
    """Whether the task was solved at any action."""
    success_end: bool | None = None
    """Whether the task was solved when the episode ended."""
    success: bool | None = None
    """The one that counts, by `success_rule`."""
    score: float | None = None
    """Share of stages reached, in [0, 1]; a solved episode scores 1, unless a person or a detector gave less."""
    stages: dict[str, float] = field(default_factory=dict)
    """Stage -> simulated seconds at which it was first reached."""
    metrics: dict[str, float] = field(default_factory=dict)
    events: dict[str, float] = field(default_factory=dict)
    """Event -> how often it happened: why the episode went as it did; see `tasks.events`."""
    steps: int = 0
    """Actions executed."""
    sim_s: float = 0.0
    """Simulated seconds."""
    end: str = "time_limit"
    """success, time_limit, terminated, stopped or error; `stopped` also where sensors saw success and the judge did
    not"""
    blame: str | None = None
    """Whose error it was: policy (counts as a failure), world or machine (excluded from n), or None."""
    error: str | None = None
    failure_reason: str | None = None
    judge: str = "task"
    """Who judged: task, person or detector."""
    wall_started: float = 0.0
    """Unix time."""
    wall_s: float = 0.0
    """Seconds from reset to verdict; slots run side by side, so these add up to more than the study took."""
    wall_policy_s: float = 0.0
    """Seconds inside `policy.act`, shared equally among the slots of each call."""
    trace: str | None = field(default=None, metadata={"column": False})
    """The traceback of what the policy raised. No column: it goes into a file of its own."""
    film: str | None = field(default=None, metadata={"column": False})
    """Path, within the run folder, of a film that the world made itself. The column `video` has it."""


@dataclass(kw_only=True)
class Episode(Outcome, Identity):
    """One rollout. `None` means not known or not applicable; it is never a failure."""

    video: str | None = None
    """Path of the video within the run folder."""
    wall_worker: int = 0
    schema: int = SCHEMA

    @property
    def counts(self) -> bool:
        """Whether the episode belongs in n: it was judged, or the policy is to blame."""
        return self.success is not None

    def to_dict(self) -> dict[str, Any]:
        whole = asdict(self)
        return {column.name: whole[column.name] for column in columns()}

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Episode:
        """Inverse of `to_dict`. Raises UsageError for a row of a newer schema or with missing columns."""
        if row.get("schema", SCHEMA) > SCHEMA:
            raise UsageError(
                f"episode row of schema {row['schema']}; this foretell reads up to {SCHEMA}: upgrade foretell"
            )
        known = {column.name for column in columns()}
        try:
            return cls(**{k: v for k, v in row.items() if k in known})
        except TypeError as error:
            raise UsageError(f"episode row is incomplete: {error}") from None


def columns() -> list[Field[Any]]:
    """The fields of an episode that its row holds, in the row's order."""
    return [f for f in fields(Episode) if f.metadata.get("column", True)]


def key(*, scenario: str, trial: int, **cell: Any) -> str:
    """Names an episode by all that decides its outcome: a changed weight file, task
    file or θ never mixes with old rows. cell: as `keys` takes it."""
    return keys(**cell)(scenario, trial)


def keys(
    *,
    world_hash: str,
    task: str,
    task_version: int,
    policy: str,
    policy_hash: str,
    policy_options: dict[str, Any],
    arm: str,
    clock: dict[str, Any],
    task_hash: str = "",
) -> Callable[[str, int], str]:
    """(scenario, trial) -> `key`, of many episodes that have the rest in common: the `digest` of a list of all, whose
    ends are written once."""
    before = as_json([world_hash, task, task_version, policy, policy_hash, policy_options])[:-1]
    after = as_json([clock, task_hash] if task_hash else [clock])[1:]
    start, middle = hashlib.sha256(f"{before},".encode()), as_json(arm)

    def name(scenario: str, trial: int) -> str:
        whole = start.copy()
        whole.update(f"{encode_basestring_ascii(scenario)},{middle},{trial},{after}".encode())
        return whole.hexdigest()[:16]

    return name


def unmarked(arm: str) -> str:
    """The name of an arm without the versions of its factors: `Shove` for `Shove#1a2b3c4d`."""
    return re.sub(r"#[0-9a-f]{8}\b", "", arm)


def marks(arm: str) -> list[tuple[str, str]]:
    """(Factor, version) of every factor in an arm's name that has one."""
    return re.findall(r"(\w+)#([0-9a-f]{8})\b", arm)


def arrow_schema() -> pa.Schema:
    """The Arrow schema of the episode table, column by column as declared above."""
    import pyarrow as pa

    types = {
        "str": pa.string(),
        "str | None": pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "float | None": pa.float64(),
        "bool | None": pa.bool_(),
        "dict[str, float]": pa.map_(pa.string(), pa.float64()),
    }
    return pa.schema([pa.field(f.name, types[str(f.type)]) for f in columns()])
