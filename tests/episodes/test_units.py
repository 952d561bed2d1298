"""Units: what rows count for, and means within them, by columns as row by row."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from foretell.episodes.units import by_unit, unit_of, units
from foretell.stats import by_scenario
from foretell.stats.order import by_id


def test_a_row_counts_for_its_parent_else_its_scenario_else_itself() -> None:
    rows = [("up", "own", "e"), (None, "own", "e"), ("", "own", "e"), (None, None, "e"), ("", "", "e")]
    parents, scenarios, episodes = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"parent": parents, "scenario": scenarios, "episode": episodes})
    assert units(table).to_pylist() == [unit_of(*row) for row in rows] == ["up", "own", "own", "e", "e"]


@pytest.mark.parametrize("seed", range(10))
def test_means_are_those_of_stats_in_the_order_of_bound(seed: int) -> None:
    draw = random.Random(seed)
    names = [f"s{draw.randrange(12)}" for _ in range(draw.randint(1, 60))]
    solved = [draw.random() < 0.6 for _ in names]
    known = by_scenario(names, [float(one) for one in solved])
    known = known.take(by_id(known.ids))
    for given in (names, pa.chunked_array([names[:7], names[7:]])):
        found = by_unit(given)
        assert tuple(found.names) == known.ids and tuple(found.counts) == known.counts
        assert found.means(solved).tolist() == known.scores.tolist()
    assert by_unit(names, sort=False).names == list(dict.fromkeys(names))


def test_no_rows_have_no_units() -> None:
    found = by_unit([])
    assert found.names == [] and found.means([]).tolist() == []
