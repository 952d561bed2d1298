"""Asking a policy for actions, with its declared batch, and telling which slots it failed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretell.errors import LinkError, PolicyError, raised, traced
from foretell.policy import PolicySpec, as_chunk

__all__ = ["Answer", "ask"]


@dataclass(kw_only=True)
class Answer:
    """Actions of n slots; rows named in `errors` have none."""

    actions: np.ndarray
    """(n, chunk, dim), clipped to the action's range."""
    terminate: np.ndarray
    """(n, chunk) bool"""
    clipped: np.ndarray
    """(n,) how many of the actions were out of range."""
    errors: dict[int, str]
    """Row -> what the policy did wrong."""
    unsure: list[int] = field(default_factory=list)
    """The slots that shared the failed call. Any of them may have caused the error."""
    traces: dict[int, str] = field(default_factory=dict)
    """Row -> the traceback of what the policy raised."""
    lost: set[int] = field(default_factory=set)
    """Rows of `errors` for which not the policy is to blame, but the way to it."""


def ask(
    policy: Any,
    spec: PolicySpec,
    slots: np.ndarray,
    seen: dict[str, Any],
    apart: np.ndarray | None = None,
    beat: Callable[[], None] = lambda: None,
) -> Answer:
    """One answer per slot. The policy is called with batches of `spec.batch`, short ones padded with their last slot.

    Rows marked in `apart` (n,) bool have a call to themselves, so that it is known which one fails. `beat` is called
    before each call.
    """
    n = len(slots)
    actions = np.zeros((n, spec.chunk, spec.action.size))
    terminate = np.zeros((n, spec.chunk), dtype=bool)
    errors: dict[int, str] = {}
    traces: dict[int, str] = {}
    size = spec.batch or n
    shared = np.arange(n) if apart is None else np.flatnonzero(~apart)
    calls = [shared[at : at + size] for at in range(0, len(shared), size)]
    calls += [np.array([row]) for row in ([] if apart is None else np.flatnonzero(apart).tolist())]
    unsure: list[int] = []
    lost: set[int] = set()
    for rows in calls:
        beat()
        try:
            chunk = _call(policy, spec, slots, seen, rows)
        except PolicyError as error:
            errors |= dict.fromkeys(rows.tolist(), str(error))
            if error.__cause__ is not None:
                traces |= dict.fromkeys(rows.tolist(), traced(error.__cause__))
            if isinstance(error, LinkError):  # every slot of the call met it, and no other call would help
                lost.update(rows.tolist())
                continue
            unsure += rows.tolist() if len(rows) > 1 else []
            continue
        actions[rows] = chunk.actions[: len(rows)]
        if chunk.terminate is not None:
            terminate[rows] = chunk.terminate[: len(rows)]
    for row in np.flatnonzero(~np.isfinite(actions).all(axis=(1, 2))).tolist():
        errors[row] = f"act returned a value that is not finite: {_where(actions[row])}"
        actions[row] = 0.0
    low, high = spec.action.low, spec.action.high
    slack = 1e-6 * (high - low)  # float32 policies overshoot by rounding
    clipped = ((actions < low - slack) | (actions > high + slack)).any(axis=2).sum(axis=1)
    return Answer(
        actions=np.clip(actions, low, high),
        terminate=terminate,
        clipped=clipped,
        errors=errors,
        unsure=unsure,
        traces=traces,
        lost=lost,
    )


def _call(policy: Any, spec: PolicySpec, slots: np.ndarray, seen: dict[str, Any], rows: np.ndarray) -> Any:
    size = spec.batch or len(rows)
    padded = np.concatenate([rows, np.repeat(rows[-1:], size - len(rows))])
    batch = {k: v[padded] if isinstance(v, np.ndarray) else [v[i] for i in padded] for k, v in seen.items()}
    try:
        returned = policy.act(slots[padded], batch)
    except LinkError:
        raise
    except Exception as error:
        raise PolicyError(f"act raised {raised(error)}") from error
    try:
        return as_chunk(returned, size, spec)
    except PolicyError:
        raise
    except Exception as error:  # such as a tensor that will not become an array
        raise PolicyError(f"act returned {type(returned).__name__}, not an array of numbers: {error}") from error


def _where(actions: np.ndarray) -> str:
    step, dim = np.argwhere(~np.isfinite(actions))[0]
    return f"{actions[step, dim]} at action {step}, dimension {dim}"
