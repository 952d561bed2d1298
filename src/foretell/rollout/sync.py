"""The `sync` clock: observe, act, command, advance one action period. The world waits for the policy.

All slots meet at action boundaries, each at its own age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from foretell.rollout.driver import Driver
from foretell.rollout.job import Job, Outcome
from foretell.world import World, whole_ticks

__all__ = ["run_sync"]


def run_sync(
    world: World,
    policies: Mapping[str, Any],
    source: Callable[[], Job | None],
    watch: Callable[[str, list[Job]], None] = lambda doing, jobs: None,
) -> Iterator[tuple[Job, Outcome]]:
    """Run every job that `source` gives, until it gives None. Yield each job when it ends.

    `watch` is called before each call of a policy ("policy", with its jobs) and after it ("world").
    """
    yield from _Sync(world, policies, watch).run(source)


class _Sync(Driver):
    def _round(self, active: np.ndarray) -> Iterator[tuple[Job, Outcome]]:
        """One action in every active slot."""
        empty = active[self.left[active] == 0]
        yield from self._think(empty, self.plan, self.ends)
        self.left[empty] = [self._spec(s).executes if s not in self.gone else 0 for s in empty.tolist()]
        active = active[~np.isin(active, list(self.gone))]
        if not len(active):
            return
        rates = np.array([self._spec(slot).action_rate for slot in active.tolist()])
        until = whole_ticks(self.step[active] + 1, 1.0 / self.world.tick, rates)
        at = np.array([self._spec(slot).executes for slot in active.tolist()]) - self.left[active]
        self.last[active] = self.plan[active, at]
        self.world.command(active, self.last[active], until - self.age[active])
        for row, slot in enumerate(active.tolist() if self.events else ()):
            if log := self.events.get(slot):
                age, number = int(self.age[slot]), int(self.step[slot]) // self._spec(slot).executes
                if at[row] == 0:
                    log.add("look", age, inference=number)
                old = int(at[row]) / self._spec(slot).action_rate
                log.add("action", age, int(until[row]), inference=number, action=int(at[row]), value=old)
        self._advance(active, until, np.ones(len(active), dtype=bool))
        self.step[active] += 1
        self.left[active] -= 1
        yield from self._judge(active, self.ends[active, at])
