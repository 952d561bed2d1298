"""Tracks: the recorded steps of episodes, up to their end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Floats, Ints
from foretell.episodes.parts import DamagedError, read_parquet
from foretell.files import inside
from foretell.scenario import Scenario
from foretell.study.films import steps as steps_of

__all__ = ["Track", "spread_evenly", "tracks"]

NO_STEPS = "they have no recorded steps (record: {steps: all} keeps them)"
DAMAGED = "their steps are damaged"
PLAIN = ("tick", "judged", "action", "state")
"""Columns of steps that are no named numbers."""


@dataclass(frozen=True, kw_only=True)
class Track:
    """One episode: n steps, and so n + 1 states. `actions[i]` led from state i to state i + 1."""

    row: Mapping[str, Any]
    scenario: Scenario | None
    ticks: Ints
    """(n + 1,)"""
    times: Floats
    """(n + 1,) simulated s"""
    actions: Floats
    """(n, size), as the policy gave them"""
    states: Floats | None
    """(n + 1, k), from which the world can be restored"""
    named: Mapping[str, Floats]
    """What the world told people: name -> (n + 1,)."""

    @property
    def name(self) -> str:
        """The key of the episode."""
        return str(self.row["episode"])


def tracks(
    run: Path, rows: Sequence[Mapping[str, Any]], scenarios: Mapping[str, Scenario], left_out: dict[str, int]
) -> Iterator[Track]:
    """The rows that have steps, with them. The others are counted, by the reason."""
    for row in rows:
        made = _track(run, row, scenarios.get(row["scenario"]))
        if isinstance(made, str):
            left_out[made] = left_out.get(made, 0) + 1
        else:
            yield made


def _track(run: Path, row: Mapping[str, Any], scenario: Scenario | None) -> Track | str:
    path = inside(run, steps_of(row["episode"]))
    if path is None:
        return NO_STEPS
    try:
        table = read_parquet(path)
        lists = {name: np.array(table[name].to_pylist(), dtype=float) for name in PLAIN[2:] if name in _names(table)}
        named = {f.name: table[f.name].to_numpy().astype(float) for f in table.schema if pa.types.is_floating(f.type)}
        ticks = table["tick"].to_numpy().astype(np.int64)
        actions, times = lists["action"], named["time"]
    except (DamagedError, OSError, KeyError, ValueError, TypeError, pa.ArrowException):
        return DAMAGED
    kept = times <= row["sim_s"] + 1e-6  # what comes after the end is there for a film
    states = lists.get("state")
    sound = actions.ndim == 2 and (states is None or states.ndim == 2) and np.isfinite(actions).all() and len(ticks) > 1
    if not sound or (np.diff(ticks) <= 0).any() or kept.sum() < 2:
        return DAMAGED
    return Track(
        row=row,
        scenario=scenario,
        ticks=ticks[kept],
        times=times[kept],
        actions=actions[kept][1:],
        states=None if states is None else states[kept],
        named={name: values[kept] for name, values in named.items() if name != "time"},
    )


def _names(table: pa.Table) -> set[str]:
    return set(table.column_names)


def spread_evenly(track: Track, period: float) -> bool:
    """Whether there is a state at every action period (s)."""
    return bool(np.allclose(np.diff(track.times), period, rtol=0, atol=0.01 * period))
