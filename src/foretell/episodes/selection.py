"""Which scenarios of a simulated run were chosen for real trials, and with which chances: `selection.json` of a run.

    {from, rule, budget, seed, tasks: {TASK: {pool, probability, order, chosen, least}}}

`pool` lists all scenarios that a coin was flipped for, `probability` the chance of each, `order` the order in which
they were weighed (places in the pool), and `chosen` those that came up. A bound on the whole pool needs all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from foretell.document import load_json
from foretell.files import SMALL, read_file
from foretell.stats.sampling import Rule, Selection

__all__ = ["FILE", "Chosen", "read_selection", "selection_words"]

FILE = "selection.json"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The scenarios of one task."""

    pool: Sequence[str]
    """Ids of all scenarios that could have been chosen; of children of one scenario, that of the parent."""
    selection: Selection
    """Its indices are places in the pool."""

    @property
    def ids(self) -> list[str]:
        return [self.pool[i] for i in self.selection.chosen]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        s = self.selection
        drawn = {"probability": s.probability.tolist(), "order": s.order.tolist(), "least": s.least}
        return {"pool": list(self.pool), **drawn, "chosen": self.ids}


def read_selection(run: Path | str) -> dict[str, Chosen]:
    """Task -> what was chosen of it; none where all scenarios were to be run."""
    try:
        contents = load_json(read_file(Path(run) / FILE, SMALL))
        return {str(task): _chosen(entry, contents) for task, entry in contents["tasks"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def selection_words(run: Path | str) -> list[str]:
    """What a reader of a run's rates must know of the choice of its scenarios."""
    if all(chosen.selection.rule == "uniform" for chosen in read_selection(run).values()):
        return []
    return [
        "Scenarios were chosen with unequal chances, so these rates are not those over all scenarios: "
        "`foretell bound --real RUN --sim RUN` takes the chances into account."
    ]


def _chosen(entry: Mapping[str, Any], about: Mapping[str, Any]) -> Chosen:
    pool = [str(name) for name in entry["pool"]]
    picked = set(entry["chosen"])
    selection = Selection(
        chosen=np.array([i for i, name in enumerate(pool) if name in picked], dtype=np.int64),
        probability=np.array(entry["probability"], dtype=np.float64),
        least=float(entry["least"]),
        rule=cast(Rule, about["rule"]),
        seed=int(about["seed"]),
        order=np.array(entry["order"], dtype=np.int64),
    )
    if not len(pool) == selection.probability.size == selection.order.size:
        raise ValueError("its columns differ in length")
    return Chosen(pool=pool, selection=selection)
