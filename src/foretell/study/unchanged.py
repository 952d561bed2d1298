"""Episodes that a perturbation left as they were: the factor changes looks only, and the policy does not look.

Rows are then equal by construction, so an interval around a change of 0 would tell of an uncertainty that is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.factors.arms import looks_only

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["IDENTICAL", "unchanged"]

IDENTICAL = "identical"
"""What tables say of such a change; also the `method` of its interval, which has no width."""
CLEAN = "none"
TRIAL = (
    "world_hash", "task", "task_version", "controller", "policy", "policy_hash", "policy_options", "clock", "base",
    "trial",
)  # fmt: skip
"""Columns that a perturbed episode and its clean control have in common."""
OUTCOME = (
    "success_any", "success_end", "success", "score", "stages", "metrics", "steps", "sim_s", "end", "blame", "error",
    "failure_reason",
)  # fmt: skip
"""Columns that tell how an episode went. All must agree bit for bit: equal successes alone may be chance."""


def unchanged(table: pa.Table) -> set[str]:
    """Keys of the episodes under arms that change looks only whose outcome is that of their clean control."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not {"episode", "arm", *TRIAL, *OUTCOME} <= set(table.column_names):
        return set()
    arms = [arm for arm in pc.unique(table["arm"]).to_pylist() if arm is not None]
    looks = [arm for arm in arms if looks_only(arm)]
    if not looks or CLEAN not in arms:
        return set()
    rows = table.filter(pc.is_in(table["arm"], pa.array([CLEAN, *looks])))
    trials = list(zip(*(rows[c].to_pylist() for c in TRIAL), strict=True))
    # repr: NaN equals itself, and 0.0 is not -0.0
    outcomes = [repr(values) for values in zip(*(rows[c].to_pylist() for c in OUTCOME), strict=True)]
    arm_of, keys = rows["arm"].to_pylist(), rows["episode"].to_pylist()
    clean = {t: o for t, o, arm in zip(trials, outcomes, arm_of, strict=True) if arm == CLEAN}
    every = zip(keys, trials, outcomes, arm_of, strict=True)
    return {key for key, trial, outcome, arm in every if arm != CLEAN and clean.get(trial) == outcome}
