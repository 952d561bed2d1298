"""Asking a policy for actions, with its declared batch, and finding out which slot it fails on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.errors import PolicyError
from foretell.policy import PolicySpec, as_chunk

__all__ = ["Answer", "ask"]


@dataclass
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


def ask(policy: Any, spec: PolicySpec, slots: np.ndarray, seen: dict[str, Any]) -> Answer:
    """One answer per slot. The policy is called with batches of `spec.batch`, short ones padded with their last slot.

    When a call fails, its slots are asked again one by one (padded alike), so that one slot's bad luck is not its
    neighbours': a row must not depend on what ran beside it.
    """
    n = len(slots)
    actions = np.zeros((n, spec.chunk, spec.action.size))
    terminate = np.zeros((n, spec.chunk), dtype=bool)
    errors: dict[int, str] = {}
    size = spec.batch or n
    queue = [np.arange(at, min(at + size, n)) for at in range(0, n, size)]
    while queue:
        rows = queue.pop()
        try:
            chunk = _call(policy, spec, slots, seen, rows)
        except PolicyError as error:
            if len(rows) == 1:
                errors[int(rows[0])] = str(error)
            else:
                queue += [rows[i : i + 1] for i in range(len(rows))]
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
    return Answer(np.clip(actions, low, high), terminate, clipped, errors)


def _call(policy: Any, spec: PolicySpec, slots: np.ndarray, seen: dict[str, Any], rows: np.ndarray) -> Any:
    size = spec.batch or len(rows)
    padded = np.concatenate([rows, np.repeat(rows[-1:], size - len(rows))])
    given = {k: v[padded] if isinstance(v, np.ndarray) else [v[i] for i in padded] for k, v in seen.items()}
    try:
        returned = policy.act(slots[padded], given)
    except Exception as error:
        raise PolicyError(f"act raised {type(error).__name__}: {error}") from error
    return as_chunk(returned, size, spec)


def _where(actions: np.ndarray) -> str:
    step, dim = np.argwhere(~np.isfinite(actions))[0]
    return f"{actions[step, dim]} at action {step}, dimension {dim}"
