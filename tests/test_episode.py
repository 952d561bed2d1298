"""The row: its columns come from its identity and its outcome, and old rows are read as before."""

from __future__ import annotations

from dataclasses import fields

import pytest

from foretell.episode import LATER, Episode, Identity, Outcome, arrow_schema, columns

ROW = {
    "episode": "e",
    "study": "s",
    "world": "w",
    "world_params": "{}",
    "world_hash": "h",
    "robot": "",
    "controller": "",
}
ROW |= {"task": "t", "task_version": 1, "policy": "p", "policy_hash": "", "scenario": "x", "base": "b", "trial": 0}
ROW |= {"arm": "none", "clock": '{"kind":"sync"}'}


def test_a_column_of_the_outcome_is_a_column_of_the_row() -> None:
    outcome = {f.name for f in fields(Outcome)} - {"trace", "film"}
    assert {c.name for c in columns()} == {f.name for f in fields(Identity)} | outcome | {
        "video",
        "wall_worker",
        "schema",
    }
    assert arrow_schema().names == [c.name for c in columns()]
    whole = Episode(**ROW, **vars(Outcome(success=True, judge="person", trace="long")))
    assert whole.success is True and whole.judge == "person" and whole.counts
    assert "trace" not in whole.to_dict() and list(whole.to_dict()) == arrow_schema().names


def test_a_row_goes_through_a_dict() -> None:
    row = Episode(**ROW, success=False, stages={"grasp": 1.5}, real=True)
    assert Episode.from_dict(row.to_dict()) == row


@pytest.mark.parametrize("column", LATER)
def test_an_older_row_lacks_columns_that_came_later(column: str) -> None:
    old = {name: value for name, value in Episode(**ROW).to_dict().items() if name != column}
    assert Episode.from_dict(old) == Episode(**ROW)
