"""Cells of a table, and what of a plan is leading, still to come and given up: by columns as row by row."""

from __future__ import annotations

import random
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

from foretell.episodes.cells import Cell, cells_of, given_up, still_to_come, turns_of
from foretell.episodes.planned import CELL, PLAN


def plan(rows: list[dict[str, str]]) -> pa.Table:
    return pa.Table.from_pylist([{**dict.fromkeys((*CELL, "retired"), ""), **row} for row in rows], schema=PLAN)


def test_a_cell_has_the_columns_of_a_plan() -> None:
    assert tuple(field.name for field in fields(Cell)) == CELL


def test_rows_by_cell() -> None:
    table = pa.table({"world": ["a", "b", "a"], "policy": ["p", "p", "p"], "task_version": [1, 1, None]})
    group, cells = cells_of(table)
    assert group.tolist() == [0, 1, 2]
    assert [(cell.world, cell.policy, cell.task_version, cell.task) for cell in cells] == [
        ("a", "p", "1", ""), ("b", "p", "1", ""), ("a", "p", "", ""),
    ]  # fmt: skip
    assert cells[2].task_source == "" != cells[0].task_source


def test_versions_of_what_a_person_judged_are_one_cell() -> None:
    table = pa.table({"task": ["t"] * 3, "task_version": [1, 2, 1], "judge": ["person", "person", "task"]})
    group, cells = cells_of(table)
    assert group.tolist() == [0, 0, 1] and [cell.task_version for cell in cells] == ["", "1"]


@pytest.mark.parametrize("seed", range(20))
def test_leading_units_are_those_before_the_first_that_lacks_an_episode(seed: int) -> None:
    draw = random.Random(seed)
    rows = draw.randint(0, 60)
    group = np.array([draw.randrange(3) for _ in range(rows)], dtype=np.int64)
    unit = np.array([draw.randrange(8) for _ in range(rows)], dtype=np.int64)
    lacks = np.array([draw.random() < 0.1 for _ in range(rows)], dtype=bool)
    turn = turns_of(group, unit)
    leading = turn.leading(turn.counts(lacks), 3)
    for number in range(3):
        mine = [
            (u, lack) for g, u, lack in zip(group.tolist(), unit.tolist(), lacks.tolist(), strict=True) if g == number
        ]
        order = list(dict.fromkeys(u for u, _ in mine))
        wanted = next((i for i, u in enumerate(order) if (u, True) in mine), len(order))
        assert leading[number] == wanted
        assert [unit[row] for row in turn.first[turn.owner == number]] == order
        places = [order.index(u) for u, _ in mine]
        assert turn.within[turn.number[group == number]].tolist() == places


def test_what_is_retired_is_not_to_come_and_its_cell_is_given_up() -> None:
    table = plan(
        [
            {"policy": "old", "episode": "1"},
            {"policy": "old", "episode": "2", "retired": "yes"},
            {"policy": "new", "episode": "3"},
            {"policy": "new", "episode": "4"},
        ]
    )
    assert still_to_come(table, pa.array(["1", "3", "other"])).tolist() == [False, False, False, True]
    assert given_up(table).tolist() == [True, True, False, False]
    assert not len(given_up(plan([]))) and not len(still_to_come(plan([]), pa.array([], pa.string())))
