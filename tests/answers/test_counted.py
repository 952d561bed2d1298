"""Rows that are looked at by column count exactly as those that are read one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foretell.answers.counted import at_once, row_by_row
from foretell.answers.inputs import Table


def table(rows: int = 300, seed: int = 0, **changes: Any) -> Table:
    """Episodes of 40 scenarios, some with a parent, some that were not judged."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 40, rows).tolist()
    success = [None if x < 0.1 else bool(x < 0.6) for x in rng.random(rows)]
    columns = {
        "scenario": [f"s{i}" for i in which],
        "parent": [f"p{i // 4}" if i % 3 else None for i in which],
        "trial": list(range(rows)),
        "success": success,
        "blame": [("machine" if i % 2 else None) if s is None else None for i, s in enumerate(success)],
        "fitted_to": [False] * rows,
    }
    columns.update(changes)
    columns.setdefault("value", columns["success"])
    return Table(
        name="t",
        columns=columns,
        marks=[f"e{i}" for i in range(rows)],
        kind="episode",
        number=float,
        metric="success",
        episodes=True,
    )


@pytest.mark.parametrize("seed", range(5))
def test_both_ways_give_the_same(seed: int) -> None:
    given = table(seed=seed)
    quick, slow = at_once(given), row_by_row(given, True)
    assert quick == slow
    assert list(quick.first().items()) == list(slow.first().items())
    assert quick.tries() == slow.tries() and quick.units() == slow.units()
    assert quick.left_out.total() == len(given) - len(quick.scores) > 0
    assert at_once(table(success=[True] * 300)) == row_by_row(table(success=[True] * 300), True)


@pytest.mark.parametrize(
    "changes",
    [
        {"scenario": [None] * 300},
        {"scenario": [""] * 300},
        {"scenario": [7] * 300},
        {"parent": [""] * 300},
        {"trial": [1.0] * 300},
        {"trial": [-1, *range(299)]},
        {"trial": ["1"] * 300},
        {"trial": [0] * 300},  # scenarios with that trial twice
        {"success": ["yes"] * 300},
        {"value": [0.5] * 300},
        {"fitted_to": [True, *[False] * 299]},
    ],
)
def test_what_is_out_of_the_ordinary_is_read_row_by_row(changes: dict[str, Any]) -> None:
    assert at_once(table(**changes)) is None
