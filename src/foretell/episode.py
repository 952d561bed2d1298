"""An episode: one rollout's row. Every figure in every report can be rebuilt from these rows.

Everything that does not reproduce is prefixed `wall_`; all other columns are equal, bit for bit, whenever the
same episode runs on the same machine and versions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from foretell.errors import UsageError
from foretell.scenario import digest

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SCHEMA", "Episode", "arrow_schema", "key"]

SCHEMA = 1
"""Version of the row. Rows of a newer one are refused, not guessed at."""


@dataclass(frozen=True)
class Episode:
    """One rollout. `None` means not known or not applicable; it is never a failure."""

    episode: str
    """Key: names the episode within all runs; see `key`."""
    study: str
    world: str
    """Name of the world, such as `mujoco` or `standin`."""
    world_params: str
    """The world's parameters θ, as JSON."""
    world_hash: str
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
    success_any: bool | None = None
    """Whether the task was solved at any action."""
    success_end: bool | None = None
    """Whether the task was solved when the episode ended."""
    success: bool | None = None
    """The one that counts, by `success_rule`."""
    success_rule: str = "any"
    score: float | None = None
    """Share of stages reached, in [0, 1]; a solved episode scores 1."""
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
    """success, time_limit, terminated, stopped or error"""
    blame: str | None = None
    """Whose error it was: policy (counts as a failure), world or machine (excluded from n), or None."""
    error: str | None = None
    failure_reason: str | None = None
    judge: str = "task"
    """Who judged: task or person."""
    video: str | None = None
    """Path of the video within the run folder."""
    wall_started: float = 0.0
    """Unix time."""
    wall_s: float = 0.0
    """Seconds from reset to verdict; slots run side by side, so these add up to more than the study took."""
    wall_policy_s: float = 0.0
    """Seconds inside `policy.act`, shared equally among the slots of each call."""
    wall_worker: int = 0
    schema: int = SCHEMA

    @property
    def counts(self) -> bool:
        """Whether the episode belongs in n: it was judged, or the policy is to blame."""
        return self.success is not None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Episode:
        """Inverse of `to_dict`. Raises UsageError for a row of a newer schema or with missing columns."""
        if row.get("schema", SCHEMA) > SCHEMA:
            raise UsageError(
                f"episode row of schema {row['schema']}; this foretell reads up to {SCHEMA}: upgrade foretell"
            )
        known = {f.name for f in fields(cls)}
        try:
            return cls(**{k: v for k, v in row.items() if k in known})
        except TypeError as error:
            raise UsageError(f"episode row is incomplete: {error}") from None


def key(
    *,
    world_hash: str,
    task: str,
    task_version: int,
    policy: str,
    policy_hash: str,
    policy_options: dict[str, Any],
    scenario: str,
    arm: str,
    trial: int,
    clock: dict[str, Any],
    task_hash: str = "",
) -> str:
    """Names an episode by all that decides its outcome: a changed weight file, task
    file or θ never mixes with old rows."""
    told = [world_hash, task, task_version, policy, policy_hash, policy_options, scenario, arm, trial, clock]
    return digest([*told, task_hash] if task_hash else told)


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
    return pa.schema([pa.field(f.name, types[str(f.type)]) for f in fields(Episode)])
