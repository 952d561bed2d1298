"""Recorded episodes judged once more: the world is put into each recorded state, and asked as a driver asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.errors import ForetellError
from foretell.rollout.job import Outcome
from foretell.rollout.settle import settle
from foretell.scenario import Scenario
from foretell.world import Recordable, World, whole_ticks

__all__ = ["Recorded", "judge_steps"]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An episode with its steps, up to its end."""

    row: dict[str, Any]
    scenario: Scenario
    ticks: np.ndarray
    judged: np.ndarray
    """(n,) bool"""
    states: np.ndarray
    """(n, k)"""


def judge_steps(world: World, some: Sequence[Recorded]) -> list[Outcome]:
    """Outcomes of recorded episodes, as a driver would have found them."""
    assert isinstance(world, Recordable)
    slots = np.arange(len(some), dtype=np.int32)
    world.reset(slots, [recorded.scenario for recorded in some], [recorded.row["trial"] for recorded in some])
    early = world.task.success_rule == "any"
    limit = int(whole_ticks(1, 1.0 / world.tick, 1.0 / world.task.time_limit))
    ends = [round(recorded.row["sim_s"] / world.tick) for recorded in some]  # what is recorded later shows a film's end
    lengths = [
        int(np.searchsorted(recorded.ticks, end, side="right")) for recorded, end in zip(some, ends, strict=True)
    ]
    solved = np.zeros(len(some), dtype=bool)
    outcomes: list[Outcome | None] = [None] * len(some)
    for index in range(max(lengths)):
        here = [i for i, length in enumerate(lengths) if index < length and outcomes[i] is None]
        for i in here:
            world.restore(i, some[i].states[index], int(some[i].ticks[index]))
        due = np.array([i for i in here if some[i].judged[index]], dtype=np.int32)
        now = np.zeros(len(some), dtype=bool)
        if len(due):
            answer = world.progress(due)
            now[due] = False if answer is None else answer
        solved |= now
        for i in here:
            tick, last = int(some[i].ticks[index]), index == lengths[i] - 1
            over = (now[i] and early) or (some[i].judged[index] and tick >= limit)
            if over or last:
                outcomes[i] = _ended(world, i, some[i], tick, index, bool(solved[i]), bool(now[i] and early), last)
    for i, outcome in enumerate(outcomes):
        if outcome is None:
            raise ForetellError(f"episode {some[i].row['episode']}: its steps begin after its end")
    return [outcome for outcome in outcomes if outcome is not None]


def _ended(
    world: World, slot: int, recorded: Recorded, tick: int, index: int, solved: bool, won: bool, last: bool
) -> Outcome:
    """The outcome of an episode that ends here, by the new rule or because nothing more was recorded."""
    row, outcome = recorded.row, Outcome()
    limit = tick >= int(whole_ticks(1, 1.0 / world.tick, 1.0 / world.task.time_limit))
    known = last and row["end"] in ("terminated", "error")
    outcome.end = "success" if won else row["end"] if known else "time_limit" if limit else "stopped"
    outcome.blame, outcome.error = (row["blame"], row["error"]) if outcome.end == "error" else (None, None)
    outcome.steps = row["steps"] if last else min(row["steps"], int(recorded.judged[: index + 1].sum()))
    outcome.sim_s = float(tick * world.tick)
    outcome.metrics = dict(row["metrics"] or ())
    verdict, undecided = world.verdict(np.array([slot], dtype=np.int32))[0], outcome.end == "stopped"
    settle(outcome, world.task, verdict, solved)
    if undecided:  # by the old rule, and the new one asks for more: nobody knows
        outcome.success = outcome.success_any = outcome.success_end = None
        outcome.failure_reason, outcome.score = None, None
    return outcome
