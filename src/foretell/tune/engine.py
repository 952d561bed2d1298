"""The engine of a search: one for all of its runs, and what it opens is looked at before the first episode."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from foretell.study.config import Study
from foretell.study.engine import Engine, make_engine
from foretell.study.run import engine_for
from foretell.study.session import Opened

__all__ = ["GuardedEngine", "engine_of"]


class GuardedEngine:
    """An engine, whose every group somebody looks at before its first episode runs."""

    def __init__(self, engine: Engine, look: Callable[[Opened], None]):
        self.run, self.close, self._inspect, self._look = engine.run, engine.close, engine.inspect, look

    def inspect(self, opening: dict[str, Any]) -> Opened:
        opened = self._inspect(opening)
        self._look(opened)
        return opened


def engine_of(study: Study, workers: int | None, slots: int, objects: Mapping[str, Any] | None) -> Engine:
    """One engine for all runs, so that processes start once."""
    name = engine_for(study, None, workers, here="a policy is a Python object" if objects else "")
    count = (os.cpu_count() or 1) if workers is None else workers
    return make_engine(name, workers=count, slots=slots, policy_timeout=study.policy_timeout)
